from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tailguard.checks import InputError
from tailguard.sets import L2Ball, SparseBall


def test_no_other_choice_of_entries_is_nearer():
    rng = np.random.default_rng(4)
    for _ in range(20):
        point = rng.standard_normal(6)
        found = np.linalg.norm(point - SparseBall(2, radius=0.8).project(point))
        for kept in combinations(range(6), 2):
            sparse = np.zeros(6)
            sparse[list(kept)] = point[list(kept)]
            assert found <= np.linalg.norm(point - L2Ball(0.8).project(sparse)) + 1e-12


def test_of_equal_entries_the_earlier_ones_are_kept():
    assert_array_equal(SparseBall(2).project([1.0, -1.0, 1.0]), [1.0, -1.0, 0.0])


def test_the_radius_comes_after_the_choice():
    assert_allclose(SparseBall(2, radius=1.0).project([3.0, 1.0, -4.0]), [0.6, 0.0, -0.8])


def test_more_entries_than_there_are():
    assert_array_equal(SparseBall(9).project([1.0, 2.0]), [1.0, 2.0])


def test_is_marked_as_not_convex():
    assert SparseBall.convex is False
    assert SparseBall(1).diameter() == np.inf
    assert SparseBall(1, radius=2.0).diameter() == 4.0


def test_contains_counts_entries_and_measures_length():
    sparse = SparseBall(1, radius=2.0)
    assert sparse.contains([0.0, 2.0])
    assert not sparse.contains([1e-12, 1.0])
    assert not sparse.contains([0.0, 2.1])


def test_parameters_are_checked():
    with pytest.raises(InputError, match="n_nonzero must be a whole number of at least 1"):
        SparseBall(0)
    with pytest.raises(InputError, match="radius must be a finite number above 0"):
        SparseBall(1, radius=0.0)
