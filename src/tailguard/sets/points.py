"""Points and lengths that stay right at the ends of the float range."""

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, require, shown


def as_point(point: ArrayLike, size: int | None = None) -> FloatArray:
    """Copy a point; one with an entry that is not finite becomes the origin."""
    copy = np.array(as_entries(point, size))
    return copy if np.isfinite(copy).all() else np.zeros_like(copy)


def some_point(point: ArrayLike) -> FloatArray:
    """Copy a point of a set that has none without entries."""
    copy = as_point(point)
    require(copy.size > 0, "point must have at least one entry; got none.")
    return copy


def as_entries(point: ArrayLike, size: int | None = None) -> FloatArray:
    """Return the entries of a point as they are, finite or not; refuse what is no vector."""
    entries = as_numbers(point)
    if entries.ndim != 1:
        raise InputError(f"point must be a vector of numbers; got {shown(point)}.")
    if size is not None and entries.shape != (size,):
        raise InputError(f"point must have shape ({size},), as the set does; got {entries.shape}.")
    return entries


def as_numbers(values: ArrayLike) -> FloatArray:
    """Return an array of numbers; one NaN for what holds anything else, which no set allows."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):  # whose words may show an entry
        return np.array(np.nan)


def as_vector(name: str, numbers: ArrayLike) -> tuple[float, ...]:
    """Return the parameter called ``name`` as a tuple, which compares and hashes by value."""
    vector = as_numbers(numbers)
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise InputError(f"{name} must be a vector of finite numbers; got {shown(numbers)}.")
    return tuple(vector.tolist())


def length(vector: FloatArray) -> float:
    """Euclidean length; squares never overflow or vanish on the way."""
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
