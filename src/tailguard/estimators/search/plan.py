"""What a search will do, in public numbers, and how a try is judged.

A try is judged by its mean loss less that of a constant, in private units of the target. Losses of
heavy-tailed targets have no known bound. So a constant and a scale of the target are released once,
before the search. Each try then asks for the mean, over all records, of its model's loss less the
constant's, clipped record by record at a fixed number of these scales. One record moves it by at
most two limits over the number of records, whatever the model is.

The same records are fitted and scored, each with a share of a try's budget. With a held-out part
both would have the whole budget but fewer records, and scores of linear models with far fewer
columns than records hardly suffer if they are taken on the records of the fit.

Reference
---------
Papernot and Steinke 2022 (what the best of many tries costs); Dwork, McSherry, Nissim and Smith
2006, Theorem 1 (sums with bounded terms); Liu and Talwar 2019 (scores of candidates).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, shown
from tailguard.data.design import TableColumn
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Problem, Solution, last_lines
from tailguard.gate.record_check import RecordCheck, RecordRule
from tailguard.gate.selection import PlannedSolver, selection_coordinates
from tailguard.gate.stage import BUDGET_MARGIN, Stage, usable_guarantee
from tailguard.losses.base import Link, Loss
from tailguard.printable import four_digits
from tailguard.privacy.accounting.total_cost import smallest_epsilon
from tailguard.privacy.events import Composed, Event, Gaussian, Selected
from tailguard.privacy.guarantees import GDP, ApproxDP, Guarantee
from tailguard.privacy.selection import mu_of_a_try
from tailguard.privacy.tries import NumberOfTries
from tailguard.queries.loss_differences import LossDifferences
from tailguard.queries.units import Units
from tailguard.queries.view import LARGEST_FEATURE, View
from tailguard.scaling.units import find_target, histogram_stages
from tailguard.solvers.newton.constant import run_constant_plan
from tailguard.solvers.newton.outlook import constant_stages
from tailguard.solvers.registry import plan_for
from tailguard.solvers.session import BEYOND_FLOATS, BudgetSession
from tailguard.solvers.units import columns_of

# Where differences of losses are clipped: at half a nat, at two counts in scales of the target, and
# with other links at the loss of a residual of SCALES scales of the target.
LIMITS = {Link.LOGIT: 0.5, Link.LOG: 2.0}
SCALES = 2.0

UNSEEN = "the budget showed no scale of the target: scores are in its raw units"


@dataclass(frozen=True, eq=False)
class LossScore:
    """The clipped mean loss of a model less that of a constant.

    Attributes
    ----------
    loss
        The loss that compares models.
    stage
        What a score costs.
    n_features
        The number of columns.
    target_center, target_scale
        Released units of the target.
    constant
        The score of the constant, in these units.
    bounded
        Whether models predict within the bounds that they have, of features and of scores.
    """

    loss: Loss
    stage: Stage
    n_features: int
    target_center: float = 0.0
    target_scale: float = 1.0
    constant: float = 0.0
    bounded: bool = True

    @property
    def limit(self) -> float:
        """Where a difference is clipped, in units of the loss."""
        return LIMITS.get(self.loss.link) or max(float(self.loss.value(SCALES, 0.0)), 1e-12)

    def question(self, solution: Solution) -> tuple[LossDifferences, FloatArray]:
        """Return the query for a model's score, and its state: weights of constant and model."""
        center, half = np.zeros(self.n_features), np.ones(self.n_features)
        bounds = solution.feature_bounds if self.bounded else None
        if bounds is not None:
            low, high = bounds.T
            read = np.isfinite(low) & np.isfinite(high) & (low < high)
            center[read], half[read] = (low[read] + high[read]) / 2.0, (high - low)[read] / 2.0
        units = Units(
            center, half, True, target_center=self.target_center, target_scale=self.target_scale
        )
        gain, link = units.gain(self.loss.link), self.loss.link
        zero = self.target_center if link.residual else 0.0
        zero += float(np.log(self.target_scale)) if link.log else 0.0
        level = solution.intercept + float(solution.coef @ center) - zero
        weights = np.append(solution.coef * half, level) / gain
        constant = np.append(np.zeros(self.n_features), self.constant)
        view = View.plain(self.loss, units)
        view = replace(view, bound=LARGEST_FEATURE if bounds is None else 1.0)
        query = LossDifferences(self.loss, (view, view), self.limit)
        if self.bounded:
            least, most = ((bound - zero) / gain for bound in solution.score_bounds)
            query = replace(query, score_bounds=(least, most))
        return query, np.array([constant, weights])


