"""Uniformly random orders of places, from which blocks of records are cut, and random samples.

Every place gets a random 64-bit word and the places are ranked by their words. Places with equal
words are ranked again by fresh words of their own, so that no order is preferred: a tie has no
bias, and needs no rejection of the whole draw.

A sample draws places one after the other and drops those that it has. Neither a word that is
dropped nor a repetition prefers any place, so that every sample is as likely as any other.

Reference
---------
Knuth 1997, "The Art of Computer Programming", volume 2, Section 3.4.2 (random permutations and
samples).
"""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from tailguard.array_types import IntArray
from tailguard.noise.sources import Source, Words

# A tie that is left after so many rounds keeps the order of places. Two of 2**40 places tie in all
# rounds with a chance below 2**-170; only a source that repeats itself, as in tests, comes there.
ROUNDS = 4

# A sample of at most half the places lacks one after so many rounds with a chance below its size
# over 2**64; then it is drawn anew, from an order of all places, which is as uniform.
SAMPLE_ROUNDS = 64


def random_permutation(count: int, source: Source, *, rounds: int = ROUNDS) -> IntArray:
    """Return the numbers below ``count`` in a uniformly random order.

    Guarantee
    ---------
    Uniform over all orders up to a total variation of ``count**2 / 2**257``, if the source's words
    are independent and uniform.

    Edge cases
    ----------
    A source that always returns the same word leaves the order as it is.
    """
    # The last place gets the first word: simulated records are often drawn from the words of the
    # same seed, the first record from the first, and would be ranked by their values.
    return ranked(source.words(count)[::-1], source, rounds=rounds)


def ranked(words: Words, source: Source, *, rounds: int = ROUNDS) -> IntArray:
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
    """Return disjoint blocks of places below ``n_places``, of the given sizes, each in order.

    Guarantee
    ---------
    Uniform over all ways to cut the places into labelled blocks of these sizes; what the sizes
    leave over is a uniform sample as well.
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
    """Leave out what was drawn before; ``np.unique`` holds twice as much in memory."""
    order = np.argsort(drawn, kind="stable")
    ranked = drawn[order]
    return np.delete(drawn, order[1:][ranked[1:] == ranked[:-1]])


def _random_places(n_places: int, count: int, source: Source) -> IntArray:
    """Return at most ``count`` uniform places, with repetitions; words that fit no place drop."""
    words = source.words(count)
    last = (1 << 64) // n_places * n_places - 1
    kept = words[words <= np.uint64(last)] % np.uint64(n_places)
    return kept.astype(np.int64)
