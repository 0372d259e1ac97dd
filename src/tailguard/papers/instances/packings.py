"""Words that lie far apart: the index sets of hard instances.

Words are drawn at random and kept if they are far from all kept ones. A lower bound on the number
of such words is :func:`tailguard.papers.fano.log_packing_size`; requests for more words than the
search finds are refused.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tailguard.checks import InputError, check_integer, shown
from tailguard.datasets.dataset import check_sizes
from tailguard.papers.fano import least_distance

CodeWords = NDArray[np.int8]

# The search stops after this many draws in a row that lie too near.
PATIENCE = 2000
# Each word is compared with all earlier ones: this many of 64 places take 4 seconds (measured).
MOST_WORDS = 10_000


def constant_weight_words(n_features: int, n_words: int, *, seed: int = 0) -> CodeWords:
    """Words in {0, 1} with ``d // 2`` ones, at least ``max(2, ceil(d / 8))`` places apart.

    *Reference.* Kamath, Liu and Zhang 2022, proof of Lemma 6.3. The paper has words in {-1, 1} of
    l1 norm d/2, which do not exist, and its proof of Theorem 6.4 words d/2 apart, which are too
    few.

    Examples
    --------
    >>> words = constant_weight_words(16, 4)
    >>> words.sum(axis=1), smallest_distance(words) >= 2
    (array([8, 8, 8, 8]), True)
    """
    check_integer("n_features", n_features, minimum=2)
    check_sizes(n_features=n_features)
    word = np.zeros(n_features, dtype=np.int8)
    word[: n_features // 2] = 1
    return _greedy(lambda rng: rng.permutation(word), least_distance(n_features), n_words, seed)


def sparse_words(n_features: int, n_nonzero: int, n_words: int, *, seed: int = 0) -> CodeWords:
    """Words in {-1, 0, 1} with ``n_nonzero`` non-zeros, at least half of that many places apart.

    *Reference.* Raskutti, Wainwright and Yu 2011; Tao and others 2022, Lemma 28.

    Examples
    --------
    >>> words = sparse_words(50, 4, 5)
    >>> abs(words).sum(axis=1), smallest_distance(words) >= 2
    (array([4, 4, 4, 4, 4]), True)
    """
    check_integer("n_features", n_features, minimum=2)
    check_sizes(n_features=n_features)
    check_integer("n_nonzero", n_nonzero, minimum=1, maximum=n_features)
    kept = np.arange(n_features) < n_nonzero

    def draw(rng: np.random.Generator) -> CodeWords:
        signs = rng.choice(np.array([-1, 1], dtype=np.int8), size=n_features)
        return signs * rng.permutation(kept)

    return _greedy(draw, math.ceil(n_nonzero / 2), n_words, seed)


def sign_words(n_features: int, n_words: int, *, seed: int = 0) -> CodeWords:
    """Words in {-1, 1}, at least ``ceil(d / 8)`` places apart.

    *Reference.* Xu and others 2025, proof of Theorem 4.

    Examples
    --------
    >>> words = sign_words(64, 8)
    >>> words.shape, smallest_distance(words) >= 8
    ((8, 64), True)
    """
    check_sizes(n_features=n_features)

    def draw(rng: np.random.Generator) -> CodeWords:
        return rng.choice(np.array([-1, 1], dtype=np.int8), size=n_features)

    return _greedy(draw, math.ceil(n_features / 8), n_words, seed)


def smallest_distance(words: CodeWords) -> int:
    """Fewest places in which two of the words differ.

    Examples
    --------
    >>> import numpy as np
    >>> smallest_distance(np.array([[0, 1, 1], [1, 0, 1], [1, 1, 1]], dtype=np.int8))
    1
    """
    if not isinstance(words, np.ndarray) or words.ndim != 2 or len(words) < 2:
        raise InputError(f"words must be an array of two or more, a row each; got {shown(words)}.")
    pairs = (np.count_nonzero(words[i + 1 :] != words[i], axis=1) for i in range(len(words) - 1))
    return min(int(differing.min()) for differing in pairs)


def _greedy(
    draw: Callable[[np.random.Generator], CodeWords], distance: int, n_words: int, seed: int
) -> CodeWords:
    """Draw words, and keep those at least ``distance`` from all kept ones."""
    check_integer("n_words", n_words, minimum=1, maximum=MOST_WORDS)
    rng = np.random.default_rng(check_integer("seed", seed, minimum=0))
    words = draw(rng)[None, :]
    misses = 0
    while len(words) < n_words:
        word = draw(rng)
        if np.count_nonzero(words != word, axis=1).min() >= distance:
            words, misses = np.vstack([words, word]), 0
        elif (misses := misses + 1) == PATIENCE:
            raise InputError(
                f"n_words must be about {len(words)} or fewer for words of {words.shape[1]} "
                f"places, {distance} apart; got {n_words}."
            )
    return words
