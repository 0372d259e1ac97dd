"""Random orders of places and random samples of them: exact ones, and keyed ones for huge tables.

*Exact.* Every place gets a random 64-bit word and the places are ranked by their words. Places with
equal words are ranked again by fresh words of their own, so that ties bias no order and the whole
draw need not be rejected. A sample draws places one after the other and drops repetitions. Neither
dropped words nor repetitions favour a place, so all samples are equally likely.

*Keyed.* Privacy does not depend on the order: in any order, a replaced record keeps its place.
(Persons are numbered by their keys, which a replacement changes too, so their orders are drawn
exactly.) It does not depend on a sample either, if the sample is charged as if all records had been
read. So a pseudo-random order is enough: a short key gives the place at any position, and a table
of any length needs memory for the key only. The key maps a place to another one in rounds. Each
round mixes one half of its binary digits into the other half; this can be undone, so no two places
have the same result. A result beyond the last place is mapped again until it is a place; results
still differ.

Reference
---------
Knuth 1997, "The Art of Computer Programming", volume 2, Section 3.4.2 (random permutations and
samples); Luby and Rackoff 1988, Theorem 1 (four rounds of a random function are a random order to
whoever cannot tell the function from chance); Black and Rogaway 2002, Section 5 (cycle walking);
Steele, Lea and Flood 2014, Figure 16 (the mixing function; it is no cipher and needs to be none).
"""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TypeAlias

import numpy as np

from tailguard.array_types import IntArray
from tailguard.noise.sources import Source, Words

# A tie that remains after this many rounds keeps the order of places. Two of 2**40 places tie in
# all rounds with a chance below 2**-170; only a source that repeats itself, as in tests, does so.
TIE_ROUNDS = 4

# After this many rounds a sample of at most half the places is incomplete with a chance below its
# size over 2**64. Then it is drawn again from an order of all places, which is as uniform.
SAMPLE_ROUNDS = 64


def random_permutation(count: int, source: Source, *, rounds: int = TIE_ROUNDS) -> IntArray:
    """Return the numbers below ``count`` in a uniformly random order.

    Guarantee
    ---------
    Uniform over all orders up to a total variation of ``count**2 / 2**257``, if the source's words
    are independent and uniform.

    Edge cases
    ----------
    A source that always returns the same word leaves the order as it is.
    """
    # The last place gets the first word. Simulated records are often drawn from words of the same
    # seed, the first record from the first word: in that order they would be ranked by value.
    return ranked(source.words(count)[::-1], source, rounds=rounds)


def ranked(words: Words, source: Source, *, rounds: int = TIE_ROUNDS) -> IntArray:
    """Return the places of words in rising order, and those of equal words in a random order.

    Guarantee
    ---------
    If the words are independent and uniform, so is the order: as that of ``random_permutation``.
    """
    if rounds == 1:
        return np.argsort(words, kind="stable")
    order = np.argsort(words)
    ranked = words[order]
    equal = ranked[1:] == ranked[:-1]
    if equal.any():
        tied = np.append(equal, False) | np.append(False, equal)
        places = np.sort(order[tied])
        places = places[random_permutation(len(places), source, rounds=rounds - 1)]
        # A stable sort by word, of places in random order, leaves equal words in random order.
        order[tied] = places[np.argsort(words[places], kind="stable")]
    return order


def random_partition(n_places: int, sizes: Sequence[int], source: Source) -> tuple[IntArray, ...]:
    """Return disjoint blocks of places below ``n_places``, of the given sizes, each sorted.

    Guarantee
    ---------
    Uniform over all ways to cut the places into labelled blocks of these sizes; the places left
    over are a uniform sample as well.
    """
    order = random_permutation(n_places, source)
    ends = accumulate(sizes)
    return tuple(np.sort(order[end - size : end]) for size, end in zip(sizes, ends, strict=True))


def random_sample(n_places: int, size: int, source: Source) -> IntArray:
    """Return ``size`` different places below ``n_places``, in the random order they were drawn in.

    Guarantee
    ---------
    Uniform over all ordered samples without replacement, exactly for samples of at most half the
    places, else as ``random_permutation`` is, if the source's words are independent and uniform.

    Edge cases
    ----------
    A source that always returns the same word gives the first places, in order.
    """
    places = np.zeros(0, dtype=np.int64)
    for _ in range(SAMPLE_ROUNDS if 2 * size <= n_places else 0):
        drawn = np.append(places, _random_places(n_places, size - len(places), source))
        places = _first_of_each(drawn)
        if len(places) == size:
            return places
    return random_permutation(n_places, source)[:size]


