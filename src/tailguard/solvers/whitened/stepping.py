"""One round: release the clipped score, take the Newton step, raise the clip level if bias shows.

Reference
---------
Avella-Medina, Bradshaw and Loh 2023, Section 4 (noisy Newton's method for M-estimators); Brezinski
1980 (extrapolation of a sequence that converges along a line).
"""

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from tailguard.queries.score_ladder import ScoreLadder
from tailguard.solvers.whitened.fit import Arrival, Fit, Leaning
from tailguard.solvers.whitened.ladder import Reading, levels_up_to, shares_of
from tailguard.solvers.whitened.levels import top_level
from tailguard.solvers.whitened.purse import usable
from tailguard.solvers.whitened.stages import LADDER_LEVELS

__all__ = ["step"]

FloatArray = NDArray[np.float64]

LONGEST = 4.0  # no step changes scores by more standard deviations than this
STRETCH = 0.6  # largest share of the last step that the next is believed to repeat
BENDS = (0.2, 4.0)  # within which curvature along the fit is believed
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(40)  # of a standard normal
RISE = 1e-3  # half the step of a numerical rise of the mean
SURE = 2.0  # standard deviations by which two steps must agree before they are stretched


def step(fit: Fit, number: int) -> None:
    """Carry out round ``number``, counted from 0.

    Examples
    --------
    >>> step.__name__
    'step'
    """
    assert fit.clip is not None
    mu = round_mu(fit, number)
    levels = levels_of(fit, number, mu)
    query = ScoreLadder(fit.view, fit.clip.row_limit, levels, shares_of(levels))
    scores = fit.purse.ask(query, fit.weights, mu)
    noise = query.noise_std(fit.n_rows, fit.n_features, mu)
    curvature = max(fit.clip.curvature, 1e-300)
    noise_std = float(noise[0]) / curvature
    way = bounded(fit, slanted(fit, -scores[0] / curvature))
    stretch = stretched(fit, way, noise_std)
    end = usable(fit.weights + fit.view.whitening @ (stretch * way))
    # Where the map bends, its own error is counted three times already (BENT_MISMATCH).
    counted = 1.0 if fit.curved else stretch
    arrival = Arrival(fit.weights, end, counted * noise_std, levels[0], counted, fit.view)
    fit.arrivals.append(arrival)
    fit.settle()
    if len(levels) > 1:
        climb(fit, levels, scores[1:], noise[1:], number)


def round_mu(fit: Fit, number: int) -> float:
    """Return the planned mu of a round; the last one takes what skipped stages left."""
    mu = fit.mu(f"round {number + 1}")
    if number < len(fit.shares.rounds) - 1:
        return mu
    later = [name for name in ("calibration", "calibration curvature", "variance") if fit.has(name)]
    reserve = math.sqrt(sum(fit.purse.plan.stage(name).total_mu ** 2 for name in later))
    return max(mu, fit.purse.left(reserve))


def levels_of(fit: Fit, number: int, mu: float) -> tuple[float, ...]:
    """Return the clip levels of a round: several where the bias of clipping is measured."""
    assert fit.clip is not None
    first = fit.clip.slope_limit
    if number != fit.shares.ladder or fit.slopes is None:
        return (first,)
    top = top_level(fit.slopes, fit.clip.row_limit, fit.view.width, fit.n_rows, mu)
    return levels_up_to(first, top, LADDER_LEVELS)


def bounded(fit: Fit, way: FloatArray) -> FloatArray:
    """Bound a step where curvature varies, since Newton's map is only local there."""
    if not fit.curved:
        return way
    assert fit.rows is not None
    longest = LONGEST * math.sqrt(fit.rows.weight if fit.bent else 1.0)
    return way * min(1.0, longest / max(float(np.linalg.norm(way)), 1e-300))


