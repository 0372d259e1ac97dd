"""A point within a proven distance of the minimiser of a strongly convex function.

All that is asked of the function is its projected gradient step ``T``. With a penalty of strength
``a`` and a step size ``h`` that its curvature allows, ``T`` brings points closer to one another by
the factor ``1 - h a``, and the minimiser is its fixed point. Hence ``T(v)`` lies within
``(1 - h a) / (h a) * |T(v) - v|`` of the minimiser, wherever ``v`` came from: fast methods that
promise nothing may look for ``v``, and the length of one step says whether to believe them. Where
none is to be believed, plain descent is, after a number of steps that is known beforehand.

Reference
---------
Banach 1922, Theorem 6 (the fixed point, and how far it is); Walker and Ni 2011, Algorithm AA
(mixing); Nesterov 2004, Section 2.2 with the restarts of O'Donoghue and Candes 2015, Section 3.2.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray

Step = Callable[[FloatArray], FloatArray]

MIXED_STEPS = 300
ACCELERATED_STEPS = 10_000
MIXED_POINTS = 10  # earlier points that mixing looks back to


@dataclass(frozen=True)
class StepFacts:
    """Public numbers of a projected gradient step that starts at zero.

    Attributes
    ----------
    shortening
        Step size times strength, below 1: a step shortens distances by one minus this.
    travel
        How far from zero the minimiser and all points of plain descent lie, at most.
    """

    shortening: float
    travel: float

    def steps_to(self, distance: float) -> int:
        """Count the steps from zero after which plain descent is that close to the minimiser."""
        if distance >= self.travel:
            return 1
        rate = -math.log1p(-self.shortening)
        return max(1, math.ceil(math.log(self.travel / distance) / rate))

    def progress(self, n_steps: int) -> float:
        """Return how much of the way, and of one record's influence, so many steps add up to."""
        return -math.expm1(n_steps * math.log1p(-self.shortening))

    def reached(self, step: FloatArray, distance: float) -> bool:
        """Whether a step of that length ends close enough to the minimiser; never if NaN."""
        left = (1.0 - self.shortening) / self.shortening * float(np.linalg.norm(step))
        return left <= distance

    def allows(self, point: FloatArray) -> bool:
        """Whether a fast method may go on from there: what float errors are, is known nearby."""
        return float(np.linalg.norm(point)) <= 2.0 * self.travel


def certified_point(step: Step, size: int, facts: StepFacts, distance: float) -> FloatArray:
    """Return a point that is certified to lie within ``distance`` of the fixed point of ``step``.

    *Guarantee.* The bound holds in real arithmetic for the function that the steps are those of;
    what floats add is the caller's to charge. Nothing is raised, and no point is returned
    without its certificate.

    *Reference.* Banach 1922, Theorem 6.
    """
    for search in (_mixed, _accelerated):
        found = search(step, np.zeros(size), facts, distance)
        if found is not None:
            return found
    return descended(step, size, facts.steps_to(distance))


def descended(step: Step, size: int, n_steps: int) -> FloatArray:
    """Return what so many plain steps lead to from zero."""
    point = np.zeros(size)
    for _ in range(n_steps):
        point = step(point)
    return point


def _mixed(step: Step, point: FloatArray, facts: StepFacts, distance: float) -> FloatArray | None:
    """Search from where the last few steps, mixed so that they cancel best, lead."""
    ends: list[FloatArray] = []
    moves: list[FloatArray] = []
    for _ in range(MIXED_STEPS):
        if not facts.allows(point):
            return None
        end = step(point)
        move = end - point
        if facts.reached(move, distance):
            return end
        ends, moves = [*ends[-MIXED_POINTS:], end], [*moves[-MIXED_POINTS:], move]
        shares = _cancelling_shares(moves)
        if shares is None:
            return None
        point = end - shares @ np.diff(ends, axis=0) if shares.size else end
    return None


def _cancelling_shares(moves: list[FloatArray]) -> FloatArray | None:
    """Return how much of each change of move to take away; None where that cannot be told."""
    if len(moves) == 1:
        return np.zeros(0)
    try:
        return np.asarray(np.linalg.lstsq(np.diff(moves, axis=0).T, moves[-1], rcond=1e-12)[0])
    except np.linalg.LinAlgError:  # an exception would tell of the records
        return None


def _accelerated(
    step: Step, point: FloatArray, facts: StepFacts, distance: float
) -> FloatArray | None:
    """Search with momentum, which is dropped whenever it leads uphill."""
    before, age = point, 1.0
    for _ in range(ACCELERATED_STEPS):
        older = (1.0 + math.sqrt(1.0 + 4.0 * age**2)) / 2.0
        ahead = point + (age - 1.0) / older * (point - before)
        if not facts.allows(ahead):
            return None
        end = step(ahead)
        if facts.reached(end - ahead, distance):
            return end
        uphill = (ahead - end) @ (end - point) > 0.0
        before, point, age = point, end, 1.0 if uphill else older
    return None
