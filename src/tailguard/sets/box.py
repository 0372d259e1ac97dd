"""An interval for each coordinate."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_cost, shown

from .base import as_entries, as_numbers, as_point, length


@dataclass(frozen=True)
class Box:
    """Points with every coordinate between ``low`` and ``high``.

    Parameters
    ----------
    low, high
        Vectors, or one number for all coordinates. Infinite bounds are allowed:
        ``Box(0, float("inf"))`` contains all vectors without negative entries.

    Edge cases
    ----------
    A box given by two numbers has no fixed number of coordinates, so its diameter is infinite.

    Examples
    --------
    >>> Box([0.0, 0.0], [1.0, 2.0]).project([-1.0, 5.0])
    array([0., 2.])
    """

    low: ArrayLike
    high: ArrayLike

    name: ClassVar[str] = "box"
    convex: ClassVar[bool] = True
    # arguments that the contract tests try
    contract_examples = (([-1, 0, 2], [1, 10, 2]), (-0.1, 1.0), (0.0, math.inf))

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", _bounds("low", self.low))
        object.__setattr__(self, "high", _bounds("high", self.high))
        shapes = {bound.shape for bound in self._sides if bound.ndim == 1}
        if len(shapes) > 1:
            raise InputError(
                f"low and high must have one length; got {shown(self.low)} and {shown(self.high)}."
            )
        low, high = self._sides
        if not ((low <= high) & (low < np.inf) & (high > -np.inf)).all():
            raise InputError(
                f"low must not be above high; got {shown(self.low)} and {shown(self.high)}."
            )

    def project(self, point: ArrayLike) -> FloatArray:
        """Move each coordinate to the nearer end of its interval if it is outside."""
        return np.clip(as_point(point, self._size), *self._sides)

    @np.errstate(over="ignore")
    def diameter(self) -> float:
        """Distance between two opposite corners."""
        low, high = self._sides
        widths = high - low
        if self._size is None or np.isinf(widths).any():
            return math.inf
        return length(widths)

    def contains(self, point: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Whether no coordinate exceeds a bound by more than ``tolerance``."""
        (low, high), slack = self._sides, check_cost("tolerance", tolerance)
        entries = as_entries(point, self._size)
        inside = (entries >= low - slack) & (entries <= high + slack)
        return bool((inside & np.isfinite(entries)).all())

    @cached_property
    def _sides(self) -> tuple[FloatArray, FloatArray]:
        return np.asarray(self.low), np.asarray(self.high)

    @property
    def _size(self) -> int | None:
        """Number of coordinates; None for a box given by two numbers."""
        return next((side.size for side in self._sides if side.ndim == 1), None)


def _bounds(name: str, bounds: ArrayLike) -> float | tuple[float, ...]:
    """Return a number, or a vector as a tuple; infinite bounds are allowed."""
    array = as_numbers(bounds)
    if array.ndim > 1 or np.isnan(array).any():
        raise InputError(f"{name} must be a number or a vector of numbers; got {shown(bounds)}.")
    return float(array) if array.ndim == 0 else tuple(array.tolist())
