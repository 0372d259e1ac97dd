"""Formulas of public facts: what they check, and the two powers in every rate.

Wherever a paper bounds a moment, ``moment_bound`` is the bound on the moment itself,
``E|x|^moment_order <= moment_bound``, in the units of ``|x|^moment_order``.
"""

import math
from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from tailguard.checks import (
    InputError,
    beyond_floats,
    check_finite,
    check_integer,
    check_open_unit,
    check_positive,
    shown,
)

Told = ParamSpec("Told")
Result = TypeVar("Result")

# The theorems hide their logarithms' constants, and mean nothing where log(1 / chance) nears 0.
LARGEST_FAILURE_PROBABILITY = 0.5
LARGEST_COUNT = 2**63 - 1  # more are in no array


def check_facts(**facts: float) -> None:
    """Refuse a public fact that is out of its range; the name of a fact says its range.

    Counts (``n_...``) are whole and at least 1, ``delta`` lies strictly between 0 and 1, a
    ``failure_probability`` is at most 1/2 besides, and everything else is finite and above 0.
    """
    for name, value in facts.items():
        if name.startswith("n_"):
            if check_integer(name, value, minimum=1) > LARGEST_COUNT:
                raise InputError(f"{name} must be at most {LARGEST_COUNT}; got {shown(value)}.")
        elif name == "delta":
            check_open_unit(name, value)
        elif name == "failure_probability":
            if check_open_unit(name, value) > LARGEST_FAILURE_PROBABILITY:
                raise InputError(
                    f"{name} must be a number above 0 and at most 0.5; got {shown(value)}."
                )
        else:
            check_positive(name, value)


def check_order(moment_order: float, *, minimum: float = 2.0, maximum: float | None = None) -> None:
    """Refuse an order of moments that a theorem does not cover.

    Orders start at ``minimum``, or above it where ``minimum`` is 1: a first moment alone gives no
    rate.
    """
    order = check_finite("moment_order", moment_order)
    low = order < minimum or order == minimum == 1.0
    if low or (maximum is not None and order > maximum):
        allowed = f"a number {'above' if minimum == 1.0 else 'of at least'} {minimum:g}"
        if maximum is not None:
            allowed += f" and at most {maximum:g}"
        raise InputError(f"moment_order must be {allowed}; got {shown(moment_order)}.")


def checked(function: Callable[Told, Result], **orders: float) -> Callable[Told, Result]:
    """Check the facts that a function is told, each by its name, before it is called.

    ``orders`` are the limits of ``moment_order``, as ``check_order`` takes them.
    """

    @wraps(function)
    def call(*args: Told.args, **facts: Told.kwargs) -> Result:
        told: dict[str, Any] = dict(facts)
        if "moment_order" in told:
            check_order(told.pop("moment_order"), **orders)
        check_facts(**told)
        try:
            return function(*args, **facts)
        except ArithmeticError:
            raise beyond_floats(facts) from None

    return call


checked_up_to_2 = partial(checked, minimum=1.0, maximum=2.0)
"""The same for orders above 1 and up to 2."""


def put_into(formula: Callable[..., Result], known: Callable[[str], Any], **others: Any) -> Result:
    """Call a formula with what is ``known`` of what it names, or with ``others`` in its place.

    What is not known, None, has the formula's default.
    """
    asked = [name for name in signature(formula).parameters if name not in others]
    facts = {name: value for name in asked if (value := known(name)) is not None}
    return formula(**facts, **others)


def moment_scale(moment_bound: float, moment_order: float) -> float:
    """Root of a bound on a moment: a scale in the units of the data."""
    return math.pow(moment_bound, 1.0 / moment_order)


def cut_factor(moment_order: float) -> float:
    """Return the largest ``(t - 1) / t^k``, which is ``(k-1)^(k-1) / k^k``.

    What lies beyond a cut at c is on average at most so many times ``E|x|^k / c^(k-1)``.
    """
    return float((moment_order - 1.0) ** (moment_order - 1.0) / moment_order**moment_order)


def tail_power(ratio: float, moment_order: float) -> float:
    """Raise the cost of privacy to ``1 - 1 / moment_order``: what heavy tails make of it."""
    return math.pow(ratio, 1.0 - 1.0 / moment_order)
