"""Whitening from noised second moments of bounded rows, and a first fit where they tell one.

Reference
---------
Wang 2018, Algorithm 2 (adaptive sufficient-statistics perturbation); eigenvalues below the noise
are raised to it, which turns a direction that cannot be told from zero into one of slow steps.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Whitening", "first_fit", "noise_level", "shrunk", "whiten"]

FloatArray = NDArray[np.float64]

SMALLEST_SHARE = 1e-9  # of the largest eigenvalue; below it directions are duplicates


@dataclass(frozen=True, eq=False)
class Whitening:
    """A matrix from coordinates to whitened ones, and the eigenvalues as released.

    Examples
    --------
    >>> whiten(np.diag([4.0, 1.0]), 0.1).matrix.shape
    (2, 2)
    """

    matrix: FloatArray
    eigenvalues: FloatArray


def noise_level(noise_std: float, width: int) -> float:
    """Largest eigenvalue of symmetric noise with that standard deviation on the diagonal.

    Examples
    --------
    >>> noise_level(1.0, 8)
    4.0
    """
    return noise_std * math.sqrt(2.0 * width)


def whiten(moments: FloatArray, level: float) -> Whitening:
    """Return ``Q / sqrt(max(eigenvalue, level))``.

    Examples
    --------
    >>> float(abs(whiten(np.diag([4.0, 0.001]), 1.0).matrix).max())
    1.0
    """
    values, vectors = np.linalg.eigh(moments)
    floor = max(level, SMALLEST_SHARE * float(values[-1]), 1e-12)
    return Whitening(vectors / np.sqrt(np.maximum(values, floor)), values)


def first_fit(whitening: FloatArray, cross: FloatArray, noise_std: float) -> FloatArray:
    """Regress the target on whitened rows from their noised cross moments, shrunk by the noise.

    Examples
    --------
    >>> first_fit(np.eye(1), np.array([0.5]), noise_std=0.0)
    array([0.5])
    """
    whitened = whitening.T @ cross
    variance = (whitening**2).sum(axis=0) * noise_std**2 / 2.0
    return np.asarray(whitening @ (whitened * shrunk(whitened, float(variance.sum()))))


def shrunk(estimate: FloatArray, variance: float) -> float:
    """Positive-part shrinkage towards zero of an estimate with that total variance.

    Reference
    ---------
    James and Stein 1961; Baranchik 1964 (positive part).

    Examples
    --------
    >>> shrunk(np.array([2.0, 0.0]), 1.0), shrunk(np.array([0.1]), 1.0)
    (0.75, 0.0)
    """
    size = float(estimate @ estimate)
    return max(0.0, 1.0 - variance / size) if size > 0.0 else 0.0
