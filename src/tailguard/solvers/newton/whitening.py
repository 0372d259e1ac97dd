"""Whitening from noised second moments of bounded rows, and the first fit of a residual loss.

Reference
---------
Wang 2018, Algorithm 2 (adaptive sufficient-statistics perturbation); eigenvalues below the noise
are raised to it, so steps are slow along directions whose second moment may be zero.
"""

import math
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import BoolArray, FloatArray
from tailguard.solvers.newton.clipping import SIGNIFICANT

# In units of the largest eigenvalue of the noise: a second moment above RESOLVED stands out, and
# the floor of second moments is at least LEAST.
RESOLVED, LEAST = 0.5, 0.15
# Curvature is expected to be 1; above this value, steps are shortened. Rounds take half a step,
# which reaches the optimum at 2 and goes too far above. By trial: with 1, losses are three percent
# larger on the training family of tables.
STEEPEST = 2.0
# Variances are stretched at most as for this squared radius, by a factor of 1.9. Where noise may be
# all of a second moment, variances of continuous columns were 1.8 times as large (1,450 errors on
# the tables T39, T54 and T20).
LARGEST_RADIUS_SQUARED = 0.6
# The floor of second moments as a part of their mean, if the loss is curved. Along a direction that
# few records have, such as a rare indicator, noise would move their scores far more than those of
# others. Of .01, .03, .1 and .2 the last one was best on ten real tables of counts; on twelve real
# tables of outcomes it changes nothing.
FLATTEST = 0.2


@dataclass(frozen=True, eq=False)
class Whitening:
    """A matrix from coordinates to whitened ones, and the noise of these.

    Attributes
    ----------
    effective_dim
        The sum of second moments of whitened rows: less than the width if some were raised.
    noise_radius_squared
        Squared radius of the semicircle law of the whitened noise, for each direction.
    distinct
        Which directions have a second moment that stands out of noise. Of the others only the mean
        second moment is known.
    diagonal
        Released second moments of the coordinates before whitening.
    """

    matrix: FloatArray
    effective_dim: float
    noise_radius_squared: FloatArray
    distinct: BoolArray
    diagonal: FloatArray

    @property
    def variance_inflation(self) -> FloatArray:
        """The variance of errors along each direction, relative to that with exact whitening."""
        return inflation(self.noise_radius_squared)

    def hides(self, share: float) -> BoolArray:
        """Return which coordinates noise hides by more than ``share``.

        Raising eigenvalues added that part of their second moment, or they may be nearly sums of
        others: these explain more than ``share`` of the second moment of such a coordinate, and
        more than ``share`` of its variance lies along directions that are not distinct. Records may
        vary far less along one of these than along the others. Then rounds hardly move along it.

        Reference
        ---------
        Belsley, Kuh and Welsch 1980, Section 3.2 (variance inflation, and its parts by direction).
        """
        raised = (np.linalg.pinv(self.matrix) ** 2).sum(axis=0)  # second moments after raising
        added = self.diagonal / np.maximum(raised, 1e-300) < 1.0 - share
        parts = self.matrix**2
        variance = parts.sum(axis=1)
        explained = raised * variance > 1.0 / (1.0 - share)
        vague = parts[:, ~self.distinct].sum(axis=1) > share * variance
        return np.asarray(added | (explained & vague))


def inflation(radius_squared: FloatArray | float) -> FloatArray:
    """Return the variance of errors relative to that with exact second moments.

    Second moments of whitened rows are one minus the whitened noise, whose eigenvalues follow the
    semicircle law with this squared radius; the factor is the mean of their squared inverse. If a
    second moment may be all noise, rounds hardly move along it, so the factor has an upper bound.

    Reference
    ---------
    Wigner 1958 (the semicircle law and, through it, the mean of an inverse).
    """
    root = np.sqrt(1.0 - np.minimum(radius_squared, LARGEST_RADIUS_SQUARED))
    return np.asarray(2.0 / (root * (1.0 + root)))


def noise_level(noise_std: float, width: int) -> float:
    """Return the largest eigenvalue of symmetric noise with this deviation on the diagonal."""
    return noise_std * math.sqrt(2.0 * width)


def whiten(moments: FloatArray, level: float, *, curved: bool = False) -> Whitening:
    """Return ``Q / sqrt(max(cleaned eigenvalues, floor))``.

    A direction stands out of noise with largest eigenvalue ``level`` if its own second moment is
    above half of that. Second moments below are hardly known, but their sum is known well. The
    floor is their mean, limited to a range between a share of ``level`` and half of it. The mean
    makes some steps too long. The average of clipped steps tolerates this, unless the loss is
    ``curved``: then the floor is one standard deviation of its noise higher, which matters if it is
    the mean of few directions.

    Reference
    ---------
    Capitaine, Donati-Martin and Feral 2009, Theorem 2.1 (the threshold of half the edge).
    """
    values, vectors = np.linalg.eigh(moments)
    total, (values, rotated) = float(values.sum()), cleaned(values, level)
    above = values > RESOLVED * level
    below = max(1, int(np.count_nonzero(~above)))
    mean = (total - values[above].sum()) / below
    noise_std = level / math.sqrt(2.0 * values.size * below)
    floor = min(max(mean + curved * noise_std, LEAST * level), RESOLVED * level)
    if curved:
        floor = max(floor, FLATTEST * total / values.size)
    floor = max(floor, 1e-9 * float(values.max()), 1e-12)  # duplicates have a second moment of 0
    raised = np.maximum(values, floor)
    effective_dim = float(np.clip((values / raised).sum(), 1.0, values.size))
    matrix = vectors / np.sqrt(raised)
    # Whitening scales the noise by the root of ``raised`` on either side.
    radius_squared = rotated * level**2 * np.mean(1.0 / raised) / raised
    return Whitening(matrix, effective_dim, radius_squared, above, np.diag(moments))