def score_units_plan(problem: Problem, mu: float) -> Plan:
    """Plan the release of a constant and of a scale of the target."""
    problem = replace(problem, intercept=True, constraint=None)
    if problem.link.residual:
        stages = tuple(histogram_stages(columns_of(problem), Gaussian(mu), target=1.0))
    else:
        stages = constant_stages(problem, mu)
    return Plan("units of scores", problem, GDP(mu), stages)


def find_score(plan: Plan, gate: Gate, loss: Loss, stage: Stage) -> tuple[LossScore, str | None]:
    """Release constant and scale; return the score, and a note where no scale was seen."""
    score = LossScore(loss, stage, plan.problem.n_features)
    link = plan.problem.link
    try:
        if link.residual:
            units, seen = find_target(BudgetSession(plan, gate), columns_of(plan.problem))
            center, scale = float(units.target_center), float(units.target_scale)
            score = replace(score, target_center=center, target_scale=scale)
            return score, None if seen else UNSEEN
        constant = run_constant_plan(plan, gate).intercept
    except BEYOND_FLOATS:
        return score, UNSEEN
    if not link.log:
        return replace(score, constant=constant), None
    with np.errstate(all="ignore"):
        scale = float(np.exp(constant))
    usable = 0.0 < scale < np.inf
    return (replace(score, target_scale=scale), None) if usable else (score, UNSEEN)


# In parts of a try's squared mu: what its score gets, and what the units of scores get, once;
# measured in ``docs/mechanisms/best-of-tries.md``.
SCORE_SHARE, UNITS_SHARE = 0.1, 0.05

# How often a search is planned anew for the budget that its number of releases leaves.
REPEATS = 3


@dataclass(frozen=True, eq=False)
class SearchTask:
    """What one candidate asks for: its solver, its problem and its parameters."""

    solver: Any
    problem: Problem
    parameters: dict[str, Any]


@dataclass(frozen=True, eq=False)
class SearchPlan:
    """Everything that a search will do, worked out before any record is read.

    Attributes
    ----------
    guarantee
        The promise of the whole search.
    tries
        The law of the number of tries.
    candidates
        What a try may run.
    units
        The plan of the release that comes before all tries.
    selection
        What the search itself costs.
    stage
        What the score of a try costs it.
    check
        The count of usable records that comes first, or None.
    remarks
        Further lines of ``explain``.
    """

    guarantee: Guarantee
    tries: NumberOfTries
    candidates: tuple[PlannedSolver, ...]
    units: Plan
    selection: Selected
    stage: Stage
    check: RecordCheck | None = None
    remarks: tuple[str, ...] = ()

    @property
    def event(self) -> Event:
        """The whole search as a privacy event."""
        before = () if self.check is None else (self.check.event,)
        return Composed((*before, self.units.event, self.selection))

    @property
    def coordinates(self) -> int:
        """How many numbers are noised, at most."""
        counted = 0 if self.check is None else self.check.coordinates
        tries = selection_coordinates(self.candidates, self.selection)
        return counted + self.units.coordinates + tries

    @property
    def stages_by_place(self) -> tuple[Stage, ...]:
        """The stages for which rows without an order need identifiers."""
        plans = (self.units, *(candidate.plan for candidate in self.candidates))
        return tuple(stage for plan in plans for stage in plan.stages_by_place)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings before anything is spent."""
        never = self.tries.never(1.0 / len(self.candidates))
        few = f"a candidate is never tried with a chance of {never:.0%}: take more n_tries"
        own = dict.fromkeys(each for c in self.candidates for each in c.plan.warnings)
        return (*((few,) if never > 0.5 else ()), *own)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the accuracy of the candidates rests on."""
        return tuple(dict.fromkeys(each for c in self.candidates for each in c.plan.assumptions))

    def explain(self) -> str:
        """Describe in plain words what the budget is spent on."""
        mu, count = self.selection.mu, len(self.candidates)
        never = self.tries.never(1.0 / count)
        assert self.guarantee.delta is not None
        alone = smallest_epsilon(Gaussian(mu), self.guarantee.delta).epsilon
        lines = [
            f"private search: {self.guarantee.describe()}",
            f"  {self.tries.mean:g} tries of {count} candidates are expected; their number is "
            f"secret ({self.tries.law}, at least 1)",
            f"  a given candidate is never tried with a chance of {never:.0%}",
            f"  a try is worth mu = {mu:.4g}, released alone epsilon = {alone:.4g}: "
            f"{1.0 - SCORE_SHARE:.0%} for the fit, {SCORE_SHARE:.0%} for its score",
            f"  beside them units of scores are released at mu = {self.units.total_mu:.4g}",
        ]
        if self.check is not None:
            lines.append(f"  usable records are counted first, at mu = {self.check.mu:.4g}")
        lines += [f"  {remark}" for remark in self.remarks]
        lines += last_lines(self.stages_by_place, self.warnings, self.assumptions)
        return "\n".join(lines)


