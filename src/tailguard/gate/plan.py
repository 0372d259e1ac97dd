"""The public facts of a problem, the plan of all releases of a run, and the solution.

A plan is made before any record is read.

Reference
---------
Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023 (a run may redistribute the reserved
total, depending on released numbers).
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_between, check_choice, shown
from tailguard.gate.stage import Stage
from tailguard.losses.base import Link, Loss, RecordLoss
from tailguard.moments import Moment
from tailguard.printable import four_digits, html_list, html_words, notebook_table
from tailguard.privacy.events import Composed, Event
from tailguard.privacy.guarantees import Guarantee
from tailguard.sets.base import ConstraintSet


@dataclass(frozen=True)
class Problem:
    """The public facts of a fit or a mean; no record is part of it.

    Attributes
    ----------
    loss
        A loss of a score, or a loss given as a gradient of one record; None requests the mean of
        each column.
    n_rows, n_features
        Public sizes.
    intercept
        Whether a constant coordinate is added.
    constraint
        The set of allowed weights in the user's units; None leaves the choice to the solver.
    has_offset, has_weights
        Whether an offset is added to the score, and whether records have weights.
    max_rows
        If records are persons, the most rows of each that are used; None if records are rows.
    moment
        An assumption about the tails of columns, for a mean.
    unit
        A public scale of the columns about zero, used if releasing scales costs too much.
    levels
        The indicator columns of each declared categorical column.
    ridge
        The penalty ``ridge / 2 * |coefficients|**2`` is added to the mean loss, in the user's units
        and without the intercept.

    Examples
    --------
    >>> import tailguard as tg
    >>> Problem(tg.losses.Squared(), n_rows=1000, n_features=3, intercept=True).size
    4
    """

    loss: Loss | RecordLoss | None
    n_rows: int
    n_features: int
    intercept: bool = False
    constraint: ConstraintSet | None = None
    has_offset: bool = False
    has_weights: bool = False
    max_rows: int | None = None
    moment: Moment | None = None
    unit: float | None = None
    levels: tuple[tuple[int, ...], ...] = ()
    ridge: float = 0.0

    @property
    def by_person(self) -> bool:
        """Whether records are persons, who may have several rows."""
        return self.max_rows is not None

    @property
    def noun(self) -> str:
        """The word for several records in a message."""
        return "persons" if self.by_person else "records"

    @cached_property
    def scored(self) -> Loss | None:
        """The loss if it depends on a single score, else None."""
        return cast(Loss, self.loss) if hasattr(self.loss, "slope") else None

    @cached_property
    def link(self) -> Link:
        """How a loss of a single score maps the score to the expected target."""
        assert self.scored is not None
        return self.scored.link

    @cached_property
    def by_record(self) -> RecordLoss | None:
        """The loss if it is given as a gradient of one record, else None."""
        return None if self.loss is None or self.scored else cast(RecordLoss, self.loss)

    @cached_property
    def size(self) -> int:
        """The number of weights."""
        if self.by_record:
            return self.by_record.size(self.n_features + int(self.intercept))
        return self.n_features + int(self.intercept)

    def describe(self) -> str:
        """Describe the sizes in a few words."""
        if self.loss is None:
            return f"n = {self.n_rows}, d = {self.n_features}"
        return f"n = {self.n_rows}, {self.size} coefficients (intercept included)"


RIDGE = "ridge"
"""The name of the ridge among the settings of a plan."""
LARGEST_RIDGE = 1e100  # so that products with scales of columns do not overflow


def check_ridge(alpha: object) -> float:
    """Check the ridge, which users call ``alpha``, and return it."""
    return check_between("alpha", alpha, 0.0, LARGEST_RIDGE)


def ridge_setting(problem: Problem) -> dict[str, float]:
    """Return the setting of a plan for its ridge, if it has one."""
    return {RIDGE: problem.ridge} if problem.ridge > 0.0 else {}


def beyond_floats(facts: Mapping[str, object]) -> InputError:
    """Return the error for public numbers with which a computation overflows."""
    listed = ", ".join(f"{name} = {shown(value)}" for name, value in facts.items())
    return InputError(
        f"numbers must not be so large or small that computations overflow; got {listed}."
    )


@dataclass(frozen=True)
class Plan:
    """Everything that a run will do, worked out before any record is read.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Squared(), n_rows=1000, n_features=3)
    >>> plan = Plan("example", problem, tg.GDP(1.0), (Stage("descent", "gradients", 0.5, 4, 3),))
    >>> plan.total_mu
    1.0
    """

    solver: str
    problem: Problem
    guarantee: Guarantee
    stages: tuple[Stage, ...]
    settings: Mapping[str, float | int | str] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()  # further lines of ``explain``
    warnings: tuple[str, ...] = ()  # warnings before anything is spent
    takes_persons: bool = False  # whether all its queries take persons
    # Whether a count of usable records may run before it.
    admits_check: bool = field(default=True, kw_only=True)
    # Whether noise is as a paper prints it, so that the plan may cost more than the guarantee.
    printed: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse costs too large or too small for the lattice, before any budget is reserved."""
        if self.printed:
            object.__setattr__(self, "admits_check", False)
        for stage in self.stages:
            stage.check(self.problem.n_rows, self.guarantee)

    @cached_property
    def total_mu(self) -> float:
        """The mu that all stages spend together, without amplification by shuffles and samples."""
        return math.sqrt(self._total)

    @cached_property
    def _total(self) -> float:
        """The sum of the costs of stages; of a partition, only the costliest block counts."""
        totals: dict[str, dict[int, float]] = defaultdict(dict)
        for stage in self.stages:
            partition, block = stage.within or ("", 0)
            blocks = totals[partition]
            blocks[block] = blocks.get(block, 0.0) + stage.additive
        return sum(max(blocks.values()) for blocks in totals.values())

    @cached_property
    def event(self) -> Event:
        """The whole plan as a privacy event."""
        return Composed(tuple(stage.event for stage in self.stages))

    @cached_property
    def coordinates(self) -> int:
        """How many numbers the plan releases in all."""
        return sum(stage.coordinates for stage in self.stages)

    @property
    def adds_up(self) -> bool:
        """Whether the costs of all stages add up as squares of mu."""
        for stage in self.stages:
            if stage.shuffled or stage.sampled is not None or stage.currency not in ("mu", "rho"):
                return False
        return True

    @property
    def cuts_blocks(self) -> bool:
        """Whether records are cut into blocks, of which only the costliest counts."""
        return any(
            stage.n_blocks > 1 or stage.shuffled or stage.within is not None
            for stage in self.stages
        )

    @property
    def stages_by_place(self) -> tuple[Stage, ...]:
        """The stages for which rows without an order need a ``row_id``."""
        return tuple(
            stage
            for stage in self.stages
            if stage.by_place or stage.block_map is not None or stage.sampled is not None
        )

    def _total_cost(self, without: str) -> str:
        """Return the cost of all stages together, in the unit in which their costs add up.

        ``without`` names the amplification that a cost in mu leaves out, if there is one.
        """
        currencies = {stage.currency for stage in self.stages}
        if currencies == {"mu"}:
            return f"mu{without} = {self.total_mu:.6g}"
        if currencies <= {"mu", "rho"}:
            return f"rho = {self.total_mu**2 / 2.0:.6g}"
        if currencies == {"epsilon"}:
            return f"epsilon = {self._total:.6g}"
        return f"cost {', '.join(sorted(currencies - {'mu', 'rho'}))}"

    @property
    def said(self) -> tuple[str, ...]:
        """Further lines of ``explain``: the remarks; plans of means add their predicted error."""
        return self.remarks

    def stage(self, name: str) -> Stage:
        """Return the stage of that name, or refuse the name."""
        return self.by_name[check_choice("name", name, self.by_name)]

    @cached_property
    def by_name(self) -> dict[str, Stage]:
        """The stages by their names."""
        return {stage.name: stage for stage in self.stages}

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        settings = ((name.replace("_", " "), four_digits(v)) for name, v in self.settings.items())
        stages = ((stage.name, stage.purpose, stage.releases) for stage in self.stages)
        parts = [
            f"<p><b>{html_words(self.solver)}</b>: {html_words(self.guarantee.describe())}, "
            f"{html_words(self.problem.describe())}</p>",
            notebook_table(stages, ("stage", "purpose", "releases")),
            notebook_table(settings),
            html_list([*self.said, *self.warnings, *self.assumptions]),
        ]
        return "\n".join(parts)

    def __str__(self) -> str:
        """Return what ``explain`` does."""
        return self.explain()

    def explain(self) -> str:
        """Explain in plain words what the budget is spent on."""
        sampled = any(stage.sampled is not None for stage in self.stages)
        shuffled = any(stage.shuffled for stage in self.stages)
        without = " before samples" if sampled else " before shuffles" if shuffled else ""
        lines = [
            f"{self.solver}: {self.guarantee.describe()}, {self.problem.describe()}",
            f"total {self._total_cost(without)}, shared out as",
        ]
        for stage in self.stages:
            # With samples, costs are not shares of a squared total.
            share = "" if sampled else f"{stage.additive / self._total:6.1%}  "
            lines.append(f"  {share}{stage.name}: {stage.purpose} ({stage.releases})")
        lines += [
            f"  {name.replace('_', ' ')} = {four_digits(v)}" for name, v in self.settings.items()
        ]
        lines += [f"  {remark}" for remark in self.said]
        lines += last_lines(self.stages_by_place, self.warnings, self.assumptions)
        return "\n".join(lines)


