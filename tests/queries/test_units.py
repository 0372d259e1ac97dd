"""Units map weights back to the user's coordinates exactly."""

import numpy as np
import pytest

from tailguard.losses.base import Link
from tailguard.queries.units import Units

UNITS = Units(np.array([50.0, -2.0]), np.array([3.0, 1e-3]), True, 7.0, 2.0, 0.5)
WEIGHTS = np.array([0.4, -0.3, 1.1])
X = np.array([[48.0, -2.001], [55.0, -1.999]])


def score_in_units():
    rows = np.column_stack([(X - UNITS.center) / UNITS.scale, np.ones(2)])
    return rows @ WEIGHTS


def test_a_shifted_and_scaled_target_is_mapped_back():
    coef, intercept = UNITS.coefficients(WEIGHTS, Link.IDENTITY)
    expected = 7.0 + 2.0 * (score_in_units() - 0.5 / 2.0)
    np.testing.assert_allclose(X @ coef + intercept, expected, rtol=1e-12)


def test_a_log_link_turns_the_scale_into_a_shift():
    coef, intercept = UNITS.coefficients(WEIGHTS, Link.LOG)
    expected = score_in_units() + np.log(2.0) - 0.5
    np.testing.assert_allclose(X @ coef + intercept, expected, rtol=1e-12)


def test_an_untouched_target_is_left_alone():
    coef, intercept = UNITS.coefficients(WEIGHTS, Link.LOGIT)
    np.testing.assert_allclose(X @ coef + intercept, score_in_units() - 0.5, rtol=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
def test_raw_units_change_nothing(intercept):
    units = Units.raw(2, intercept=intercept)
    weights = np.array([1.0, 2.0, 3.0])[: units.size]
    for link in Link:
        coef, constant = units.coefficients(weights, link)
        assert coef.tolist() == [1.0, 2.0]
        assert constant == (3.0 if intercept else 0.0)
    assert constant == units.coefficients(weights)[1]
