"""Public scales and centres that a user states: one number, or one for each column."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_between, check_positive, shown

# Limits of public scales: the product of two such numbers is a finite float.
SMALLEST, LARGEST = 1e-100, 1e100

PerColumn = float | Sequence[float] | FloatArray


def per_column(name: str, value: Any, check: Callable[[str, object], float]) -> PerColumn:
    """Return one number or a tuple of numbers, all checked."""
    try:
        entries = np.asarray(value)
    except ValueError:  # rows of several lengths
        entries = np.empty(0)
    if entries.ndim == 0:
        return check(name, value)
    if not entries.size:
        raise InputError(f"{name} must be one number, or one for each column; got {shown(value)}.")
    return tuple(check(name, entry) for entry in entries.ravel().tolist())


def check_scale(name: str, value: object) -> float:
    """Check a scale: outside these limits the noise of a step might not be a finite float."""
    check_positive(name, value)
    return check_between(name, value, SMALLEST, LARGEST)


def column_vector(name: str, value: PerColumn, n_features: int) -> FloatArray:
    """Return one number per column."""
    entries = np.asarray(value, dtype=np.float64)
    if entries.ndim and entries.shape != (n_features,):
        raise InputError(
            f"{name} must be one number, or one for each of the {n_features} columns; got "
            f"{entries.size} numbers."
        )
    return np.array(np.broadcast_to(entries, n_features))
