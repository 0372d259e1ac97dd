"""Noisy gradient descent in privately released units: no bounds and no tuning asked of the user.

A fifth of the budget is for location and scale of columns. Descent then runs in those units with
rows bounded by a public norm, slopes by a public clip and weights by a public ball; the step
follows from the clipped curvature, so it cannot overshoot. Coefficients are mapped back at the end.

Reference
---------
Zhao et al. 2024, Algorithm 1 with the clipped mean of Algorithm 2; Xu et al. 2025, Algorithm 1;
McCullagh and Nelder 1989, Section 6.2 (scaling a Poisson target shifts the intercept only).
The exact Gaussian composition replaces the papers' accounting (Dong, Roth and Su 2022, Corollary
3.3).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import check_choice, check_integer, check_open_unit, check_positive, require
from tailguard.gate import Gate
from tailguard.plans.budget import usable_mu
from tailguard.plans.plan import Plan
from tailguard.plans.problem import Problem
from tailguard.plans.solution import Solution
from tailguard.plans.stage import Stage
from tailguard.privacy.guarantees import Guarantee
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.scaling.units import find_columns
from tailguard.sets.l2_ball import L2Ball
from tailguard.solvers.descent import Schedule, descend, predicted_noise_std
from tailguard.solvers.limits import choose_limits, typical_curvature
from tailguard.solvers.problem_columns import columns_of, units_stages
from tailguard.solvers.scale_facts import UNIT_SHARES, descent_scale_warnings, most_coordinates
from tailguard.solvers.session import BudgetSession

__all__ = ["ScaledGradientDescent"]


ASSUMPTIONS = (
    "most columns take more than one value, so that a scale can be told from zero",
    "few rows exceed the row limit and few slopes the slope limit, in private units",
    "columns are not nearly collinear, nor very many for the number of steps: otherwise descent "
    "stays unfinished and coefficients are pulled towards zero",
)


@dataclass(frozen=True)
class ScaledGradientDescent:
    """Projected noisy gradient descent on privately scaled columns.

    Parameters
    ----------
    units_share
        The share of ``mu**2`` that is spent on locations and scales.
    n_steps, row_limit, slope_limit, radius
        Public numbers; None takes the rule in ``solvers/limits.py``.
    iterate
        ``"tail"`` (average of the second half), ``"average"`` or ``"last"``.

    Guarantee
    ---------
    The run spends exactly the plan's event, whose total is at most the guarantee, for every input.

    Examples
    --------
    >>> import tailguard as tg
    >>> solver = ScaledGradientDescent(n_steps=50)
    >>> plan = solver.plan(
    ...     Problem(tg.losses.Squared(), n_rows=10_000, n_features=4, intercept=True),
    ...     tg.ApproxDP(1.0, 1e-6),
    ... )
    >>> plan.stage("descent").times
    50
    """

    units_share: float = 0.2
    n_steps: int | None = None
    row_limit: float | None = None
    slope_limit: float | None = None
    radius: float = 50.0
    iterate: str = "tail"

    def __post_init__(self) -> None:
        """Check the public numbers."""
        check_open_unit("units_share", self.units_share)
        check_choice("iterate", self.iterate, ("tail", "average", "last"))
        check_positive("radius", self.radius)
        if self.n_steps is not None:
            check_integer("n_steps", self.n_steps, minimum=1)
        if self.row_limit is not None:
            check_positive("row_limit", self.row_limit)
        if self.slope_limit is not None:
            check_positive("slope_limit", self.slope_limit)

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Share the budget out and fix limits and steps from public numbers."""
        require(
            problem.scored is not None,
            "solver 'scaled-gradient-descent' needs a loss of one score; "
            f"{type(problem.loss).__name__} is not: use solver='noisy-gradient-descent' and a "
            "constraint.",
        )
        require(
            problem.constraint is None,
            "solver 'scaled-gradient-descent' must be given no constraint, since it works in "
            "units of its own; use solver='noisy-gradient-descent'.",
        )
        total_mu = usable_mu(guarantee, most_coordinates(problem, self.n_steps))
        unit_stages = units_stages(problem, total_mu * math.sqrt(self.units_share), **UNIT_SHARES)
        left = math.sqrt(total_mu**2 - sum(stage.total_mu**2 for stage in unit_stages))
        limits = choose_limits(
            problem,
            left,
            iterate=self.iterate,
            n_steps=self.n_steps,
            row_limit=self.row_limit,
            slope_limit=self.slope_limit,
        )
        descent_mu = left / math.sqrt(limits.n_steps)
        descent = Stage(
            "descent", "gradients of the clipped loss", descent_mu, limits.n_steps, problem.size
        )
        return Plan(
            solver="scaled-gradient-descent",
            problem=problem,
            guarantee=guarantee,
            stages=(*unit_stages, descent),
            settings={
                "step_size": limits.step_size,
                "row_limit": limits.row_limit,
                "slope_limit": limits.slope_limit,
                "radius": self.radius,
                "iterate": self.iterate,
            },
            assumptions=ASSUMPTIONS,
            warnings=descent_scale_warnings(problem, guarantee, unit_stages),
        )

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Release units, descend with what these leave, map back."""
        session, descent, settings = BudgetSession(plan, gate), plan.stage("descent"), plan.settings
        query = _query(session)
        descent = replace(descent, mu=session.left() / math.sqrt(descent.times))
        schedule = Schedule(descent.times, float(settings["step_size"]), str(settings["iterate"]))
        weights, points = descend(
            gate,
            query,
            descent,
            schedule,
            start=np.zeros(query.units.size),
            constraint=L2Ball(float(settings["radius"])),
        )
        return _descent_solution(plan, query, descent, schedule, weights, points)


def _query(session: BudgetSession) -> MeanClippedGradient:
    """Release units and return the gradient that is asked for in them.

    A column whose scale hides is read in its raw units, or as it is at its centre. A Poisson loss
    has curvature equal to its mean, so rare events make descent slow: under a log link an intercept
    takes up any scale, and the target is read in units of its mean. Its slope limit is read in the
    same units, so that the same slopes are clipped.
    """
    problem, settings = session.plan.problem, session.plan.settings
    columns = columns_of(problem)
    found = find_columns(session, columns)
    found.scale = np.where(found.detected, found.scale, np.maximum(1.0, np.abs(found.center)))
    units, slope_limit = found.units(columns), float(settings["slope_limit"])
    if columns.target and not columns.residual and problem.intercept:
        mean = found.mean_size[columns.n_features]
        rate = min(mean / units.target_scale, 1.0) if mean > 0.0 else 1.0
        units = replace(units, target_scale=units.target_scale * rate)
        slope_limit /= rate
    row_limit = float(settings["row_limit"])
    return MeanClippedGradient(problem.scored, units, row_limit=row_limit, slope_limit=slope_limit)


def _descent_solution(
    plan: Plan,
    query: MeanClippedGradient,
    descent: Stage,
    schedule: Schedule,
    weights: FloatArray,
    points: FloatArray,
) -> Solution:
    """Map weights and their predicted noise back to the user's units."""
    loss, units = query.loss, query.units
    assert loss is not None
    coef, intercept = units.coefficients(weights, loss.link)
    n_rows = plan.problem.n_rows
    calibration = query.calibrate(n_rows, plan.problem.n_features, descent.mu)
    weight_std = predicted_noise_std(
        schedule, calibration.noise_std / n_rows, typical_curvature(loss)
    )
    gain = units.gain(loss.link)
    coef_std = weight_std * gain / units.scale
    own = weight_std * gain if units.intercept else 0.0
    intercept_std = math.hypot(own, float(np.linalg.norm(coef_std * units.center)))
    # Units near the limits of floats can carry a coefficient beyond them.
    coef, intercept = np.nan_to_num(coef), float(np.nan_to_num(intercept))
    return Solution(coef, intercept, plan, coef_std, intercept_std, points)
