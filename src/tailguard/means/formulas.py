"""Formulas of public facts: their checks, factors of rates, numbers of groups, clip norms.

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
    check_finite,
    check_integer,
    check_open_unit,
    check_positive,
    shown,
)
from tailguard.gate.plan import beyond_floats

Facts = ParamSpec("Facts")
Result = TypeVar("Result")

LARGEST_COUNT = 2**63 - 1  # the longest array
FAILURE_PROBABILITY = 0.1  # default of a median of means: a round number
# A factor on errors, not a loss function.
# The spread of a median over the spread of a mean, for nearly Gaussian group means (Laplace 1818).
# The centre of noised group means has about the same noise as their median.
CENTRE_LOSS = math.sqrt(math.pi / 2.0)


def check_facts(**facts: float) -> None:
    """Refuse a public fact outside its range, which depends on the name of the fact.

    Counts (``n_...``) are whole and at least 1. ``delta`` is strictly between 0 and 1. A
    ``failure_probability`` is above 0 and at most 1/2: theorems hide the constants of their
    logarithms, so they say nothing if ``log(1 / failure_probability)`` is near 0. All other facts
    are finite and above 0.
    """
    for name, value in facts.items():
        if name.startswith("n_"):
            if check_integer(name, value, minimum=1) > LARGEST_COUNT:
                raise InputError(f"{name} must be at most {LARGEST_COUNT}; got {shown(value)}.")
        elif name == "delta":
            check_open_unit(name, value)
        elif name == "failure_probability":
            if check_open_unit(name, value) > 0.5:
                raise InputError(
                    f"{name} must be a number above 0 and at most 0.5; got {shown(value)}."
                )
        else:
            check_positive(name, value)


def check_order(moment_order: float, *, minimum: float = 2.0, maximum: float | None = None) -> None:
    """Refuse an order of moments that a theorem does not cover.

    An order of ``minimum`` is allowed unless it is 1: a first moment alone gives no rate.
    """
    order = check_finite("moment_order", moment_order)
    too_low = order < minimum or order == minimum == 1.0
    if too_low or (maximum is not None and order > maximum):
        allowed = f"a number {'above' if minimum == 1.0 else 'of at least'} {minimum:g}"
        if maximum is not None:
            allowed += f" and at most {maximum:g}"
        raise InputError(f"moment_order must be {allowed}; got {shown(moment_order)}.")


def checked(function: Callable[Facts, Result], **orders: float) -> Callable[Facts, Result]:
    """Decorate a formula, so that it checks its arguments by their names before it computes.

    ``orders`` are the limits of ``moment_order``, as ``check_order`` takes them.
    """

    @wraps(function)
    def call(*args: Facts.args, **facts: Facts.kwargs) -> Result:
        unchecked: dict[str, Any] = dict(facts)
        if "moment_order" in unchecked:
            check_order(unchecked.pop("moment_order"), **orders)
        check_facts(**unchecked)
        try:
            return function(*args, **facts)
        except ArithmeticError:
            raise beyond_floats(facts) from None

    return call


checked_up_to_2 = partial(checked, minimum=1.0, maximum=2.0)
"""The decorator ``checked`` for orders above 1 and up to 2."""


def evaluate(formula: Callable[..., Result], known: Callable[[str], Any], **others: Any) -> Result:
    """Call a formula with ``others``, and with what ``known`` returns for its other parameters.

    If ``known`` returns None for a parameter, the parameter keeps its default.
    """
    names = [name for name in signature(formula).parameters if name not in others]
    facts = {name: value for name in names if (value := known(name)) is not None}
    return formula(**facts, **others)


def moment_scale(moment_bound: float, moment_order: float) -> float:
    """Root of a bound on a moment: a scale in the units of the data."""
    return math.pow(moment_bound, 1.0 / moment_order)


def cut_factor(moment_order: float) -> float:
    """Return the largest ``(t - 1) / t^k``, which is ``(k-1)^(k-1) / k^k``.

    If ``|x|`` is clipped at c, the mean excess is at most this factor times ``E|x|^k / c^(k-1)``.
    """
    below = moment_order - 1.0
    if moment_order > 140.0:  # above 143 ``k^k`` is beyond the floats
        return math.exp(below * math.log1p(-1.0 / moment_order)) / moment_order
    return float(below**below / moment_order**moment_order)


def tail_power(ratio: float, moment_order: float) -> float:
    """Raise a ratio to ``1 - 1 / moment_order``, the power of every rate under heavy tails."""
    return math.pow(ratio, 1.0 - 1.0 / moment_order)


def check_group_count(n_groups: int, n_rows: int) -> int:
    """Check a number of groups: at most the number of records."""
    if check_integer("n_groups", n_groups, minimum=1) > n_rows:
        raise InputError(f"n_groups must be at most n_rows = {n_rows}; got {n_groups}.")
    return n_groups


@checked
def group_count(*, n_features: int, failure_probability: float = FAILURE_PROBABILITY) -> float:
    """Return the theory's number of groups, ``4 log(2 d / failure_probability)``, unrounded.

    *Reference.* Kamath, Liu and Zhang 2022, Algorithm 3, line 2; Tao, Wu, Cheng and Wang 2022,
    Algorithm 3.
    """
    return 4.0 * math.log(2.0 * n_features / failure_probability)


def whole_groups(count: float, *, n_rows: int) -> int:
    """Round a number of groups up to an even number, of at most half of the rows.

    The median of an even number of means is half as sensitive. With fewer than four rows there is
    one group.
    """
    check_facts(count=count, n_rows=n_rows)
    largest = n_rows // 2 - (n_rows // 2) % 2
    return max(1, min(2 * math.ceil(count / 2.0), largest))


@checked
def clipping_bias(
    *, n_features: int, moment_order: float, clip_norm: float, moment_bound: float = 1.0
) -> float:
    """Bias of the l2-clipped mean: ``((q-1)^(q-1) / q^q) d^(q/2) M^q / R^(q-1)``.

    ``q`` is ``moment_order``, ``M^q`` is ``moment_bound``, and ``R`` is ``clip_norm``.

    *Correction.* The paper has the constant ``1 / (q-1)``, four times as large for second moments.

    *Reference.* Zhao and others 2024, proof of Theorem 2, sharpened.

    Examples
    --------
    >>> clipping_bias(n_features=4, moment_order=2.0, clip_norm=10.0)
    0.1
    """
    factor = n_features ** (moment_order / 2.0) / clip_norm ** (moment_order - 1.0)
    return float(cut_factor(moment_order) * moment_bound * factor)


@checked
def mean_clip_norm(
    *, n_rows: int, n_features: int, moment_order: float, rho: float, moment_bound: float = 1.0
) -> float:
    """Clipping norm, ``M sqrt(d) min((n sqrt(rho) / sqrt(d))^(1/q), (n / d)^(1/q))``.

    *Correction.* The paper prints no ``M``, the root of the moment.

    *Reference.* Zhao and others 2024, Theorem 4, equation (19).
    """
    ratio = n_rows * min(math.sqrt(rho / n_features), 1.0 / n_features)
    return math.sqrt(n_features) * moment_scale(moment_bound * ratio, moment_order)


@checked
def gradient_clip_norm(
    *, n_rows: int, n_features: int, moment_order: float, mu: float, moment_bound: float = 1.0
) -> float:
    """Clipping norm, ``r (n mu / sqrt(d))^(1/q)`` with ``r`` the root of the moment.

    The paper has ``epsilon / sqrt(log(1/delta))`` (and more logarithms) in place of mu.

    *Reference.* Xu and others 2025, Algorithms 3 and 6.
    """
    return moment_scale(moment_bound * n_rows * mu / math.sqrt(n_features), moment_order)
