"""The last correction for squared and log-link losses, along what clipping takes most from.

These are a constant (skewed residuals) and the fitted score (spread that grows with the mean). So
few coordinates carry little noise, so that residuals can be clipped far higher there than in all
directions, and the level grows with ``n * mu``.

Reference
---------
Cox 1958 (recalibration by intercept and slope); Stein 1981 and Efron and Morris 1973 (shrinkage of
a correction by its noise).
"""

import itertools
from dataclasses import replace

import numpy as np
from scipy.special import expit

from tailguard.array_types import FloatArray
from tailguard.queries.clipped_scores import ClippedScores
from tailguard.queries.second_moments import SecondMoments
from tailguard.queries.view import View
from tailguard.solvers.session import usable
from tailguard.solvers.whitened.clip_increments import (
    ClipIncrements,
    increment_shares,
    levels_up_to,
)
from tailguard.solvers.whitened.clipping import top_level
from tailguard.solvers.whitened.covariance import CLIPPED_SHARES, clipped_variance, squared_bias
from tailguard.solvers.whitened.histograms import curvature_weighting
from tailguard.solvers.whitened.schedule import DEBIASING_LEVELS
from tailguard.solvers.whitened.state import Fit
from tailguard.solvers.whitened.whitening import noise_level, shrunk

__all__ = ["debias"]


ROW_LIMIT = 1.5  # the typical length of a constant and a standardised score is sqrt(2)
# Corrections that nothing leads to expect count beyond this many times their variance: all together
# where residuals are symmetric, since clipping does not bias these; else along each direction.
UNEXPECTED, UNEXPECTED_ALONG = 3.0, 4.0
FLATTEST = 0.1  # share of the curvature of all directions that these have at least
# Rows count in the curvature up to the largest of these many times the row limit at which noise is
# at most this share of it: few rows may be far longer than most along what residuals lean to.
CAPS, CURVATURE_NOISE = (8.0, 4.0, 2.0), 0.1
LONGEST = 1.0  # a correction of a log link goes no further


def debias(fit: Fit) -> None:
    """Move the fit in two directions to where scores clipped far higher average zero.

    It stays where it is if that was not planned.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> from tailguard.solvers.whitened.histograms import start_phase
    >>> from tailguard.solvers.whitened.newton import step
    >>> fit = example_fit(tg.losses.Squared(), phase=0)
    >>> step(fit)
    >>> start_phase(fit, phase=3)
    True
    >>> debias(fit)
    >>> fit.debiased.shape, len(fit.notes)
    ((3, 2), 1)
    """
    if fit.slopes is None or not fit.has("debiasing"):
        return
    assert fit.clip is not None
    basis = fit.debiasing_basis()
    stage, first = fit.stage("debiasing"), fit.clip.slope_limit
    top = top_level(fit.slopes, ROW_LIMIT, basis.shape[1], fit.n_rows, stage.mu)
    levels = levels_up_to(first, top, DEBIASING_LEVELS)
    view = fit.view.through(fit.view.whitening @ basis)
    query = ClippedScores(view, ROW_LIMIT, levels, increment_shares(levels))
    scores = fit.session.ask(query, fit.weights, stage)
    noise = query.noise_std(fit.n_rows, fit.n_features, stage.mu)
    gaps = np.array(
        [fit.slopes.increment_variance(*pair) for pair in itertools.pairwise((0.0, *levels))]
    )
    variances = noise**2 + gaps / fit.n_rows
    above = [scores[k + 1 :].sum(axis=0) for k in range(len(levels))]
    unsure = [float(variances[k + 1 :].sum()) for k in range(len(levels))]
    shares = np.array(CLIPPED_SHARES[: basis.shape[1]])
    left = [
        squared_bias(fit.slopes, (level, levels[-1]), shares, *rest)
        for level, *rest in zip(levels, above, unsure, strict=True)
    ]
    biases = [float(bias.sum()) for bias in left]
    if not fit.slopes.skewed:
        biases = ClipIncrements(scores[1:], variances[1:]).squared_biases()
    errors = basis.shape[1] * np.cumsum(variances) + biases
    best = int(np.argmin(errors))
    total, variance = scores[: best + 1].sum(axis=0), float(variances[: best + 1].sum())
    curvature = _released_curvature(fit, view, levels[best])
    inverse, along = np.linalg.inv(curvature), np.diag(curvature)
    expected = shares * (fit.slopes.lost(first) - fit.slopes.lost(levels[best])) / along
    factors = inverse @ inverse  # the score's noise is alike in all directions, that of ways not
    skewed = fit.slopes.skewed
    kept, dropped = _kept(inverse @ total, factors * variance, expected, skewed=skewed)
    displacement = -kept
    if fit.link.curved:
        displacement *= min(1.0, LONGEST / max(float(np.linalg.norm(displacement)), 1e-300))
    fit.weights = usable(fit.weights + fit.view.whitening @ (basis @ displacement))
    variance = float(noise[: best + 1] @ noise[: best + 1])
    variance += clipped_variance(fit.slopes, levels[best]) / fit.n_rows
    error = np.diag(factors) * variance + left[best] / along**2 + dropped**2
    fit.debiased = basis * np.sqrt(error)
    fit.notes.append(
        "mean and fitted score were debiased, with residuals clipped at "
        f"{levels[best]:.3g} target scales"
    )


def _kept(
    wrong: FloatArray, covariance: FloatArray, expected: FloatArray, *, skewed: bool
) -> tuple[FloatArray, FloatArray]:
    """Return what is believed of a correction, along each direction if ``skewed``.

    And what would be, were residuals surely skewed, but is not: it may be wrong by that.

    It is the way that counts, not the score: a constant that is off shows in the score along the
    fit, too, where that has another mean. By the rule of Bayes for normal distributions, what is
    not believed along one direction counts as noise that others share. Residuals may look skewed by
    noise alone: the whole counts by the odds that anything is wrong at all.
    """
    variance = np.diag(covariance)
    if not skewed:
        return shrunk(wrong, UNEXPECTED * float(variance.sum())) * wrong, np.zeros(wrong.size)
    believed = np.diag(np.maximum(expected**2, wrong**2 - UNEXPECTED_ALONG * variance))
    whole = believed + covariance
    surely = believed @ np.linalg.solve(whole, wrong)
    kept = float(expit(_log_density(wrong, whole) - _log_density(wrong, covariance))) * surely
    return kept, surely - kept


def _log_density(point: FloatArray, covariance: FloatArray) -> float:
    """Log density of a normal distribution about zero, but for a constant."""
    volume = float(np.linalg.slogdet(covariance)[1])
    return -(float(point @ np.linalg.solve(covariance, point)) + volume) / 2.0


def _released_curvature(fit: Fit, view: View, level: float) -> FloatArray:
    """Release the curvature in these directions; raise what noise leaves of it."""
    assert fit.clip is not None
    weights = replace(curvature_weighting(fit), slope_limit=level)
    stage = fit.stage("debiasing curvature")
    for cap in CAPS:
        query = SecondMoments(view, ROW_LIMIT, cap * ROW_LIMIT, weights)
        noise = query.noise_std(fit.n_rows, fit.n_features, stage.mu) * weights.bound
        if noise_level(noise, view.width) <= CURVATURE_NOISE * fit.clip.curvature:
            break
    released = fit.session.ask(query, fit.weights, stage) * weights.bound
    values, vectors = np.linalg.eigh(released)
    least = max(noise_level(noise, view.width), FLATTEST * fit.clip.curvature)
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)
