import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq

from tailguard.checks import InputError
from tailguard.sets import Simplex


def by_root_finding(point, total):
    """Lower all entries by the one level that makes the sum right."""
    span = (point.min() - total, point.max())
    level = brentq(lambda t: np.maximum(point - t, 0).sum() - total, *span, xtol=1e-15)
    return np.maximum(point - level, 0)


@pytest.mark.parametrize("total", [1e-3, 1.0, 50.0])
def test_agrees_with_root_finding(total):
    rng = np.random.default_rng(5)
    for size in (1, 2, 7, 100):
        point = rng.standard_cauchy(size)
        expected = by_root_finding(point, total)
        assert_allclose(Simplex(total).project(point), expected, atol=1e-11)


def test_ties_share_alike():
    assert_allclose(Simplex().project(np.full(4, 7.0)), 0.25)


def test_a_common_shift_changes_nothing():
    point = np.array([0.5, 0.25, -1.0])
    assert_array_equal(Simplex().project(point + 2.0**40), Simplex().project(point))


@pytest.mark.parametrize("huge", [1e16, 1e308])
def test_huge_entries_lose_no_digits(huge):
    assert_array_equal(Simplex(3.0).project([huge, huge, -huge, 1.0]), [1.5, 1.5, 0.0, 0.0])


def test_linear_minimiser_is_the_cheapest_corner():
    assert_array_equal(Simplex(2.0).minimise_linear([3.0, -1.0, 0.0]), [0.0, 2.0, 0.0])


def test_negative_entries_are_outside():
    assert not Simplex().contains([1.5, -0.5])
    assert not Simplex().contains([0.5, 0.4])


def test_total_is_checked():
    with pytest.raises(InputError, match="total must be a finite number above 0"):
        Simplex(total=-1)
