"""Measured rates: one real row, and honest decisions."""

from dataclasses import replace

import pytest

from tailguard.papers.instances.heavy_laws import StudentLaw
from tailguard.papers.reproduce.experiments.rates import (
    Slope,
    find_regime,
    has_rate,
    list_slopes,
    rate_cells,
)
from tailguard.papers.reproduce.mean_cases import CASES
from tailguard.papers.reproduce.results import Point, Results


def measured(slopes, n_seeds):
    return Results(
        replace(point, seed=seed)
        for cell in rate_cells(slopes)
        for seed in range(n_seeds)
        for point in cell.measure(seed)
    )


@pytest.mark.long
def test_the_soft_mean_has_its_rates():
    found = measured(list_slopes(["soft", "soft-printed"], quick=True), n_seeds=8)
    for axis in ("n", "d"):
        assert has_rate("soft", axis)(found, "tight").outcome == "holds"
        assert has_rate("soft", axis)(found, "printed").outcome == "not run"
        assert has_rate("soft-printed", axis)(found, "printed").outcome == "holds"


def test_slopes_that_need_the_same_sample_share_it():
    slopes = list_slopes(["soft", "truncated"], quick=True)
    names = [cell.name for cell in rate_cells(slopes)]
    assert len(set(names)) == len(names) < sum(len(slope.regime.points) for slope in slopes)


@pytest.mark.parametrize(
    ("slope", "outcome"), [(-0.55, "holds"), (-0.65, "does not hold"), (-0.35, "does not hold")]
)
def test_a_wrong_slope_is_seen(slope, outcome):
    rows = [
        Point("soft, along n", "student-t, k = 2", "tight", x, x**slope, seed)
        for x in (10.0, 100.0)
        for seed in range(3)
    ]
    assert has_rate("soft", "n")(Results(rows), "tight").outcome == outcome


def test_what_is_out_of_reach_is_not_run():
    regime = find_regime(CASES["trimmed"], 2.0, "n", n_points=3, symmetric=True)
    assert rate_cells([Slope(regime, StudentLaw(2.0))]) == []
