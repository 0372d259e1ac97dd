import numpy as np
from numpy.testing import assert_array_equal

from tailguard.losses import Squared


def test_exact_values():
    score, target = np.array([3.0, -1.0, 2.0]), np.array([1.0, 0.5, 2.0])
    assert_array_equal(Squared().value(score, target), [2.0, 1.125, 0.0])
    assert_array_equal(Squared().slope(score, target), [2.0, -1.5, 0.0])


def test_clipped_curvature_is_that_of_the_longest_row():
    assert Squared().clipped_curvature_bound(clip_norm=0.1, row_bound=12.0) == 144.0


def test_overflow_keeps_its_sign():
    assert_array_equal(Squared().slope([1e308, -1e308], [-1e308, 1e308]), [np.inf, -np.inf])
