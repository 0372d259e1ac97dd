"""The plan of a search, from public numbers, and the score of a try.

The score of a try is the mean loss of its model minus the mean loss of a constant. Losses of
heavy-tailed targets have no known bound, so a constant and a scale of the target are released once,
before the search. Each record's difference of losses is then clipped at a fixed number of these
scales. One record changes the score by at most twice that limit over the number of records, for
every model.

A try fits and scores the same records, each with a share of its budget. With held-out records, fit
and score would both have the whole budget, but fewer records. A linear model with far fewer columns
than records scores almost the same on the records of its fit.

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
from tailguard.scaling.columns import columns_of
from tailguard.scaling.units import find_target, histogram_stages
from tailguard.solvers.newton.constant import run_constant_plan
from tailguard.solvers.newton.outlook import constant_stages
from tailguard.solvers.registry import plan_for
from tailguard.solvers.session import BEYOND_FLOATS, BudgetSession

# Limits of a difference of losses: 0.5 for log-loss, in natural logarithms; 2 for a log link, in
# units of the target's scale; and for other links, the loss of a residual of CLIP_SCALES scales.
CLIP_LIMITS = {Link.LOGIT: 0.5, Link.LOG: 2.0}
CLIP_SCALES = 2.0

UNSEEN = "the budget showed no scale of the target: scores are in its raw units"


@dataclass(frozen=True, eq=False)
class LossScore:
    """The clipped mean loss of a model minus that of a constant.

    Attributes
    ----------
    loss
        The loss by which models are compared.
    stage
        The cost of one score.
    n_features
        The number of columns.
    target_center, target_scale
        Released units of the target.
    constant
        The score that the constant predicts, in units of the target.
    bounded
        Whether predictions respect the model's bounds of features and of scores.
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
        """The limit at which a difference is clipped, in units of the loss."""
        typical = float(self.loss.value(CLIP_SCALES, 0.0))
        return CLIP_LIMITS.get(self.loss.link) or max(typical, 1e-12)

    def question(self, solution: Solution) -> tuple[LossDifferences, FloatArray]:
        """Return the query for a model's score, and its state: two vectors of weights."""
        center, half_width = np.zeros(self.n_features), np.ones(self.n_features)
        bounds = solution.feature_bounds if self.bounded else None
        if bounds is not None:
            low, high = bounds.T
            usable = np.isfinite(low) & np.isfinite(high) & (low < high)
            center[usable] = (low[usable] + high[usable]) / 2.0
            half_width[usable] = (high - low)[usable] / 2.0
        units = Units(center, half_width, True, self.target_center, self.target_scale)
        gain, link = units.gain(self.loss.link), self.loss.link
        zero_score = self.target_center if link.residual else 0.0
        zero_score += float(np.log(self.target_scale)) if link.log else 0.0
        intercept = solution.intercept + float(solution.coef @ center) - zero_score
        weights = np.append(solution.coef * half_width, intercept) / gain
        constant = np.append(np.zeros(self.n_features), self.constant)
        bound = LARGEST_FEATURE if bounds is None else 1.0
        view = replace(View.plain(self.loss, units), bound=bound)
        query = LossDifferences(self.loss, (view, view), self.limit)
        if self.bounded:
            lowest, highest = ((bound - zero_score) / gain for bound in solution.score_bounds)
            query = replace(query, score_bounds=(lowest, highest))
        return query, np.array([constant, weights])


def score_units_plan(problem: Problem, mu: float) -> Plan:
    """Plan the release of a constant and a scale of the target."""
    problem = replace(problem, intercept=True, constraint=None)
    if problem.link.residual:
        stages = tuple(histogram_stages(columns_of(problem), Gaussian(mu), target=1.0))
    else:
        stages = constant_stages(problem, mu)
    return Plan("units of scores", problem, GDP(mu), stages)


def find_score(plan: Plan, gate: Gate, loss: Loss, stage: Stage) -> tuple[LossScore, str | None]:
    """Release constant and scale; return the score, and a note if no scale was seen."""
    score = LossScore(loss, stage, plan.problem.n_features)
    link = plan.problem.link
    try:
        if link.residual:
            units, was_seen = find_target(BudgetSession(plan, gate), columns_of(plan.problem))
            center, scale = float(units.target_center), float(units.target_scale)
            score = replace(score, target_center=center, target_scale=scale)
            return score, None if was_seen else UNSEEN
        constant = run_constant_plan(plan, gate).intercept
    except BEYOND_FLOATS:
        return score, UNSEEN
    if not link.log:
        return replace(score, constant=constant), None
    with np.errstate(all="ignore"):
        scale = float(np.exp(constant))
    usable = 0.0 < scale < np.inf
    return (replace(score, target_scale=scale), None) if usable else (score, UNSEEN)


# Shares of a try's squared mu for its score and, once per search, for the units of scores. They are
# measured in ``docs/mechanisms/best-of-tries.md``.
SCORE_SHARE, UNITS_SHARE = 0.1, 0.05

