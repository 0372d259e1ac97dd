"""Predict from public numbers what a fit can be: coefficients, a constant, or nothing.

Scales come from histograms of octaves, in which a typical column has the share ``SIZE_WINDOW`` of
its records in one window. If noise is predicted to hide this window, the user is warned and the fit
goes on, since some columns may stand out. If noise would hide even a column with all records in one
window, the whole budget goes to the best constant. If noise would hide the constant as well, the
fit is refused. All of this happens before any budget is spent.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); Avella-Medina, Bradshaw and Loh
2023, Section 4 (the error that noise adds to a Newton step).
"""

import math
from dataclasses import replace
from functools import partial

from tailguard.checks import InputError, require
from tailguard.gate.plan import Problem
from tailguard.gate.stage import WEIGHING, WEIGHT, Stage, usable_mu
from tailguard.losses.base import Link
from tailguard.privacy.guarantees import Guarantee
from tailguard.scaling.noisy_distribution import detection_threshold
from tailguard.scaling.required_records import least, mean_hides, noise_refusal, remedy, two_digits
from tailguard.scaling.sizes_and_locations import FINE_BINS, REFINEMENTS, SIZE_BINS, SIZE_WINDOW
from tailguard.scaling.units import LEVELS
from tailguard.solvers.limits import is_asymmetric
from tailguard.solvers.newton.allocation import (
    MOSTLY_NOISE,
    corrected_from,
    settles,
    shares_for,
)
from tailguard.solvers.newton.schedule import Shares, stages_for

# Row limit times slope limit, in their scales: a round figure for a rough prediction, not a bound.
TYPICAL_LIMITS = 1.5
# Words for the predicted error, by link: the score, its unit, and the noise of simulated fits, by
# their coef_noise_std_, as a multiple of the prediction (3 to 30 normal columns, n * mu from 2,000
# to 30,000; corrections and totals have more noise than rounds).
PREDICTS = {
    Link.IDENTITY: ("the prediction", "in scales of the residuals", "1 to 10"),
    Link.LOG: ("the logarithm of the prediction", "for a mean of about one", "1 to 20"),
    Link.LOGIT: ("the score, as log-odds,", "for slopes and curvatures of about one", "2 to 13"),
}
# Fits need this many times the records at which scales stand out. With them 74 of 81 fits beat a
# constant, and with half as many 18 of 81 (benchmarks/bench_useful_rows.py).
USEFUL = 2.0
LITTLE = "the budget is too small to tell how far off coefficients may be"
CLIPPED = "what this fit converges to depends on clip levels, which noise moves"
"""Why no coefficient has an interval, by public numbers."""
NOT_CORRECTED = "intervals come with the correction, and this fit was not corrected"
"""Why no coefficient has an interval though the budget would do for typical columns."""


def mu_of_fit(problem: Problem, guarantee: Guarantee, shares: Shares) -> float:
    """Return the mu that a fit of coefficients with these shares may spend."""
    coordinates = sum(stage.coordinates for stage in stages_for(problem, shares, 1.0))
    return usable_mu(guarantee, coordinates)


def scales_hide(problem: Problem, guarantee: Guarantee, *, bulk: float = SIZE_WINDOW) -> bool:
    """Whether noise is predicted to hide the target, or columns with this bulk in one window.

    A column with a single value has the largest bulk, 1. The prediction uses the shares of
    ``target="mean"``; with ``"robust"``, sizes get a little more budget.
    """
    shares = shares_for(problem, guarantee.gaussian_mu())
    mu = mu_of_fit(problem, guarantee, shares)
    mu_of = {stage.name: stage.total_mu for stage in shares.units_stages(problem, mu)}
    residual = problem.link.residual  # other losses need no scale of the target
    target_mu = mu_of["target typical size"] if residual else math.inf
    hidden = []
    if LEVELS in mu_of:
        hidden.append(_hides(problem, mu_of[LEVELS], len(problem.levels), bulk))
    # Exposures are measured, too, but no coefficient is fitted to them.
    if n_measured := problem.n_features - sum(map(len, problem.levels)):
        columns_mu = math.hypot(mu_of["typical size"], mu_of.get("typical size retry", 0.0))
        hidden.append(_hides(problem, columns_mu, n_measured, bulk))
    return _hides(problem, target_mu, 1, bulk) or all(hidden)


def check_problem(problem: Problem) -> None:
    """Refuse problems that the method cannot fit, and name a method that can."""
    loss, name = problem.scored, type(problem.loss).__name__
    instead = "use solver='noisy-gradient-descent'"
    if loss is None:
        raise InputError(
            f"solver 'whitened-newton' needs a loss of one score; {name} is not: {instead} and a "
            "constraint."
        )
    require(
        loss.link.residual or loss.quasi_likelihood,
        "solver 'whitened-newton' needs a loss of the residual or a quasi-likelihood, such as "
        f"Poisson, Gamma or Logistic; {name} is neither: {instead} and a constraint.",
    )
    require(
        problem.ridge == 0.0 or loss.quasi_likelihood,
        f"alpha must be 0 for the loss {name}: a ridge goes with squares and likelihoods.",
    )
    require(
        problem.constraint is None,
        "solver 'whitened-newton' must be given no constraint, since it works in units of its own; "
        f"{instead}.",
    )


