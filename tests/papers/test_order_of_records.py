"""Theorems find as much in sorted records as in shuffled ones."""

import numpy as np
import pytest

from contracts.test_order import assert_as_good, excess_risks, regression, sorted_by_each
from papers.support.theorems import CASES


@pytest.mark.audit
@pytest.mark.parametrize("name", CASES)
def test_a_theorem_fits_sorted_records_as_well_as_shuffled_ones(name):
    X, y = regression(noise=0.5, n_rows=4_000)
    orders = (np.arange(len(X)), *sorted_by_each(*X.T, y))
    case = CASES[name]
    solver, problem = case.theorem(len(X), 3).solver, case.problem(len(X), 3)
    shuffled, *others = excess_risks(solver, problem, X, y, orders, case.guarantee)
    assert_as_good(others, shuffled, slack=0.2)
