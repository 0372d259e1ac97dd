import math

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from tailguard.losses import Poisson


def test_exact_values():
    score, target = np.array([0.0, math.log(5), math.log(5)]), np.array([2.0, 5.0, 0.0])
    assert_allclose(Poisson().value(score, target), [1.0, 5 - 5 * math.log(5), 5.0])
    assert_allclose(Poisson().slope(score, target), [-1.0, 0.0, 5.0], atol=1e-14)


def test_targets_are_non_negative_numbers():
    targets = [0.0, 0.5, 3.0, -1e-9, math.nan, math.inf]
    assert_array_equal(Poisson().valid_target(targets), [True] * 3 + [False] * 3)


def test_slope_stays_finite_beyond_the_largest_exponent():
    slopes = Poisson().slope([500.0, 710.0, 1e308], [0.0, 0.0, 1e308])
    assert slopes[0] == slopes[1]
    assert np.isfinite(slopes).all()


def test_value_goes_on_along_its_tangent():
    start, rise = Poisson().value([500.0, 502.0], 0.0)
    assert_allclose(rise, 3 * start)


def test_dividing_targets_moves_the_score_by_a_logarithm():
    score, target = np.array([0.3, 1.0, -2.0]), np.array([4.0, 0.0, 1.0])
    scaled = Poisson().slope(score - math.log(8), target / 8)
    assert_allclose(8 * scaled, Poisson().slope(score, target))


def test_output_perturbation_is_refused():
    assert Poisson().clipped_curvature_bound(1.0, 1.0) == math.inf
