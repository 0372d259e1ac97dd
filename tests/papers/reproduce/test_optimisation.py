"""Rates of optimisation: all theorems are there, each runs, and verdicts can fail."""

import csv
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tailguard as tg
from tailguard.papers import kamath2022, ranking, wang2020, xu2025
from tailguard.papers.instances.heavy_laws import ParetoLaw
from tailguard.papers.reproduce.experiments import optimisation
from tailguard.papers.reproduce.experiments.optimisation import (
    LOWER,
    UPPER,
    RiskSlope,
    has_risk_rate,
    list_slopes,
    risk_cell,
)
from tailguard.papers.reproduce.judges import TOLERANCE
from tailguard.papers.reproduce.results import Point, Results
from tailguard.papers.reproduce.risk_cases import (
    AXES,
    CASES,
    linear_risk,
)

# Bounds that state no rate, or one that hangs on facts which no law here varies.
WITHOUT_RATE = {
    kamath2022.convex_with_probability,  # Theorem 5.2 with other groups
    wang2020.stochastic,  # nothing is proved
    wang2020.trimmed_strongly_convex,  # sub-exponential tails alone
    wang2020.sample_aggregate,  # hangs on the risk of the minimiser
}
REACHED = [name for name, case in CASES.items() if case.reached]
STORED = Path(__file__).parents[3] / "benchmarks/results/reproduce"


def test_every_theorem_with_a_rate_is_measured():
    named = {name for names in ranking.THEOREMS.values() for name in names}
    measured = {CASES[name].call for name in REACHED} | WITHOUT_RATE
    missing = {name for name in named if ranking.theorem_called(name) not in measured}
    assert missing == set(), "reproduce/risk_cases.py has a case for each, or it has no rate"
    assert len(measured) == len(named)


def test_every_theorem_and_axis_has_a_claim():
    claims = [claim for each in optimisation.experiments() for claim in each.claims]
    assert len(claims) == len(CASES) * len(AXES)


def short_slope(name):
    """Two sizes that are near each other."""
    first = CASES[name].spans[0][0]
    spans = ((first, 1.2 * first), *CASES[name].spans[1:])
    return RiskSlope(replace(CASES[name], spans=spans), "n", CASES[name].orders[0], n_points=2)


@pytest.mark.long
@pytest.mark.parametrize("name", REACHED)
def test_every_theorem_runs(name):
    slope = short_slope(name)
    cell = risk_cell(slope)
    points = cell.measure(3)
    assert [point.curve for point in points] == [
        name for name in (slope.curve, *slope.drawn) for _ in range(2)
    ]
    assert all(0.0 < point.value < 4.0 for point in points)
    assert points[:2] != cell.measure(4)[:2]


@pytest.mark.parametrize(
    "name",
    ["wang2020 8", *(pytest.param(name, marks=pytest.mark.audit) for name in REACHED)],
)
def test_a_seed_measures_the_same_again(name):
    cell = risk_cell(short_slope(name))
    assert cell.measure(3) == cell.measure(3)


def stored(name, file):
    with (STORED / f"{file}.csv").open(encoding="utf-8", newline="") as lines:
        paper, _, theorem = name.partition(" ")
        for row in csv.DictReader(lines):
            if row.get("panel") == f"{name}, along n":
                return row
            if (row.get("experiment"), row.get("claim")) == (
                f"optimisation-{paper}", f"{theorem}, along n",
            ):  # fmt: skip
                return row
    raise AssertionError(name)


@pytest.mark.parametrize("name", REACHED)
def test_stored_verdicts_are_of_these_budgets(name):
    case = CASES[name]
    told = f"at mu = 1 from n = {case.spans[0][0] * case.base[2]:.0e}"
    assert stored(name, "claims")["tight_figure"].endswith(told)


@pytest.mark.parametrize(
    "name",
    [
        "wang2020 8",
        *(
            pytest.param(name, marks=pytest.mark.audit)
            for name in ("kamath2022 5.2", "tao2022 6", "xu2025 6")
        ),
    ],
)
def test_stored_risks_are_measured_again(name):
    """All seeds at the fewest records: half a percent of mu more moves the least risk by more."""
    case, row = CASES[name], stored(name, f"optimisation-{name.partition(' ')[0]}")
    theorem = case.theorem("n", float(row["x"]), order=case.orders[0])
    law = ParetoLaw(case.orders[0] * (2.0 if case.doubled else 1.0))
    risks = [case.task.excess(theorem, law, seed) for seed in range(int(row["seeds"]))]
    found = {"least": min(risks), "median": np.median(risks), "most": max(risks)}
    assert found == pytest.approx({key: float(row[key]) for key in found}, rel=1e-3)


