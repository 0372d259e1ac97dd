"""Intersection of a set with a Euclidean ball."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_cost, check_positive, shown

from .base import ConstraintSet, as_entries, as_vector, check_set, length
from .l1_ball import L1Ball
from .simplex import Simplex
from .whole_space import WholeSpace

# Steps of the bisection: 10 steps on logarithms bring the ends of an interval of floats within a
# factor of 4, and 54 more steps reach neighbouring floats.
N_HALVINGS = 80


@dataclass(frozen=True)
class IntersectionWithBall:
    """Points of ``base`` within ``radius`` of ``center``, in Euclidean distance.

    Localised methods search in such sets. The center is first projected onto the base, so the
    intersection is never empty.

    Let ``c`` be the center. By the optimality conditions, the projection of ``z`` is on the path
    ``t -> base.project(c + t * (z - c))`` for ``t`` from 0 to 1. The distance from ``c`` never
    decreases along the path, so bisection finds the last point within the ball. The result is
    always a point of the base and within the ball.

    Parameters
    ----------
    base
        A convex set.
    center
        The center of the ball; replaced by the nearest point of the base.
    radius
        The largest distance from the center.

    Edge cases
    ----------
    A point that is not finite is projected to the center.

    Reference
    ---------
    The path is that of the multiplier of the ball, ``t = 1 / (1 + multiplier)``: Boyd and
    Vandenberghe (2004), "Convex Optimization", section 5.5.3.

    Examples
    --------
    >>> from tailguard.sets import L1Ball
    >>> nearby = IntersectionWithBall(L1Ball(1.0), center=[0.5, 0.0], radius=0.3)
    >>> nearby.project([3.0, 1.0]).round(6)
    array([0.778543, 0.111417])
    """

    name: ClassVar[str] = "intersection_with_ball"
    contract_examples = (  # arguments that the contract tests try
        (L1Ball(1.0), [1.0, 0.0, 0.1], 0.1),
        (Simplex(2.0), [10.0, 0.0, 0.0], 1.0),
        (WholeSpace(), [1.0, 2.0, 10.0], 2.0),
    )
    convex: ClassVar[bool] = True
    base: ConstraintSet
    center: ArrayLike
    radius: float

    def __post_init__(self) -> None:
        if not check_set("base", self.base).convex:
            raise InputError(f"base must be a convex set; got {shown(self.base)}.")
        center = self.base.project(as_vector("center", self.center))
        object.__setattr__(self, "center", as_vector("center", center))
        object.__setattr__(self, "radius", check_positive("radius", self.radius))

    @np.errstate(over="ignore", invalid="ignore")
    def project(self, point: ArrayLike) -> FloatArray:
        """Return the nearest point of the intersection: the path's last point within the ball."""
        target = np.array(as_entries(point, self._center_point.size))
        if not np.isfinite(target).all():
            return self._center_point.copy()
        nearest = self.base.project(target)
        if self._distance(nearest) <= self.radius:
            return nearest
        return self._last_within_ball(target - self._center_point)

    def diameter(self) -> float:
        """Return an upper bound: the smaller of the diameters of base and ball."""
        return min(self.base.diameter(), 2 * self.radius)

    @np.errstate(over="ignore", invalid="ignore")
    def contains(self, point: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Whether both base and ball contain the point."""
        slack = check_cost("tolerance", tolerance)
        entries = as_entries(point, self._center_point.size)
        in_ball = self._distance(entries) <= self.radius * (1 + slack)
        return in_ball and self.base.contains(entries, slack)

    @cached_property
    def _center_point(self) -> FloatArray:
        return np.asarray(self.center)

    def _distance(self, point: FloatArray) -> float:
        """Distance from the center."""
        return length(point - self._center_point)

    def _last_within_ball(self, direction: FloatArray) -> FloatArray:
        """Bisect for the last point of the path that is within the ball."""
        # Projection never increases distances, so the path stays within the ball up to
        # ``t = radius / length``. Half of that leaves room for rounding.
        inside, outside = self.radius / length(direction) / 2, 1.0
        last = self._center_point.copy()
        for _ in range(N_HALVINGS):
            between = (inside + outside) / 2
            if outside > 4 * inside > 0:
                between = math.sqrt(inside) * math.sqrt(outside)
            candidate = self.base.project(self._center_point + between * direction)
            if self._distance(candidate) <= self.radius:
                inside, last = between, candidate
            else:
                outside = between
        return last
