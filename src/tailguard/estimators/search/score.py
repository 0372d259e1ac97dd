"""How a try is judged: by its mean loss less that of a constant, in private units of the target.

Losses of heavy-tailed targets have no bound that is known. So before the search a constant and a
scale of the target are released once. Each try then asks for the mean, over all records, of the
difference between its model's loss and the constant's, record by record, clipped at a fixed number
of these scales. One record moves it by at most two limits over the number of records, whatever the
model is.

The same records are fitted and scored, each with a share of a try's budget. A part held out would
have the whole budget, but fewer records for both, and linear models of far fewer columns than
records hardly lose by being scored on what they were fitted to.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Theorem 1 (sums with bounded terms); Liu and Talwar 2019
(scores of candidates).
"""

from dataclasses import dataclass, replace

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Problem, Solution
from tailguard.gate.stage import Stage
from tailguard.losses.base import Link, Loss
from tailguard.privacy.guarantees import GDP
from tailguard.queries.loss_differences import LossDifferences
from tailguard.queries.units import Units
from tailguard.queries.view import LARGEST_FEATURE, View
from tailguard.scaling.units import find_target
from tailguard.solvers.newton.constant import run_constant_plan
from tailguard.solvers.newton.outlook import constant_stages
from tailguard.solvers.session import BEYOND_FLOATS, BudgetSession
from tailguard.solvers.units import columns_of, units_stages

# A difference is clipped at the loss of a residual of so many scales of the target, at half a nat,
# and at two counts in scales of the target.
LIMITS = {Link.LOGIT: 0.5, Link.LOG: 2.0}
SCALES = 2.0

UNSEEN = "the budget showed no scale of the target: scores are in its raw units"


@dataclass(frozen=True, eq=False)
class LossScore:
    """The clipped mean loss of a model less that of a constant.

    Attributes
    ----------
    loss
        By which models are compared.
    stage
        What a score costs.
    n_features
        The number of columns.
    target_center, target_scale
        Released units of the target.
    constant
        The score of the constant, in these units.

    Examples
    --------
    >>> import tailguard as tg
    >>> score = LossScore(tg.losses.Squared(), Stage("score", "mean loss", 0.1, 1, 1), 2)
    >>> score.limit
    2.0
    """

    loss: Loss
    stage: Stage
    n_features: int
    target_center: float = 0.0
    target_scale: float = 1.0
    constant: float = 0.0

    @property
    def limit(self) -> float:
        """Where a difference is clipped, in units of the loss."""
        return LIMITS.get(self.loss.link) or max(float(self.loss.value(SCALES, 0.0)), 1e-12)

    def question(self, solution: Solution) -> tuple[LossDifferences, FloatArray]:
        """Return what a model's score is asked with: the query, and the weights of both.

        A model reads features as its fit did, within the bounds that it has.
        """
        center, half = np.zeros(self.n_features), np.ones(self.n_features)
        bounded = solution.feature_bounds is not None
        if solution.feature_bounds is not None:
            low, high = solution.feature_bounds.T
            read = np.isfinite(low) & np.isfinite(high) & (low < high)
            center[read], half[read] = (low[read] + high[read]) / 2.0, (high - low)[read] / 2.0
        units = Units(
            center, half, True, target_center=self.target_center, target_scale=self.target_scale
        )
        gain, link = units.gain(self.loss.link), self.loss.link
        level = solution.intercept + float(solution.coef @ center)
        level -= self.target_center if link.residual else 0.0
        level -= float(np.log(self.target_scale)) if link.log else 0.0
        weights = np.append(solution.coef * half, level) / gain
        constant = np.append(np.zeros(self.n_features), self.constant)
        view = View.plain(self.loss, units)
        view = replace(view, bound=1.0 if bounded else LARGEST_FEATURE)
        query = LossDifferences(self.loss, (view, view), self.limit)
        return query, np.array([constant, weights])


def score_units_plan(problem: Problem, mu: float) -> Plan:
    """Plan the release of a constant and of a scale of the target.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Squared(), n_rows=1000, n_features=3, intercept=True)
    >>> [stage.name for stage in score_units_plan(problem, 0.1).stages]
    ['target typical size', 'target location', 'target scale']
    """
    problem = replace(problem, intercept=True, constraint=None)
    if problem.link.residual:
        facts = {"size": 0.0, "location": 0.0, "pair_differences": 0.0, "target": 1.0}
        stages = tuple(units_stages(problem, mu, **facts))
    else:
        stages = constant_stages(problem, mu)
    return Plan("units of scores", problem, GDP(mu), stages)


def find_score(plan: Plan, gate: Gate, loss: Loss, stage: Stage) -> tuple[LossScore, str | None]:
    """Release constant and scale; return the score, and a note where no scale was seen.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Squared(), n_rows=1000, n_features=1, intercept=True)
    >>> plan = score_units_plan(problem, 1.0)
    >>> y = np.random.default_rng(0).normal(50.0, 1.0, 1000)
    >>> gate = Gate.over(y[:, None], y, guarantee=tg.GDP(1.0), random_state=0)
    >>> gate.reserve(plan.event, coordinates=plan.coordinates)
    >>> score, note = find_score(plan, gate, problem.loss, Stage("score", "loss", 0.1, 1, 1))
    >>> bool(abs(score.target_center - 50.0) < 1.0), bool(0.2 < score.target_scale < 5.0), note
    (True, True, None)
    """
    score = LossScore(loss, stage, plan.problem.n_features)
    link = plan.problem.link
    try:
        if link.residual:
            units, seen = find_target(BudgetSession(plan, gate), columns_of(plan.problem))
            center, scale = float(units.target_center), float(units.target_scale)
            found = replace(score, target_center=center, target_scale=scale)
            return found, None if seen else UNSEEN
        constant = run_constant_plan(plan, gate).intercept
    except BEYOND_FLOATS:
        return score, UNSEEN
    if not link.log:
        return replace(score, constant=constant), None
    with np.errstate(all="ignore"):
        scale = float(np.exp(constant))
    usable = 0.0 < scale < np.inf
    return (replace(score, target_scale=scale), None) if usable else (score, UNSEEN)