def slanted(fit: Fit, way: FloatArray) -> FloatArray:
    """Lengthen or shorten the part of a step along the fit, where a likelihood bends otherwise.

    Whitened rows bend the loss alike in all directions but that one: scores that the fit has moved
    far lie where the slope is flat (logistic) or steep (log link). How much so is reckoned for
    scores that are normal about zero (to count the constant made training tasks no better), until
    a release of the curvature tells it.
    """
    constant, now = fit.constant(), fit.inverse @ fit.weights
    now = now - constant @ (constant.T @ now)
    spread = float(np.linalg.norm(now))
    if not fit.curved or fit.bent or not spread > 0.0:
        return way
    along = now / spread
    return np.asarray(way + along * (along @ way) * (1.0 / bend_along(fit, spread) - 1.0))


def bend_along(fit: Fit, spread: float) -> float:
    """Curvature along a fit whose scores have that spread, relative to other directions."""
    scores = spread * NODES
    rise = fit.loss.mean(scores + RISE) - fit.loss.mean(scores - RISE)
    shares = WEIGHTS * rise
    return float(np.clip(shares @ NODES**2 / max(float(shares.sum()), 1e-300), *BENDS))


def stretched(fit: Fit, way: FloatArray, noise_std: float) -> float:
    """Return the factor that anticipates the next steps where this one repeats the last.

    Where curvature does not vary with the score, a new curvature or level ends slow progress.
    """
    assert fit.clip is not None
    if not fit.arrivals:
        return 1.0
    before = fit.arrivals[-1]
    moved = before.view is not fit.view or before.slope_limit != fit.clip.slope_limit
    if moved and not fit.curved:
        return 1.0
    last = fit.inverse @ (before.weights - before.start)
    size = float(last @ last)
    error = SURE * math.sqrt((noise_std**2 + before.noise_std**2) * size)
    repeated = (float(way @ last) - error) / max(size, 1e-300)
    return 1.0 / (1.0 - min(max(repeated, 0.0), STRETCH))


def climb(
    fit: Fit, levels: tuple[float, ...], increments: FloatArray, noise: FloatArray, number: int
) -> None:
    """Raise the slope limit to where the estimated error of the next rounds is least."""
    assert fit.clip is not None
    assert fit.rows is not None
    assert fit.slopes is not None
    limit, width = fit.clip.row_limit, fit.view.width
    spread = fit.rows.variance(limit) / width / fit.n_rows
    gaps = np.array([fit.slopes.gap(*pair) for pair in itertools.pairwise(levels)])
    basis = fit.calibration_basis()
    # Calibration will measure the constant and the fitted score better.
    outside = increments - increments @ basis @ basis.T
    variances = noise**2 + spread * gaps
    biases = Reading(outside, variances).squared_biases(skewed=fit.slopes.skewed)
    way = fit.view.whitening / fit.clip.curvature
    fit.leaning = Leaning(
        way @ outside.sum(axis=0), (way**2).sum(axis=1) * variances.sum(), (levels[0], levels[-1])
    )
    mu = max(fit.rounds_mu(number + 1), 1e-300)
    errors = [
        error_at(fit, limit, level, mu) + bias / fit.clip.curvature**2
        for level, bias in zip(levels, biases, strict=True)
    ]
    best = int(np.argmin(errors))
    if best > 0:
        fit.floor = levels[best]
        fit.notes.append(
            f"clipping residuals at {levels[0]:.3g} target scales showed bias: raised to "
            f"{levels[best]:.3g}"
        )


def error_at(fit: Fit, row_limit: float, level: float, mu: float) -> float:
    """Estimate the sampling and privacy variance of the fit at a slope limit."""
    assert fit.rows is not None
    assert fit.slopes is not None
    total = fit.rows.curvature(row_limit) * fit.slopes.curvature(level)
    sampling = fit.rows.variance(row_limit) * fit.slopes.variance(level) / fit.n_rows
    noise = fit.rows.width * (2.0 * row_limit * level / (fit.n_rows * mu)) ** 2
    return (sampling + noise) / max(total, 1e-12) ** 2
