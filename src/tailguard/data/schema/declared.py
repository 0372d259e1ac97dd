"""Checks of what a schema declares; each refusal is one sentence that names the declaration."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tailguard.checks import InputError, check_finite, shown
from tailguard.data.schema.levels import check_levels
from tailguard.printable import printable

# A sentence lists so many names and counts the rest: a table may have thousands.
MOST_LISTED = 12
UNDECLARED = "nothing is declared of "
"""How every sentence on columns of which nothing was declared begins."""


def listing(columns: Sequence[str]) -> str:
    """List names in a sentence, or the first of many and how many more there are.

    Examples
    --------
    >>> listing(["age", "power"]), listing([f"x{j}" for j in range(99)])[-16:]
    ('age, power', ' x11 and 87 more')
    """
    shown = ", ".join(map(printable, columns[:MOST_LISTED]))
    left = len(columns) - MOST_LISTED
    return f"{shown} and {left} more" if left > 0 else shown or "none"


def undeclared_words(columns: Sequence[str]) -> str:
    """Say that columns are read as numbers since nothing was declared of them.

    Examples
    --------
    >>> print(undeclared_words(["age", "region"]))
    nothing is declared of age, region, so they are read as numbers, and a row with any other \
cell there is void
    """
    return (
        f"{UNDECLARED}{listing(columns)}, so they are read as numbers, and a row with any other "
        "cell there is void"
    )


def undeclared_note(columns: Sequence[str]) -> str:
    """Say so where columns are declared in Python, and how.

    Examples
    --------
    >>> print(undeclared_note(["age", "region"])[-47:])
    leave columns out (schema={'drop': ['region']})
    """
    last = columns[-1]
    return (
        f"{undeclared_words(columns)}; where that is wrong, declare levels "
        f"(schema={{'categorical': {{{last!r}: [...]}}}}) or leave columns out "
        f"(schema={{'drop': [{last!r}]}})"
    )


def check_columns(wanted: Iterable[str], columns: Sequence[str], where: str) -> None:
    """Refuse a table that lacks a column.

    Examples
    --------
    >>> check_columns(["height"], ["age", "power"], "X")
    Traceback (most recent call last):
    tailguard.checks.InputError: X must have a column 'height'; its columns are age, power.
    """
    present = set(columns)
    for column in wanted:
        if column not in present:
            raise InputError(
                f"{where} must have a column {column!r}; its columns are {listing(columns)}."
            )


def name(declaration: str, given: Any) -> str | None:
    """Return the name of a column, or None.

    Examples
    --------
    >>> name("target", "cost")
    'cost'
    """
    if given is not None and (not isinstance(given, str) or not given.strip()):
        raise InputError(
            f"{declaration} must be the name of a column, or None; got {shown(given)}."
        )
    return given


def columns_of_a_table(given: Any) -> tuple[str, ...]:
    """Return the names of a table's columns, in their order.

    Examples
    --------
    >>> columns_of_a_table(["age", "power"])
    ('age', 'power')
    """
    several = isinstance(given, Iterable) and not isinstance(given, str)
    listed: tuple[Any, ...] = tuple(given) if several else (None,)
    if not all(isinstance(each, str) for each in listed):
        raise InputError(
            f"columns must be a list of the names of a table's columns; got {shown(given)}."
        )
    return listed


def names(declaration: str, given: Any, *, optional: bool = False) -> tuple[str, ...] | None:
    """Return different names of columns; at least one where all may be meant by None.

    Examples
    --------
    >>> names("drop", ["id", "date"])
    ('id', 'date')
    """
    if given is None and optional:
        return None
    listed: list[Any] = list(given) if isinstance(given, list | tuple) else [None]
    texts = all(isinstance(each, str) and each.strip() for each in listed)
    if not texts or len(set(listed)) < len(listed) or (optional and not listed):
        raise InputError(
            f"{declaration} must be a list of different names of columns; got {shown(given)}."
        )
    return tuple(listed)


def levels(given: Any) -> dict[str, tuple[str, ...]]:
    """Return the levels of the categorical columns.

    Examples
    --------
    >>> levels({"region": ["north", "south"]})
    {'region': ('north', 'south')}
    """
    if not isinstance(given, Mapping) or not all(isinstance(column, str) for column in given):
        raise InputError(
            f"categorical must map names of columns to lists of levels; got {shown(given)}."
        )
    return {column: check_levels(column, given[column]) for column in given}


def constants(given: Any) -> dict[str, float]:
    """Return the constants for missing cells.

    Examples
    --------
    >>> constants({"age": 40})
    {'age': 40.0}
    """
    if not isinstance(given, Mapping) or not all(isinstance(column, str) for column in given):
        raise InputError(
            "missing must map names of columns to constants known without the records; got "
            f"{shown(given)}."
        )
    return {column: check_finite(f"missing[{column!r}]", given[column]) for column in given}


def labels(given: Any) -> tuple[Any, ...] | None:
    """Return the labels of a target, or None.

    Examples
    --------
    >>> labels(["no", "yes"])
    ('no', 'yes')
    """
    if given is None:
        return None
    several = isinstance(given, list | tuple) or (isinstance(given, np.ndarray) and given.ndim > 0)
    listed = list(given) if several else []
    listed = [each.item() if isinstance(each, np.generic) else each for each in listed]
    if not all(map(_is_label, listed)) or not len(set(listed)) == len(listed) > 1:
        raise InputError(
            "classes must be at least two different labels, each text, a number, True or False; "
            f"got {shown(given)}."
        )
    return tuple(listed)


def check_places(schema: Any) -> None:
    """Refuse a column that is declared in two places, and two coefficients of one name.

    Examples
    --------
    >>> from tailguard.data.schema.schema import Schema
    >>> Schema(features=["age"], target="age")
    Traceback (most recent call last):
    tailguard.checks.InputError: target must not be a column of features as well; got 'age'.
    """
    places = {"features": schema.features or (), "drop": schema.drop}
    places |= {"target": (schema.target,), "exposure": (schema.exposure,)}
    places |= {"row_id": (schema.row_id,)}
    seen: dict[str, str] = {}
    for place, columns in places.items():
        for column in columns:
            if column in seen:
                raise InputError(
                    f"{place} must not be a column of {seen[column]} as well; got {column!r}."
                )
            if column is not None:
                seen[column] = place
    _check_features("categorical", schema.categorical, schema.features, seen)
    numeric = None if schema.features is None else schema.numeric
    _check_features("missing", schema.missing, numeric, seen | schema.categorical)
    given = schema.coefficient_names
    if len(set(given)) < len(given):
        raise InputError(
            "features must give their coefficients different names, that of a level being "
            f"column=level; got {listing(given)}."
        )


def _check_features(
    declaration: str, columns: Iterable[str], allowed: Sequence[str] | None, seen: Mapping[str, Any]
) -> None:
    """Refuse what is declared of a column that is not among the features it may be declared of."""
    for column in columns:
        if column in seen if allowed is None else column not in allowed:
            which = "numeric features" if declaration == "missing" else "features"
            raise InputError(f"{declaration} must name {which}; got {column!r}.")


def _is_label(given: Any) -> bool:
    try:
        return isinstance(given, str) or (isinstance(given, int | float) and math.isfinite(given))
    except OverflowError:  # a whole number beyond the floats
        return False
