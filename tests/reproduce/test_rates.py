"""Measured rates: one real row, the same whatever the threads, and honest verdicts."""

import pytest

from tailguard.datasets.heavy_laws import StudentLaw
from tailguard.reproduce.cases import CASES
from tailguard.reproduce.rates import QUICK, Measured, experiments, measure_rates
from tailguard.reproduce.regimes import find_regime
from tailguard.reproduce.slopes import FittedSlope


def test_the_soft_mean_has_its_rates():
    found = measure_rates(experiments(QUICK, ["soft", "soft-printed"]), n_seeds=8)
    assert [each.verdict for each in found] == ["agrees"] * 8
    fast, slow = found[1].slope.mean, found[5].slope.mean  # Student-t, along d
    assert slow - fast > 0.1  # the printed scale costs a power of d


def test_threads_change_nothing():
    listed = experiments(QUICK, ["truncated"])[:2]
    one = measure_rates(listed, n_seeds=3, n_threads=1)
    assert one == measure_rates(listed, n_seeds=3, n_threads=2)


def test_a_wrong_theory_is_seen():
    """With the printed scale, whose slope in d is 1, the balanced rate of 0.75 is off."""
    regime = find_regime(CASES["soft-printed"], 2.0, "d", n_points=3)
    (found,) = measure_rates([(regime, StudentLaw(2.0))], n_seeds=5)
    assert not found.slope.near(0.75, tolerance=0.1)


def test_what_is_out_of_reach_is_not_run():
    regime = find_regime(CASES["trimmed"], 2.0, "n", n_points=3, symmetric=True)
    (found,) = measure_rates([(regime, StudentLaw(2.0))], n_seeds=2)
    assert (found.slope, found.verdict) == (None, "not reachable")


@pytest.mark.parametrize(("mean", "verdict"), [(-0.55, "agrees"), (-0.65, "off"), (-0.35, "off")])
def test_verdicts(mean, verdict):
    regime = find_regime(CASES["soft"], 2.0, "n", n_points=3)
    assert Measured(regime, StudentLaw(2.0), FittedSlope(mean, -1.0, 0.0)).verdict == verdict
