"""Checks of what a schema declares; each refusal is one sentence that names the declaration.

Levels of a categorical column are declared and never taken from the data. The first one is the
baseline and has no column of its own. Whatever was not declared shares one last column, ``other``,
so that the width is public.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tailguard.checks import InputError, check_finite, check_positive, shown
from tailguard.printable import printable

# Error messages list at most this many names, since a table may have thousands.
MOST_LISTED = 12
UNDECLARED = "nothing is declared of "
"""The beginning of every sentence about columns without a declaration."""
OTHER = "other"


def listing(columns: Sequence[str]) -> str:
    """List names in a sentence, or the first of many and how many more there are."""
    shown = ", ".join(map(printable, columns[:MOST_LISTED]))
    left = len(columns) - MOST_LISTED
    return f"{shown} and {left} more" if left > 0 else shown or "none"


def undeclared_words(columns: Sequence[str], *, by_cell: bool = False) -> str:
    """Say that columns are read as numbers since nothing was declared of them."""
    void = (
        "any other cell there is missing" if by_cell else "a row with any other cell there is void"
    )
    return f"{UNDECLARED}{listing(columns)}, so they are read as numbers, and {void}"


def undeclared_note(columns: Sequence[str], *, by_cell: bool = False) -> str:
    """Say so where columns are declared in Python, and how."""
    last = columns[-1]
    return (
        f"{undeclared_words(columns, by_cell=by_cell)}; where that is wrong, declare levels "
        f"(schema={{'categorical': {{{last!r}: [...]}}}}) or leave columns out "
        f"(schema={{'drop': [{last!r}]}})"
    )


def check_columns(wanted: Iterable[str], columns: Sequence[str], where: str) -> None:
    """Refuse a table that lacks a column."""
    present = set(columns)
    for column in wanted:
        if column not in present:
            raise InputError(
                f"{where} must have a column {column!r}; its columns are {listing(columns)}."
            )


def name(declaration: str, given: Any) -> str | None:
    """Return the name of a column, or None."""
    if given is not None and (not isinstance(given, str) or not given.strip()):
        raise InputError(
            f"{declaration} must be the name of a column, or None; got {shown(given)}."
        )
    return given


def columns_of_a_table(given: Any) -> tuple[str, ...]:
    """Return the names of a table's columns, in their order."""
    several = isinstance(given, Iterable) and not isinstance(given, str)
    listed: tuple[Any, ...] = tuple(given) if several else (None,)
    if not all(isinstance(each, str) for each in listed):
        raise InputError(
            f"columns must be a list of the names of a table's columns; got {shown(given)}."
        )
    return listed


def names(declaration: str, given: Any, *, optional: bool = False) -> tuple[str, ...] | None:
    """Return different names of columns; at least one where all may be meant by None."""
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
    """Return the levels of the categorical columns."""
    _check_mapping("categorical", "lists of levels", given)
    return {column: check_levels(column, given[column]) for column in given}


def constants(given: Any) -> dict[str, float]:
    """Return the constants for missing cells."""
    _check_mapping("missing", "constants known without the records", given)
    return {column: check_finite(f"missing[{column!r}]", given[column]) for column in given}


def _check_mapping(declaration: str, values: str, given: Any) -> None:
    if not isinstance(given, Mapping) or not all(isinstance(column, str) for column in given):
        raise InputError(
            f"{declaration} must map names of columns to {values}; got {shown(given)}."
        )


def labels(given: Any) -> tuple[Any, ...] | None:
    """Return the labels of a target, or None."""
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
    """Refuse a column that is declared in two places, and two coefficients of one name."""
    if schema.exposure is not None and schema.offset is not None:
        raise InputError(
            "offset must not be declared beside an exposure, which enters as its logarithm: add "
            f"that to the offset; got {schema.offset!r} and {schema.exposure!r}."
        )
    places = {"features": schema.features or (), "drop": schema.drop}
    places |= {"target": (schema.target,), "exposure": (schema.exposure,)}
    places |= {"offset": (schema.offset,), "weight": (schema.weight,)}
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


def check_weight_bound(name: str, weight: Any, bound: float | None) -> None:
    """Refuse weights without a bound, a bound without weights, and what is no bound."""
    if weight is None and bound is not None:
        raise InputError(f"weight_bound must be None without {name}; got {shown(bound)}.")
    if weight is not None and bound is None:
        raise InputError(
            f"weight_bound must be declared beside {name}: the largest weight that counts in full, "
            "known without the rows; got None."
        )
    if bound is not None:
        check_positive("weight_bound", bound)


def _check_features(
    declaration: str, columns: Iterable[str], allowed: Sequence[str] | None, seen: Mapping[str, Any]
) -> None:
    """Refuse what is declared of a column that is not among the features it may be declared of."""
    for column in columns:
        if column in seen if allowed is None else column not in allowed:
            which = "numeric features" if declaration == "missing" else "features"
            listed = "" if allowed is None else f", which is not among {list(allowed)}"
            raise InputError(f"{declaration} must name {which}; got {column!r}{listed}.")


def _is_label(given: Any) -> bool:
    try:
        return isinstance(given, str) or (isinstance(given, int | float) and math.isfinite(given))
    except OverflowError:  # a whole number beyond the floats
        return False


def check_levels(column: str, levels: Sequence[str | int]) -> tuple[str, ...]:
    """Return the declared levels as text if they differ, none is empty and none is ``other``."""
    listed = list(levels) if isinstance(levels, list | tuple) else [True]
    wanted = f"The levels of {column!r} must be a list of text or whole numbers"
    if not all(isinstance(level, str | int) and not isinstance(level, bool) for level in listed):
        raise InputError(f"{wanted}; got {shown(levels)}.")
    try:
        declared = tuple(map(str, listed))
    except ValueError:  # Python prints no huge integer
        raise InputError(f"{wanted} that Python prints; got {shown(levels)}.") from None
    numbers = [level_number(level) for level in declared]
    readings = {n if n is not None else text for n, text in zip(numbers, declared, strict=True)}
    if not declared or len({*readings, "", OTHER}) < len(declared) + 2:
        raise InputError(
            f"The levels of {column!r} must be different and none may be empty or {OTHER!r}, which "
            f"stands for every other level; got {shown(list(declared))}."
        )
    return declared


def indicator_names(column: str, levels: Sequence[str]) -> tuple[str, ...]:
    """Name the indicator columns of a categorical column."""
    return tuple(f"{column}={level}" for level in (*levels[1:], OTHER))


def level_number(text: str) -> float | None:
    """Return the number that a level or a cell of text reads as, None if it reads as none.

    True and False, which a column of booleans holds as text beside other cells, read as 1 and 0.
    """
    try:
        number = float({"true": "1", "false": "0"}.get(text.lower(), text))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
