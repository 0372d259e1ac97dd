"""Which questions may read records: registered queries that hold nothing unregistered.

A query's stated sensitivity is proved for its own code and for the losses and sets of the
registries, which treat each record by itself. An object of any other class could look at several
records at once, wherever in the query it sits. So everything that a query holds is walked through:
plain numbers and words pass, and of objects those whose class is registered.

Two functions of a user's own may be part of a query, since its proof covers them: the gradient of
one record, which is called with a copy of one record, and the estimator of sample and aggregate,
which is called with a copy of one block.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Definition 3: a sensitivity is a property of the function
that is evaluated.
"""

from dataclasses import fields
from functools import cached_property
from types import FunctionType, NoneType
from typing import Any

import numpy as np

from tailguard.checks import QueryError, is_registered
from tailguard.losses.registry import is_known
from tailguard.queries.registry import QUERIES, SMOOTH_QUERIES
from tailguard.sets.registry import SETS

ALL_QUERIES = QUERIES | SMOOTH_QUERIES
PARTS = {
    "bins": "tailguard.queries.kernels.bins:Bins",
    "block-minimiser": "tailguard.queries.block_minimiser:BlockMinimiser",
    "units": "tailguard.queries.units:Units",
    "view": "tailguard.queries.view:View",
    "weighting": "tailguard.queries.kernels.whitened_sums:Weighting",
}
"""What queries are made of beside numbers, words, losses and sets."""

ESTIMATOR = "estimator"  # the field of a user's function of one block

PLAIN = (NoneType, bool, int, float, str, np.float64, np.float32, np.int64, np.bool_)


def check_question(query: object, state: object) -> None:
    """Refuse whatever no proof covers, before any record is read."""
    check_admitted(query)
    check_state(state)


def check_admitted(query: object) -> None:
    """Refuse a query that is not of the registry, or that holds anything unregistered."""
    if not is_registered(query, ALL_QUERIES):
        raise QueryError(
            "query must be one of tailguard.queries.registry, whose sensitivities are proved; got "
            f"an object of {type(query).__qualname__}."
        )
    _check_fields(query)


def check_state(state: object) -> None:
    """Refuse a state that is anything but numbers, arrays of them, or tuples of these."""
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


def _check_fields(holder: Any) -> None:
    """Check everything that a registered object holds, and that it holds its fields alone."""
    kind = type(holder)
    names = {field.name for field in fields(holder)}
    held = names | set(getattr(holder, "__dict__", ()))
    if any(not isinstance(getattr(kind, name, None), cached_property) for name in held - names):
        raise QueryError(f"query must hold the fields of {kind.__qualname__} alone; got more.")
    for name in held:
        _check_part(name, getattr(holder, name))


def _check_part(name: str, part: object) -> None:
    """Check one thing that a query holds."""
    if _is_plain(part):
        return
    if type(part) in (tuple, list):
        for each in part:  # type: ignore[attr-defined]
            _check_part(name, each)
    elif is_registered(part, PARTS) or is_registered(part, SETS):
        _check_fields(part)
    elif not (is_known(part) or _is_estimator(name, part)):
        if name == ESTIMATOR:
            raise QueryError(
                "estimator must be a plain function (features, target) -> vector, made by def or "
                f"lambda; got {type(part).__name__}."
            )
        raise QueryError(
            f"query must hold registered losses, sets and parts only; {name!r} is an object of "
            f"{type(part).__qualname__}."
        )


def _is_plain(part: object) -> bool:
    """Whether something is a number, a word, or an array of numbers, and of no class beyond."""
    return type(part) in PLAIN or (type(part) is np.ndarray and part.dtype.kind in "biuf")


def _is_estimator(name: str, part: object) -> bool:
    """Whether something is a user's function of one block."""
    return name == ESTIMATOR and isinstance(part, FunctionType)