def measured(slope, power, wobble=0.0):
    return Results(
        Point(slope.panel, slope.curve, "tight", x, x ** (power + wobble * (seed - 1.5)), seed)
        for x in slope.sizes
        for seed in range(4)
    )


@pytest.mark.parametrize(("name", "axis"), [(REACHED[0], "d"), ("xu2025 6", "n")])
def test_verdicts(name, axis):
    case = CASES[name]
    slope, judge = RiskSlope(case, axis, case.orders[0]), has_risk_rate(case, axis)
    for reading in ("printed", "tight"):
        wanted = slope.predicted(UPPER, reading)
        for off, outcome in (
            (0.0, "holds"),
            (0.9 * TOLERANCE, "holds"),
            (1.5 * TOLERANCE, "does not hold"),
            (-1.5 * TOLERANCE, "better than the theorem"),
        ):
            assert judge(measured(slope, wanted + off), reading).outcome == outcome
        decision = judge(measured(slope, wanted + 1.5 * TOLERANCE, wobble=0.3), reading)
        assert decision.outcome == "not reached at this size"
        assert decision.figure.startswith("seeds do not tell")


@pytest.mark.parametrize(
    ("name", "axis", "printed"),
    [  # Wang 7: d^2 / (n eps^2); Wang 8, (14): d^(2/3) / (n eps^2)^(1/3)
        ("wang2020 7", "d", 2.0),
        ("wang2020 8", "d", 2.0 / 3.0),
        # Xu 6: r D (sqrt(d) / (eps n))^(1/2), r the root of d; Xu 7, (4): its square at theta = 2
        ("xu2025 6", "n", -0.5),
        ("xu2025 6", "d", 0.75),
        ("xu2025 6", "mu", -0.5),
        ("xu2025 7", "n", -1.0),
        ("xu2025 7", "d", 1.5),
        ("xu2025 7", "mu", -1.0),
        # Xu 3: its square at theta = 2; Kamath 5.5: d^((1+q)/2) / (rho^(1/4) sqrt(n)), q = 1
        ("xu2025 3", "n", -1.0),
        ("xu2025 3", "d", 1.5),
        ("xu2025 3", "mu", -1.0),
        ("kamath2022 5.5", "mu", -0.5),
    ],
)
def test_slopes_as_printed_are_those_of_the_texts(name, axis, printed):
    slope = RiskSlope(CASES[name], axis, 2.0)
    assert slope.predicted(UPPER, "printed") == pytest.approx(printed)
    assert slope.predicted(UPPER) != pytest.approx(printed)


@pytest.mark.parametrize("name", ["zhao2024 4", "zhao2024 7"])
def test_the_lower_bound_of_zhao_is_printed_with_another_root_of_the_columns(name):
    """(6) is sqrt(d) (sqrt(d) / (eps n))^(1/2) at p = 2; E51 takes the first root away."""
    slope = RiskSlope(CASES[name], "d", 2.0)
    assert [slope.predicted(LOWER, each) for each in ("printed", "tight")] == [0.75, 0.25]
    decisions = [has_risk_rate(slope.case, "d")(measured(slope, 0.75), each).figure
                 for each in ("printed", "tight")]  # fmt: skip
    for decision, bound in zip(decisions, ("0.75", "0.25"), strict=True):
        assert f"lower bound {bound} (" in decision
    assert slope.drawn == {UPPER: 0.75, f"{LOWER}, printed": 0.75, f"{LOWER}, corrected": 0.25}


@pytest.mark.parametrize(("name", "rate"), [("xu2025 3", -0.5), ("xu2025 7", -0.375)])
def test_on_a_square_steps_for_the_whole_diameter_leave_the_power_four_thirds(name, rate):
    """E65: of Theorem 1's rate, and of Theorem 6's with noise over batches; by the plans too."""
    case = CASES[name]
    slope = RiskSlope(case, "n", 2.0)
    assert slope.predicted(UPPER) == pytest.approx(4.0 / 3.0 * rate)
    sizes = (10**6, 10**7, 10**8)
    risks = [case.theorem("n", size, order=2.0).predicted_excess(1.0) for size in sizes]
    planned = np.polyfit(np.log(sizes), np.log(risks), 1)[0]
    assert planned == pytest.approx(slope.predicted(UPPER), abs=0.02)


def test_along_the_columns_of_the_grid_the_plans_of_xu_7_have_more():
    case = CASES["xu2025 7"]
    sizes = RiskSlope(case, "d", 2.0).sizes
    risks = [case.theorem("d", size, order=2.0).predicted_excess(1.0) for size in sizes]
    assert case.reason.endswith(f"{np.polyfit(np.log(sizes), np.log(risks), 1)[0]:.2f}.")


