"""Standard errors that cover sampling and privacy noise, from one charged release.

The variance of the clipped score is released as second moments weighted by squared slopes. With the
curvature ``c`` of the clipped score, the coefficients vary by ``V / (n c**2)`` through sampling and
by the known variance of the noise on top.

Where residuals are skewed, what clipping may still take away is an error too. Along which rows
residuals are large tells where, and how far histograms reach how much; it enters as a second
moment, which widens intervals by at least what a bias of that size asks for: with ``b`` the bias
and ``v`` the variance, a normal interval of variance ``v + b**2`` covers more often than one of
variance ``v`` without bias.

Reference
---------
Huber 1967 (sandwich variance); Avella-Medina, Bradshaw and Loh 2023, Section 5 (intervals from a
noised sandwich); Armstrong and Kolesar 2020 (intervals that count the bias).
"""

from contextlib import suppress

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.queries.second_moments import SecondMoments, Weighting
from tailguard.solvers.session import BEYOND_FLOATS
from tailguard.solvers.whitened.clipping import (
    HIDDEN_BINS,
    HIDDEN_DECAY,
    SKEWED_LENGTH,
    SlopeDistribution,
)
from tailguard.solvers.whitened.state import Fit
from tailguard.solvers.whitened.whitening import noise_level

__all__ = [
    "CLIPPED_SHARES",
    "clipped_variance",
    "covariances",
    "noise_covariance",
    "sampling_covariance",
    "squared_bias",
]


# What clipping takes from the constant, as a share of what the histogram leaves beyond the level
# (the hidden tail is an upper estimate), and from the fitted score, where no release tells; chosen
# on simulated tasks.
CLIPPED_SHARES = (0.7, 0.08)


def covariances(fit: Fit) -> tuple[FloatArray, FloatArray]:
    """Covariance of standardised weights by the noise alone, and in all; NaN where unknown.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> from tailguard.solvers.whitened.newton import step
    >>> fit = example_fit(tg.losses.Squared(), phase=0)
    >>> step(fit)
    >>> fit.average_iterates()
    >>> noise, whole = covariances(fit)
    >>> bool((np.diag(whole) > np.diag(noise)).all())
    True
    """
    noise = whole = np.full((fit.view.height, fit.view.height), np.nan)
    if fit.iterates:
        with suppress(*BEYOND_FLOATS):
            noise = noise_covariance(fit)
            # A budget too small for the release is too small for intervals as well: whitening and
            # curvature are not known well enough (training family: T13, T39, T99, T103).
            if fit.has("variance"):
                whole = noise + sampling_covariance(fit)
    return noise, whole


def noise_covariance(fit: Fit) -> FloatArray:
    """Covariance of the privacy noise in standardised weights.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> fit = example_fit(tg.losses.Squared())
    >>> fit.noise_std = 0.1
    >>> noise_covariance(fit).shape
    (3, 3)
    """
    return np.asarray(
        fit.noise_std**2 * (fit.view.whitening * fit.variance_inflation) @ fit.view.whitening.T
    )


