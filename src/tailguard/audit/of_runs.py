"""Audits of whole runs of every solver and mean, on pairs that attain nearly the whole claim.

The data have few records, one of which differs, and methods take at most three steps. The attacker
sees all points of a run and distinguishes neighbours by a linear discriminant, learned from pilot
runs. Of the default method the attacker sees all releases, some seventy per fit.

Reference
---------
Nasr, Hayes, Steinke, Balle, Tramer, Jagielski, Carlini and Terzis 2023; Fisher 1936 (discriminant).
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import norm

from tailguard.array_types import FloatArray
from tailguard.audit.bounds import gaussian_claim, profile_claim
from tailguard.audit.cases import NoiseCase, Scores, ThresholdCase
from tailguard.audit.gates import AttackedGate, OverheardGate, Transcript
from tailguard.audit.of_queries import N_COLUMNS, arsinh_rates, gaussian_rates, halfway_claim
from tailguard.audit.testers import discriminant
from tailguard.audit.worst_pairs import moved_end, moved_medians
from tailguard.checks import class_called
from tailguard.data.rows.arrays import make_rows
from tailguard.gate.engine import Solver
from tailguard.gate.plan import Plan, Problem
from tailguard.losses.squared import Squared
from tailguard.means.choice import MEANS, make_method
from tailguard.means.trimmed import Trimmed
from tailguard.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee
from tailguard.queries.units import Units
from tailguard.solvers.registry import SOLVERS, make_solver
from tailguard.solvers.sample_and_aggregate import SampleAndAggregate
from tailguard.summaries.statistics import Statistics

Records = tuple[FloatArray, FloatArray | None]
Pair = tuple[Records, Records]

N_ROWS, MU = 60, 2.5  # audits of queries and of runs need the fewest runs at this mu
# Pilot runs per neighbour: they attain 0.994 of the best discriminant of five normal numbers
# (simulated).
N_PILOT = 300
SEEN = 0.98
"""The share of the claim that runs are assumed to attain, to compute the power. Measured with 1500
pilot runs per neighbour at mu = 2: 0.989 to 1.03 for seven solvers (above 1 is measurement error),
and 0.785 for hard thresholding if it chooses entries, which the options below prevent."""

HARD_THRESHOLDING: Mapping[str, Any] = {
    "n_nonzero": 2, "n_steps": 1, "threshold": 8.0, "step_size": 1.0,
    "feature_scale": 1.0, "target_scale": 1.0,
}  # fmt: skip
"""With these options all entries are kept, so the solver makes no choice. The audit of the query
covers choices."""


def examples_of(registry: Mapping[str, str]) -> dict[str, Any]:
    """Return the examples of those classes that state options for their audit."""
    examples = {name: getattr(class_called(name, registry), "example", None) for name in registry}
    return {name: each for name, each in examples.items() if each and each.shown is not None}


def _lonely() -> Pair:
    """Return rows of zeros, except for a first row with an extreme target."""
    X, y = np.zeros((N_ROWS, 1)), np.zeros(N_ROWS)
    X[0] = 1.0
    other = y.copy()
    y[0], other[0] = -1e9, 1e9
    return (X, y), (X, other)


def _opposed() -> Pair:
    """Return two equal columns, except that the first row favours one of them."""
    X, y = np.full((N_ROWS, 2), 0.5), np.full(N_ROWS, 2.0)
    y[0] = 1.0
    other = X.copy()
    X[0], other[0] = (8.0, -8.0), (-8.0, 8.0)
    return (X, y), (other, y)


def points(
    gate: type[AttackedGate], solver: Solver, plan: Plan, records: Records, seeds: range
) -> FloatArray:
    """Return all points of runs, one run per row.

    Only the first run keeps books, which check the plan and its releases against the guarantee. All
    runs would have the same books, and books double the time of a run.
    """
    runs: list[list[float]] = []
    rows = make_rows(*records, loss=plan.problem.loss)
    for seed in seeds:
        attacked = gate.of(rows, guarantee=plan.guarantee, seed=seed)
        attacked.keeps_books = not runs
        if attacked.keeps_books:
            attacked.reserve(plan.event, coordinates=plan.coordinates)
        solution = solver.run(plan, attacked)
        runs.append([*solution.trace.ravel(), *solution.coef, solution.intercept])
    return np.array(runs)


def _both(
    gate: type[AttackedGate], solver: Solver, plan: Plan, pair: Pair, n_runs: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Return all points of ``n_runs`` runs on each neighbour."""
    # Different values of ``seed`` share no seeds, since no case has 500 000 runs.
    seeds = range(10**6 * seed, 10**6 * seed + 2 * n_runs)
    first, second = (
        points(gate, solver, plan, records, seeds[side::2]) for side, records in enumerate(pair)
    )
    return first, second


