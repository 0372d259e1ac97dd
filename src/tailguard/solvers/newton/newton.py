"""Damped Newton rounds and their budget: each releases a clipped gradient; a fit averages them.

Reference
---------
Avella-Medina, Bradshaw and Loh 2023, Section 4 (noisy Newton's method for M-estimators); Polyak and
Juditsky 1992 (damped steps whose average is as good as the best single one); James and Stein 1961
(shrinkage); Smith and Thakurta 2022 and Koskela, Tobaben and Honkela 2023 (shares may move between
releases on released evidence as long as the sum of squares stays within what was reserved).
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import cast

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.gate import Gate
from tailguard.gate.plan import Plan
from tailguard.gate.stage import WEIGHT, Stage
from tailguard.losses.base import Loss
from tailguard.queries.clip_levels import LevelGradients
from tailguard.scaling.units import UNITS
from tailguard.solvers.limits import is_asymmetric
from tailguard.solvers.newton.schedule import AFTER_ROUNDS, Shares, round_name
from tailguard.solvers.newton.state import Fit, NewtonIterate
from tailguard.solvers.newton.whitening import shrunk
from tailguard.solvers.session import BudgetSession, usable


class FitSession(BudgetSession):
    """A budget session with the problem, its loss, and the shares of the plan.

    After units are released, ``share_out`` gives the unspent budget to rounds and corrections.

    Attributes
    ----------
    stages
        The stages by name, with the mu that one release may spend now.
    dropped
        Planned stages that will not run.
    """

    def __init__(self, plan: Plan, gate: Gate, shares: Shares) -> None:
        super().__init__(plan, gate)
        self.loss = cast(Loss, plan.problem.loss)  # the plan checked the type
        self.shares = shares
        self.dropped: list[Stage] = []

    def drop(self, names: Iterable[str]) -> None:
        """Give the budget of these stages to the last rounds."""
        self.dropped = [self.stages.pop(name) for name in names if name in self.stages]

    @contextmanager
    def by_record(self) -> Iterator[None]:
        """Divide means by the number of records: contributions already include weights."""
        weighed, self.problem = self.problem, self.plan.problem
        try:
            yield
        finally:
            self.problem = weighed

    def round(self, phase: int, rounds_left: int = 0) -> Stage:
        """Return the stage of a round; ``rounds_left`` > 0 splits the rest of the budget.

        The stages after the rounds keep their part of the rest. 0 keeps the plan.
        """
        stage = self.stages[round_name(phase)]
        if not rounds_left:
            return stage
        later_mu = total_mu(each for each in self.stages.values() if each.name in AFTER_ROUNDS)
        return replace(stage, mu=max(stage.mu, self.left(later_mu) / math.sqrt(rounds_left)))

    def rounds_mu(self, phase: int) -> float:
        """Return the total mu of all rounds that read the same records as those of the phase.

        The last of these rounds also get the budget of dropped stages.
        """
        early, count = self.shares.early, len(self.shares.rounds)
        phases = range(early) if phase < early else range(early, count)
        dropped = self.dropped if phase >= early else []
        return total_mu([*map(self.round, phases), *dropped])

    def share_out(self, *others: str) -> None:
        """Give the unspent budget of units, and of ``others``, to rounds and corrections."""
        spent = {*UNITS, WEIGHT, *others}
        later_mu = total_mu(stage for stage in self.plan.stages if stage.name not in spent)
        raised = [stage for stage in self.plan.stages if stage.takes_rest]
        # The factor leaves a little budget, since sums of squares are rounded.
        growth = self.left(reserve=later_mu) ** 2 * (1.0 - 1e-9) / total_mu(raised) ** 2
        for stage in raised:
            self.stages[stage.name] = replace(stage, mu=stage.mu * math.sqrt(1.0 + growth))


def total_mu(stages: Iterable[Stage]) -> float:
    """Return the mu that all releases of some stages spend together."""
    return math.hypot(*[stage.total_mu for stage in stages])


LONGEST_STEP = 4.0  # the largest change of scores by a step, in standard deviations
# The largest part of a Newton step that a round takes. If the noise of the step is large, the part
# is the square of this over the squared length of that noise. The average of many rounds has far
# less noise than one round.
LARGEST_PART = 0.5
STABLE_PART = 1.5  # fractions above 2 diverge
LEAST_ALONG = 0.2  # the least relative curvature along a fit of log-odds; by trial
# The squared error of a Newton step, as a share of its squared length; the share of the first
# rounds that the average leaves out. Both by trial.
STEP_ERROR, BURN_IN = 0.3, 1.0 / 3.0
FAR_CONSTANT = 3.0  # standard deviations of its noise that tell a constant from the first one
SETTLED = 4.0  # the largest squared length of a step, over that of its noise, of a fit that settled
_quadrature = cache(np.polynomial.hermite_e.hermegauss)  # computing the nodes is slow


def step(session: FitSession, fit: Fit, *, rounds_left: int = 0) -> Fit:
    """Carry out one round, at the budget that ``session.round`` gives it.

    The round takes a part of the Newton step, a smaller part if there is more noise. If its weight
    in the average of all rounds is at least this part, the fit becomes that average.
    """
    stage, geometry, clipping = session.round(fit.phase, rounds_left), fit.geometry, fit.clipping
    query = LevelGradients(geometry.view, clipping.row_limit, (clipping.slope_limit,))
    gradient = session.ask(query, fit.weights, stage)[0]
    n_rows, curvature = session.n_rows(stage), max(clipping.curvature, 1e-300)
    noise = session.noise_of(query, stage)
    noise_std = float(noise[0]) / curvature
    gradient = gradient / curvature
    shortening = fit.shortening.after(fit.whitened, gradient, noise_std)
    newton = -shortening.matrix @ gradient
    if geometry.ridge > 0.0:  # the step of loss and ridge
        curvature_ratio = np.linalg.inv(shortening.matrix) + fit.pull
        newton = -np.linalg.solve(curvature_ratio, gradient + fit.pull @ fit.whitened)
    if session.problem.link.curved:  # the Newton step is accurate only near the fit
        if not (geometry.curvature_released or geometry.loss.link.log):
            newton = _scaled_along_fit(geometry.loss, fit, newton)
        longest = LONGEST_STEP * math.sqrt(
            clipping.rows.weight if geometry.curvature_released else 1.0
        )
        newton = newton * min(1.0, longest / max(float(np.linalg.norm(newton)), 1e-300))
    # Where noise hides most of the sum of rare amounts, rounds that clip them would lower the
    # constant nearly without end.
    hides_most = -2.0 * clipping.slopes.unseen > clipping.rows.weight
    if hides_most and clipping.slope_limit < clipping.slopes.reach:
        newton = newton - geometry.along_constant(newton)
    displacement = geometry.matrix @ newton
    arrival = usable(fit.weights + displacement)
    iterates = (*fit.iterates, NewtonIterate(fit.weights, arrival, noise_std, n_rows))
    fit = replace(fit, iterates=iterates, shortening=shortening)
    part = min(LARGEST_PART, LARGEST_PART**2 / (newton.size * noise_std**2), _stable_part(fit))
    precision = np.array([iterate.noise_std for iterate in iterates]) ** -2.0
    if part > precision[-1] / precision.sum():
        return replace(fit, weights=fit.weights + part * displacement)
    return averaged(fit)


def _stable_part(fit: Fit) -> float:
    """Return the largest part of a step that converges even where the curvature is largest.

    A step of twice the distance to the zero of the slope ends equally far beyond that zero. Squared
    residuals have curvature one, at most three times the estimated curvature, so they need no
    limit.
    """
    loss, slopes, limit = fit.geometry.loss, fit.clipping.slopes, fit.clipping.slope_limit
    if np.isfinite(loss.curvature_bound()) or loss.link.curved:
        return LARGEST_PART
    return STABLE_PART * slopes.curvature(limit) / max(slopes.steepest(limit), 1e-300)


def _scaled_along_fit(loss: Loss, fit: Fit, newton: FloatArray) -> FloatArray:
    """Lengthen the part of a step along the fit, where log-odds have less curvature.

    Large scores of log-odds have little curvature, so the curvature of whitened rows is the same in
    all directions except along the fit. Until it is released, it is computed for scores that are
    normal about zero; including the constant was no better on the training tasks. With a log link,
    large scores have more curvature, but shorter steps lost more than they gained.
    """
    direction = fit.whitened
    direction = direction - fit.geometry.along_constant(direction)
    spread = float(np.linalg.norm(direction))
    if not spread > 0.0:
        return newton
    unit = direction / spread
    extra = 1.0 / _relative_curvature(loss, spread) - 1.0
    return np.asarray(newton + unit * (unit @ newton) * extra)


def _relative_curvature(loss: Loss, spread: float) -> float:
    """Return the curvature along a fit with this spread of scores over that in others."""
    nodes, weights = _quadrature(40)  # of a standard normal
    shares = weights * loss.expected_curvature(spread * nodes)
    return max(float(shares @ nodes**2) / max(float(shares.sum()), 1e-300), LEAST_ALONG)


def settled(fit: Fit) -> bool:
    """Whether noise explains the length of the last step."""
    last = fit.iterates[-1]
    length = float(np.linalg.norm(fit.geometry.inverse @ (last.weights - last.start)))
    return length**2 <= SETTLED * fit.geometry.width * last.noise_std**2


def averaged(fit: Fit) -> Fit:
    """Return the average of the rounds so far, weighted by their errors and shrunk.

    The squared error of a round is that of its noise plus a share of the squared distance of its
    start from the average, since the Newton step is approximate. Rounds on a sample have larger
    errors, so they count only until a round has read all records. Shrinkage is towards the constant
    fit, which is best if noise far exceeds the signal.

    Reference
    ---------
    Polyak and Juditsky 1992 (the average of later steps is as good as the best of them).
    """
    later, geometry = fit.iterates[int(BURN_IN * len(fit.iterates)) :], fit.geometry
    starts, ends, noises = [], [], []
    for iterate in later:
        if iterate.n_rows == later[-1].n_rows:
            starts.append(geometry.inverse @ iterate.start)
            ends.append(geometry.inverse @ iterate.weights)
            noises.append(iterate.noise_std)
    mean, noise_std = weighted_mean(np.array(starts), np.array(ends), np.array(noises))
    constant = geometry.along_constant(mean)
    rest = mean - constant
    damping = fit.damping
    variance = max(0.0, float((damping**2).sum()) - 1.0) * noise_std**2
    kept_share = shrunk(rest, variance)
    # If shrinkage leaves only the constant, the constant from before the rounds is better. This is
    # not so if the rounds fitted only a constant, or if residuals moved it before the rounds; nor
    # if the loss is not centred at the target's location, and noise does not explain the distance.
    if kept_share == 0.0 and geometry.width > 1 and not fit.constant_moved:
        first = geometry.along_constant(geometry.inverse @ fit.iterates[0].start)
        loss, distance = geometry.loss, float(np.linalg.norm(constant - first))
        off_centre = loss.link.residual and is_asymmetric(loss)
        if not (off_centre and distance > FAR_CONSTANT * noise_std):
            constant = first
    weights = usable(geometry.matrix @ (constant + kept_share * rest))
    inflation = np.sqrt(geometry.whitening.variance_inflation)
    return replace(fit, weights=weights, noise=damping @ np.diag(noise_std * inflation))


def weighted_mean(
    starts: FloatArray, ends: FloatArray, noise_std: FloatArray
) -> tuple[FloatArray, float]:
    """Return the mean of the ends of steps, weighted by inverse squared errors, and its noise."""
    width = ends.shape[1]
    noise, mean = width * noise_std**2, ends[-1]
    for _ in range(3):
        share = 1.0 / (noise + STEP_ERROR * ((starts - mean) ** 2).sum(axis=1))
        share /= share.sum()
        mean = share @ ends
    return mean, float(np.sqrt((share**2 * noise).sum() / width))
