"""A hash of identifiers under a secret key: without the key its values look random.

Rows without an order are sorted by this hash. Whole numbers are hashed with SipHash-2-4 and other
text with BLAKE2b, both under one key, so the order is as secret as the key. If several rows share
an identifier, their places in the table are hashed instead, under a separate key.

Reference
---------
Aumasson and Bernstein 2012 (SipHash, a pseudo-random function of short inputs); Aumasson, Neves,
Wilcox-O'Hearn and Winnerlein 2013 (BLAKE2, Section 2.9: keyed hashing).
"""

from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import TypeAlias

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.machine_code import builds_loop, compiled, read_only
from tailguard.noise.orders import ranked
from tailguard.noise.sources import CryptographicSource, SimulationSource, Source, Words

Identifiers: TypeAlias = IntArray | Sequence[int | str | None]
"""An array of whole numbers; or a list of whole numbers, text, and None if missing."""

# The constants of SipHash, as published: four words that are combined with the key; the length of
# the input, 8 bytes, in the highest byte; the closing word; rotations with their complements.
FIRST, SECOND = np.uint64(0x736F6D6570736575), np.uint64(0x646F72616E646F6D)
THIRD, FOURTH = np.uint64(0x6C7967656E657261), np.uint64(0x7465646279746573)
LENGTH, ENDING = np.uint64(8 << 56), np.uint64(0xFF)
BY_13, BY_51, BY_16, BY_48 = np.uint64(13), np.uint64(51), np.uint64(16), np.uint64(48)
BY_17, BY_47, BY_21, BY_43 = np.uint64(17), np.uint64(47), np.uint64(21), np.uint64(43)
BY_32 = np.uint64(32)


class KeyedHash:
    """Maps identifiers to 64-bit words, under a secret key.

    *Guarantee.* The word of an identifier depends only on the identifier and the key. Without the
    key, words of different identifiers look independent and uniform, as far as SipHash-2-4 and
    BLAKE2b are pseudo-random.

    *Edge cases.* Text that spells a 64-bit whole number counts as that number, so an identifier is
    the same in a CSV and in a Parquet file. Different identifiers may share a word by chance (two
    of 10^9 rows do with probability 1/40); ``order`` then puts them in a random order.
    """

    def __init__(self, source: Source) -> None:
        self._key = source.words(2)
        self._private = source.private

    def of(self, identifiers: Identifiers) -> Words:
        """Return the word of each identifier."""
        if isinstance(identifiers, np.ndarray):
            return _hashed(identifiers.astype(np.int64).view(np.uint64), self._key)
        numbers = [number_in(each) for each in identifiers]
        whole = np.array([number or 0 for number in numbers], dtype=np.int64).view(np.uint64)
        words = _hashed(whole, self._key)
        key = self._key.tobytes()
        for place, (each, number) in enumerate(zip(identifiers, numbers, strict=True)):
            if number is None:
                text = ("" if each is None else str(each)).encode("utf-8", "surrogatepass")
                digest = blake2b(text, digest_size=8, key=key).digest()
                words[place] = int.from_bytes(digest, "little")
        return words

    def of_places(self, first: int, count: int) -> Words:
        """Return the words of ``count`` places of a table, from ``first`` on, under another key."""
        places = np.arange(first, first + count, dtype=np.int64).view(np.uint64)
        return _hashed(places, self._derived("places"))

    def of_rows(self, values: Words, columns: Iterable[FloatArray]) -> Words:
        """Hash the numbers of each row into the row's earlier word, column by column.

        Rows with equal numbers get equal words: both zeros are equal, and so are all NaN.
        """
        key = self._derived("rows")
        for column in columns:
            numbers = np.where(np.isnan(column), np.nan, column + 0.0)
            values = _hashed(values ^ numbers.view(np.uint64), key)
        return values

    def order(self, values: Words) -> IntArray:
        """Return the places of the words in rising order; equal words are in a random order."""
        if self._private:
            return ranked(values, CryptographicSource())
        return ranked(values, SimulationSource(int(self._derived("equal values")[0])))

    def _derived(self, name: str) -> Words:
        """Return a derived key; its digest is longer than those of texts, so it is independent."""
        digest = blake2b(name.encode(), digest_size=16, key=self._key.tobytes()).digest()
        return np.frombuffer(digest, dtype=np.uint64)


def _hashed(words: Words, key: Words) -> Words:
    hashed = np.empty_like(words)
    _compiled_sip()(np.ascontiguousarray(words), key[0], key[1], hashed)
    return hashed


@builds_loop
def _compiled_sip() -> Callable[[Words, np.uint64, np.uint64, Words], None]:
    signature = f"void({read_only('uint64')}, uint64, uint64, uint64[::1])"
    return compiled(_sip, signature, nogil=True)


def _sip(words: Words, low: np.uint64, high: np.uint64, hashed: Words) -> None:
    """Fill ``hashed`` with SipHash-2-4 of the eight bytes of each word.

    There are two rounds for the word, two for the length, and four at the end.
    """
    for place in range(words.size):
        a, b, c, d = low ^ FIRST, high ^ SECOND, low ^ THIRD, high ^ FOURTH
        for round_number in range(8):
            if round_number == 0:
                d ^= words[place]
            elif round_number == 2:
                a ^= words[place]
                d ^= LENGTH
            elif round_number == 4:
                a ^= LENGTH
                c ^= ENDING
            a += b
            c += d
            b = (b << BY_13 | b >> BY_51) ^ a
            d = (d << BY_16 | d >> BY_48) ^ c
            a = (a << BY_32 | a >> BY_32) + d
            c += b
            d = (d << BY_21 | d >> BY_43) ^ a
            b = (b << BY_17 | b >> BY_47) ^ c
            c = c << BY_32 | c >> BY_32
        hashed[place] = a ^ b ^ c ^ d


def number_in(identifier: int | str | None) -> int | None:
    """Return the 64-bit whole number that an identifier is or spells, else None."""
    if isinstance(identifier, str):
        try:
            number = int(identifier)
        except ValueError:
            return None
        if str(number) != identifier:
            return None
    elif identifier is None:
        return None
    else:
        number = int(identifier)
    return number if -(2**63) <= number < 2**63 else None
