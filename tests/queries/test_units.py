"""Units map weights back to the user's coordinates exactly."""

import numpy as np
import pytest

from tailguard.losses.base import Link
from tailguard.queries.units import Units

UNITS = Units(np.array([50.0, -2.0]), np.array([3.0, 1e-3]), True, 7.0, 2.0, 0.5)
WEIGHTS = np.array([0.4, -0.3, 1.1])
X = np.array([[48.0, -2.001], [55.0, -1.999]])


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        (Link.IDENTITY, lambda score: 7.0 + 2.0 * (score - 0.5 / 2.0)),
        (Link.LOG, lambda score: score + np.log(2.0) - 0.5),  # the scale becomes a shift
        (Link.LOGIT, lambda score: score - 0.5),  # the target is left alone
    ],
)
def test_scores_in_units_are_mapped_back(link, expected):
    rows = np.column_stack([(X - UNITS.center) / UNITS.scale, np.ones(2)])
    coef, intercept = UNITS.coefficients(WEIGHTS, link)
    np.testing.assert_allclose(X @ coef + intercept, expected(rows @ WEIGHTS), rtol=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
def test_raw_units_change_nothing(intercept):
    units = Units.raw(2, intercept=intercept)
    weights = np.array([1.0, 2.0, 3.0])[: units.size]
    for link in Link:
        coef, constant = units.coefficients(weights, link)
        assert coef.tolist() == [1.0, 2.0]
        assert constant == (3.0 if intercept else 0.0)
    assert constant == units.coefficients(weights)[1]
