"""Whitening from noised second moments of bounded rows, and a first fit where they tell one.

Reference
---------
Wang 2018, Algorithm 2 (adaptive sufficient-statistics perturbation); eigenvalues below the noise
are raised to it, which turns a direction that cannot be told from zero into one of slow steps.
"""

import math
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.solvers.newton.clipping import SIGNIFICANT

# Parts of the largest eigenvalue of the noise: a second moment above the first stands out, and none
# is taken to lie below the other.
RESOLVED, LEAST = 0.5, 0.15
# How steep a gradient may be, where one is expected; by trial. Half a step, as rounds go, then
# arrives, and beyond it swings back. With 1 the training family loses three percent more.
STEEPEST = 2.0
# Up to which squared radius variances are stretched: by 1.9. Noise that may be all of a second
# moment made those of continuous columns 1.8 times as large (T39, T54 and T20: 1,450 errors).
LARGEST_RADIUS_SQUARED = 0.6
# Of the mean second moment, where the loss is curved: along what few records show, as of a rare
# indicator, noise would move their scores far more than others. Of .01, .03, .1 and .2 the last
# one was best on ten real tables of counts; it does nothing on twelve of outcomes.
FLATTEST = 0.2


@dataclass(frozen=True, eq=False)
class Whitening:
    """A matrix from coordinates to whitened ones, and how well these are known.

    Attributes
    ----------
    effective_dim
        Second moments of the whitened rows, summed: fewer than columns where some are raised.
    noise_radius_squared
        Squared radius of the semicircle of whitened noise that second moments leave in a direction.
    resolved
        The share of each direction's second moment that was surely seen, and not added by raising.
    diagonal
        Released second moments of the coordinates that the matrix starts from.
    """

    matrix: FloatArray
    effective_dim: float
    noise_radius_squared: FloatArray
    resolved: FloatArray
    diagonal: FloatArray

    @property
    def variance_inflation(self) -> FloatArray:
        """How many times the variance of each direction is what exact whitening would make it.

        Second moments of whitened rows are one less the whitened noise, whose eigenvalues lie in a
        semicircle; it is the mean of the squared inverse of that. Where noise may have made all of
        a second moment rounds hardly move, so that variances are stretched no further.

        Reference
        ---------
        Wigner 1958 (the semicircle law and, through it, the mean of an inverse).
        """
        root = np.sqrt(1.0 - np.minimum(self.noise_radius_squared, LARGEST_RADIUS_SQUARED))
        return np.asarray(2.0 / (root * (1.0 + root)))

    @property
    def resolved_coordinates(self) -> FloatArray:
        """The same share of each coordinate: its second moment has far less noise."""
        whole = (np.linalg.pinv(self.matrix) ** 2).sum(axis=0)
        return np.asarray(self.diagonal / np.maximum(whole, 1e-300))


def noise_level(noise_std: float, width: int) -> float:
    """Largest eigenvalue of symmetric noise with that standard deviation on the diagonal."""
    return noise_std * math.sqrt(2.0 * width)


def whiten(moments: FloatArray, level: float, *, curved: bool = False) -> Whitening:
    """Return ``Q / sqrt(max(cleaned eigenvalues, floor))``.

    A direction stands out of noise with largest eigenvalue ``level`` if its own second moment is
    above half of that. What lies below can hardly be told apart, but its sum is known well: the
    floor is its mean, within a share of ``level`` and half of it. The mean lets some steps be too
    long, which an average of clipped steps bears, but not where the loss is ``curved`` along them:
    there it is taken one standard deviation of its noise higher, which matters where it is the mean
    of few.

    Reference
    ---------
    Capitaine, Donati-Martin and Feral 2009, Theorem 2.1 (the threshold of half the edge).
    """
    values, vectors = np.linalg.eigh(moments)
    total, (values, leaning) = float(values.sum()), cleaned(values, level)
    above = values > RESOLVED * level
    below = max(1, int(np.count_nonzero(~above)))
    mean = (total - values[above].sum()) / below
    noise_std = level / math.sqrt(2.0 * values.size * below)
    floor = min(max(mean + curved * noise_std, LEAST * level), RESOLVED * level)
    if curved:
        floor = max(floor, FLATTEST * total / values.size)
    floor = max(floor, 1e-9 * float(values.max()), 1e-12)  # duplicates have a share of nothing
    raised = np.maximum(values, floor)
    effective_dim = float(np.clip((values / raised).sum(), 1.0, values.size))
    matrix = vectors / np.sqrt(raised)
    radius_squared = leaning * level**2 * np.mean(1.0 / raised) / raised
    sure = np.where(above, values, mean - 2.0 * noise_std)
    return Whitening(matrix, effective_dim, radius_squared, sure / raised, np.diag(moments))


