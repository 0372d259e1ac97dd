"""Standard errors that cover sampling and privacy noise, from one charged release.

The variance of the clipped score is released as second moments weighted by squared slopes. With the
curvature ``c`` of the clipped score, the coefficients vary by ``V / (n c**2)`` through sampling and
by the known variance of the noise on top.

Where residuals are skewed, what clipping may still take away is an error too. Levels released side
by side show it as far as their noise allows; it enters as a second moment, which widens intervals
by at least what a bias of that size asks for: with ``b`` the bias and ``v`` the variance, a normal
interval of variance ``v + b**2`` covers more often than one of variance ``v`` without bias.

Reference
---------
Huber 1967 (sandwich variance); Avella-Medina, Bradshaw and Loh 2023, Section 5 (intervals from a
noised sandwich); Armstrong and Kolesar 2020 (intervals that count the bias).
"""

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from tailguard.queries.second_moments import SecondMoments, Weighting
from tailguard.solvers.whitened.fit import Fit
from tailguard.solvers.whitened.levels import HIDDEN_BINS, HIDDEN_DECAY, SlopeLaw
from tailguard.solvers.whitened.moments import noise_level
from tailguard.solvers.whitened.purse import BEYOND_FLOATS

__all__ = [
    "clipped_variance",
    "covariances",
    "noise_covariance",
    "sampling_covariance",
    "squared_bias",
]

FloatArray = NDArray[np.float64]

# A move between levels counts as bias as far as its square exceeds its variance this many times.
CREDIBLE = 3.0
# What clipping takes from the constant, as a share of what the histogram leaves beyond the level
# (the hidden tail is an upper estimate), and from the fitted score; chosen on simulated tasks.
TAKEN = (0.7, 0.08)
FURTHEST = 3.0  # what lies beyond the compared levels counts at most this many times their own


def covariances(fit: Fit) -> tuple[FloatArray, FloatArray]:
    """Covariance of standardised weights by the noise alone, and in all; NaN where unknown.

    Examples
    --------
    >>> covariances.__name__
    'covariances'
    """
    noise = whole = np.full((fit.view.height, fit.view.height), np.nan)
    if fit.arrivals:
        with suppress(*BEYOND_FLOATS):
            noise = noise_covariance(fit)
            whole = noise + sampling_covariance(fit)
    return noise, whole


def noise_covariance(fit: Fit) -> FloatArray:
    """Covariance of the privacy noise in standardised weights.

    Examples
    --------
    >>> noise_covariance.__name__
    'noise_covariance'
    """
    return np.asarray(fit.noise_std**2 * fit.view.whitening @ fit.view.whitening.T)


def sampling_covariance(fit: Fit) -> FloatArray:
    """Covariance through sampling in standardised weights, from the released score variance.

    Where its noise exceeds what the histograms told before, the histograms' word is taken, which
    assumes that residuals do not depend on the row.

    Examples
    --------
    >>> sampling_covariance.__name__
    'sampling_covariance'
    """
    assert fit.clip is not None
    assert fit.rows is not None
    width, limit, height = fit.view.width, fit.clip.row_limit, fit.clip.slope_limit
    plain = fit.rows.variance(limit) / width
    if fit.slopes is not None:
        plain *= fit.slopes.variance(height)
    variance = plain * np.eye(width)
    if fit.has("variance"):
        weighting = Weighting(kind="squared-slope", slope_limit=height)
        query = SecondMoments(fit.view, limit, limit, weighting)
        mu = fit.mu("variance")
        noise = query.noise_std(fit.n_rows, fit.n_features, mu) * height**2
        if noise_level(noise, width) <= plain:
            released = fit.purse.ask(query, fit.weights, mu) * height**2
            values, vectors = np.linalg.eigh(released)
            least = max(noise, 0.1 * plain)
            variance = (vectors * np.maximum(values, least)) @ vectors.T
    covariance = variance / (fit.n_rows * fit.clip.curvature**2)
    if fit.calibrated is not None:
        # In the calibrated directions the last correction is all that counts.
        basis = fit.calibrated / np.linalg.norm(fit.calibrated, axis=0)
        outside = np.eye(width) - basis @ basis.T
        covariance = outside @ covariance @ outside + fit.calibrated @ fit.calibrated.T
    left = bias_of_weights(fit)
    return np.asarray(fit.view.whitening @ covariance @ fit.view.whitening.T + np.outer(left, left))


def clipped_variance(slopes: SlopeLaw, level: float) -> float:
    """Mean squared clipped slope, with what the noise of the histogram may hide.

    Examples
    --------
    >>> from tailguard.queries.column_histograms import Bins
    >>> from tailguard.solvers.whitened.law import Law
    >>> law = Law.of(np.array([9.0, 90.0, 9.0]), Bins("linear", -1.5, 1.0, 3), 0.1)
    >>> clipped_variance(SlopeLaw(None, law), 9.0) > SlopeLaw(None, law).variance(9.0)
    True
    """
    steps = np.arange(1, HIDDEN_BINS + 1)
    beyond = np.minimum(np.abs(slopes.slopes()).max() * 2.0 ** (steps / 3.0), level)
    hidden = slopes.law.hidden * HIDDEN_DECAY**steps @ beyond**2
    return slopes.variance(level) + float(hidden)


def squared_bias(
    slopes: SlopeLaw, level: float, top: float, above: FloatArray, variance: float
) -> FloatArray:
    """Return the expected squared bias that a level leaves in the two calibrated directions.

    Before anything is measured, clipping may take most of what the histogram leaves beyond the
    level from the constant, and a little of it from the fitted score. What the levels above
    released updates that by the rule of Bayes for normal laws. Residuals that look symmetric are
    not biased.

    Examples
    --------
    >>> from tailguard.queries.column_histograms import Bins
    >>> from tailguard.solvers.whitened.law import Law
    >>> law = Law.of(np.array([0.0, 90.0, 40.0, 9.0]), Bins("linear", -1.5, 1.0, 4), 0.1)
    >>> slopes, above = SlopeLaw(None, law), np.array([0.3, 0.0])
    >>> sure, vague = (squared_bias(slopes, 0.5, 2.0, above, v) for v in (1e-6, 1.0))
    >>> bool(abs(sure[0] - 0.09) < 0.01 and vague[0] < 0.09)
    True
    """
    if not slopes.skewed:
        return np.zeros(2)
    share = np.array(TAKEN)
    prior = share * (slopes.lost(level) - slopes.lost(top))
    believed = prior**2 / np.maximum(prior**2 + variance, 1e-300)
    beyond = share * slopes.lost(top)
    return np.asarray((believed * above) ** 2 + believed * variance + beyond**2)


def bias_of_weights(fit: Fit) -> FloatArray:
    """Bias of standardised weights outside the calibrated directions, as far as it was seen.

    What moved between the compared levels is scaled to what the chosen level still takes away.

    Examples
    --------
    >>> bias_of_weights.__name__
    'bias_of_weights'
    """
    assert fit.clip is not None
    if fit.leaning is None or fit.slopes is None or not fit.slopes.skewed:
        return np.zeros(fit.view.height)
    low, high = map(fit.slopes.lost, fit.leaning.levels)
    scale = min(fit.slopes.lost(fit.clip.slope_limit) / max(low - high, 1e-300), FURTHEST)
    seen = fit.leaning.weights**2 - CREDIBLE * fit.leaning.variances
    return np.asarray(scale * np.sign(fit.leaning.weights) * np.sqrt(np.maximum(seen, 0.0)))
