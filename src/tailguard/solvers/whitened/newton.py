"""One round: release the clipped score and go a part of the Newton step.

Reference
---------
Avella-Medina, Bradshaw and Loh 2023, Section 4 (noisy Newton's method for M-estimators); Polyak and
Juditsky 1992 (damped steps whose average is as good as the best single one).
"""

import math
from dataclasses import replace

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.queries.clipped_scores import ClippedScores
from tailguard.solvers.session import usable
from tailguard.solvers.whitened.schedule import FIT_CHOICE
from tailguard.solvers.whitened.secants import Score, Secants
from tailguard.solvers.whitened.state import Fit, NewtonIterate

__all__ = ["step"]


LONGEST = 4.0  # no step changes scores by more standard deviations than this
# The largest part of a Newton step that is gone; by noise of that squared length it is gone in full
# at most, by more in so much smaller a part. The average of many rounds carries far less noise.
LARGEST_PART, NOISE_PART = 0.5, 0.25
STABLE_PART = 1.5  # of the part from which on a step swings ever further, 2
CURVATURE_RANGE = (0.2, 4.0)  # within which curvature along the fit is believed
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(40)  # of a standard normal
SLOPE_STEP = 1e-3  # half the step of a numerical rise of the mean


def step(fit: Fit, *, sharing: int = 0) -> None:
    """Carry out one round of the phase, ``sharing`` what is left with so many, itself included.

    It goes a part of the Newton step, the less the noisier. Where that is less than what an average
    of all rounds would go, the fit stands at the average.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> fit = example_fit(tg.losses.Squared(), phase=0)
    >>> step(fit)
    >>> len(fit.iterates), fit.iterates[0].n_rows
    (1, 4000)
    """
    assert fit.clip is not None
    (planned,) = fit.rounds([fit.phase])
    stage = fit.allowed(planned)
    if sharing:
        stage = replace(stage, mu=max(stage.mu, _left(fit) / math.sqrt(sharing)))
    query = ClippedScores(fit.view, fit.clip.row_limit, (fit.clip.slope_limit,))
    score = fit.session.ask(query, fit.weights, stage)[0]
    n_rows, curvature = fit.session.n_rows(stage), max(fit.clip.curvature, 1e-300)
    noise_std = float(query.noise_std(n_rows, fit.n_features, stage.mu)[0]) / curvature
    found = Score(
        fit.view.whitening, fit.clip, fit.inverse @ fit.weights, score / curvature, noise_std
    )
    fit.secants = Secants.of(found) if fit.secants is None else fit.secants.after(found)
    newton = bounded_displacement(fit, scaled_along_fit(fit, fit.secants.step()))
    displacement = fit.view.whitening @ newton
    start, end = fit.weights, usable(fit.weights + displacement)
    fit.iterates.append(NewtonIterate(start, end, noise_std, n_rows))
    part = min(LARGEST_PART, NOISE_PART / (fit.view.width * noise_std**2), _stable_part(fit))
    precision = np.array([iterate.noise_std for iterate in fit.iterates]) ** -2.0
    if part > precision[-1] / precision.sum():
        fit.weights = start + part * displacement
    else:
        fit.average_iterates()


def _stable_part(fit: Fit) -> float:
    """Return the largest part of a step that converges even where slopes rise the most.

    A step twice as long as where the slope is zero swings back as far as it came. Slopes of squared
    residuals rise by one, at most three times the believed curvature.
    """
    if fit.link.curved or np.isfinite(fit.loss.curvature_bound()):
        return LARGEST_PART
    assert fit.clip is not None
    assert fit.slopes is not None
    limit = fit.clip.slope_limit
    return STABLE_PART * fit.slopes.curvature(limit) / max(fit.slopes.steepest(limit), 1e-300)


def _left(fit: Fit) -> float:
    """Return the mu that the stages after the rounds leave."""
    later = fit.planned("debiasing", "debiasing curvature", FIT_CHOICE, "variance")
    return fit.session.left(fit.total_mu(later))


def bounded_displacement(fit: Fit, displacement: FloatArray) -> FloatArray:
    """Bound a step where curvature varies, since Newton's map is only local there."""
    if not fit.link.curved:
        return displacement
    assert fit.rows is not None
    longest = LONGEST * math.sqrt(fit.rows.weight if fit.curvature_released else 1.0)
    return displacement * min(1.0, longest / max(float(np.linalg.norm(displacement)), 1e-300))


def scaled_along_fit(fit: Fit, displacement: FloatArray) -> FloatArray:
    """Lengthen or shorten the part of a step along the fit, where a likelihood's curvature differs.

    In whitened rows the curvature is the same in all directions but that one: scores that the fit
    has moved far lie where the slope is flat (logistic) or steep (log link). How much so is
    reckoned for scores that are normal about zero (to count the constant made training tasks no
    better), until a release of the curvature tells it.
    """
    constant, now = fit.constant(), fit.inverse @ fit.weights
    now = now - constant @ (constant.T @ now)
    spread = float(np.linalg.norm(now))
    if not fit.link.curved or fit.curvature_released or not spread > 0.0:
        return displacement
    along = now / spread
    return np.asarray(
        displacement
        + along * (along @ displacement) * (1.0 / relative_curvature(fit, spread) - 1.0)
    )


def relative_curvature(fit: Fit, spread: float) -> float:
    """Curvature along a fit whose scores have that spread, relative to other directions."""
    scores = spread * NODES
    slopes, none = fit.expected.slope, np.zeros(scores.size)
    rise = slopes(scores + SLOPE_STEP, none) - slopes(scores - SLOPE_STEP, none)
    shares = WEIGHTS * rise
    return float(np.clip(shares @ NODES**2 / max(float(shares.sum()), 1e-300), *CURVATURE_RANGE))
