"""A secret function of identifiers: without the key its values look random.

Rows that have no order get one by it. Whole numbers go through SipHash-2-4, other text through
BLAKE2b, both under one key. Which identifier is the first is then as secret as the key. Where
identifiers do not tell all rows apart, places in the table are hashed in place of them, under a key
of their own.

Reference
---------
Aumasson and Bernstein 2012 (SipHash, a pseudo-random function of short inputs); Aumasson, Neves,
Wilcox-O'Hearn and Winnerlein 2013 (BLAKE2, Section 2.9: keyed hashing).
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import TypeAlias

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.noise.orders import ranked
from tailguard.noise.sources import CryptographicSource, SimulationSource, Source, Words

Identifiers: TypeAlias = IntArray | Sequence[int | str | None]
"""An array of whole numbers; or whole numbers and text, None where there is none."""

# Of SipHash, as published: what the key is joined with, and the rotations of one round.
BEGINNING = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
COMPRESSIONS, FINALISATIONS = 2, 4
# The length of the input in bytes, as its last byte, the input being one word.
LENGTH = np.uint64(8 << 56)
# Hashed at once: what the rounds need stays in the second-level cache.
AT_ONCE = 2**14


class KeyedHash:
    """Identifiers to 64 binary digits, under a key that nobody sees.

    *Guarantee.* The value of an identifier depends on it and the key alone. Values of different
    ones look independent and uniform without the key, as far as SipHash-2-4 and BLAKE2b are
    pseudo-random.

    *Edge cases.* Text that writes a whole number of 64 bits is that number: an identifier is the
    same in a CSV and in a Parquet file. Different identifiers may have one value by chance, as two
    of 10^9 have in one of forty cases: ``order`` puts them in a random order.
    """

    def __init__(self, source: Source) -> None:
        self._key = source.words(2)
        self._private = source.private

    def of(self, identifiers: Identifiers) -> Words:
        """Return the value of each identifier."""
        if isinstance(identifiers, np.ndarray):
            return _hashed(identifiers.astype(np.int64).view(np.uint64), self._key)
        numbers = [number_in(each) for each in identifiers]
        whole = np.array([number or 0 for number in numbers], dtype=np.int64).view(np.uint64)
        found = _hashed(whole, self._key)
        key = self._key.tobytes()
        for place, (each, number) in enumerate(zip(identifiers, numbers, strict=True)):
            if number is None:
                text = ("" if each is None else str(each)).encode("utf-8", "surrogatepass")
                digest = blake2b(text, digest_size=8, key=key).digest()
                found[place] = int.from_bytes(digest, "little")
        return found

    def of_places(self, first: int, count: int) -> Words:
        """Return the values of ``count`` places of a table from ``first`` on, under another key."""
        places = np.arange(first, first + count, dtype=np.int64).view(np.uint64)
        return _hashed(places, self._derived("places"))

    def of_rows(self, values: Words, columns: Iterable[FloatArray]) -> Words:
        """Return the value of each row by what it had before and by its numbers, column by column.

        Rows of the same numbers have the same value: there is one zero, and one NaN.
        """
        key = self._derived("rows")
        for column in columns:
            numbers = np.where(np.isnan(column), np.nan, column + 0.0)
            values = _hashed(values ^ numbers.view(np.uint64), key)
        return values

    def order(self, values: Words) -> IntArray:
        """Return where the values are in rising order; equal ones are in a random order."""
        if self._private:
            return ranked(values, CryptographicSource())
        return ranked(values, SimulationSource(int(self._derived("equal values")[0])))

    def _derived(self, name: str) -> Words:
        """Return another key: of another length than values of text are, and so independent."""
        digest = blake2b(name.encode(), digest_size=16, key=self._key.tobytes()).digest()
        return np.frombuffer(digest, dtype=np.uint64)


def _hashed(words: Words, key: Words) -> Words:
    found = np.empty_like(words)
    for start in range(0, len(words), AT_ONCE):
        found[start : start + AT_ONCE] = _sip(words[start : start + AT_ONCE], key)
    return found


def _sip(words: Words, key: Words) -> Words:
    """Return SipHash-2-4 of each word, as the eight bytes that it is stored in."""
    state = [
        np.full(words.shape, part ^ np.uint64(begin), dtype=np.uint64)
        for part, begin in zip((*key, *key), BEGINNING, strict=True)
    ]
    for block in (words, LENGTH):
        state[3] ^= block
        for _ in range(COMPRESSIONS):
            _round(state)
        state[0] ^= block
    state[2] ^= np.uint64(0xFF)
    for _ in range(FINALISATIONS):
        _round(state)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _round(state: list[Words]) -> None:
    """Mix the four words of the state, in place."""
    for added, turned, first, second in ((0, 1, 13, 32), (2, 3, 16, None)):
        state[added] += state[turned]
        state[turned] = _turned(state[turned], first) ^ state[added]
        if second is not None:
            state[added] = _turned(state[added], second)
    for added, turned, first, second in ((0, 3, 21, None), (2, 1, 17, 32)):
        state[added] += state[turned]
        state[turned] = _turned(state[turned], first) ^ state[added]
        if second is not None:
            state[added] = _turned(state[added], second)


def _turned(words: Words, count: int) -> Words:
    return (words << np.uint64(count)) | (words >> np.uint64(64 - count))


def number_in(identifier: int | str | None) -> int | None:
    """Return the whole number of 64 bits that an identifier is or writes, else None."""
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