def cleaned(eigenvalues: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return second moments along the released eigenvectors, corrected for noise in eigenvalues.

    Also return the share of each direction's noise that rotates it towards directions with another
    second moment. The closer its neighbours' second moments are, the smaller is this share, since a
    rotation among equal second moments changes nothing.

    Reference
    ---------
    Bun, Allez, Bouchaud and Potters 2016, Section IV (rotationally invariant estimator, additive
    noise): with ``g`` the mean of ``1 / (x - other eigenvalues)``, just off the axis, a second
    moment is ``x - 2 s**2 re(g)``. By the overlaps given there, the squared off-diagonal
    noise along an eigenvector is ``s**2 (1 - s**2 |g|**2)``.
    """
    if not level > 0.0:
        return np.asarray(np.maximum(eigenvalues, 0.0)), np.ones(eigenvalues.size)
    spread, off_axis = level / 2.0, eigenvalues.size**-0.5
    gaps = (eigenvalues[:, None] - eigenvalues) / spread
    pull = (gaps / (gaps**2 + 1.0 / eigenvalues.size)).mean(axis=1)
    density = (off_axis / (gaps**2 + off_axis**2)).mean(axis=1)
    rotated = np.maximum(1.0 - pull**2 - density**2, 0.0)
    return np.asarray(np.maximum(eigenvalues - 2.0 * spread * pull, 0.0)), rotated


def first_fit(whitening: FloatArray, cross: FloatArray, noise_std: float) -> FloatArray:
    """Regress the target on whitened rows from their noised cross moments, shrunk by the noise."""
    whitened = whitening.T @ cross
    variance = (whitening**2).sum(axis=0) * noise_std**2 / 2.0
    return np.asarray(whitening @ (whitened * shrunk(whitened, float(variance.sum()))))


def shrunk(estimate: FloatArray, variance: float) -> float:
    """Return the factor of positive-part shrinkage of an estimate with this total variance.

    Reference
    ---------
    James and Stein 1961; Baranchik 1964 (positive part).
    """
    size = float(estimate @ estimate)
    return max(0.0, 1.0 - variance / size) if size > 0.0 else 0.0


@dataclass(frozen=True, eq=False)
class StepShortening:
    """A symmetric matrix that shortens Newton steps, and the last gradient at these clip levels.

    The identity, with which each run begins, leaves steps as they are.

    ``last`` holds the whitened weights of that gradient, the gradient over the curvature, and its
    noise; None if there is none.

    Whitening makes the curvature one in all directions for rows cut at one length. Rounds cut rows
    at another length, so along columns with a few long rows the curvature can be many times larger,
    and rounds would diverge. The difference of two gradients measures the curvature between their
    weights. If it is clearly too large for half steps, all later steps are shortened along that
    difference. Gradients are released anyway, so this costs no budget.

    Reference
    ---------
    Dennis and More 1977 (secant conditions).
    """

    matrix: FloatArray
    last: tuple[FloatArray, FloatArray, float] | None = None

    def after(self, at: FloatArray, gradient: FloatArray, noise_std: float) -> "StepShortening":
        """Return the shortening after one more gradient with the same clip levels."""
        matrix = self.matrix
        if self.last:
            before, earlier, noise = self.last
            matrix = self._shortened(at - before, gradient - earlier, math.hypot(noise_std, noise))
        return StepShortening(matrix, (at, gradient, noise_std))

    def _shortened(self, moved: FloatArray, rise: FloatArray, noise_std: float) -> FloatArray:
        """Shorten steps along the rise of gradients, which points to large curvature.

        If ``rise = J @ moved`` for a symmetric ``J``, the inverse of ``J`` is known along the rise
        exactly: ``rise @ inv(J) @ rise = rise @ moved``.
        """
        length, product = float(np.linalg.norm(moved)), float(rise @ moved)
        reached = float(moved @ self.matrix @ moved)
        # If ``rise @ moved`` is this, full steps end at the optimum.
        expected = float(moved @ moved) ** 2 / reached if reached > 0.0 else math.inf
        if not product - SIGNIFICANT * noise_std * length > STEEPEST * expected:
            return self.matrix
        along = rise / float(np.linalg.norm(rise))
        curvature = max(float(rise @ rise) - rise.size * noise_std**2, 0.0) / product
        ratio = curvature * float(along @ self.matrix @ along)
        if not ratio > 1.0:
            return self.matrix
        shorter = np.eye(moved.size) - (1.0 - math.sqrt(1.0 / ratio)) * np.outer(along, along)
        return np.asarray(shorter @ self.matrix @ shorter)