def plan_search(
    tasks: Sequence[SearchTask],
    problem: Problem,
    guarantee: Guarantee,
    tries: NumberOfTries,
    rule: RecordRule | None,
    columns: Sequence[TableColumn],
) -> SearchPlan:
    """Solve for the budget of a try and let every candidate plan with it.

    ``problem`` has the loss that scores tries. With a ``rule`` usable records are counted before
    all tries, and if they are few, the cells of these ``columns``.
    """
    if not isinstance(guarantee, ApproxDP):
        raise InputError(
            "guarantee must be ApproxDP for a search: what the best of many tries costs is no "
            f"mu, rho or pure epsilon; got {shown(guarantee)}."
        )
    if rule is None:
        return _solved(tasks, problem, guarantee, tries)
    try:
        for apart in (False, True):
            check = rule.check(guarantee, problem, columns, apart=apart)
            if check is None:
                break
            plan = _solved(tasks, problem, guarantee, tries, check)
            if check.is_covered(plan.event):
                return plan
    except InputError:
        pass  # refused again below, with the whole guarantee in the message
    plan = _solved(tasks, problem, guarantee, tries)
    return replace(plan, remarks=(rule.left_out(guarantee, problem),))


def _solved(
    tasks: Sequence[SearchTask],
    problem: Problem,
    guarantee: ApproxDP,
    tries: NumberOfTries,
    check: RecordCheck | None = None,
) -> SearchPlan:
    """Solve for the budget of a try, after a check if there is one."""
    left, before = guarantee, 0.0 if check is None else check.mu
    for _ in range(REPEATS):
        mu = mu_of_a_try(left, tries, math.sqrt(UNITS_SHARE), before) * (1.0 - BUDGET_MARGIN)
        plan = replace(_plan_at(mu, tasks, problem, guarantee, tries), check=check)
        usable = usable_guarantee(guarantee, plan.coordinates)
        assert isinstance(usable, ApproxDP)
        if usable.epsilon >= left.epsilon and usable.delta >= left.delta and left != guarantee:
            break
        left = usable
    return plan


def _plan_at(
    mu: float,
    tasks: Sequence[SearchTask],
    problem: Problem,
    guarantee: ApproxDP,
    tries: NumberOfTries,
) -> SearchPlan:
    """Lay everything out for tries at ``mu``."""
    fit = GDP(mu * math.sqrt(1.0 - SCORE_SHARE))
    score_mu = mu * math.sqrt(SCORE_SHARE) * (1.0 - BUDGET_MARGIN)
    return SearchPlan(
        guarantee=guarantee,
        tries=tries,
        candidates=tuple(_planned(task, fit) for task in tasks),
        units=score_units_plan(problem, mu * math.sqrt(UNITS_SHARE)),
        selection=Selected(mu, tries.mean, tries.law),
        stage=Stage("score", "the mean loss less that of a constant", score_mu, 1, 1),
    )


def _planned(task: SearchTask, guarantee: GDP) -> PlannedSolver:
    """Plan a candidate, naming it in what is refused."""
    try:
        return PlannedSolver(*plan_for(task.solver, task.problem, guarantee))
    except InputError as error:
        settings = ", ".join(f"{name}={four_digits(v)}" for name, v in task.parameters.items())
        raise InputError(
            f"candidate {{{settings}}} must be a fit that can be planned at mu = "
            f"{guarantee.mu:.4g}: {error}"
        ) from None
