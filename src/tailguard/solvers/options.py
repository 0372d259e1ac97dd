"""What the options of solvers may be, by their names, and what printed noise then promises.

Reference
---------
Wang, Xiao, Devadas and Xu 2020, Algorithms 1 and 2, whose scales of the noise are not smooth.
"""

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
    require,
    shown,
)
from tailguard.ledger.cap import within_filter
from tailguard.privacy.guarantees import ApproxDP, Guarantee, Unprotected

Check = Callable[[str, Any], object]


def _above_1(name: str, value: object) -> None:
    if check_finite(name, value) <= 1.0:
        raise InputError(f"{name} must be above 1; got {shown(value)}.")


def _at_least(least: float) -> Check:
    def check(name: str, value: object) -> None:
        if check_finite(name, value) < least:
            raise InputError(f"{name} must be at least {least:g}; got {shown(value)}.")

    return check


# Which names each check is for; the bounds are those beyond which theorems say nothing.
NAMES: dict[Check, tuple[str, ...]] = {
    check_boolean: ("shrinks", "unsafe_reproduction"),
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
    """Refuse options out of their range; ``choices`` are the words that some may be.

    An option whose default is None may be None.

    Examples
    --------
    >>> import tailguard as tg
    >>> solver = tg.solvers.NoisyGradientDescent(n_steps=10, clip_norm=1.0)
    >>> check_ranges(solver, iterate=("last", "average"))
    Traceback (most recent call last):
        ...
    tailguard.checks.InputError: iterate must be one of 'last', 'average'; got 'tail'.
    """
    for each in fields(solver):
        value = getattr(solver, each.name)
        if value is None and each.default is None:
            continue
        if each.name in choices:
            check_choice(each.name, value, choices[each.name])
        elif each.name in CHECKS:
            CHECKS[each.name](each.name, value)


def promises_nothing(solver: object) -> bool:
    """Whether a solver was made with ``unsafe_reproduction=True`` for noise that is not private.

    Such a solver says so by an attribute of its own, ``unprotected``.

    Examples
    --------
    >>> import tailguard as tg
    >>> printed = {"calibration": "paper", "unsafe_reproduction": True}
    >>> [promises_nothing(tg.solvers.SampleAndAggregate(**x)) for x in ({}, printed)]
    [False, True]
    """
    return getattr(solver, "unprotected", False) is True


def kept_promise(solver: object, guarantee: Guarantee) -> Guarantee:
    """Return what a solver keeps of a guarantee that it was asked for: all of it, or nothing.

    Examples
    --------
    >>> import tailguard as tg
    >>> kept_promise(tg.solvers.SampleAndAggregate(), tg.ApproxDP(1.0, 1e-6))
    ApproxDP(epsilon=1.0, delta=1e-06)
    """
    said = isinstance(guarantee, Unprotected) or not promises_nothing(solver)
    return guarantee if said else Unprotected(guarantee)


def planned_guarantee(solver: object, asked: Guarantee, ledger: object) -> Guarantee:
    """Return what a fit plans with and promises: of a ledger's whole cap, what is in its filter.

    A theorem that states a guarantee of its own keeps that one.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> whole = ApproxDP(1.0, 1e-6)
    >>> planned_guarantee("auto", whole, SimpleNamespace(cap=whole))
    ApproxDP(epsilon=1.0, delta=9.9e-07)
    """
    stated = getattr(solver, "guarantee", None) is not None
    return asked if stated else within_filter(asked, ledger)


def printed_in(guarantee: Guarantee) -> ApproxDP:
    """Return a guarantee for noise that its paper prints in epsilon and delta; refuse any other.

    Examples
    --------
    >>> import tailguard as tg
    >>> printed_in(tg.ApproxDP(1.0, 1e-6)).delta
    1e-06
    """
    if isinstance(guarantee, ApproxDP):
        return guarantee
    raise InputError(
        "calibration must be 'tight' unless epsilon and delta are promised: the paper prints its "
        f"noise in them; got {guarantee!r}."
    )


def admit_printed(asked: Guarantee, kept: Guarantee, *, unsafe: bool) -> Guarantee:
    """Return what printed noise keeps, where ``unsafe_reproduction`` asks for it; else refuse it.

    Examples
    --------
    >>> import tailguard as tg
    >>> admit_printed(tg.GDP(1.0), tg.GDP(2.0), unsafe=True)
    GDP(mu=2.0)
    """
    require(
        unsafe,
        "unsafe_reproduction must be True for this calibration='paper': the printed noise does "
        f"not keep {asked.describe()} but {kept.describe()}.",
    )
    return kept