def last_lines(
    by_place: Iterable[Stage], warnings: Iterable[str], assumptions: Iterable[str]
) -> list[str]:
    """Return the last lines of the explanation of a plan."""
    names = ", ".join(dict.fromkeys(stage.name for stage in by_place))
    lines = [f"  rows without an order need a row_id, for {names}"] if names else []
    lines += [f"  warning: {warning}" for warning in warnings]
    return lines + [f"  assumed for accuracy: {assumption}" for assumption in assumptions]


TOTAL_ERROR = "relative error of the predicted total"
"""The key in ``Solution.found`` of the standard error of a predicted total, over the total."""
INTERCEPT = "(intercept)"
"""The name of the constant in tables."""
NOT_ESTIMATED, NO_INTERVAL = "not estimated", "no interval"
"""How a reason begins if a coefficient has no number, or no interval."""


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of a run, in the user's units.

    Attributes
    ----------
    coef, intercept
        The released coefficients; or the mean of each column, and 0.
    plan
        The plan that was run.
    coef_noise_std, intercept_noise_std
        Standard deviation of each coefficient from privacy noise alone, predicted from public and
        released numbers; NaN without a prediction.
    trace
        Released iterates, one per row, in the units of the descent.
    coef_std, intercept_std
        Predicted standard deviation of each coefficient from sampling and privacy noise together;
        None and NaN if the solver does not release it. With several classes, these and all
        attributes below are of differences from the first class, one row for each other class.
    covariance_root
        A matrix whose product with its transpose is the covariance of the coefficients, the
        intercept last, from sampling and privacy noise; a row is NaN if its coefficient has no
        interval.
    residual_shares
        The released distribution of residuals: each row holds a residual and the share of records
        below it; None if it was not released.
    residual_center
        The fit whose residuals these are, the intercept last. Later steps moved the coefficients.
    center
        The centres of intervals, the intercept last; None if they are the coefficients.
    reasons
        For each coefficient, the intercept last: why it has no interval, or was not estimated at
        all; empty if it has an interval.
    estimand
        What the coefficients and their intervals estimate, in one sentence.
    notes
        Decisions of the run, which depend on released numbers.
    found
        Released numbers on which the run based its decisions, by their names.
    feature_bounds
        Lower and upper bound of each feature: the fit clipped the feature to them, and its
        coefficient is the slope between them. None if the fit clipped or read no features.
    score_bounds
        The smallest and largest score of a prediction; infinite unless a log link has bounds.
        With several classes, the logarithms of the smallest and largest probability of each.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> solution = tg.minimize(
    ...     tg.losses.Squared(), np.eye(100)[:, :1], np.ones(100), guarantee=tg.GDP(1.0),
    ...     constraint=tg.sets.L2Ball(2.0), random_state=0,
    ... )
    >>> solution.coef.shape
    (1,)
    """

    coef: FloatArray
    intercept: float
    plan: Plan
    coef_noise_std: FloatArray
    intercept_noise_std: float
    trace: FloatArray
    coef_std: FloatArray | None = None
    intercept_std: float = math.nan
    covariance_root: FloatArray | None = None
    residual_shares: FloatArray | None = None
    residual_center: FloatArray | None = None
    center: FloatArray | None = None
    reasons: tuple[str, ...] = ()
    estimand: str = ""
    notes: tuple[str, ...] = ()
    feature_bounds: FloatArray | None = None
    score_bounds: tuple[float | FloatArray, float | FloatArray] = (-math.inf, math.inf)
    found: Mapping[str, float | int | str] = field(default_factory=dict)
