"""The constant of a fit: the start of a likelihood, and the whole fit if noise hides the rest.

If the plan predicts that noise hides every scale, the whole budget goes to the constant.

Reference
---------
McCullagh and Nelder 1989, Section 2.2 (the constant fit of a generalised linear model).
"""

import math
from dataclasses import replace

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.gate import Gate
from tailguard.gate.plan import NO_INTERVAL, NOT_ESTIMATED, Plan, Problem, Solution, ridge_setting
from tailguard.gate.stage import Stage, usable_mu
from tailguard.losses.base import Link
from tailguard.privacy.guarantees import Guarantee
from tailguard.queries.histograms import WhitenedHistogram
from tailguard.queries.target_totals import TargetTotals
from tailguard.queries.units import Units
from tailguard.scaling.columns import ColumnScales, columns_of
from tailguard.scaling.noisy_distribution import NoisyDistribution
from tailguard.scaling.units import find_target
from tailguard.solvers.limits import centre_fraction, is_asymmetric
from tailguard.solvers.newton.clipping import SIGNIFICANT, RowNormDistribution
from tailguard.solvers.newton.newton import FitSession
from tailguard.solvers.newton.outlook import constant_hides, constant_stages, refusal, warning
from tailguard.solvers.newton.schedule import HEADROOM, SLOPE_BINS, Shares
from tailguard.solvers.newton.state import Fit
from tailguard.solvers.newton.whitening import Whitening

CONSTANT_ONLY = "constant_only"
"""The setting that marks the plan of a constant without coefficients."""

SIZE = "target typical size"  # the stage of the target's scale
NOT_FITTED = "the budget showed no more than a constant"

# The least estimate of a mean, in standard deviations of the noise of a sum over all records: if
# steps follow, and if not. A start below the mean is worse than one above it.
LEAST_FIRST_MEAN, LEAST_LAST_MEAN = 4.0, 1.0
# Where exposures are cut, and their least mean, in multiples of the reference exposure, which
# ``scaling/columns.py`` sets up to ``exp(2)`` above the typical one. So equal exposures are at .14
# of it. Cut at 4, the mean of exposures over four decades is a third too small.
LARGEST_EXPOSURE, LEAST_EXPOSURE = 8.0, 0.05


def constant_plan(problem: Problem, guarantee: Guarantee, target: str) -> Plan:
    """Plan a constant alone; refuse if noise is predicted to hide it as well."""
    coordinates = sum(stage.coordinates for stage in constant_stages(problem, 1.0))
    mu = usable_mu(guarantee, coordinates)
    if constant_hides(problem, mu):
        raise refusal(problem, guarantee)
    return Plan(
        solver="whitened-newton",
        problem=problem,
        guarantee=guarantee,
        stages=constant_stages(problem, mu),
        settings={"target": target, CONSTANT_ONLY: 1, **ridge_setting(problem)},
        warnings=(warning(problem, guarantee, constant=True),),
        takes_persons=True,
    )


def run_constant_plan(plan: Plan, gate: Gate) -> Solution:
    """Carry out the plan of a constant alone."""
    session = FitSession(plan, gate, Shares())
    session.weigh()
    note = "no coefficient was fitted: the budget shows no scale, and went to the constant"
    return _constant_of_target(session, *session.notes, note)


def constant_of_hidden_amounts(session: FitSession, scales: ColumnScales) -> Solution:
    """Measure the target again, with half of the remaining ``mu**2``, and fit a constant.

    Amounts have no typical unit: if their scale is unknown, every later release cuts them at a
    level that may be a millionth of them.
    """
    stages = session.stages
    stages[SIZE] = replace(stages[SIZE], mu=session.rest(2).mu)
    note = "no coefficient was fitted: the budget showed no scale of the target at first"
    return _constant_of_target(session, note, scales=scales)


def _constant_of_target(
    session: FitSession, *notes: str, scales: ColumnScales | None = None
) -> Solution:
    """Release the target's scale and, with the rest of the budget, its centre or mean."""
    plan, problem = session.plan, session.plan.problem
    units, seen = find_target(session, columns_of(problem), scales)
    if not seen:
        hidden = "the budget showed no scale of the target"
        notes = (*notes, f"{hidden}: the constant is no better than a guess")
    if problem.link.residual:
        return constant_solution(plan, units.target_center, *notes)
    mean, exposure = mean_target(session, units)
    weights = weights_at_mean(np.zeros(problem.size), mean / exposure, problem.link)
    _, intercept = units.coefficients(weights, problem.link)
    return constant_solution(plan, intercept, *notes)


