"""Admit only queries that are registered and hold nothing unregistered.

The proof of a query's sensitivity covers its own code and registered losses and sets, which treat
each record by itself. An object of any other class, anywhere in the query, could look at several
records at once. So everything that a query holds is checked. Plain numbers and strings pass, and so
do objects of registered classes.

Two kinds of user functions may be part of a query, since its proof covers them. The gradient of one
record is called with a copy of one record, and the estimator of sample and aggregate with a copy of
one block.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Definition 3: a sensitivity is a property of the function
that is evaluated.
"""

import sys
from collections.abc import Mapping
from dataclasses import fields
from functools import cache, cached_property
from types import FunctionType, NoneType
from typing import Any

import numpy as np

from tailguard.checks import InputError, QueryError, shown
from tailguard.losses.registry import LOSSES, RECORD_LOSSES
from tailguard.queries.registry import QUERIES, SMOOTH_QUERIES
from tailguard.sets.registry import SETS

ALL_QUERIES = QUERIES | SMOOTH_QUERIES
HOLDERS = SETS | {
    "bins": "tailguard.queries.histograms:Bins",
    "block-minimiser": "tailguard.queries.block_minimiser:BlockMinimiser",
    "class-view": "tailguard.queries.class_view:ClassView",
    "units": "tailguard.queries.units:Units",
    "view": "tailguard.queries.view:View",
    "weighting": "tailguard.queries.view:Weighting",
}
"""The classes of objects that queries may hold, besides losses."""

ESTIMATOR = "estimator"  # the field that holds a user's function of one block
PLAIN = (NoneType, bool, int, float, str, np.float64, np.float32, np.int64, np.bool_)
NUMBERS = (NoneType, bool, int, float)
ROUNDED = 1e-9  # a field may differ by this part from that of a new object
FUNCTION = "function"  # the field of a user's gradient, which gets one record at a time
ALLOWED = {"public_name": (NoneType, str)}  # identifies that function in a checkpoint


def is_registered(value: object, registry: Mapping[str, str]) -> bool:
    """Whether the exact class of ``value``, not a base class, is in ``registry``."""
    exact_class = type(value)
    is_listed = f"{exact_class.__module__}:{exact_class.__qualname__}" in registry.values()
    return (
        is_listed
        and getattr(sys.modules.get(exact_class.__module__), exact_class.__qualname__, None)
        is exact_class
    )


def check_known(loss: object) -> None:
    """Refuse an unregistered or modified loss, since its slopes could depend on several records.

    A loss object receives many scores at once. Tests check that our losses treat each score
    separately. This is unknown of other losses, so users give the gradient of ONE record.
    """
    if not is_known(loss):
        raise InputError(
            f"loss must be one of tg.losses as it was made; got {shown(loss)}. A loss "
            "of your own is given by the gradient of ONE record, (weights, features, target) -> "
            "gradient."
        )


def is_known(loss: object) -> bool:
    """Whether the exact class of a loss is registered, and all its attributes are parameters."""
    if not is_registered(loss, LOSSES | RECORD_LOSSES):
        return False
    kind: Any = type(loss)
    names, held = field_names(kind), attributes_of(loss)
    if held is None:
        return False
    for name, value in held.items():
        is_parameter = name == FUNCTION or type(value) in ALLOWED.get(name, NUMBERS)
        if name not in names or not is_parameter:
            return False
    try:
        _check_as_made(loss, held)
    except InputError:
        return False
    return True


def _check_as_made(value: object, held: Mapping[str, Any]) -> None:
    """Refuse fields that the class would refuse or change: their owner may have changed them."""
    kind: Any = type(value)
    if not hasattr(kind, "__post_init__"):
        return
    made = object.__new__(kind)
    vars(made).update({name: held[name] for name in field_names(kind) & held.keys()})
    kind.__post_init__(made)
    for name, given in held.items():
        new = vars(made).get(name, given)
        if new is not given and not _alike(given, new):
            raise QueryError(f"{name} of {kind.__qualname__} must be as it was made; got another.")


