"""Replace missing cells by public constants, record by record, before any other step.

The constants are chosen without the records, so a filled record depends on one original record, and
replacing one record changes one filled record. A mean, a median or a value of a similar record
would reveal something about other records.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tailguard.array_types import Features
from tailguard.checks import InputError, check_finite, shown
from tailguard.printable import printable


def missing_constants(
    missing: Any, n_features: int, names: tuple[str, ...] | None
) -> dict[int, float]:
    """Read declared constants, by names or numbers of columns; return them by number.

    Missing cells are NaN; every null of a table becomes NaN. An infinite cell is not missing: its
    record stays void.

    Examples
    --------
    >>> constants = missing_constants({"age": 40.0}, 2, ("age", "km"))
    >>> filled(np.array([[np.nan, 1.0], [30.0, np.nan]]), constants)
    array([[40.,  1.],
           [30., nan]])
    """
    if missing is None:
        return {}
    if isinstance(missing, str) or callable(missing):
        raise _refused(missing)
    if not isinstance(missing, Mapping):
        raise InputError(
            "missing must be a dict from column to a public constant, or None; got "
            f"{type(missing).__name__}."
        )
    constants: dict[int, float] = {}
    for column, constant in missing.items():
        place = _column_number(column, n_features, names)
        if place in constants:
            raise InputError(f"missing must name each column once; got {shown(column)} again.")
        if isinstance(constant, str) or callable(constant):
            raise _refused(constant)
        constants[place] = check_constant(column, constant)
    return constants


def check_constant(column: Any, constant: Any) -> float:
    """Return a number for the missing cells of a column; a boolean may mean other things."""
    if isinstance(constant, bool | np.bool_):
        term = f"; in a schema, terms=['...', 'missing({column})'] adds an indicator of its missing"
        raise InputError(
            f"missing[{column!r}] must be a finite number; got {constant}: write 0 or 1 to fill a "
            f"column of booleans, or do not declare column {column!r}, and records without it are "
            f"void{term + ' cells' if isinstance(column, str) else ''}."
        )
    return check_finite(f"missing[{column!r}]", constant)


def filled(features: Features, constants: Mapping[int, Any]) -> Features:
    """Return features with constants for missing cells; a float64 copy if any are declared.

    The copy depends on the declarations, never on a record. float32 would round the constants, and
    one cell can change the type of the features.
    """
    if not constants:
        return features
    with np.errstate(all="ignore"):  # a signalling NaN of single precision would warn
        copied = features.astype(np.float64)
    for place, constant in constants.items():
        cells = copied[:, place]
        cells[np.isnan(cells)] = constant
    return copied


def constants_text(constants: Mapping[str, Any]) -> str:
    """Return the constants that replace missing cells, by column; empty if there are none.

    Examples
    --------
    >>> constants_text({"age": 40.0, "region": "north"})
    'age = 40, region = north'
    """
    return ", ".join(
        f"{printable(name)} = {printable(value) if isinstance(value, str) else f'{value:g}'}"
        for name, value in constants.items()
    )


def notes_of_table(table: Any, *, by_cell: bool = False) -> tuple[str, ...]:
    """Return the notes of a table without a fit: constants that count as cells, and assumptions."""
    declared = "" if table.schema is None else constants_text(dict(table.schema.missing))
    filled = (f"missing cells are taken as: {declared}",) if declared else ()
    return (*filled, *table.assumptions(by_cell=by_cell))


def _column_number(column: Any, n_features: int, names: tuple[str, ...] | None) -> int:
    """Return the number of a column, given its name or number."""
    if isinstance(column, str) and names is not None and column in names:
        return names.index(column)
    is_integer = isinstance(column, int | np.integer) and not isinstance(column, bool)
    if is_integer and 0 <= column < n_features:
        return int(column)
    allowed = f"columns of X by number, 0 to {n_features - 1}"
    if names is not None:
        allowed += ", or by name"
    raise InputError(f"missing must name {allowed}; got {shown(column)}.")


def _refused(value: Any) -> InputError:
    """Return the error for a strategy that learns from records, by its name or as a function."""
    strategy = shown(value) if isinstance(value, str) else "a function"
    return InputError(
        "missing must map columns to constants known without the records, since a value computed "
        f"from them, such as a mean, would be a release that no budget covers; got {strategy}."
    )