def constant_stages(problem: Problem, mu: float) -> tuple[Stage, ...]:
    """Plan the releases of a constant that gets the whole budget."""
    size = ("target typical size", "the typical absolute value of the target", 1, SIZE_BINS.count)
    centre = ("target location", "a private centre", 1 + REFINEMENTS, FINE_BINS[-1].count)
    constant = ("constant", "the best constant", 1, 2 + problem.has_offset)
    last = centre if problem.link.residual else constant
    releases = [size, last] if problem.link.scaled else [last]
    if problem.has_weights:
        releases.append((WEIGHT, WEIGHING, 1, 2))
    mu_each = mu / math.sqrt(sum(times for _, _, times, _ in releases))
    return tuple(
        Stage(name, purpose, mu_each, times, count) for name, purpose, times, count in releases
    )


def constant_hides(problem: Problem, mu: float) -> bool:
    """Whether noise is predicted to hide even a constant that gets the whole budget."""
    if not problem.intercept:
        return True
    mu_each = constant_stages(problem, mu)[0].mu
    if not problem.link.scaled:
        return mean_hides(problem.n_rows, 1.0 / mu_each)
    # The best constant of a quantile loss is not a centre, and needs a fit of its own.
    loss = problem.scored
    quantile = loss is not None and loss.link.residual and is_asymmetric(loss)
    return quantile or _hides(problem, mu_each, 1, bulk=1.0)


def predicted_error(problem: Problem, mu: float) -> float:
    """Predict the error that privacy adds, relative to the residuals' scale."""
    noise = 2.0 * TYPICAL_LIMITS * math.sqrt(problem.size) / (problem.n_rows * mu)
    return math.sqrt(problem.size) * noise


def assumptions(problem: Problem, mu: float) -> tuple[str, ...]:
    """Return the assumptions of accuracy, or a note that the budget is small."""
    if predicted_error(problem, mu) < 1.0:
        return ("columns vary, and their scales can be told from the noise",)
    return (
        f"n * mu = {problem.n_rows * mu:.3g} is small for {problem.size} coefficients: expect "
        "little more than the constant fit",
    )


ESTIMAND = (
    "intervals are of the fit without privacy on these records, every feature held within "
    "feature_bounds_ and every target counted in full; they also cover what another sample of "
    "records would change"
)
"""The estimand of a corrected fit."""


def meaning_of_error(problem: Problem) -> str:
    """Explain the predicted error in one sentence."""
    score, unit, times = PREDICTS[problem.link]
    return (
        f"that is how far noise alone would move {score} of a typical row (root mean square, "
        f"{unit}) if every column and the target were seen and rounds got the whole budget; it is "
        f"the same for every loss, and simulated fits of this kind had {times} times as much"
    )


def warning(problem: Problem, guarantee: Guarantee, *, constant: bool) -> str:
    """Return the warning: what will be fitted, and which budget would suffice.

    It does not state ``guarantee``, which is what a count of usable records left of the user's.
    """
    words = "only a constant is fitted" if constant else "little more than a constant is expected"
    hides = "every column is predicted to" if constant else "typical columns may"
    return (
        f"{words}: with this budget and {problem.n_rows:,} {problem.noun} the scale of {hides} "
        f"hide in the noise; {_remedy(problem, guarantee)}"
    )


def refusal(problem: Problem, guarantee: Guarantee) -> InputError:
    """Return the error for a fit that would be noise."""
    return noise_refusal(problem.n_rows, guarantee, _remedy(problem, guarantee), problem.noun)


def why_no_interval(
    problem: Problem, guarantee: Guarantee, *, robust: bool, weight: float = 1.0
) -> str:
    """Return why a fit that is not corrected has no intervals, and what would give some.

    ``weight`` is the mean weight of records, as a part of the bound of weights. ``problem.n_rows``
    is the total weight. A correction is planned by the number of records, and dropped if their
    total weight is small.
    """
    if problem.link.residual and not settles(problem, robust=robust):
        return CLIPPED
    needed = max(corrected_from(problem, robust=robust), MOSTLY_NOISE / weight)

    def no_interval(promise: Guarantee) -> bool:
        return problem.n_rows / weight * usable_mu(promise, problem.size) < needed

    if not no_interval(guarantee):
        return NOT_CORRECTED
    n_rows = two_digits(needed / usable_mu(guarantee, problem.size))
    enough = remedy(n_rows, guarantee, no_interval, problem.noun)
    return f"{LITTLE}; {enough.rstrip('.')}"


def _hides(problem: Problem, mu: float, columns: int, bulk: float) -> bool:
    """Whether noise is predicted to hide a bulk of the records in histograms at this mu."""
    needed = detection_threshold(columns) * math.sqrt(2.0 * columns)
    return bulk * problem.n_rows * mu < needed


def _remedy(problem: Problem, guarantee: Guarantee) -> str:
    """Describe how many records, or which epsilon, would suffice."""
    n_rows = useful_rows(problem, guarantee)
    return remedy(n_rows, guarantee, partial(rarely_beats_constant, problem), problem.noun)


def useful_rows(problem: Problem, guarantee: Guarantee) -> float:
    """Return the number of records from which fits beat a constant, rounded up to two digits."""

    def too_few(n_rows: float) -> bool:
        return rarely_beats_constant(replace(problem, n_rows=int(n_rows)), guarantee)

    return two_digits(least(too_few, 2.0))


def rarely_beats_constant(problem: Problem, guarantee: Guarantee) -> bool:
    """Whether a fit is often no better than a constant; its plan then warns."""
    n_rows = max(1, int(problem.n_rows / USEFUL))
    return scales_hide(replace(problem, n_rows=n_rows), guarantee)
