"""Estimates on blocks of records are minimisers of the mean loss with its ridge."""

import numpy as np
import pytest

from tailguard.losses import Squared
from tailguard.queries.block_minimiser import BlockMinimiser, no_estimate


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("ridge", [1e-3, 0.5])
def test_half_the_squared_residual_has_the_minimiser_of_ridge_regression(intercept, ridge):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = X @ [1.0, -2.0] + 3.0 + rng.standard_normal(40)
    design = np.column_stack([X, np.ones(40)]) if intercept else X
    gram = design.T @ design / 40 + 2.0 * ridge * np.eye(design.shape[1])
    found = BlockMinimiser(Squared(), intercept=intercept, ridge=ridge)(X, y)
    assert found == pytest.approx(np.linalg.solve(gram, design.T @ y / 40), abs=1e-4)


def test_public_numbers_need_no_estimate():
    assert no_estimate(np.ones((40, 2)), np.ones(40)).size == 0
