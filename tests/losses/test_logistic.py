import math

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from tailguard.losses import Logistic


def test_exact_values():
    score, target = np.array([0.0, math.log(3), math.log(3)]), np.array([1.0, 1.0, 0.0])
    assert_allclose(Logistic().value(score, target), np.log([2, 4 / 3, 4]))
    assert_allclose(Logistic().slope(score, target), [-0.5, -0.25, 0.75])


def test_a_sure_and_right_score_keeps_its_tiny_loss():
    assert_allclose(Logistic().value([40.0, -40.0], [1.0, 0.0]), math.exp(-40), rtol=1e-12)


def test_a_sure_and_wrong_score_has_slope_one():
    assert_array_equal(Logistic().slope([1e308, -1e308], [0.0, 1.0]), [1.0, -1.0])


def test_only_zero_and_one_are_targets():
    targets = [0.0, 1.0, -1.0, 2.0, 0.5, math.nan, math.inf]
    assert_array_equal(Logistic().valid_target(targets), [True, True] + [False] * 5)


def test_clipped_curvature_meets_where_even_odds_go_out_of_reach():
    bound = Logistic().clipped_curvature_bound
    assert bound(clip_norm=5.0, row_bound=2.0) == 1.0
    assert bound(clip_norm=1.0, row_bound=10.0) == 9.0
    assert_allclose(bound(1.0, 2.0), bound(1.0, 2.0 + 1e-12))


def test_clipping_never_raises_the_curvature():
    for row_bound in (0.1, 1.0, 10.0):
        for clip_norm in (0.01, 0.3, 5.0):
            bound = Logistic().clipped_curvature_bound(clip_norm, row_bound)
            assert bound <= row_bound**2 / 4
