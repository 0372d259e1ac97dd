"""The intersection of two sets."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_integer, shown

from .base import ConstraintSet, as_point, check_set
from .box import Box
from .l1_ball import L1Ball
from .l2_ball import L2Ball
from .simplex import Simplex


@dataclass(frozen=True)
class Intersection:
    """Points in both ``first`` and ``second``; projects by Dykstra's alternating method.

    Parameters
    ----------
    first, second
        Convex sets that have a point in common; this is not checked.
    n_sweeps
        The largest number of projections onto each set. A point near the intersection needs few.
        For a distant point the number may grow with the ratio of its distance to the size of the
        sets. For a ball and another set use ``IntersectionWithBall``, which is exact.

    Edge cases
    ----------
    The result is always in ``second``; it is in ``first`` up to the remaining error.

    Reference
    ---------
    Boyle and Dykstra (1986), "A method for finding projections onto the intersection of convex
    sets in Hilbert spaces", Theorem 2.

    Examples
    --------
    >>> from tailguard.sets import Box, Simplex
    >>> Intersection(Simplex(), Box(0.0, 0.5)).project([2.0, 0.3, 0.1]).round(9)
    array([0.5 , 0.35, 0.15])
    """

    name: ClassVar[str] = "intersection"
    contract_examples = (  # arguments that the contract tests try
        (Simplex(), Box(0.0, 0.5)),
        (L1Ball(1.0), L2Ball(1.0, center=[0.1, 0.1, 0.0])),
    )
    convex: ClassVar[bool] = True
    approximate: ClassVar[bool] = True  # the remaining error grows with the distance of the point
    first: ConstraintSet
    second: ConstraintSet
    n_sweeps: int = 1000

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_sweeps", check_integer("n_sweeps", self.n_sweeps, minimum=1))
        for name, part in (("first", self.first), ("second", self.second)):
            if not check_set(name, part).convex:
                raise InputError(f"{name} must be a convex set; got {shown(part)}.")

    @np.errstate(over="ignore", invalid="ignore")
    def project(self, point: ArrayLike) -> FloatArray:
        """Project onto the sets in turn; each time, first undo the set's previous correction."""
        current = as_point(point)
        first_correction = np.zeros_like(current)
        second_correction = np.zeros_like(current)
        for _ in range(self.n_sweeps):
            before = np.concatenate([current, first_correction, second_correction])
            in_first = self.first.project(current + first_correction)
            first_correction = current + first_correction - in_first
            current = self.second.project(in_first + second_correction)
            second_correction = in_first + second_correction - current
            # The point may stay the same while the corrections still change.
            if np.array_equal(
                before, np.concatenate([current, first_correction, second_correction])
            ):
                break
        return current

    def diameter(self) -> float:
        """Return an upper bound: the smaller of the two diameters."""
        return min(self.first.diameter(), self.second.diameter())

    def contains(self, point: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Whether both sets contain the point."""
        return self.first.contains(point, tolerance) and self.second.contains(point, tolerance)
