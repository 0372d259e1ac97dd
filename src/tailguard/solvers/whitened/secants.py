"""Shorter steps along directions in which scores turn out to rise faster than whitening says.

Whitening makes the curvature one in all directions for rows cut at one length. Along columns whose
few long rows were cut then, and are cut elsewhere now, it can be many times that, and rounds would
swing ever further. Two scores tell how much they rise on the way from one to the other. Where that
is clearly more than the step allows for, all later steps are as much shorter along that way. Scores
are released anyway, so that this costs nothing.

Reference
---------
Dennis and More 1977 (secant conditions); Dwork and Roth 2014, Proposition 2.1 (post-processing).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.solvers.whitened.clipping import Clip

__all__ = ["Score", "Secants"]


# Noise standard deviations by which a rise has to exceed what a step allows for: there are up to 64
# rounds, and what looks like a rise by noise would slow all that follow.
SIGNIFICANT = 4.0


@dataclass(frozen=True, eq=False)
class Score:
    """A released score over the curvature, and where it was asked for, in whitened coordinates.

    Examples
    --------
    >>> Score(np.eye(1), Clip(1.0, 1.0, 1.0, 0.1), np.ones(1), np.ones(1), 0.1).noise_std
    0.1
    """

    whitening: FloatArray
    clip: Clip
    at: FloatArray
    value: FloatArray
    noise_std: float


@dataclass(frozen=True, eq=False)
class Secants:
    """The last score, and a symmetric matrix that shortens the Newton steps after it.

    Examples
    --------
    >>> whitening, clip = np.eye(2), Clip(1.0, 1.0, 1.0, 0.1)
    >>> def score(at):  # three times as steep along the first direction
    ...     return Score(whitening, clip, at, np.array([3.0, 1.0]) * at, noise_std=1e-3)
    >>> seen = Secants.of(score(np.array([1.0, 0.0]))).after(score(np.array([-0.5, 0.0])))
    >>> seen.step().round(3)
    array([0.5, 0. ])
    """

    matrix: FloatArray
    last: Score

    @classmethod
    def of(cls, first: Score) -> "Secants":
        """Start with plain Newton steps."""
        return cls(np.eye(first.value.size), first)

    def after(self, score: Score) -> "Secants":
        """Learn from one more score; another whitening starts anew, another clip compares later."""
        if score.whitening is not self.last.whitening:
            return Secants.of(score)
        if score.clip is not self.last.clip:
            return replace(self, last=score)
        return Secants(self._shortened(score), score)

    def step(self) -> FloatArray:
        """Return the Newton step from the last score."""
        return -self.matrix @ self.last.value

    def _shortened(self, score: Score) -> FloatArray:
        """Shorten steps along the rise of the score, which points where it is steepest.

        If ``rise = J @ moved`` for a symmetric ``J``, the inverse of ``J`` is known along the rise
        exactly: ``rise @ inv(J) @ rise = rise @ moved``.
        """
        moved, rise = score.at - self.last.at, score.value - self.last.value
        noise_std = math.hypot(score.noise_std, self.last.noise_std)
        length, together = float(np.linalg.norm(moved)), float(rise @ moved)
        if not together - SIGNIFICANT * noise_std * length > self._steepest_along(moved):
            return self.matrix
        along = rise / float(np.linalg.norm(rise))
        steepness = max(float(rise @ rise) - rise.size * noise_std**2, 0.0) / together
        ratio = steepness * float(along @ self.matrix @ along)
        if not ratio > 1.0:
            return self.matrix
        shorter = np.eye(moved.size) - (1.0 - math.sqrt(1.0 / ratio)) * np.outer(along, along)
        return np.asarray(shorter @ self.matrix @ shorter)

    def _steepest_along(self, moved: FloatArray) -> float:
        """Return what scores may rise on a way, times its length, for full steps to arrive."""
        reached = float(moved @ self.matrix @ moved)
        return float(moved @ moved) ** 2 / reached if reached > 0.0 else math.inf
