"""Means, spreads and correlations from sums of cut cells, and the range to which cells are cut.

Reference
---------
Huang, Liang and Yi 2021, Section 3 (cut where the tail that is lost and the noise balance); Higham
2002, "Computing the nearest correlation matrix", for what the last step approximates. Dwork and
Roth 2014, Proposition 2.1: all of it is post-processing.
"""

import math
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.summaries.distribution import DistributionEstimate

# A range is at least so wide, over its ends: a column of one value has a range, too.
LEAST_WIDTH = 1e-9
SMALLEST_WIDTH = 1e-200  # so that its inverse and squares of units are numbers


@dataclass(frozen=True, eq=False)
class ColumnMoments:
    """Means and standard deviations, a row per group and a column per column.

    Attributes
    ----------
    mean, std
        Of cells cut to ``low`` and ``high``.
    noise_std
        Deviation of the privacy noise of the mean.
    error_std
        Deviation of the mean through sampling and noise.
    std_noise
        Deviation of the privacy noise of the standard deviation, about.
    """

    mean: FloatArray
    std: FloatArray
    noise_std: FloatArray
    error_std: FloatArray
    std_noise: FloatArray
    low: FloatArray
    high: FloatArray


def best_range(estimate: DistributionEstimate, noise_std: float) -> tuple[float, float]:
    """Return the edges at which what a cut loses of the mean and the noise balance.

    A cut at ``b`` loses the integral of the share above ``b``; shares count as far as they exceed
    the deviation of their noise. Noise on the mean is ``noise_std`` times half the width.
    """
    shares, edges = estimate.shares(), estimate.edges
    widths, total = np.diff(edges), estimate.total
    below = np.maximum(shares - estimate.noise_of_shares(0.0), 0.0)
    above = np.maximum(1.0 - shares - estimate.noise_of_shares(1.0), 0.0)
    lost_below = np.append(0.0, np.cumsum((below[1:] + below[:-1]) / 2.0 * widths))
    lost_above = np.append(np.cumsum(((above[1:] + above[:-1]) / 2.0 * widths)[::-1])[::-1], 0.0)
    half = (edges - edges[:, None]) / 2.0
    error = np.hypot(np.hypot(lost_below[:, None], lost_above), half * noise_std / total)
    error[half <= 0.0] = math.inf
    first, last = np.unravel_index(int(error.argmin()), error.shape)
    low, high = float(edges[first]), float(edges[last])
    least = max(LEAST_WIDTH * max(abs(low), abs(high)), SMALLEST_WIDTH)
    return low, max(high, low + least)


def moments_of(
    sums: FloatArray, low: FloatArray, high: FloatArray, totals: FloatArray, noise_std: float
) -> ColumnMoments:
    """Return moments from the sums of cells and of squares, in units of half the range."""
    radius = (high - low) / 2.0
    first, second = sums[..., 0] / totals, sums[..., 1] / totals
    first, second = np.clip(first, -1.0, 1.0), np.clip(second, 0.0, 1.0)
    noise = noise_std / totals
    variance = np.maximum(second - first**2, 0.0)
    std = np.sqrt(variance)
    return ColumnMoments(
        mean=(low + high) / 2.0 + radius * first,
        std=radius * std,
        noise_std=radius * noise,
        error_std=radius * np.hypot(std / np.sqrt(totals), noise),
        std_noise=radius
        * noise
        * np.hypot(1.0, 2.0 * first)
        / (2.0 * np.maximum(std, np.sqrt(noise))),
        low=low,
        high=high,
    )


def correlations_of(products: FloatArray, totals: FloatArray, n_rows: int) -> FloatArray:
    """Return a correlation matrix from sums of products; gaps of two columns count as independent.

    It is positive semidefinite: negative eigenvalues are left out, and the diagonal made one.
    """
    pairs = np.outer(totals, totals) / n_rows
    np.fill_diagonal(pairs, totals)
    covariance = products / np.maximum(pairs, 1.0)
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-12))
    found = np.clip(covariance / np.outer(spread, spread), -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    values, vectors = np.linalg.eigh(found)
    found = (vectors * np.maximum(values, 0.0)) @ vectors.T
    scale = np.sqrt(np.diag(found))
    found = np.clip(found / np.outer(scale, scale), -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)