def _first_of_each(drawn: IntArray) -> IntArray:
    """Drop places drawn before; ``np.unique`` takes twice the memory.

    Each sorted number holds a place and its position in the draw, which is several times as fast as
    a stable ``np.argsort`` of places.
    """
    digits = len(drawn).bit_length()  # 21 for the largest sample: room for 2**42 places
    ranked = np.sort(drawn << digits | np.arange(len(drawn)))
    again = ranked[1:][ranked[1:] >> digits == ranked[:-1] >> digits]
    return np.delete(drawn, again & ((1 << digits) - 1))


def _random_places(n_places: int, count: int, source: Source) -> IntArray:
    """Return at most ``count`` uniform places, with repetitions; drop words that favour some."""
    words = source.words(count)
    last = (1 << 64) // n_places * n_places - 1
    kept = words[words <= np.uint64(last)] % np.uint64(n_places)
    return kept.astype(np.int64)


MOST_KEPT = 2**24
"""The most places whose order is drawn exactly and kept: 128 MB."""

MOST_SAMPLED = 2**20
"""The largest sample that is drawn exactly and kept: drawing it takes 43 MB."""

# Twice the rounds of the theorem, which assumes a truly random function.
ROUNDS = 8
# Places that are mapped at once: their arrays stay in the second-level cache.
AT_ONCE = 2**14
# Constants of the mixing function, as published.
SHIFTS, FACTORS = (30, 27, 31), (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


class KeyedOrder:
    """A pseudo-random order of the places below ``count``, computed on demand.

    Parameters
    ----------
    count
        How many places there are.
    key
        A random word for each round.
    length
        The size of the sample, if the order is a sample; by default all places.
    """

    def __init__(self, count: int, key: Words, length: int | None = None) -> None:
        self._count = count
        self._length = count if length is None else length
        self._key = key
        # At least one digit in either half.
        n_digits = max(2, (count - 1).bit_length())
        self._halves = np.uint64(n_digits // 2), np.uint64(n_digits - n_digits // 2)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, positions: slice | IntArray) -> IntArray:
        """Return the places at these positions of the order."""
        if isinstance(positions, slice):
            positions = np.arange(*positions.indices(self._length))
        return self._walked(positions, self._mapped)

    def found(self, places: IntArray) -> tuple[IntArray, IntArray]:
        """Return which of the places are in the order, and their positions."""
        positions = self._walked(places, self._mapped_back)
        within = positions < self._length
        return places[within], positions[within]

    def _walked(self, starts: IntArray, mapped: Callable[[Words], Words]) -> IntArray:
        """Map places in batches; map results beyond the last place again until they are places."""
        ends = np.empty(len(starts), dtype=np.int64)
        for first in range(0, len(starts), AT_ONCE):
            places = mapped(starts[first : first + AT_ONCE].astype(np.uint64))
            while (beyond := np.flatnonzero(places >= self._count)).size:
                places[beyond] = mapped(places[beyond])
            ends[first : first + AT_ONCE] = places
        return ends

    def _mapped(self, places: Words) -> Words:
        low_digits, high_digits = self._halves
        for word in self._key:
            low = places & ((np.uint64(1) << low_digits) - np.uint64(1))
            high = places >> low_digits
            # The mixed half becomes the low one, and is as long as the high one was.
            mixed = (high ^ _mixed(low ^ word)) & ((np.uint64(1) << high_digits) - np.uint64(1))
            places = (low << high_digits) | mixed
            low_digits, high_digits = high_digits, low_digits
        return places

    def _mapped_back(self, places: Words) -> Words:
        low_digits, high_digits = self._halves
        if len(self._key) % 2:
            low_digits, high_digits = high_digits, low_digits
        for word in reversed(self._key):
            # Each round exchanges the lengths of the halves.
            low_digits, high_digits = high_digits, low_digits
            mixed = places & ((np.uint64(1) << high_digits) - np.uint64(1))
            low = places >> high_digits
            high = (mixed ^ _mixed(low ^ word)) & ((np.uint64(1) << high_digits) - np.uint64(1))
            places = (high << low_digits) | low
        return places


Order: TypeAlias = IntArray | KeyedOrder
"""Places in some order, read by a slice or by positions."""


def order_of_places(count: int, source: Source) -> Order:
    """Return all places below ``count`` in a random order, drawn exactly or by a secret key."""
    if count <= MOST_KEPT:
        return random_permutation(count, source)
    return KeyedOrder(count, source.words(ROUNDS))


def sample_of_places(count: int, size: int, source: Source) -> Order:
    """Return random places below ``count``, drawn exactly or, if very many, by a secret key."""
    if size <= MOST_SAMPLED:
        return random_sample(count, size, source)
    return KeyedOrder(count, source.words(ROUNDS), size)


def _mixed(words: Words) -> Words:
    """Return words of which every digit depends on all digits of the given ones."""
    for shift, factor in zip(SHIFTS[:-1], FACTORS, strict=True):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return words ^ (words >> np.uint64(SHIFTS[-1]))