def _alike(given: Any, made: Any) -> bool:
    """Whether a field equals that of a new object, but for rounding."""
    first, second = (np.asarray(each, dtype=np.float64) for each in (given, made))
    if first.shape != second.shape or np.array_equal(first, second):
        return first.shape == second.shape
    return bool(np.abs(first - second).max() <= ROUNDED * np.abs(second).max())


@cache
def field_names(kind: Any) -> frozenset[str]:
    """Return the names of the fields of a dataclass."""
    return frozenset(field.name for field in fields(kind))


def attributes_of(value: object) -> dict[str, Any] | None:
    """Return the attributes of an object; None if it may show others than its methods would see.

    A dictionary or a name of a user's own class could show anything.
    """
    held = vars(value)
    return held if type(held) is dict and {*map(type, held)} <= {str} else None


def check_question(
    query: object, state: object, *, weighted: bool = False, persons: bool = False
) -> None:
    """Refuse a query or state that no proof covers, before any record is read.

    If records are ``weighted``, this also refuses a query that takes no weights. If records are
    ``persons``, it refuses a query whose records cannot have several rows.
    """
    check_admitted(query)
    check_state(state)
    if weighted and not getattr(query, "takes_weights", False):
        raise InputError(
            "sample_weight must be None for a query that takes no weights; got "
            f"{type(query).__qualname__}."
        )
    if persons and not getattr(query, "takes_persons", False):
        raise InputError(
            "person must be None for a query in which a record cannot have several rows; got "
            f"{type(query).__qualname__}."
        )


def check_admitted(query: object) -> None:
    """Refuse a query that is not registered, or that holds anything unregistered.

    The check runs at each use, since the owner of a query could change it in between.
    """
    if not is_registered(query, ALL_QUERIES):
        raise QueryError(
            "query must be one of tailguard.queries.registry, whose sensitivities are proved; got "
            f"an object of {type(query).__qualname__}."
        )
    holders: list[Any] = [query]
    while holders:
        holder = holders.pop()
        held = _contents(holder)
        for name, value in held.items():
            parts = [value]
            while parts:
                part = parts.pop()
                kind = type(part)
                if kind in PLAIN or (kind is np.ndarray and part.dtype.kind in "biuf"):
                    continue
                if kind in (tuple, list):
                    parts += part
                elif is_registered(part, HOLDERS):
                    holders.append(part)
                elif not (is_known(part) or (name == ESTIMATOR and kind is FunctionType)):
                    raise _refusal(name, part)
        _check_as_made(holder, held)


def _contents(holder: Any) -> dict[str, Any]:
    """Return an object's fields; refuse other attributes.

    Cached numbers are dropped, since their owner may have changed them.
    """
    kind: Any = type(holder)
    attributes = attributes_of(holder)
    if attributes is None:
        raise _more_than_fields(kind)
    for name in attributes.keys() - field_names(kind):
        if not isinstance(getattr(kind, name, None), cached_property):
            raise _more_than_fields(kind)
        attributes.pop(name, None)
    return attributes


def _more_than_fields(kind: Any) -> QueryError:
    return QueryError(f"query must hold only the fields of {kind.__qualname__}; got more.")


def _refusal(name: str, part: object) -> QueryError:
    """Return the error for a part that a query must not hold."""
    if name == ESTIMATOR:
        return QueryError(
            "estimator must be a plain function (features, target) -> vector, made by def or "
            f"lambda; got {type(part).__name__}."
        )
    return QueryError(
        f"query must hold registered losses, sets and parts only; {name!r} is an object of "
        f"{type(part).__qualname__}."
    )


def check_state(state: object) -> None:
    """Refuse a state unless it is plain, an array of numbers, or a tuple of such states."""
    if isinstance(state, tuple):
        for part in state:
            check_state(part)
    elif type(state) is np.ndarray:
        if state.dtype.kind not in "biuf":
            raise QueryError(f"state must hold numbers; got an array of {state.dtype.kind!r}.")
    elif type(state) not in PLAIN:
        raise QueryError(
            f"state must be None, numbers or arrays of them; got {type(state).__qualname__}."
        )
