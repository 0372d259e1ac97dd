"""Measure how fast the error of each private mean falls with rows and grows with columns.

A rate is visible if, at all points of a grid, noise and bias exceed the sampling error and the
threshold clips only the tail. The experiment predicts this from public numbers, and takes the grid
of fewest rows at the largest budget. A symmetric law has no bias about 0, so the noise alone must
exceed the sampling error.

Reference
---------
:data:`tailguard.papers.rates.MEAN_RATES`, with theorems and corrections.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError
from tailguard.gate import Gate
from tailguard.means.base import MeanFacts, MeanMethod, MeanPlan
from tailguard.papers.instances.heavy_laws import ParetoLaw, StudentLaw
from tailguard.papers.reproduce.experiment import Axes, Cell, Claim, Experiment, Setup
from tailguard.papers.reproduce.judges import NOT_RUN, Decision, Judge, slope_of
from tailguard.papers.reproduce.mean_cases import CASES, RateCase
from tailguard.papers.reproduce.results import Noise, Point, Results
from tailguard.papers.reproduce.tasks.fits import seed_of_size

Axis = Literal["n", "d"]

DOMINANCE = 3.0  # noise and bias over sampling error
BUDGETS = tuple(step * 10.0**power for power in range(0, -6, -1) for step in (2.0, 1.0, 0.5))
MOST_ROWS, MOST_NUMBERS = 10**7, 2**27  # more take hours, or more memory than is common
N_FEATURES = 8  # along n: with so many the norm of the noise hardly varies


@dataclass(frozen=True)
class RateRegime:
    """A grid, a budget, and a case at an order of the moment."""

    case: RateCase
    order: float
    axis: Axis
    points: tuple[tuple[int, int], ...]
    amount: float
    symmetric: bool = False

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of rows or columns along the axis."""
        return tuple(point[0 if self.axis == "n" else 1] for point in self.points)

    @property
    def reachable(self) -> bool:
        """Whether its rows and numbers are few enough to simulate."""
        n_rows, n_features = self.points[-1]
        return n_rows <= MOST_ROWS and n_rows * n_features <= MOST_NUMBERS

    @cached_property
    def largest(self) -> MeanFacts:
        """The facts of the most rows and columns of the grid."""
        rows, columns = zip(*self.points, strict=True)
        return self._task(max(rows), max(columns))

    def plan(self, point: tuple[int, int]) -> tuple[MeanMethod, MeanPlan]:
        """Plan at one point."""
        return self.case.plan(self._task(*point), self.largest)

    def shows(self) -> bool:
        """Whether privacy dominates and only tails are clipped, at all points."""
        for point in self.points:
            try:
                _, plan = self.plan(point)
            except InputError:  # too few rows for the method
                return False
            bias = 0.0 if self.symmetric else self.case.bias(plan, self.order)
            private = math.hypot(plan.expected.noise, bias)
            if private < DOMINANCE * plan.expected.sampling or not self.case.presses(plan):
                return False
        return True

    def _task(self, n_rows: int, n_features: int) -> MeanFacts:
        return self.case.facts(n_rows, n_features, amount=self.amount, order=self.order)


def find_regime(
    case: RateCase, order: float, axis: Axis, *, n_points: int, symmetric: bool = False
) -> RateRegime:
    """Return the regime of fewest rows, reachable or not."""
    for half_decades in range(24):
        n_rows = round(1000.0 * 10.0 ** (half_decades / 2.0))
        for amount in BUDGETS:
            regime = RateRegime(
                case, order, axis, _points(axis, n_rows, n_points), amount, symmetric
            )
            if regime.shows():
                return regime
    raise InputError(f"order must be one at which {case.name!r} shows its rate; got {order}.")


def _points(axis: Axis, n_rows: int, n_points: int) -> tuple[tuple[int, int], ...]:
    """Return numbers of rows over 2.5 decades, or of columns from 4 to 128, evenly in logs."""
    parts = [i / (n_points - 1) for i in range(n_points)]
    if axis == "n":
        return tuple((round(n_rows * 10.0 ** (2.5 * part)), N_FEATURES) for part in parts)
    return tuple((n_rows, round(4 * 10.0 ** (math.log10(32.0) * part))) for part in parts)


Law = StudentLaw | ParetoLaw
Sample = tuple[Law, int, int]  # a law, rows, columns
Measure = Callable[[FloatArray, int], Point]  # a point of a slope from a sample and its seed

# With few columns the mean log norm of the noise is below the log of its root mean square, so
# errors would grow faster with columns. So few columns are run several times, up to this many
# coordinates.
COORDINATES = 32


@dataclass(frozen=True)
class Slope:
    """One measured slope: the regime of a row of the table, and the law of the records."""

    regime: RateRegime
    law: Law

    @property
    def panel(self) -> str:
        """The panel that shows it."""
        return f"{self.regime.case.name}, along {self.regime.axis}"

    @property
    def curve(self) -> str:
        """Its curve in the panel."""
        return f"{self.law.name}, k = {self.regime.order:g}"

    @property
    def noise(self) -> Noise:
        """Whether the noise is as printed."""
        return "printed" if self.regime.case.printed else "tight"


