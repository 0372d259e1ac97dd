import math

import numpy as np
import pytest

from tailguard.checks import InputError
from tailguard.papers.instances.packings import (
    constant_weight_words,
    sign_words,
    smallest_distance,
    sparse_words,
)


@pytest.mark.parametrize(("n_features", "n_words"), [(8, 30), (16, 100), (32, 100), (64, 100)])
def test_weights_and_distances(n_features, n_words):
    words = constant_weight_words(n_features, n_words)
    assert words.shape == (n_words, n_features)
    assert set(np.unique(words)) == {0, 1}
    assert (words.sum(axis=1) == n_features // 2).all()
    assert smallest_distance(words) >= max(2, math.ceil(n_features / 8))


@pytest.mark.parametrize(("n_features", "n_nonzero"), [(10, 1), (50, 5), (200, 8)])
def test_sparse_words(n_features, n_nonzero):
    words = sparse_words(n_features, n_nonzero, 15)
    assert (np.abs(words).sum(axis=1) == n_nonzero).all()
    assert smallest_distance(words) >= math.ceil(n_nonzero / 2)
    assert {-1, 0, 1} == set(np.unique(words))


def test_sign_words_are_as_many_as_the_proof_wants():
    words = sign_words(100, 2**5)
    assert set(np.unique(words)) == {-1, 1}
    assert smallest_distance(words) >= 13


@pytest.mark.parametrize(
    "draw", [constant_weight_words, sign_words, lambda d, m, seed: sparse_words(d, 4, m, seed=seed)]
)
def test_same_seed_same_words(draw):
    assert np.array_equal(draw(40, 6, seed=1), draw(40, 6, seed=1))
    assert not np.array_equal(draw(40, 6, seed=1), draw(40, 6, seed=2))


def test_more_words_than_there_are_is_refused():
    with pytest.raises(InputError, match="n_words"):
        constant_weight_words(4, 7)  # there are six
    assert len(constant_weight_words(4, 6)) == 6


def test_bad_sizes_are_refused():
    with pytest.raises(InputError, match="n_features"):
        constant_weight_words(1, 2)
    with pytest.raises(InputError, match="n_nonzero"):
        sparse_words(5, 6, 2)
    with pytest.raises(InputError, match="seed"):
        sign_words(5, 2, seed=-1)
    for words in (sign_words(5, 1), np.zeros(3), None, 3, "ab", [[1, 2], [3]]):
        with pytest.raises(InputError, match="words must be an array of two or more, a row each"):
            smallest_distance(words)


@pytest.mark.parametrize("size", [10**15, 10**19, 10**400, "x"])
@pytest.mark.parametrize(
    "draw", [constant_weight_words, sign_words, lambda d, m: sparse_words(d, 1, m)]
)
def test_absurd_sizes_are_refused_at_once(draw, size):
    with pytest.raises(InputError, match="n_features must be"):
        draw(size, 2)
    with pytest.raises(InputError, match="n_words must be a whole number from 1 to 10000; got"):
        draw(16, size)
