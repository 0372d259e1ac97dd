"""Regimes: privacy dominates at every point, and what cannot be simulated is said to be so."""

import math

import pytest

from tailguard.means.trimmed import Trimmed
from tailguard.papers.rates import MEAN_RATES
from tailguard.papers.reproduce.experiments.rates import DOMINANCE, find_regime
from tailguard.papers.reproduce.judges import fit_slope
from tailguard.papers.reproduce.mean_cases import CASES

SHOWN = [
    (name, order, axis)
    for name, case in CASES.items()
    for order in case.orders
    for axis in ("n", "d")
]


def test_every_rate_has_a_case():
    assert {case.rate.method for case in CASES.values()} == MEAN_RATES.keys()
    assert all(name.startswith(case.rate.method) for name, case in CASES.items())


@pytest.mark.parametrize(("name", "order", "axis"), SHOWN)
def test_privacy_dominates_on_a_long_enough_grid_where_plans_predict_the_rate(name, order, axis):
    regime = find_regime(CASES[name], order, axis, n_points=4)
    assert regime.reachable
    decades = math.log10(regime.sizes[-1] / regime.sizes[0])
    assert decades >= (2.49 if axis == "n" else 1.5)
    plans = [regime.plan(point)[1] for point in regime.points]
    for plan in plans:
        private = math.hypot(plan.expected.noise, regime.case.bias(plan, order))
        assert private >= DOMINANCE * plan.expected.sampling
    if regime.case.method is not Trimmed:  # whose noise follows the records
        noise = [plan.expected.noise for plan in plans]
        rate = regime.case.rate
        predicted = (rate.slope_in_rows if axis == "n" else rate.slope_in_features)(order)
        assert fit_slope(regime.sizes, noise) == pytest.approx(predicted, abs=0.05)


def test_a_symmetric_law_has_no_bias_to_show_the_trimmed_rate_by():
    regime = find_regime(CASES["trimmed"], 2.0, "n", n_points=3, symmetric=True)
    assert not regime.reachable
    assert regime.points[-1][0] > 10**7


def test_a_larger_budget_is_not_in_the_regime():
    regime = find_regime(CASES["clipped"], 2.0, "d", n_points=4)
    assert regime.shows()
    larger = type(regime)(regime.case, 2.0, "d", regime.points, 2.0 * regime.amount)
    assert not larger.shows()