def _run_case(
    solver: Solver, problem: Problem, guarantee: Guarantee, pair: Pair, **given: Any
) -> ThresholdCase:
    """Return the audit of runs by a discriminant of pilot runs; ``given`` are claim and rates."""
    plan = solver.plan(problem, guarantee)

    @cache
    def weights_and_offset() -> tuple[FloatArray, float]:
        return discriminant(*_both(AttackedGate, solver, plan, pair, N_PILOT, 9))

    def scores(gate: type[AttackedGate], n_runs: int, seed: int) -> Scores:
        weights, offset = weights_and_offset()
        first, second = _both(gate, solver, plan, pair, n_runs, seed)
        return first @ weights - offset, second @ weights - offset

    return ThresholdCase(scores=scores, tester="discriminant of a pilot", **given)


def solver_case(name: str) -> ThresholdCase:
    """Return the audit of a registered solver with Gaussian noise."""
    if name == "hard-thresholding":
        return _gaussian_case(make_solver(name, **HARD_THRESHOLDING), Squared(), _opposed())
    return lonely_case(make_solver(name, **examples_of(SOLVERS)[name].shown))


def lonely_case(solver: Solver) -> ThresholdCase:
    """Return the audit of a solver with Gaussian noise; all records but one are zero."""
    return _gaussian_case(solver, Squared(), _lonely())


def _gaussian_case(solver: Solver, loss: Squared | None, pair: Pair) -> ThresholdCase:
    problem = Problem(loss, *pair[0][0].shape)
    given = {"claim": gaussian_claim(MU), "rates": gaussian_rates(SEEN * MU)}
    return _run_case(solver, problem, GDP(MU), pair, **given)


def mean_case(name: str) -> ThresholdCase:
    """Return the audit of a mean with Gaussian noise."""
    example = examples_of(MEANS)[name]
    X = np.zeros((N_ROWS, 1))
    other = X.copy()
    X[0], other[0] = -example.far, example.far
    return _gaussian_case(make_method(name, **example.shown), None, ((X, None), (other, None)))


def trimmed_mean_case() -> ThresholdCase:
    """Return the audit of the trimmed mean of columns whose medians move by the whole scale."""
    low, high = moved_medians(N_COLUMNS)
    n_rows, n_columns = low.shape
    method = Trimmed(calibration="numerical", low=-2.0, high=2.0, n_trimmed=20)
    problem = Problem(None, n_rows, n_columns)
    plan = method.plan(problem, ZCDP(1.45 * n_columns))
    settings = (float(plan.settings[name]) for name in ("low", "high", "spread"))
    query = method.query(Units.raw(n_columns, intercept=False), *settings)
    rates = arsinh_rates(query.calibrate_event(n_rows, n_columns, plan.stage("mean").asked).shift)

    def scores(gate: type[AttackedGate], n_runs: int, seed: int) -> Scores:
        pair = (low, None), (high, None)
        first, second = _both(gate, method, plan, pair, n_runs, seed)
        means = first[:, :n_columns].ravel(), second[:, :n_columns].ravel()
        # The trimmed means without noise are -2 and 2; their scores must be 0 and 1.
        return (means[0] + 2.0) / 4.0, (means[1] + 2.0) / 4.0

    return ThresholdCase(
        halfway_claim(rates), scores, rates,
        scores_per_run=n_columns, tester="threshold halfway",
    )  # fmt: skip


def block_case() -> ThresholdCase:
    """Return the audit of sample and aggregate, on nine blocks of one record.

    The minimiser of a block is its target. The first minimiser moves from one end of the ball to
    the other, and the centre moves by exactly the smooth scale. With fewer coordinates, more of the
    budget would be reserved for a change of scale, which this pair does not make; with more, runs
    would take longer. With four coordinates, a threshold halfway proves 0.999 of the claim
    (computed). A large delta needs the fewest runs.
    """
    epsilon, delta, size = 0.2, 0.9, 4
    solver = SampleAndAggregate(n_blocks=9, diameter=2.0, calibration="numerical")
    problem = Problem(Squared(), 9, size)
    plan = solver.plan(problem, ApproxDP(epsilon, delta))
    X, y = np.zeros((9, size)), moved_end()
    X[:, 0] = 1.0

    def scores(gate: type[AttackedGate], n_runs: int, seed: int) -> Scores:
        first, second = _both(gate, solver, plan, ((X, y[0]), (X, y[1])), n_runs, seed)
        return (first[:, 0] + 1.0) / 2.0, (second[:, 0] + 1.0) / 2.0

    return ThresholdCase(
        profile_claim(epsilon, delta), scores,
        gaussian_rates(float(plan.settings["shift"])), tester="threshold halfway",
    )  # fmt: skip


