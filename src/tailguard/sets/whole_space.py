"""No constraint."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray
from tailguard.checks import check_cost

from .base import as_entries, as_point


@dataclass(frozen=True)
class WholeSpace:
    """All vectors.

    Examples
    --------
    >>> WholeSpace().project([1.0, -2.0])
    array([ 1., -2.])
    """

    name: ClassVar[str] = "whole_space"
    convex: ClassVar[bool] = True

    def project(self, point: ArrayLike) -> FloatArray:
        """Return the point itself; the origin if it is not finite."""
        return as_point(point)

    def diameter(self) -> float:
        """Infinite."""
        return math.inf

    def contains(self, point: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Whether the point is finite."""
        check_cost("tolerance", tolerance)
        return bool(np.isfinite(as_entries(point)).all())