def list_slopes(names: Iterable[str] = CASES, *, quick: bool) -> list[Slope]:
    """List the slopes to measure: every row, order, law and axis, in its regime.

    A slope is fitted through 6 points, and ten seeds of all take minutes of one core. A quick run
    fits 3 points, at the first order of each row.
    """
    axes: tuple[Axis, ...] = ("n", "d")
    slopes = []
    for case in [CASES[name] for name in names]:
        for order in case.orders[: 1 if quick else None]:
            search = partial(find_regime, case, order, n_points=3 if quick else 6)
            symmetric = [search(axis, symmetric=True) for axis in case.symmetric_axes]
            slopes += [Slope(regime, StudentLaw(order)) for regime in symmetric]
            slopes += [Slope(search(axis), ParetoLaw(order)) for axis in axes]
    return slopes


def rate_cells(slopes: Iterable[Slope]) -> list[Cell]:
    """Return a cell for every reachable sample; slopes with the same sample share a cell."""
    measures: dict[Sample, list[Measure]] = defaultdict(list)
    for place, slope in enumerate(slopes):
        regime = slope.regime
        points = zip(regime.points, regime.sizes, strict=True) if regime.reachable else ()
        for point, size in points:
            measures[slope.law, *point].append(partial(_point, slope, place, point, size))
    return [_cell(sample, of_sample) for sample, of_sample in measures.items()]


def has_rate(name: str, axis: Axis) -> Judge:
    """Judge whether every slope of a row along an axis is that of its theorem."""
    case = CASES[name]
    rate = case.rate.slope_in_rows if axis == "n" else case.rate.slope_in_features

    def judge(results: Results, noise: str) -> Decision:
        shown, agree = [], []
        for panel, curve, own in results.keys:
            measured = results.curve(panel, curve, noise)
            if (panel, own) != (f"{name}, along {axis}", noise) or len(measured) < 2:
                continue
            order = float(curve.rpartition(" ")[2])
            slope = slope_of(measured)
            agree.append(slope.near(rate(order)))
            shown.append(f"{slope.mean:.2f} of {rate(order):.2f} ({curve})")
        if not shown:
            return NOT_RUN
        return Decision("holds" if all(agree) else "does not hold", "; ".join(shown))

    return judge


def _cell(sample: Sample, measures: list[Measure]) -> Cell:
    law, n_rows, n_features = sample

    def measure(seed: int) -> list[Point]:
        sample_seed = seed_of_size(seed, n_rows, n_features)
        records = law.sample(n_rows, n_features, seed=sample_seed)
        return [measure_point(records, sample_seed) for measure_point in measures]

    return Cell(f"{law.name}({law.order:g}), n = {n_rows}, d = {n_features}", measure)


def _point(
    slope: Slope, place: int, at: tuple[int, int], size: int, records: FloatArray, sample_seed: int
) -> Point:
    """Measure one point of a slope on a sample."""
    method, plan = slope.regime.plan(at)
    repeats = COORDINATES // records.shape[1] if slope.regime.axis == "d" else 1
    error = _error(records, method, plan, (place << 80) + sample_seed, repeats)
    return Point(slope.panel, slope.curve, slope.noise, float(size), error)


def _error(
    records: FloatArray, method: MeanMethod, plan: MeanPlan, seed: int, repeats: int
) -> float:
    """Root mean square error of a few runs with different noise; the true mean is 0."""
    squares = []
    for repeat in range(max(repeats, 1)):
        gate = Gate.over(records, guarantee=plan.guarantee, random_state=(repeat << 96) + seed)
        gate.reserve(plan.event, coordinates=plan.coordinates, unprotected=plan.printed)
        squares.append(np.sum(method.run(plan, gate).coef ** 2))
    return float(np.sqrt(np.mean(squares)))


def _cells(setup: Setup) -> Sequence[Cell]:
    return rate_cells(list_slopes(quick=setup.quick))


def experiments() -> tuple[Experiment, ...]:
    """List the one experiment on means.

    Examples
    --------
    >>> [len(experiment.claims) for experiment in experiments()]
    [18]
    """
    axes: tuple[tuple[Axis, str, str], ...] = (
        ("n", "falls with the rows", "n^-(1 - 1/k)"),
        ("d", "grows with the columns", "the root of d times the cost of privacy"),
    )
    claims = tuple(
        Claim(
            f"{name}, along {axis}",
            f"{case.rate.theorem}: the error {says}, as {law}.",
            has_rate(name, axis),
            kind="ours" if case.rate.derived else "paper",
        )
        for name, case in CASES.items()
        for axis, says, law in axes
    )
    source, drawn = "Wang, Kamath, Tao and Zhao on means", Axes("size", "error", log_x=True)
    title = "error of every private mean where privacy is what costs"
    return (Experiment("rates", source, title, drawn, _cells, claims, n_quick_seeds=3),)
