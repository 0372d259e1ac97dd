"""Random orders of places and random samples of them: exact ones, and keyed ones for huge tables.

*Exact.* Every place gets a random 64-bit word, and the places are ranked by their words. Places
with equal words are ranked again by fresh words. So ties bias no order, and no draw need be
rejected as a whole. A sample draws places one after the other and drops repetitions. Neither
dropped words nor repetitions favour a place, so all samples are equally likely.

*Keyed.* Privacy does not depend on the order: in any order, a replaced record keeps its place.
(Persons are numbered by their keys, and a replacement changes a key too. So orders of persons are
drawn exactly.) Privacy does not depend on a sample either, if the sample is charged as if all
records had been read. So a pseudo-random order is enough: a short key gives the place at any
position, and a table of any length needs memory for the key only. The key maps each place to
another place in rounds. A round mixes one half of the place's binary digits into the other half.
This can be undone, so no two places have the same result. A result beyond the last place is mapped
again until it is a place; results still differ.

Reference
---------
Knuth 1997, "The Art of Computer Programming", volume 2, Section 3.4.2 (random permutations and
samples); Luby and Rackoff 1988, Theorem 1 (four rounds of a pseudo-random function are a
pseudo-random order); Black and Rogaway 2002, Section 5 (cycle walking); Steele, Lea and Flood 2014,
Figure 16 (the mixing function; it is no cipher and needs to be none).
"""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TypeAlias

import numpy as np

from tailguard.array_types import IntArray
from tailguard.noise.sources import Source, Words

# Places that tie in this many rounds keep their order. The chance that two of 2**40 places tie in
# all rounds is below 2**-170; it happens only with a source that repeats itself, as in tests.
TIE_ROUNDS = 4

# After this many rounds a sample of at most half the places is still incomplete with a chance below
# its size / 2**64. Then it is taken from an order of all places, which is uniform too.
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
    """Return the places of words in rising order; places of equal words are in a random order.

    Guarantee
    ---------
    If the words are independent and uniform, the order is as uniform as ``random_permutation``.
    """
    if rounds == 1:
        return np.argsort(words, kind="stable")
    order = np.argsort(words)
    sorted_words = words[order]
    equal_pairs = sorted_words[1:] == sorted_words[:-1]
    if equal_pairs.any():
        tied = np.append(equal_pairs, False) | np.append(False, equal_pairs)
        places = np.sort(order[tied])
        places = places[random_permutation(len(places), source, rounds=rounds - 1)]
        # A stable sort by word leaves equal words in the random order of their places.
        order[tied] = places[np.argsort(words[places], kind="stable")]
    return order


def random_partition(n_places: int, sizes: Sequence[int], source: Source) -> tuple[IntArray, ...]:
    """Return disjoint blocks of places below ``n_places``, of the given sizes, each sorted.

    Guarantee
    ---------
    Uniform over all ways to cut the places into labelled blocks of these sizes; the remaining
    places are a uniform sample as well.
    """
    order = random_permutation(n_places, source)
    ends = accumulate(sizes)
    return tuple(np.sort(order[end - size : end]) for size, end in zip(sizes, ends, strict=True))


def random_sample(n_places: int, size: int, source: Source) -> IntArray:
    """Return ``size`` different places below ``n_places``, in the random order of the draw.

    Guarantee
    ---------
    If the source's words are independent and uniform, the sample is uniform over all ordered
    samples without replacement: exactly for samples of at most half the places, otherwise as
    ``random_permutation`` is.

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

    The sorted numbers hold a place and its position in the draw. Sorting these is several times as
    fast as a stable ``np.argsort`` of places.
    """
    # At most 21 digits for the position, which leaves room for 2**42 places.
    digits = len(drawn).bit_length()
    sorted_draws = np.sort(drawn << digits | np.arange(len(drawn)))
    repeated = sorted_draws[1:][sorted_draws[1:] >> digits == sorted_draws[:-1] >> digits]
    return np.delete(drawn, repeated & ((1 << digits) - 1))


def _random_places(n_places: int, count: int, source: Source) -> IntArray:
    """Return at most ``count`` uniform places, with repetitions; drop words that favour a place."""
    words = source.words(count)
    last = (1 << 64) // n_places * n_places - 1
    kept = words[words <= np.uint64(last)] % np.uint64(n_places)
    return kept.astype(np.int64)


MOST_KEPT = 2**24
"""The largest number of places whose order is drawn exactly and kept: 128 MB."""

MOST_SAMPLED = 2**20
"""The largest sample that is drawn exactly and kept: drawing it takes 43 MB."""

# Twice the rounds of the theorem, which assumes a truly random function.
ROUNDS = 8
# Places that are mapped together: their arrays stay in the second-level cache.
AT_ONCE = 2**14
# Constants of the mixing function, as published.
SHIFTS, FACTORS = (30, 27, 31), (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


class KeyedOrder:
    """A pseudo-random order of the places below ``count``, computed on demand.

    Parameters
    ----------
    count
        The number of places.
    key
        A random word for each round.
    length
        The size of the sample, if the order is a sample; all places by default.
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

    def find(self, places: IntArray) -> tuple[IntArray, IntArray]:
        """Return which of the places are in the order, and their positions."""
        positions = self._walked(places, self._mapped_back)
        within = positions < self._length
        return places[within], positions[within]

    def _walked(self, starts: IntArray, mapped: Callable[[Words], Words]) -> IntArray:
        """Map places in batches; map a result beyond the last place again until it is a place."""
        ends = np.empty(len(starts), dtype=np.int64)
        for first in range(0, len(starts), AT_ONCE):
            places = mapped(starts[first : first + AT_ONCE].astype(np.uint64))
            while (beyond := np.flatnonzero(places >= self._count)).size:
                places[beyond] = mapped(places[beyond])
            ends[first : first + AT_ONCE] = places
        return ends

    def _mapped(self, places: Words) -> Words:
        """Map places by all rounds; results may lie beyond the last place."""
        low_digits, high_digits = self._halves
        for word in self._key:
            low = places & ((np.uint64(1) << low_digits) - np.uint64(1))
            high = places >> low_digits
            # The mixed half becomes the low half and keeps the length of the high half.
            mixed = (high ^ _mixed(low ^ word)) & ((np.uint64(1) << high_digits) - np.uint64(1))
            places = (low << high_digits) | mixed
            low_digits, high_digits = high_digits, low_digits
        return places

    def _mapped_back(self, places: Words) -> Words:
        """Undo ``_mapped``."""
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
    """Return random places below ``count``: a small sample exactly, a large one by a secret key."""
    if size <= MOST_SAMPLED:
        return random_sample(count, size, source)
    return KeyedOrder(count, source.words(ROUNDS), size)


def _mixed(words: Words) -> Words:
    """Return words whose every digit depends on all digits of the given word."""
    for shift, factor in zip(SHIFTS[:-1], FACTORS, strict=True):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return words ^ (words >> np.uint64(SHIFTS[-1]))
