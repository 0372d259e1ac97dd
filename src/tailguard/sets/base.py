"""The protocol of constraint sets; helpers for points and lengths near the limits of floats.

A set never reads a record: it projects weights that are already released.
"""

from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_cost, check_methods, shown


@runtime_checkable
class ConstraintSet(Protocol):
    """A closed set of weights.

    Projection is total: it maps any finite point, however large, to a finite point of the set, and
    a point that is not finite to some point of the set. No value makes it raise or warn. For
    some sets, projections may lie outside by an error that grows with the distance of the point.
    Such a set has a class attribute ``approximate = True``; other sets are exact at any distance.

    Examples
    --------
    >>> from tailguard.sets import WholeSpace
    >>> isinstance(WholeSpace(), ConstraintSet)
    True
    """

    name: ClassVar[str]
    convex: ClassVar[bool]

    def project(self, point: ArrayLike) -> FloatArray:
        """Return the nearest point of the set, in Euclidean distance."""
        ...

    def diameter(self) -> float:
        """Largest distance between two points of the set, or an upper bound if documented."""
        ...

    def contains(self, point: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Whether the point satisfies every constraint, up to ``tolerance``.

        It refuses invalid vectors and tolerances: see ``as_entries`` and ``check_cost``.
        """
        ...


def check_set(name: str, value: Any) -> Any:
    """Return a constraint set; refuse anything else."""
    needed = ("project", "diameter", "convex")
    expected = "a set of tg.sets, or one of your own that has project, diameter and convex"
    check_methods(name, value, needed, expected)
    check_cost(f"{name}.diameter()", value.diameter())
    return value


def as_point(point: ArrayLike, size: int | None = None) -> FloatArray:
    """Copy a point; a point that is not finite becomes the origin."""
    copy = np.array(as_entries(point, size))
    return copy if np.isfinite(copy).all() else np.zeros_like(copy)


def as_entries(point: ArrayLike, size: int | None = None) -> FloatArray:
    """Return the entries of a point, finite or not; refuse anything that is not a vector."""
    entries = as_numbers(point)
    if entries.ndim != 1:
        raise InputError(f"point must be a vector of numbers; got {shown(point)}.")
    if size is not None and entries.shape != (size,):
        raise InputError(f"point must have shape ({size},), as the set does; got {entries.shape}.")
    return entries


def as_numbers(values: ArrayLike) -> FloatArray:
    """Return an array of numbers; for anything else a single NaN, which every set refuses."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):  # the message of this error may show an entry
        return np.array(np.nan)


def as_vector(name: str, numbers: ArrayLike) -> tuple[float, ...]:
    """Return a parameter as a tuple, which is compared and hashed by value."""
    vector = as_numbers(numbers)
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise InputError(f"{name} must be a vector of finite numbers; got {shown(numbers)}.")
    return tuple(vector.tolist())


def length(vector: FloatArray) -> float:
    """Euclidean length; no square overflows or underflows."""
    largest = float(np.abs(vector).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    return largest * float(np.linalg.norm(vector / largest))


def unit_vector(vector: FloatArray) -> FloatArray:
    """Scale to length one; the zero vector stays zero."""
    largest = np.abs(vector).max(initial=0.0)
    if largest == 0.0:
        return np.zeros_like(vector)
    scaled: FloatArray = vector / largest
    return scaled / np.linalg.norm(scaled)
