"""How each row of the table of rates is run: the method, the moment, and the grids.

Rates ignore logarithms. Numbers that grow with a logarithm, those of groups and of trimmed records,
therefore have one value on the whole grid: that of its largest point, which all points admit.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from tailguard.gate.plan import Problem
from tailguard.means.base import (
    MeanFacts,
    MeanMethod,
    MeanPlan,
    amount_of,
    most_coordinates,
    usable_share,
)
from tailguard.means.clamped import FEWEST_MOMENT_UNITS, Clamped
from tailguard.means.clipped import Clipped
from tailguard.means.coordinate_wise import theory_groups
from tailguard.means.iterative import Iterative
from tailguard.means.magnitude_distribution import BIAS_SHARE
from tailguard.means.soft import Soft
from tailguard.means.trimmed import Trimmed
from tailguard.means.truncated import Truncated
from tailguard.moments import Moment, MomentKind
from tailguard.papers.rates import MEAN_RATES, MeanRate
from tailguard.papers.wang2020.means import PrintedSoft
from tailguard.privacy.guarantees import ZCDP, ApproxDP, Guarantee, PureDP

LEAST_UNITS = 2.0  # of the moment: lower thresholds clip the body of the data
# The trimmed mean gets this range, in units of the moment, and takes a sixteenth of its width as
# the scale of the data.
RANGE = 1.0
MOST_TRIMMED = 0.05  # part of the records at either end: more would trim the body of the data


@dataclass(frozen=True)
class RateCase:
    """One row of the table, at the orders of the moment at which it is measured.

    ``options`` returns the method's options from the facts of a point and those of the grid's
    largest point. ``kind`` is the kind of moment, None for a method that takes none. ``norm`` says
    that the method clips norms, and ``printed`` that noise is the paper's.
    """

    name: str
    method: Callable[..., MeanMethod]
    kind: MomentKind | None
    orders: tuple[float, ...]
    options: Callable[[MeanFacts, MeanFacts], dict[str, Any]]
    least_units: float = LEAST_UNITS
    norm: bool = False
    printed: bool = False
    theory: str | None = None  # the rate's name, if it is not the case's
    symmetric_axes: tuple[Literal["n", "d"], ...] = ("n", "d")  # measured on a symmetric law

    @property
    def rate(self) -> MeanRate:
        """The rate in theory."""
        return MEAN_RATES[self.theory or self.name]

    def guarantee(self, amount: float) -> Guarantee:
        """Return a promise with ``mu`` of this amount, or with ``epsilon`` of this amount."""
        if self.printed:
            return ApproxDP(amount, 1e-6)
        return PureDP(amount) if self.rate.guarantee == "pure" else ZCDP(amount**2 / 2.0)

    def facts(self, n_rows: int, n_features: int, *, amount: float, order: float) -> MeanFacts:
        """Return the public facts of one point of a grid."""
        problem = Problem(None, n_rows, n_features, moment=self._moment(order))
        return MeanFacts(problem, self.guarantee(amount))

    def plan(self, facts: MeanFacts, largest: MeanFacts) -> tuple[MeanMethod, MeanPlan]:
        """Return the method with its options, and its plan."""
        method = self.method(**self.options(facts, largest))
        return method, method.plan(facts.problem, facts.guarantee)

    def presses(self, plan: MeanPlan) -> bool:
        """Whether the threshold clips only the tail, and is above the least one of the theory."""
        settings = plan.settings
        if "trimmed at either end" in settings:
            return float(settings["trimmed at either end"]) <= MOST_TRIMMED * plan.problem.n_rows
        if not self.norm:
            return float(settings["threshold"]) > self.least_units
        root = math.sqrt(plan.problem.n_features)
        # With more budget the theory's clip norm depends on n / d alone, and not on noise.
        budget = usable_share(plan.guarantee, coordinates=most_coordinates(plan.problem))
        private = amount_of(budget) ** 2 / 2.0 / int(settings.get("groups", 1)) <= 1.0 / root**2
        return private and float(settings["clip norm"]) > self.least_units * root

    def bias(self, plan: MeanPlan, order: float) -> float:
        """Return the predicted bias; that of trimming follows from the moment, as in the rate."""
        if "trimmed at either end" not in plan.settings:
            return plan.expected.bias
        part = float(plan.settings["trimmed at either end"]) / plan.problem.n_rows
        bias: float = BIAS_SHARE * part ** (1.0 - 1.0 / order)
        return bias * math.sqrt(plan.problem.n_features)

    def _moment(self, order: float) -> Moment | None:
        """Return the moment of independent coordinates with mean 0 and central moments of 1."""
        if self.kind is None:
            return None
        bound = _directional_bound(order) if self.kind == "directional" else 1.0
        return Moment(order, bound, kind=self.kind)


def _directional_bound(order: float) -> float:
    """Bound ``E|<u, x>|^order`` by Rosenthal's inequality, for orders of 2 to 4.

    ``(1 + E|Z|^order) max(sum E|y_j|^order, (sum E y_j^2)^(order / 2))`` for symmetric ``y``. The
    difference of two copies of x is symmetric, with moments of at most ``2^order``.

    *Reference.* Figiel, Hitczenko, Johnson, Schechtman and Zinn 1997, for the constant.
    """
    if order == 2.0:
        return 1.0
    normal = 2.0 ** (order / 2.0) * math.gamma((order + 1.0) / 2.0) / math.sqrt(math.pi)
    return float((1.0 + normal) * 2.0**order)


def _groups(facts: MeanFacts, largest: MeanFacts) -> dict[str, Any]:
    return {"n_groups": theory_groups(largest.problem, 0.1)}


def _trimming(calibration: str, facts: MeanFacts, largest: MeanFacts) -> dict[str, Any]:
    limits: dict[str, Any] = {"low": -RANGE, "high": RANGE, "calibration": calibration}
    most_rows = replace(facts.problem, n_rows=largest.n_rows)
    plan = Trimmed(**limits).plan(most_rows, facts.guarantee)
    return {**limits, "n_trimmed": int(plan.settings["trimmed at either end"])}


def _nothing(facts: MeanFacts, largest: MeanFacts) -> dict[str, Any]:
    return {}


# fmt: off
ROWS = (
    RateCase("clamped", Clamped, "central", (2.0, 3.0), _groups, FEWEST_MOMENT_UNITS),
    RateCase("clamped-pure", Clamped, "central", (2.0, 3.0), _groups, FEWEST_MOMENT_UNITS),
    RateCase("truncated", Truncated, "raw", (2.0, 1.5), _groups),
    RateCase("soft", Soft, "raw", (2.0,), _nothing),
    RateCase("soft-printed", PrintedSoft, "raw", (2.0,), _nothing, printed=True),
    RateCase("trimmed", Trimmed, None, (2.0, 3.0), partial(_trimming, "numerical")),
    RateCase("clipped", Clipped, "directional", (2.0, 3.0), _nothing, norm=True),
    RateCase("iterative", Iterative, "directional", (2.0, 3.0), _nothing, norm=True),
    # The proved constants trim more records and need more rows. Not on a symmetric law, which has
    # no bias: along n no grid has enough rows for noise to dominate; along d they would take longer
    # than all other rows of this table together.
    RateCase("trimmed-tight", Trimmed, None, (2.0, 3.0), partial(_trimming, "tight"),
             theory="trimmed", symmetric_axes=()),
)
# fmt: on

# Row of the table of rates -> how it is measured.
CASES = {row.name: row for row in ROWS}
