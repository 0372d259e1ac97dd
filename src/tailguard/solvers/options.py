"""The allowed ranges of solver options, by their names, and options with a number per column."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import (
    InputError,
    check_between,
    check_boolean,
    check_choice,
    check_count,
    check_finite,
    check_open_unit,
    check_positive,
    shown,
)

Check = Callable[[str, Any], object]


def _above_1(name: str, value: object) -> None:
    if check_finite(name, value) <= 1.0:
        raise InputError(f"{name} must be above 1; got {shown(value)}.")


def _at_least(least: float) -> Check:
    def check(name: str, value: object) -> None:
        if check_finite(name, value) < least:
            raise InputError(f"{name} must be at least {least:g}; got {shown(value)}.")

    return check


# Check -> names of options. The bounds come from the theorems.
NAMES: dict[Check, tuple[str, ...]] = {
    check_boolean: ("shrinks",),
    check_count: (
        *("batch_rows", "least_rows", "n_batches", "n_nonzero", "n_passes", "n_steps"),
        "smallest_phase",
    ),
    check_finite: ("start", "target_center"),
    check_open_unit: ("level", "units_share"),
    check_positive: (
        *("clip_norm", "diameter", "gradient_scale", "lipschitz_bound", "radius", "ridge"),
        *("row_limit", "smoothness", "step_parameter", "step_size", "target_scale", "threshold"),
    ),
    _above_1: ("growth_bound", "moment_order"),
    _at_least(0.0): ("penalty",),
    _at_least(1.0): ("exponent",),
}
CHECKS = {name: check for check, names in NAMES.items() for name in names}


def check_ranges(solver: Any, **choices: tuple[str, ...]) -> None:
    """Refuse options outside their ranges; ``choices`` lists the allowed words of an option.

    An option may be None if its default is None.
    """
    for option in fields(solver):
        value = getattr(solver, option.name)
        if value is None and option.default is None:
            continue
        if option.name in choices:
            check_choice(option.name, value, choices[option.name])
        elif option.name in CHECKS:
            CHECKS[option.name](option.name, value)


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