def constant_solution(plan: Plan, constant: float, *notes: str) -> Solution:
    """Return the solution that predicts a constant, or zero without an intercept."""
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
        covariance_root=np.full((problem.size, problem.size), np.nan),
        reasons=(
            *(f"{NOT_ESTIMATED}: {NOT_FITTED}",) * problem.n_features,
            *(f"{NO_INTERVAL}: {NOT_FITTED}",) * problem.intercept,
        ),
        notes=notes,
    )


def keep_constant_only(fit: Fit) -> Fit:
    """Leave out all coefficients; a row of the constant alone has length one."""
    height = fit.weights.size
    fit = replace(fit, weights=np.zeros(height))
    fit = fit.noted("no coefficient was fitted: the budget was too small to see the size of rows")
    if not fit.geometry.units.intercept:
        return fit
    last = np.eye(height)[-1]
    fit = fit.through(Whitening(last[:, None], 1.0, np.zeros(1), np.array([True]), last))
    clipping = replace(fit.clipping, rows=RowNormDistribution.of_ones(math.inf))
    return replace(fit, clipping=clipping)


def fall_back_to_constant(session: FitSession, fit: Fit) -> Fit:
    """Return the constant fit if no round could be run.

    A likelihood releases its constant again, with the rest of the budget. Other losses use the
    target's centre, or release a quantile with the rest of the budget.
    """
    problem, units = session.problem, fit.geometry.units
    if problem.link.residual:
        fit = replace(fit, weights=np.zeros(fit.weights.size))
        fit = fit.noted("no coefficient was fitted: noise hid the residuals")
        at_quantile = problem.intercept and is_asymmetric(session.loss)
        return _at_quantile(session, fit) if at_quantile else fit
    if not problem.intercept:
        return fit
    mean, exposure = mean_target(session, units)
    weights = weights_at_mean(fit.weights, mean / exposure, problem.link)
    return replace(fit, weights=weights).noted(
        "no coefficient was fitted: the budget was too small to see the size of rows; the constant "
        "was released again"
    )


def _at_quantile(session: FitSession, fit: Fit) -> Fit:
    """Release the quantile of residuals about the target's centre, with the remaining budget."""
    query = WhitenedHistogram(fit.geometry.view, "residual", SLOPE_BINS)
    counts, noise_std = session.histograms(query, fit.weights, session.rest())
    distribution = NoisyDistribution.of(counts, SLOPE_BINS, noise_std)
    if not distribution.significance > SIGNIFICANT:
        return fit
    quantile = -distribution.quantile(1.0 - centre_fraction(session.loss))
    return replace(fit, weights=np.append(fit.weights[:-1], quantile))


def weights_at_mean(weights: FloatArray, mean: float, link: Link) -> FloatArray:
    """Return the weights with the score of this mean target as their constant."""
    return np.append(weights[:-1], math.log(mean if link.log else mean / (1.0 - mean)))


def mean_target(
    session: FitSession, units: Units, stage: Stage | None = None
) -> tuple[float, float]:
    """Release the mean target of a likelihood, and the mean exposure: 1 without exposures.

    They are released at ``stage`` if steps follow, else with the rest of the budget. If the mean
    is below a multiple of the noise, it is raised to that multiple. Void records do not count.
    """
    problem, log = session.problem, session.problem.link.log
    exposed = log and problem.has_offset
    least = LEAST_FIRST_MEAN if stage else LEAST_LAST_MEAN
    if stage is None:
        stage = replace(session.stages["constant"], mu=session.rest().mu)
    limit = HEADROOM if log else 1.0
    log_exposure_limit = units.offset_center + math.log(LARGEST_EXPOSURE) if exposed else None
    query = TargetTotals(limit * units.target_scale, log_exposure_limit)
    noise = session.noise_of(query, stage)
    means = query.means(session.ask(query, None, stage), noise)
    mean, smallest = limit * float(means[0]), least * limit / 2.0 * noise
    if not log:  # a share of ones, which is also as far from one
        smallest = min(smallest, 0.5)
        return min(max(mean, smallest), 1.0 - smallest), 1.0
    exposure = LARGEST_EXPOSURE * float(means[-1]) if exposed else 1.0
    # Callers take logarithms, so neither number may be zero.
    return max(mean, smallest, 1e-12), max(exposure, LEAST_EXPOSURE)
