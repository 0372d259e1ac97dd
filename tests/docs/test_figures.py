"""The figures that the pages state follow from the code."""

import math

import pytest

import tailguard as tg
from tailguard.solvers.base import Problem
from tailguard.solvers.private_units import SEEN
from tailguard.solvers.scaled_gradient_descent import ScaledGradientDescent

N_ROWS = 10_000  # of no consequence to the share that the units get


@pytest.mark.parametrize("n_features", [1, 8, 50])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_smallest_number_of_records_is_the_one_in_the_quickstart(n_features, epsilon):
    guarantee = tg.ApproxDP(epsilon, 1e-6)
    width = n_features + 1
    plan = ScaledGradientDescent().plan(
        Problem(tg.losses.Squared(), N_ROWS, n_features, intercept=True), guarantee
    )
    # A scale is told from zero where half of the n / 2 pairs exceed SEEN standard deviations.
    smallest = 4 * SEEN * math.sqrt(width) / plan.stage("spread").mu
    stated = 300 * math.sqrt(width) / guarantee.gaussian_mu()
    assert smallest == pytest.approx(stated, rel=0.05)


@pytest.mark.parametrize(("share", "told"), [(0.5, False), (2.0, True)])
def test_below_it_columns_are_read_in_their_raw_units(share, told):
    """A column of millions predicts well only when its scale was bought."""
    n_rows = round(share * 300 * math.sqrt(2) / tg.GDP(1.0).gaussian_mu())
    x = [[5e6 + 1e6 * math.sin(i)] for i in range(n_rows)]
    y = [1e-6 * row[0] for row in x]
    model = tg.LinearRegression(guarantee=tg.GDP(1.0), random_state=0).fit(x, y)
    assert (model.score(x, y) > 0.5) == told
