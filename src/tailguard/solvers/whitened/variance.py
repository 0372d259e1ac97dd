"""Standard errors that cover sampling and privacy noise, from one charged release.

The variance of the clipped score is released as second moments weighted by squared slopes. With the
curvature ``c`` of the clipped score, the coefficients vary by ``V / (n c**2)`` through sampling and
by the known variance of the noise on top.

Reference
---------
Huber 1967 (sandwich variance); Avella-Medina, Bradshaw and Loh 2023, Section 5 (intervals from a
noised sandwich).
"""

import numpy as np
from numpy.typing import NDArray

from tailguard.queries.second_moments import SecondMoments, Weighting
from tailguard.solvers.whitened.fit import Fit
from tailguard.solvers.whitened.moments import noise_level

__all__ = ["noise_covariance", "sampling_covariance"]

FloatArray = NDArray[np.float64]


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
    return np.asarray(fit.view.whitening @ covariance @ fit.view.whitening.T)
