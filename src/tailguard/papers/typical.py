"""What a method is expected to achieve on one plain model, the same for all methods.

Theorems bound the worst case, each with inequalities of its own: such bounds differ by more than
the methods do. The model instead is a quadratic risk of the same curvature in every direction, with
its minimiser half a diameter away from the start and the set never in the way. On it every method
is a linear recursion: a share of the distance is left, the sampling error that steps have in common
carries over, and the noise of single steps averages out. It needs nothing but step sizes and the
noise that is planned. What bounding gradients takes off their mean is left out, for all methods
alike: it cancels where tails are alike on both sides, and bounds on it hold for the worst tails.

Reference
---------
Polyak and Juditsky 1992 (averages on quadratic risks); Ghadimi and Lan 2012, Algorithm 1; Xu and
others 2025, Algorithm 3.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.sets.whole_space import WholeSpace
from tailguard.solvers.acceleration import accelerate, step_parameter

__all__ = ["Accelerated", "Course", "Descent", "Localisation", "Pass", "Pull", "ReleasedOnce"]


# A spread beyond so many distances is that of points anywhere in the set.
LARGEST_SPREAD = 2.0


class Course(Protocol):
    """What a method does with distances and errors.

    Examples
    --------
    >>> course: Course = ReleasedOnce(error=0.1)
    >>> round(course.excess(curvature=1.0), 6)
    0.005
    """

    def excess(self, curvature: float) -> float:
        """Return the expected excess of a quadratic risk of that curvature."""
        ...


@dataclass(frozen=True)
class ReleasedOnce:
    """One release of the answer, with an error of that norm.

    Examples
    --------
    >>> ReleasedOnce(error=2.0).excess(curvature=0.5)
    1.0
    """

    error: float

    def excess(self, curvature: float) -> float:
        """Return half of the curvature times the squared error."""
        return curvature / 2.0 * self.error**2


@dataclass(frozen=True)
class Descent:
    """Descent on gradients with a common ``error`` and fresh ``noise`` at each step, both norms.

    Attributes
    ----------
    distance
        From the start to the minimiser.
    n_steps, step_size
        Steps are no longer than what reaches the minimiser at once.
    last
        Whether the last point is the answer, or the average.
    fades
        Whether step t is divided by the root of t.

    Examples
    --------
    >>> steps = {"n_steps": 100, "step_size": 0.5, "noise": 1.0, "error": 0.0}
    >>> [round(Descent(2.0, last=last, **steps).excess(1.0), 4) for last in (True, False)]
    [0.1667, 0.0051]
    """

    distance: float
    n_steps: int
    step_size: float
    noise: float
    error: float
    last: bool = False
    fades: bool = False

    def excess(self, curvature: float) -> float:
        """Follow start, error and noise through the steps."""
        steps = np.full(self.n_steps, self.step_size)
        if self.fades:
            steps = steps / np.sqrt(np.arange(1.0, self.n_steps + 1.0))
        steps = np.minimum(steps, 1.0 / curvature)
        weight = 1.0 / self.n_steps
        reach = 1.0 if self.last else 0.0  # of a point, on the answer, through the points after it
        variance = 0.0
        for step in steps[::-1]:
            influence = reach if self.last else reach + weight
            variance += (step * influence) ** 2
            reach = influence * (1.0 - step * curvature)
        error = (1.0 - reach) / curvature * self.error
        squares = (reach * self.distance) ** 2 + error**2 + variance * self.noise**2
        return float(curvature / 2.0 * squares)


@dataclass(frozen=True)
class Pass:
    """One pass of accelerated descent over batches; sampling counts as ``noise`` of a batch.

    Examples
    --------
    >>> Pass(n_steps=10, noise=1.0).n_steps
    10
    """

    n_steps: int
    noise: float


@dataclass(frozen=True)
class Accelerated:
    """Passes of accelerated descent, each from where the last one ended.

    Examples
    --------
    >>> course = Accelerated(2.0, smoothness=1.0, passes=(Pass(50, noise=1.0),))
    >>> round(course.excess(curvature=1.0), 3)
    0.051
    """

    distance: float
    smoothness: float
    passes: tuple[Pass, ...]

    def excess(self, curvature: float) -> float:
        """Follow the distance through the passes."""
        square = self.distance**2
        for each in self.passes:
            square = min(self._after(each, square, curvature), self._largest)
        return curvature / 2.0 * square

    @property
    def _largest(self) -> float:
        return (LARGEST_SPREAD * self.distance) ** 2

    def _after(self, one: Pass, square: float, curvature: float) -> float:
        """Return the squared distance after a pass: start in one column, a step's noise in each."""
        curvature = min(curvature, self.smoothness)
        eta = step_parameter(
            one.n_steps,
            gradient_error=one.noise,
            smoothness=self.smoothness,
            diameter=2.0 * self.distance,
        )

        def gradient(step: int, point: FloatArray) -> FloatArray:
            slope = curvature * point
            slope[step] += 1.0
            return slope

        start = np.eye(one.n_steps + 1)[-1]
        answer = accelerate(gradient, one.n_steps, eta, start=start, constraint=WholeSpace())[-1]
        variance = float(np.sum(answer[:-1] ** 2))
        return float(answer[-1] ** 2) * square + variance * one.noise**2


@dataclass(frozen=True)
class Pull:
    """One minimisation with a penalty of that strength; ``noise`` is on the answer.

    Examples
    --------
    >>> Pull(strength=1.0, noise=0.1, error=0.2).strength
    1.0
    """

    strength: float
    noise: float
    error: float


@dataclass(frozen=True)
class Localisation:
    """Minimisations that are pulled to the last answer; ``error`` is that of their gradients.

    Examples
    --------
    >>> course = Localisation(2.0, (Pull(1.0, noise=0.1, error=0.2), Pull(4.0, 0.01, error=0.2)))
    >>> round(course.excess(curvature=1.0), 4)
    0.3273
    """

    distance: float
    pulls: tuple[Pull, ...]

    def excess(self, curvature: float) -> float:
        """Follow the distance through the minimisations."""
        square, largest = self.distance**2, (LARGEST_SPREAD * self.distance) ** 2
        for pull in self.pulls:
            both = pull.strength + curvature
            left, error = pull.strength / both, pull.error / both
            square = min(left**2 * square + error**2 + pull.noise**2, largest)
        return curvature / 2.0 * square