def test_what_is_measured_is_held_to_either_slope():
    slope = RiskSlope(CASES["xu2025 6"], "n", 2.0)
    judge, found = has_risk_rate(slope.case, "n"), measured(slope, -0.37)
    outcomes = [judge(found, reading).outcome for reading in ("printed", "tight")]
    assert outcomes == ["does not hold", "holds"]


def test_one_wrong_order_fails_the_claim():
    case = CASES["kamath2022 5.7"]
    both = [RiskSlope(case, "n", order) for order in case.orders]
    right = [row for slope in both for row in rows_of(slope, slope.predicted(UPPER))]
    assert has_risk_rate(case, "n")(Results(right), "tight").outcome == "holds"
    # the slope of order 2 where that of order 3 is wanted
    wrong = [row for slope in both for row in rows_of(slope, both[0].predicted(UPPER))]
    assert has_risk_rate(case, "n")(Results(wrong), "tight").outcome == "does not hold"


def rows_of(slope, power):
    return [
        Point(slope.panel, slope.curve, "tight", x, x**power, seed)
        for x in slope.sizes
        for seed in range(3)
    ]


@pytest.mark.parametrize("name", [name for name in CASES if name not in REACHED])
def test_what_is_out_of_reach_says_how_far(name):
    case = CASES[name]
    assert name not in {slope.case.name for slope in list_slopes("", quick=False)}
    decision = has_risk_rate(case, "d")(Results([]), "tight")
    assert decision.outcome == "not run"
    assert f"{case.rows_needed():.0e} records" in decision.figure
    near = case.theorem("n", case.rows_needed(), order=2.0)
    nearer = case.theorem("n", case.rows_needed() / 10.0**0.25, order=2.0)
    assert near.noise_std < nearer.noise_std
    assert case.rows_needed() > 10.0 * CASES[name.removesuffix(" uniform")].spans[0][1]


DESCENTS = [name for name in REACHED if not name.startswith("xu2025")]


@pytest.mark.parametrize("axis", ["n", "d"])
@pytest.mark.parametrize("name", DESCENTS)
def test_privacy_is_what_costs(name, axis):
    """The planned noise of a gradient, over all steps, is above the sampling error of the same."""
    case = CASES[name]
    for size in RiskSlope(case, axis, case.orders[0]).sizes:
        theorem = case.theorem(axis, size, order=case.orders[0])
        sampling = math.sqrt(theorem.solver.n_steps / theorem.n_rows)
        assert theorem.noise_std > 1.6 * sampling


@pytest.mark.parametrize(
    ("name", "n_rows", "mus", "slope"),
    [
        ("xu2025 2", 60_000, (0.4, 2.0), -0.70),
        ("xu2025 2", 3_000_000, (0.01, 0.1), -0.93),
        ("xu2025 3", 100_000, (1.0, 10.0), -0.59),
    ],
)
def test_the_slopes_along_mu_that_the_page_reads_off_the_plans(name, n_rows, mus, slope):
    sizes = np.geomspace(*mus, 4)
    cases = [replace(CASES[name], base=(n_rows, 8, mu)) for mu in sizes]
    risks = [case.theorem("n", n_rows, order=2.0).predicted_excess(1.0) for case in cases]
    assert np.polyfit(np.log(sizes), np.log(risks), 1)[0] == pytest.approx(slope, abs=0.01)


def test_along_n_shrinking_rounds_are_taken_at_their_fewest_records():
    case = CASES["xu2025 2"]
    sizes = [round(size) for size in RiskSlope(case, "n", 2.0).sizes]
    for size, rounds in zip(sizes, (5, 6, 7, 8), strict=True):
        assert xu2025.parameters.shrinking_phases(n_rows=size) == rounds
        assert xu2025.parameters.shrinking_phases(n_rows=round(0.95 * size)) == rounds - 1
    risks = [case.theorem("n", size, order=2.0).predicted_excess(1.0) for size in sizes]
    slope = np.polyfit(np.log(sizes), np.log(risks), 1)[0]
    assert slope == pytest.approx(-0.90, abs=0.01)


def test_the_linear_loss_has_the_records_as_gradients():
    theorem = tg.papers.zhao2024.convex(
        200, 3, tg.ZCDP(1e6), moment=tg.Moment(2.0, 1.0, kind="directional"), diameter=2.0,
        smoothness=0.5,
    )  # fmt: skip
    mean = np.array([0.6, -0.3, 0.2])
    point = linear_risk(theorem, np.tile(mean, (200, 1)), seed=1)
    assert np.allclose(point / np.linalg.norm(point), mean / np.linalg.norm(mean), atol=0.02)


def test_the_rate_decides_the_steps():
    case = CASES["zhao2024 4"]
    few, many = (case.theorem("n", n, order=2.0).solver.n_steps for n in (8_000, 32_000))
    assert (few, many) == (25, 100)  # one over the square of n^(-1/2)
