"""A uniformly random order of places, from which blocks of records are cut.

Every place gets a random 64-bit word and the places are ranked by their words. Places with equal
words are ranked again by fresh words of their own, so that no order is preferred: a tie has no
bias, and needs no rejection of the whole draw.

Reference
---------
Knuth 1997, "The Art of Computer Programming", volume 2, Section 3.4.2 (random permutations).
"""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from tailguard.noise.sources import Source

__all__ = ["random_partition", "random_permutation"]

IntArray = NDArray[np.int64]

# A tie that is left after so many rounds keeps the order of places. Two of 2**40 places tie in all
# rounds with a chance below 2**-170; only a source that repeats itself, as in tests, comes there.
ROUNDS = 4


def random_permutation(count: int, source: Source, *, rounds: int = ROUNDS) -> IntArray:
    """Return the numbers below ``count`` in a uniformly random order.

    Guarantee
    ---------
    Uniform over all orders up to a total variation of ``count**2 / 2**257``, if the source's words
    are independent and uniform.

    Edge cases
    ----------
    A source that always returns the same word leaves the order as it is.

    Examples
    --------
    >>> from tailguard.noise.sources import CryptographicSource
    >>> sorted(random_permutation(5, CryptographicSource()).tolist())
    [0, 1, 2, 3, 4]
    """
    words = source.words(count)
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

    Examples
    --------
    >>> from tailguard.noise.sources import CryptographicSource
    >>> blocks = random_partition(10, (4, 4), CryptographicSource())
    >>> [len(block) for block in blocks], bool(set(blocks[0]) & set(blocks[1]))
    ([4, 4], False)
    """
    order = random_permutation(n_places, source)
    ends = accumulate(sizes)
    return tuple(np.sort(order[end - size : end]) for size, end in zip(sizes, ends, strict=True))
