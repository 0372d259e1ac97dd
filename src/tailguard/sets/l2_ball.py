"""Euclidean ball."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray
from tailguard.checks import check_cost, check_positive

from .base import as_entries, as_point, as_vector, length, unit_vector


@dataclass(frozen=True)
class L2Ball:
    """Points within ``radius`` of ``center``, in Euclidean distance.

    Parameters
    ----------
    radius
        The largest distance from the center.
    center
        The center; by default the origin.

    Examples
    --------
    >>> L2Ball(5.0).project([6.0, 8.0])
    array([3., 4.])
    """

    name: ClassVar[str] = "l2_ball"
    contract_examples = ((1.0,), (0.1, [1.0, -2.0, 0.1]))  # arguments that the contract tests try
    convex: ClassVar[bool] = True
    radius: float
    center: ArrayLike | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", check_positive("radius", self.radius))
        if self.center is not None:
            object.__setattr__(self, "center", as_vector("center", self.center))

    def project(self, point: ArrayLike) -> FloatArray:
        """Move the point straight towards the center until it is inside."""
        target = as_point(point, self._size)
        half_offset = self._half_offset(target)
        if length(half_offset) <= self.radius / 2:
            return target
        return self._center_point + self.radius * unit_vector(half_offset)

    def diameter(self) -> float:
        """Twice the radius."""
        return 2 * self.radius

    def contains(self, point: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Whether the distance from the center is at most ``radius * (1 + tolerance)``."""
        slack = check_cost("tolerance", tolerance)
        entries = as_entries(point, self._size)
        if not np.isfinite(entries).all():
            return False
        return length(self._half_offset(entries)) <= self.radius * (1 + slack) / 2

    @cached_property
    def _center_point(self) -> FloatArray:
        return np.asarray(0.0 if self.center is None else self.center)

    @property
    def _size(self) -> int | None:
        """Number of coordinates; None for a ball around the origin."""
        return None if self.center is None else self._center_point.size

    def _half_offset(self, point: FloatArray) -> FloatArray:
        """Half the offset from the center: the full offset may overflow."""
        return point / 2 - self._center_point / 2