def cleaned(eigenvalues: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Second moments along the released eigenvectors, without what noise did to eigenvalues.

    And the share of a direction's noise that leans it towards others: the less the more alike it
    and its neighbours are, since what noise turns within directions that are alike stays as it is.

    Reference
    ---------
    Bun, Allez, Bouchaud and Potters 2016, Section IV (rotationally invariant estimator, additive
    noise): with ``g`` the mean of ``1 / (x - other eigenvalues)``, just off the axis, a second
    moment is ``x - 2 s**2 re(g)``. By the overlaps given there the squared noise off the diagonal
    is, along an eigenvector, ``s**2 (1 - s**2 |g|**2)``.
    """
    if not level > 0.0:
        return np.asarray(np.maximum(eigenvalues, 0.0)), np.ones(eigenvalues.size)
    spread, off_axis = level / 2.0, eigenvalues.size**-0.5
    gaps = (eigenvalues[:, None] - eigenvalues) / spread
    pull = (gaps / (gaps**2 + 1.0 / eigenvalues.size)).mean(axis=1)
    density = (off_axis / (gaps**2 + off_axis**2)).mean(axis=1)
    leaning = np.maximum(1.0 - pull**2 - density**2, 0.0)
    return np.asarray(np.maximum(eigenvalues - 2.0 * spread * pull, 0.0)), leaning


def first_fit(whitening: FloatArray, cross: FloatArray, noise_std: float) -> FloatArray:
    """Regress the target on whitened rows from their noised cross moments, shrunk by the noise."""
    whitened = whitening.T @ cross
    variance = (whitening**2).sum(axis=0) * noise_std**2 / 2.0
    return np.asarray(whitening @ (whitened * shrunk(whitened, float(variance.sum()))))


def shrunk(estimate: FloatArray, variance: float) -> float:
    """Positive-part shrinkage towards zero of an estimate with that total variance.

    Reference
    ---------
    James and Stein 1961; Baranchik 1964 (positive part).
    """
    size = float(estimate @ estimate)
    return max(0.0, 1.0 - variance / size) if size > 0.0 else 0.0


@dataclass(frozen=True, eq=False)
class StepShortening:
    """A symmetric matrix that shortens Newton steps, and what the phase's last one told, if any.

    That is where its gradient was asked for, the gradient over the curvature, and its noise.

    Whitening makes the curvature one in all directions for rows cut at one length. Along columns
    whose few long rows were cut then, and are cut elsewhere now, it can be many times that, and
    rounds would swing ever further. Two gradients tell how much they rise on the way between them.
    Where that is clearly more than half a step allows for, all later steps are as much shorter
    along that way. Gradients are released anyway, so that this costs nothing.

    Reference
    ---------
    Dennis and More 1977 (secant conditions).
    """

    matrix: FloatArray
    last: tuple[FloatArray, FloatArray, float] | None = None

    @classmethod
    def none(cls, width: int) -> "StepShortening":
        """Take plain Newton steps."""
        return cls(np.eye(width))

    def after(self, at: FloatArray, gradient: FloatArray, noise_std: float) -> "StepShortening":
        """Learn from one more gradient with the same clip levels."""
        matrix = self.matrix
        if self.last:
            before, earlier, noise = self.last
            matrix = self._shortened(at - before, gradient - earlier, math.hypot(noise_std, noise))
        return StepShortening(matrix, (at, gradient, noise_std))

    def _shortened(self, moved: FloatArray, rise: FloatArray, noise_std: float) -> FloatArray:
        """Shorten steps along the rise of gradients, which points where it is steepest.

        If ``rise = J @ moved`` for a symmetric ``J``, the inverse of ``J`` is known along the rise
        exactly: ``rise @ inv(J) @ rise = rise @ moved``.
        """
        length, together = float(np.linalg.norm(moved)), float(rise @ moved)
        least = STEEPEST * self._steepest_along(moved)
        if not together - SIGNIFICANT * noise_std * length > least:
            return self.matrix
        along = rise / float(np.linalg.norm(rise))
        steepness = max(float(rise @ rise) - rise.size * noise_std**2, 0.0) / together
        ratio = steepness * float(along @ self.matrix @ along)
        if not ratio > 1.0:
            return self.matrix
        shorter = np.eye(moved.size) - (1.0 - math.sqrt(1.0 / ratio)) * np.outer(along, along)
        return np.asarray(shorter @ self.matrix @ shorter)

    def _steepest_along(self, moved: FloatArray) -> float:
        """Return what gradients may rise on a way, times its length, for full steps to arrive."""
        reached = float(moved @ self.matrix @ moved)
        return float(moved @ moved) ** 2 / reached if reached > 0.0 else math.inf