def sampling_covariance(fit: Fit) -> FloatArray:
    """Covariance through sampling in standardised weights, from the released score variance.

    Where its noise exceeds what the histograms told before, the histograms' word is taken, which
    assumes that residuals do not depend on the row.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> fit = example_fit(tg.losses.Squared(), phase=0)
    >>> bool((np.diag(sampling_covariance(fit)) > 0.0).all())
    True
    """
    assert fit.clip is not None
    assert fit.rows is not None
    width, limit, height = fit.view.width, fit.clip.row_limit, fit.clip.slope_limit
    plain = fit.rows.variance(limit) / width
    if fit.slopes is not None:
        plain *= fit.slopes.variance(height) / fit.rows.weight
    variance = plain * np.eye(width)
    weighting = Weighting(kind="squared-slope", slope_limit=height)
    query = SecondMoments(fit.view, limit, limit, weighting)
    stage = fit.stage("variance")
    noise = query.noise_std(fit.n_rows, fit.n_features, stage.mu) * height**2
    if noise_level(noise, width) <= plain:
        released = fit.session.ask(query, fit.weights, stage) * height**2
        values, vectors = np.linalg.eigh(released)
        least = max(noise, 0.1 * plain)
        variance = (vectors * np.maximum(values, least)) @ vectors.T
    covariance = variance / (fit.n_rows * fit.clip.curvature**2)
    covariance *= np.sqrt(np.outer(fit.variance_inflation, fit.variance_inflation))
    if fit.debiased is not None:
        # In the debiased directions the last correction is all that counts.
        basis = fit.debiased / np.linalg.norm(fit.debiased, axis=0)
        outside = np.eye(width) - basis @ basis.T
        covariance = outside @ covariance @ outside + fit.debiased @ fit.debiased.T
    if fit.slopes is not None and fit.slopes.is_bounded:
        # A slope that is cut below its own bound aims elsewhere where residuals are skewed.
        constant = fit.constant() * fit.slopes.missed(height) / fit.clip.curvature
        covariance += constant @ constant.T
    if (
        fit.debiased is not None
        and fit.slopes is not None
        and fit.slopes.skewed
        and not fit.link.curved
    ):
        # What clipping may take in all other directions, none of which is preferred.
        beside = SKEWED_LENGTH * fit.slopes.lost(height)
        covariance += (beside / fit.clip.curvature) ** 2 / width * np.eye(width)
    return np.asarray(fit.view.whitening @ covariance @ fit.view.whitening.T)


def clipped_variance(slopes: SlopeDistribution, level: float) -> float:
    """Mean squared clipped slope, with what the noise of the histogram may hide.

    Examples
    --------
    >>> from tailguard.queries.column_histograms import Bins
    >>> from tailguard.scaling.noisy_distribution import NoisyDistribution
    >>> bins = Bins("linear", -1.5, 1.0, 3)
    >>> residuals = NoisyDistribution.of(np.array([9.0, 90.0, 9.0]), bins, 0.1)
    >>> slopes = SlopeDistribution(None, residuals)
    >>> clipped_variance(slopes, 9.0) > slopes.variance(9.0)
    True
    """
    steps = np.arange(1, HIDDEN_BINS + 1)
    beyond = np.minimum(np.abs(slopes.slopes()).max() * 2.0 ** (steps / 3.0), level)
    hidden = slopes.distribution.hidden * HIDDEN_DECAY**steps @ beyond**2
    return slopes.variance(level) + float(hidden)


def squared_bias(
    slopes: SlopeDistribution,
    levels: tuple[float, float],
    shares: FloatArray,
    above: FloatArray,
    variance: float,
) -> FloatArray:
    """Return the expected squared bias that the first level leaves along debiased directions.

    Before anything is measured, clipping may take ``shares`` of what the histogram leaves beyond
    the level. What the levels up to the second, the top, released updates that by the rule of Bayes
    for normal distributions. Residuals that look symmetric are not biased.

    Examples
    --------
    >>> from tailguard.queries.column_histograms import Bins
    >>> from tailguard.scaling.noisy_distribution import NoisyDistribution
    >>> bins = Bins("linear", -1.5, 1.0, 4)
    >>> residuals = NoisyDistribution.of(np.array([0.0, 90.0, 40.0, 9.0]), bins, 0.1)
    >>> shares, above = np.array([0.7, 0.08]), np.array([0.3, 0.0])
    >>> slopes = SlopeDistribution(None, residuals)
    >>> sure, vague = (squared_bias(slopes, (0.5, 2.0), shares, above, v) for v in (1e-6, 1.0))
    >>> bool(abs(sure[0] - 0.09) < 0.01 and vague[0] < 0.09)
    True
    """
    level, top = levels
    if not slopes.skewed:
        return np.zeros(len(above))
    prior = shares * (slopes.lost(level) - slopes.lost(top))
    believed = prior**2 / np.maximum(prior**2 + variance, 1e-300)
    beyond = shares * slopes.lost(top)
    return np.asarray((believed * above) ** 2 + believed * variance + beyond**2)
