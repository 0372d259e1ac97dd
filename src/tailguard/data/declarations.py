"""Checks of the declarations of a schema; each error is one sentence that names the declaration.

Levels of a categorical column are declared and never taken from the data. The first one is the
baseline and has no column of its own. Undeclared levels share one last column, ``other``, so that
the width is public.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tailguard.checks import InputError, check_choice, check_integer, check_positive, shown
from tailguard.data.frames import plain_list
from tailguard.data.missing import check_constant
from tailguard.data.terms.term import REST, Factor, Term, term_of
from tailguard.printable import printable
from tailguard.privacy.unit import MOST_ROWS

# Error messages list at most this many names, since a table may have thousands.
MOST_LISTED = 12
UNDECLARED = "nothing is declared of "
"""The beginning of every sentence about columns without a declaration."""
OTHER = "other"
"""The level that all undeclared levels share."""
OTHERS = ("level", "void")
"""How an undeclared level may be read: as a level of its own, or as a void record."""


def listing(columns: Sequence[str], show: Callable[[str], str] = printable) -> str:
    """Return names for a sentence, each as ``show`` writes it; of many, the first and a count."""
    listed = ", ".join(map(show, columns[:MOST_LISTED]))
    n_more = len(columns) - MOST_LISTED
    return f"{listed} and {n_more} more" if n_more > 0 else listed or "none"


def columns_by_role(schema: Any) -> dict[str, str]:
    """Return the columns of each declared role as text; none is left out of a list."""
    roles: dict[str, Iterable[Any]] = {
        "numbers": schema.numeric,
        "levels": [f"{name} ({', '.join(levels)})" for name, levels in schema.levels.items()],
        "dates": [f"{k} ({v['unit']} after {v['origin']})" for k, v in schema.dates.items()],
        "terms": schema.terms or (),
        "left out": schema.drop,
        "target": [schema.target],
        "exposure or offset": [schema.exposure, schema.offset],
        "weight": [schema.weight],
        "identifies rows": [schema.row_id],
        "identifies persons": [schema.person],
        "constants for missing cells": [f"{k} = {v}" for k, v in schema.missing.items()],
        "labels": schema.classes or (),
    }
    texts = {
        role: ", ".join(printable(str(name)) for name in names if name is not None)
        for role, names in roles.items()
    }
    return {role: text for role, text in texts.items() if text}


def undeclared_words(columns: Sequence[str], *, by_cell: bool = False) -> str:
    """Return the note that undeclared columns are read as numbers."""
    void = (
        "any other cell there is missing" if by_cell else "a row with any other cell there is void"
    )
    they_are = "it is" if len(columns) == 1 else "they are"
    return f"{UNDECLARED}{listing(columns)}, so {they_are} read as numbers, and {void}"


def undeclared_note(columns: Sequence[str], *, by_cell: bool = False) -> str:
    """Return ``undeclared_words`` with Python code that declares or drops a column."""
    last = columns[-1]
    return (
        f"{undeclared_words(columns, by_cell=by_cell)}; where that is wrong, declare levels "
        f"(schema={{'categorical': {{{last!r}: [...]}}}}) or leave columns out "
        f"(schema={{'drop': [{last!r}]}})"
    )


def check_columns(required: Iterable[str], columns: Sequence[str], where: str) -> None:
    """Refuse a table that lacks a column."""
    present = set(columns)
    for column in required:
        if column not in present:
            raise InputError(
                f"{where} must have a column {column!r}; its columns are {listing(columns, repr)}."
                f"{_other_format(columns)}"
            )


def _other_format(columns: Sequence[str]) -> str:
    """Return advice if one name looks like a CSV header."""
    if len(columns) == 1 and any(sign in columns[0] for sign in ";\t"):
        return " Cells of a CSV file must be separated by commas: save the file again with commas."
    return ""


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
    """Return distinct names of a list or an array; ``optional`` allows None, but no empty list."""
    if given is None and optional:
        return None
    listed: list[Any] = [None] if (known := plain_list(given)) is None else known
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


def constants(given: Any, levels: Mapping[str, Any], void: Sequence[str]) -> dict[str, Any]:
    """Return the constant for missing cells of each column: a number, or one of its levels."""
    _check_mapping("missing", "constants known without the records", given)
    checked: dict[str, Any] = {}
    for column, constant in given.items():
        if column not in levels:
            checked[column] = check_constant(column, constant)
            continue
        checked[column] = str(constant)
        allowed = (*map(str, levels[column]), *(() if column in void else (OTHER,)))
        check_choice(f"missing[{column!r}]", checked[column], allowed)
    return checked


def others(given: Any, levels: Mapping[str, Any]) -> Any:
    """Return how undeclared levels are read: one word for all columns, or one for each."""
    if not isinstance(given, Mapping):
        check_choice("other", given, OTHERS)
    else:
        for column, each in given.items():
            check_choice("other", column, levels)
            check_choice(f"other[{column!r}]", each, OTHERS)
        given = dict(given)
    for column in void_columns(given, levels):
        if len(levels[column]) < 2:
            raise InputError(
                f"other must be 'level' for a column of one level; got 'void' for {column!r}."
            )
    return given


def void_columns(other: Any, levels: Iterable[str]) -> tuple[str, ...]:
    """Return the categorical columns in which an undeclared level makes a record void."""
    by_column = other if isinstance(other, Mapping) else dict.fromkeys(levels, other)
    return tuple(column for column in levels if by_column.get(column) == "void")


def terms(given: Any) -> tuple[str, ...] | None:
    """Return terms as text in their standard form."""
    listed = names("terms", given, optional=True)
    return listed and tuple(text if text == REST else str(term_of(text)) for text in listed)


def declared_for(schema: Any, columns: Iterable[str]) -> dict[str, Any]:
    """Return the declarations of a schema for these columns only."""
    by_column = {name: getattr(schema, name) for name in ("categorical", "dates", "missing")}
    if isinstance(schema.other, Mapping):
        by_column["other"] = schema.other
    return {
        name: {column: declared[column] for column in columns if column in declared}
        for name, declared in by_column.items()
    }


def restricted(schema: Any, columns: Sequence[str]) -> Any:
    """Return the schema with these columns as its features; only a weight keeps its role."""
    chosen = names("columns", columns, optional=True) or ()
    roles = [role for role in ("target", "exposure", "offset") if getattr(schema, role) in chosen]
    declared = declared_for(schema, chosen) | dict.fromkeys(roles)
    return replace(schema, features=chosen, terms=None, **declared)


def selected(schema: Any, chosen: Any, columns: Sequence[str], where: str) -> Any:
    """Return the schema for a fit of chosen columns; refuse declarations of unknown columns."""
    if schema.terms is not None:
        return schema
    features = names("columns", chosen, optional=True) or ()
    check_columns((*schema.categorical, *schema.dates, *schema.missing), columns, where)
    check_columns(features, schema.features or features, "schema")
    return replace(schema, features=None, **declared_for(schema, features))


def check_terms(schema: Any) -> None:
    """Refuse terms that omit a feature, or whose slope at a baseline level would be zero."""
    factors = [(term, factor) for term in schema.model_terms for factor in term.factors]
    for _, factor in factors:
        if not factor.takes_levels and factor.column in schema.categorical:
            raise InputError(
                f"terms must not take {factor.function} of a column of levels; got '{factor}'."
            )
    if schema.terms is None or REST in schema.terms:
        return
    used = {column for term in schema.model_terms for column in term.columns}
    if unread := [name for name in schema.features or () if name not in used]:
        raise InputError(f"terms must read all features; no term reads {listing(unread, repr)}.")
    all_terms = {frozenset(), *(frozenset(term.factors) for term in schema.model_terms)}
    # Between its knots a sum of their columns may be any straight line.
    all_terms |= {
        frozenset({Factor(factor.column)})
        for term, factor in factors
        if term.reads_one_column and factor.function in ("linear", "spline")
    }
    for term, factor in factors:
        rest = Term(tuple(each for each in term.factors if each != factor))
        if factor.are_indicators(schema.levels) and frozenset(rest.factors) not in all_terms:
            raise InputError(
                f"terms must have '{rest}' beside '{term}', or its slope would be zero at the "
                f"baseline of '{factor}'; got {listing(schema.terms, repr)}."
            )


def check_gaps(schema: Any) -> None:
    """Refuse terms that read both a column and its missing cells, unless it has a constant."""
    factors = [factor for term in schema.model_terms for factor in term.factors]
    used = {factor.column for factor in factors if not factor.indicates_missing}
    for factor in factors:
        if (
            factor.indicates_missing
            and factor.column in used
            and factor.column not in schema.missing
        ):
            raise InputError(
                f"missing must have a constant for {factor.column!r}, which terms read beside "
                f"'{factor}': without one, records with such gaps are void."
            )


def _check_mapping(declaration: str, values: str, given: Any) -> None:
    if not isinstance(given, Mapping) or not all(isinstance(column, str) for column in given):
        raise InputError(
            f"{declaration} must map names of columns to {values}; got {shown(given)}."
        )


def labels(given: Any) -> tuple[Any, ...] | None:
    """Return the labels of a target, or None."""
    if given is None:
        return None
    listed = plain_list(given) or []
    if not all(map(_is_label, listed)) or not len(set(listed)) == len(listed) > 1:
        raise InputError(
            "classes must be at least two different labels, each text, a number, True or False; "
            f"got {shown(given)}."
        )
    return tuple(listed)


def check_places(schema: Any) -> None:
    """Refuse a column with two roles, and two coefficients with the same name."""
    if schema.exposure is not None and schema.offset is not None:
        raise InputError(
            "offset must not be declared beside an exposure, which enters as its logarithm: add "
            f"that to the offset; got {schema.offset!r} and {schema.exposure!r}."
        )
    single = ("target", "exposure", "offset", "weight", "row_id", "person")
    by_role = {"features": schema.features or (), "drop": schema.drop}
    by_role |= {role: (getattr(schema, role),) for role in single}
    roles: dict[str, str] = {}
    for role, columns in by_role.items():
        for column in columns:
            if column in roles:
                raise InputError(
                    f"{role} must not be a column of {roles[column]} as well; got {column!r}: "
                    "leave it out of one of the two."
                )
            if column is not None:
                roles[column] = role
    for declaration in ("categorical", "missing", "dates"):
        _check_features(declaration, getattr(schema, declaration), schema.features, roles)
    used = [column for term in schema.model_terms for column in term.columns]
    _check_features("terms", used, schema.features, roles)
    for column in schema.dates:
        if column in schema.categorical:
            raise InputError(
                f"dates must not be of a column with declared levels; got {column!r}: leave it "
                "out of one of the two."
            )
    check_terms(schema)
    coefficients = schema.coefficient_names
    if len(set(coefficients)) < len(coefficients):
        raise InputError(
            "features must have distinct coefficient names, and a level is named column=level; got "
            f"{listing(coefficients, repr)}."
        )


def check_weight_bound(name: str, weight: Any, bound: float | None) -> None:
    """Refuse weights without a bound, a bound without weights, and a bound that is not positive."""
    if weight is None and bound is not None:
        raise InputError(f"weight_bound must be left out without {name}=; got {shown(bound)}.")
    if weight is not None and bound is None:
        raise InputError(
            f"weight_bound must be declared beside {name}=: the largest weight that counts in "
            "full, known without the rows; it is not."
        )
    if bound is not None:
        check_positive("weight_bound", bound)


def check_max_rows(person: str | None, max_rows: Any) -> None:
    """Refuse ``person`` without ``max_rows``, and ``max_rows`` without ``person``."""
    if (person is None) != (max_rows is None):
        raise InputError(
            "person and max_rows must be declared together: the column of keys, and how many rows "
            f"of a person are used at most; got {shown(person)} and {shown(max_rows)}."
        )
    if max_rows is not None:
        check_integer("max_rows", max_rows, minimum=1, maximum=MOST_ROWS)


def _check_features(
    declaration: str,
    columns: Iterable[str],
    allowed: Sequence[str] | None,
    roles: Mapping[str, Any],
) -> None:
    """Refuse a column outside ``allowed``; if that is None, a column that has another role."""
    for column in columns:
        is_refused = column in roles if allowed is None else column not in allowed
        if is_refused:
            role = roles.get(column)
            wrong = "is dropped" if role == "drop" else f"is the {role}"
            if allowed is not None:
                wrong = f"is not among {list(allowed)}"
            if (declaration, role) == ("categorical", "target"):
                wrong += ": declare its labels as classes, not as levels"
            raise InputError(f"{declaration} must name features; got {column!r}, which {wrong}.")


def _is_label(given: Any) -> bool:
    try:
        return isinstance(given, str) or (isinstance(given, int | float) and math.isfinite(given))
    except OverflowError:  # a whole number beyond the floats
        return False


def check_levels(column: str, levels: Sequence[str | int]) -> tuple[str, ...]:
    """Return the declared levels as text; refuse equal or empty ones and ``other``."""
    listed = plain_list(levels)
    listed = [True] if listed is None else listed
    rule = f"The levels of {column!r} must be a list of text or whole numbers"
    if not all(isinstance(level, str | int) and not isinstance(level, bool) for level in listed):
        booleans = any(level is False for level in listed)
        remedy = ": booleans are read as 0 and 1, without levels" if booleans else ""
        raise InputError(f"{rule}; got {shown(levels)}{remedy}.")
    try:
        declared = tuple(map(str, listed))
    except ValueError:  # Python refuses to print huge integers
        raise InputError(f"{rule} that Python prints; got {shown(levels)}.") from None
    numbers = [level_number(level) for level in declared]
    readings = {n if n is not None else text for n, text in zip(numbers, declared, strict=True)}
    one = ", as '7' and '07' are one level" * (len(readings) < len({*declared}))
    if not declared or len({*readings, "", OTHER}) < len(declared) + 2:
        raise InputError(
            f"The levels of {column!r} must be one or more and different, and none may be empty "
            f"or {OTHER!r}, the level of all that are left out; got {shown(list(declared))}{one}."
        )
    return declared


def indicator_names(column: str, levels: Sequence[str], *, void: bool = False) -> tuple[str, ...]:
    """Name the indicator columns of a categorical column; ``other`` has none if it is void."""
    return tuple(f"{column}={level}" for level in (*levels[1:], *(() if void else (OTHER,))))


def level_number(text: str) -> float | None:
    """Return the number that a text spells, or None.

    The words true and false are 1 and 0: booleans are text if another cell of a column is text.
    """
    try:
        number = float({"true": "1", "false": "0"}.get(text.lower(), text))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
