"""A fit of nothing but a constant, with the whole budget, where no scale is expected to be seen.

Reference
---------
McCullagh and Nelder 1989, Section 2.2 (the constant fit of a generalised linear model).
"""

import math

import numpy as np

from tailguard.gate import Gate
from tailguard.plans.budget import usable_mu
from tailguard.plans.plan import Plan
from tailguard.plans.problem import Problem
from tailguard.plans.solution import Solution
from tailguard.privacy.guarantees import Guarantee
from tailguard.queries.view import View
from tailguard.scaling.units import find_target
from tailguard.solvers.problem_columns import columns_of
from tailguard.solvers.session import BudgetSession
from tailguard.solvers.whitened.outlook import (
    constant_hides,
    constant_stages,
    refusal,
    warning,
)
from tailguard.solvers.whitened.schedule import Shares
from tailguard.solvers.whitened.start import best_constant
from tailguard.solvers.whitened.state import Fit

__all__ = ["CONSTANT_ONLY", "constant_plan", "constant_solution", "fit_constant"]


CONSTANT_ONLY = "fit_constant_only"
"""The plan's setting that says so."""

UNSEEN = "no scale could be told from noise of the target: the constant is no better than a guess"
PLANNED = "no scale was expected to be seen: the budget went to the constant"


def constant_plan(problem: Problem, guarantee: Guarantee, target: str) -> Plan:
    """Plan a constant and nothing else, or refuse where noise is predicted to hide it as well.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Squared(), 200, 3, intercept=True)
    >>> len(constant_plan(problem, tg.GDP(0.2), "mean").stages)
    2
    """
    coordinates = sum(stage.coordinates for stage in constant_stages(problem, 1.0))
    mu = usable_mu(guarantee, coordinates)
    if constant_hides(problem, mu):
        raise refusal(problem, guarantee)
    return Plan(
        solver="whitened-newton",
        problem=problem,
        guarantee=guarantee,
        stages=constant_stages(problem, mu),
        settings={"target": target, CONSTANT_ONLY: 1},
        warnings=(warning(problem, guarantee, constant=True),),
    )


def fit_constant(plan: Plan, gate: Gate) -> Solution:
    """Release the best constant.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.plans.problem import Problem
    >>> from tailguard.solvers.whitened.solver import WhitenedNewton
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((200, 3)), rng.normal(50.0, 1.0, 200)
    >>> problem = Problem(tg.losses.Squared(), 200, 3, intercept=True)
    >>> plan = WhitenedNewton().plan(problem, tg.GDP(0.2))
    >>> gate = Gate.over(X, y, guarantee=tg.GDP(0.2), random_state=0)
    >>> gate.reserve(plan.event, coordinates=plan.coordinates)
    >>> bool(abs(fit_constant(plan, gate).intercept - 50.0) < 5.0)
    True
    """
    session, problem = BudgetSession(plan, gate), plan.problem
    units, seen = find_target(session, columns_of(problem))
    notes = (PLANNED,) if seen else (PLANNED, UNSEEN)
    if problem.link.residual:
        return constant_solution(plan, units.target_center, *notes)
    size = problem.size
    view = View(problem.scored, units, np.eye(size)[:, -1:])
    nothing = np.zeros(size)
    fit = Fit(session, problem, Shares(), view, nothing, nothing.copy(), 1.0, np.ones(1))
    best_constant(fit)
    _, intercept = units.coefficients(fit.weights, problem.link)
    return constant_solution(plan, intercept, *notes)


def constant_solution(plan: Plan, constant: float, *notes: str) -> Solution:
    """Return a fit that is a constant; zero without an intercept.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.plans.problem import Problem
    >>> problem = Problem(tg.losses.Squared(), 200, 3, intercept=True)
    >>> constant_solution(Plan("example", problem, tg.GDP(0.2), ()), 7.0).intercept
    7.0
    """
    problem = plan.problem
    unknown = np.full(problem.n_features, np.nan)
    return Solution(
        coef=np.zeros(problem.n_features),
        intercept=float(np.nan_to_num(constant)) if problem.intercept else 0.0,
        plan=plan,
        coef_noise_std=unknown,
        intercept_noise_std=math.nan,
        trace=np.zeros((0, problem.size)),
        coef_std=unknown,
        notes=notes,
    )