# How often the budget of a try is recomputed: the number of released values depends on the plan,
# and the usable guarantee on that number.
MOST_REPEATS = 3


@dataclass(frozen=True, eq=False)
class SearchTask:
    """One candidate: its solver, its problem and its parameters."""

    solver: Any
    problem: Problem
    parameters: dict[str, Any]


@dataclass(frozen=True, eq=False)
class SearchPlan:
    """The plan of a search, computed before any record is read.

    Attributes
    ----------
    guarantee
        The promise of the whole search.
    tries
        The law of the number of tries.
    candidates
        The planned solvers from which a try takes one.
    units
        The plan of the release before all tries.
    selection
        The cost of all tries together.
    stage
        The cost of a score, within the budget of its try.
    check
        The count of usable records before all other releases, or None.
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
        """The largest number of values that get noise."""
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
        """Warnings that are shown before any budget is spent."""
        chance_of_none = self.tries.never(1.0 / len(self.candidates))
        advice = (
            f"a candidate is never tried with a chance of {chance_of_none:.0%}: take more n_tries"
        )
        of_plans = [each for candidate in self.candidates for each in candidate.plan.warnings]
        return (*((advice,) if chance_of_none > 0.5 else ()), *dict.fromkeys(of_plans))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions for the accuracy of the candidates."""
        of_plans = [each for candidate in self.candidates for each in candidate.plan.assumptions]
        return tuple(dict.fromkeys(of_plans))

    def explain(self) -> str:
        """Describe how the budget is spent."""
        mu, count = self.selection.mu, len(self.candidates)
        chance_of_none = self.tries.never(1.0 / count)
        assert self.guarantee.delta is not None
        epsilon = smallest_epsilon(Gaussian(mu), self.guarantee.delta).epsilon
        lines = [
            f"private search: {self.guarantee.describe()}",
            f"  {self.tries.mean:g} tries of {count} candidates are expected; their number is "
            f"secret ({self.tries.law}, at least 1)",
            f"  a given candidate is never tried with a chance of {chance_of_none:.0%}",
            f"  a try is worth mu = {mu:.4g}, released alone epsilon = {epsilon:.4g}: "
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
    """Compute the budget of a try, and plan every candidate with it.

    ``problem`` has the loss that scores tries. With a ``rule``, usable records are counted before
    all tries. If there are few, usable cells of ``columns`` are counted as well.
    """
    if not isinstance(guarantee, ApproxDP):
        raise InputError(
            "guarantee must be ApproxDP for a search: what the best of many tries costs is no "
            f"mu, rho or pure epsilon; got {shown(guarantee)}."
        )
    if rule is None:
        return _plan_after(tasks, problem, guarantee, tries)
    try:
        for apart in (False, True):
            check = rule.check(guarantee, problem, columns, apart=apart)
            if check is None:
                break
            plan = _plan_after(tasks, problem, guarantee, tries, check)
            if check.is_covered(plan.event):
                return plan
    except InputError:
        pass  # planning below repeats the error, with the whole guarantee in its message
    plan = _plan_after(tasks, problem, guarantee, tries)
    return replace(plan, remarks=(rule.left_out(guarantee, problem),))


def _plan_after(
    tasks: Sequence[SearchTask],
    problem: Problem,
    guarantee: ApproxDP,
    tries: NumberOfTries,
    check: RecordCheck | None = None,
) -> SearchPlan:
    """Compute the budget of a try that remains after ``check``, and plan the search."""
    remaining, mu_before = guarantee, 0.0 if check is None else check.mu
    for _ in range(MOST_REPEATS):
        mu = mu_of_a_try(remaining, tries, math.sqrt(UNITS_SHARE), mu_before)
        mu *= 1.0 - BUDGET_MARGIN
        plan = replace(_plan_at(mu, tasks, problem, guarantee, tries), check=check)
        usable = usable_guarantee(guarantee, plan.coordinates)
        assert isinstance(usable, ApproxDP)
        is_enough = usable.epsilon >= remaining.epsilon and usable.delta >= remaining.delta
        if is_enough and remaining != guarantee:
            break
        remaining = usable
    return plan


def _plan_at(
    mu: float,
    tasks: Sequence[SearchTask],
    problem: Problem,
    guarantee: ApproxDP,
    tries: NumberOfTries,
) -> SearchPlan:
    """Plan the search for tries of ``mu`` each."""
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
    """Plan a candidate; an error names its parameters."""
    try:
        return PlannedSolver(*plan_for(task.solver, task.problem, guarantee))
    except InputError as error:
        settings = ", ".join(f"{name}={four_digits(v)}" for name, v in task.parameters.items())
        raise InputError(
            f"candidate {{{settings}}} must be a fit that can be planned at mu = "
            f"{guarantee.mu:.4g}: {error}"
        ) from None
