"""The figures that the pages state follow from the code."""

import math

import pytest

import tailguard as tg
from tailguard.solvers.base import Problem
from tailguard.solvers.whitened.units import standing_out
from tailguard.solvers.whitened_newton import WhitenedNewton

WINDOW, BULK = 4, 0.75  # octaves that hold most differences of a typical column


@pytest.mark.parametrize("n_features", [1, 8, 50])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_smallest_number_of_records_is_the_one_in_the_quickstart(n_features, epsilon):
    guarantee = tg.ApproxDP(epsilon, 1e-6)
    width = n_features + 1
    stated = 220 * math.sqrt(width) / guarantee.gaussian_mu()
    plan = WhitenedNewton().plan(
        Problem(tg.losses.Squared(), round(stated), n_features, intercept=True), guarantee
    )
    # A scale is seen where the n / 2 differences in its window stand out from the noise; the
    # stated number is twice that.
    noise_std = math.sqrt(2 * n_features * WINDOW) / plan.stage("spread").mu
    assert stated == pytest.approx(2 * 2 * standing_out(n_features) * noise_std / BULK, rel=0.1)


@pytest.mark.parametrize(("share", "told"), [(0.15, False), (2.0, True)])
def test_far_below_it_the_answer_is_a_constant(share, told):
    """A column of millions predicts well only when its scale was bought."""
    n_rows = round(share * 220 * math.sqrt(2) / tg.GDP(1.0).gaussian_mu())
    x = [[5e6 + 1e6 * math.sin(i)] for i in range(n_rows)]
    y = [1e-6 * row[0] for row in x]
    model = tg.LinearRegression(guarantee=tg.GDP(1.0), random_state=0).fit(x, y)
    assert (model.score(x, y) > 0.5) == told
