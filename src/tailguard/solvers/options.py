"""The allowed ranges of solver options, by their names."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from tailguard.checks import (
    InputError,
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
