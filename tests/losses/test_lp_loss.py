import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tailguard.checks import InputError
from tailguard.losses import LpLoss, Squared


def test_exact_values():
    assert_array_equal(LpLoss(p=4).value([3.0, -1.0], [1.0, 0.0]), [16.0, 1.0])
    assert_array_equal(LpLoss(p=4).slope([3.0, -1.0], [1.0, 0.0]), [32.0, -4.0])
    assert_array_equal(LpLoss(p=3).slope([-2.0], [0.0]), [-12.0])


@pytest.mark.parametrize("clip_norm", [0.5, 4.0])
@pytest.mark.parametrize("row_bound", [0.1, 8.0])
def test_clipped_curvature_of_the_fourth_power(clip_norm, row_bound):
    expected = 12 * (clip_norm / 4) ** (2 / 3) * row_bound ** (4 / 3)
    assert_allclose(LpLoss(p=4).clipped_curvature_bound(clip_norm, row_bound), expected)


def test_second_power_is_twice_squared():
    residual = np.linspace(-3, 3, 13)
    assert_allclose(LpLoss(p=2).slope(residual, 0.0), 2 * Squared().slope(residual, 0.0))
    assert LpLoss(p=2).curvature_bound() == 2.0
    assert LpLoss(p=2).clipped_curvature_bound(1.0, 5.0) == 50.0


def test_unclipped_curvature_is_unbounded():
    assert LpLoss(p=2.01).curvature_bound() == np.inf


def test_equal_powers_give_equal_losses():
    assert LpLoss(p=4) == LpLoss(p=4.0) == LpLoss()


@pytest.mark.parametrize("p", [1.9, 16.1, 900, 10**400, -4, np.inf, np.nan, "4", True, None])
def test_power_is_checked(p):
    with pytest.raises(InputError, match="p must be a number from 2 to 16; got"):
        LpLoss(p=p)


def test_the_ends_of_the_range_are_allowed():
    assert (LpLoss(p=2).p, LpLoss(p=16).p) == (2.0, 16.0)
