"""Where a theorem about private rates can be seen: found from public predictions alone.

A rate shows where noise and bias outweigh sampling and the threshold clips the tail alone, at all
points of a grid. The grid of fewest rows is taken, and on it the largest budget. A symmetric law
has no bias about 0; there the noise must outweigh sampling by itself.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tailguard.checks import InputError
from tailguard.means.base import MeanFacts, MeanMethod, MeanPlan
from tailguard.papers.reproduce.mean_rates.cases import RateCase

Axis = Literal["n", "d"]

DOMINANCE = 3.0  # noise and bias over sampling error
BUDGETS = tuple(step * 10.0**power for power in range(0, -6, -1) for step in (2.0, 1.0, 0.5))
MOST_ROWS, MOST_NUMBERS = 10**7, 2**27  # more take hours, or more memory than is common
N_FEATURES = 8  # along n: enough that the norm of the noise hardly varies
FEWEST_FEATURES, FEATURE_DECADES = 4, math.log10(32.0)
ROW_DECADES = 2.5
SEARCHED_DECADES = 24  # half of them: how far the fewest rows are looked for


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
        """What varies along the grid."""
        return tuple(point[0 if self.axis == "n" else 1] for point in self.points)

    @property
    def reachable(self) -> bool:
        """Whether it takes no more rows, and numbers in all, than can be simulated."""
        n_rows, n_features = self.points[-1]
        return n_rows <= MOST_ROWS and n_rows * n_features <= MOST_NUMBERS

    @property
    def predicted(self) -> float:
        """The slope that the theory predicts."""
        rate = self.case.rate
        of_axis = rate.slope_in_rows if self.axis == "n" else rate.slope_in_features
        return of_axis(self.order)

    @cached_property
    def largest(self) -> MeanFacts:
        """The facts of the most rows and columns of the grid."""
        rows, columns = zip(*self.points, strict=True)
        return self._task(max(rows), max(columns))

    def plan(self, point: tuple[int, int]) -> tuple[MeanMethod, MeanPlan]:
        """Plan at one point."""
        return self.case.plan(self._task(*point), self.largest)

    def shows(self) -> bool:
        """Whether privacy dominates, and thresholds clip tails alone, at all points."""
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
    for step in range(SEARCHED_DECADES):
        n_rows = round(1000.0 * 10.0 ** (step / 2.0))
        for amount in BUDGETS:
            regime = RateRegime(
                case, order, axis, _points(axis, n_rows, n_points), amount, symmetric
            )
            if regime.shows():
                return regime
    raise InputError(f"order must be one at which {case.name!r} shows its rate; got {order}.")


def _points(axis: Axis, n_rows: int, n_points: int) -> tuple[tuple[int, int], ...]:
    """Return numbers of rows and columns, evenly spread in logarithms."""
    parts = [i / (n_points - 1) for i in range(n_points)]
    if axis == "n":
        return tuple((round(n_rows * 10.0 ** (ROW_DECADES * part)), N_FEATURES) for part in parts)
    widths = (round(FEWEST_FEATURES * 10.0 ** (FEATURE_DECADES * part)) for part in parts)
    return tuple((n_rows, width) for width in widths)