def overhear(
    gate: type[OverheardGate],
    solver: Solver,
    plan: Plan,
    pair: Pair,
    *,
    seed: int,
    neighbour: bool,
) -> Transcript:
    """Run once on one of two neighbours; return the transcript of its releases."""
    attacked = gate.between(
        pair, guarantee=plan.guarantee, neighbour=neighbour, seed=seed, loss=plan.problem.loss
    )
    attacked.reserve(plan.event, coordinates=plan.coordinates)
    with np.errstate(all="ignore"):
        solver.run(plan, attacked)
    return attacked.transcript


def _noise_case(solver: Solver, problem: Problem, pair: Pair, mu: float, n_fits: int) -> NoiseCase:
    plan = solver.plan(problem, GDP(mu))

    def fit(gate: type[OverheardGate], seed: int, neighbour: bool) -> Transcript:
        return overhear(gate, solver, plan, pair, seed=seed, neighbour=neighbour)

    return NoiseCase(gaussian_claim(mu), fit, n_fits)


def newton_case(mu: float = 1.5) -> NoiseCase:
    """Return the audit of the default method of regressions.

    The two records that differ come from a search. Their sizes differ, so every histogram changes.
    Their rows are orthogonal if rows include the target, and opposite if they do not. So scores
    change by their whole sensitivity, and moments by nearly theirs.
    """
    n_rows = 200
    place = np.arange(n_rows)
    x = np.where(place % 2, 1.0, -1.0) * (1.0 + 0.4 * (place * 7 % n_rows) / n_rows)
    y = np.where(place // 2 % 2, 1.0, -1.0) * (1.0 + 0.4 * (place * 11 % n_rows) / n_rows)
    pair = []
    # Each step of this loop, and of those below, writes the record that differs into place 0.
    for x[0], y[0] in ((2.0**6, 2.0**6), (-(2.0**12), 2.0**12)):
        pair.append((x[:, None].copy(), y.copy()))
    solver, problem = make_solver("whitened-newton"), Problem(Squared(), n_rows, 1)
    # About 60 readings of noise per fit.
    return _noise_case(solver, problem, (pair[0], pair[1]), mu, 24)


def private_mean_case() -> NoiseCase:
    """Return the audit of a mean that releases its own units and clip level.

    The first record is paired with an extreme record. So three things change: their difference, the
    record's bins in the histograms of size, location and magnitude, and the sign of its
    contribution to the mean.
    """
    n_rows = 200
    X = norm.ppf((np.arange(n_rows)[:, None] * 37 % n_rows + 0.5) / n_rows)
    X[1] = -1e300
    pair: list[Records] = []
    for X[0] in (-1e300, 2.0**13):
        pair.append((X.copy(), None))
    problem = Problem(None, n_rows, 1)
    # About five readings of noise per fit.
    return _noise_case(make_method("clipped"), problem, (pair[0], pair[1]), MU, 200)


def describe_case(*, by_groups: bool = False) -> NoiseCase:
    """Return the audit of a whole description: quantiles, moments, products and levels.

    Columns are skewed: zero is below nearly all cells, but within a few standard deviations of the
    mean. The record is zero in one column and extreme in the other; its replacement has these cells
    exchanged. So its bins change in every histogram, its contributions to the moments change sign,
    and its rows for the products are nearly orthogonal. Its level changes too, and so does its
    group, if there are groups.
    """
    n_rows = 200
    place = np.arange(n_rows)
    parts = ((place * step % n_rows + 0.5) / n_rows for step in (37, 111))
    X = np.column_stack([*(np.exp(2.0 * norm.ppf(part)) for part in parts), place % 2.0])
    pair: list[Records] = []
    for X[0] in ((1e300, 0.0, 0.0), (0.0, 1e300, 1.0)):
        pair.append((X.copy(), None))
    table, levels = ((2,),), (0.25, 0.5, 0.75)
    summary = Statistics(
        (0, 1), table if by_groups else (), levels,
        moments=True, products=not by_groups, tables=(table,),
    )  # fmt: skip
    # A run has about eight readings of noise. With groups it has eleven, of which four are slow.
    n_fits = 64 if by_groups else 96
    return _noise_case(summary, Problem(None, *X.shape), (pair[0], pair[1]), MU, n_fits)
