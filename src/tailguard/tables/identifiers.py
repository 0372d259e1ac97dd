"""A column that tells rows apart, as whole numbers or cell by cell."""

from typing import Any

import numpy as np

from tailguard.array_types import IntArray
from tailguard.tables.columns import cells_of, kind_of, type_of
from tailguard.tables.kinds import refused

ALLOWED = "whole numbers or text"
LARGEST = 2**63  # beyond, a whole number counts as text, which may have any length in base 16


def identifiers_of(column: Any, where: str) -> IntArray | list[int | str | None]:
    """Return a column of whole numbers or text, refusing other types; None where a cell is neither.

    Examples
    --------
    >>> identifiers_of(np.array([41, 50]), "row_id"), identifiers_of(np.array(["a", "b"]), "row_id")
    (array([41, 50]), ['a', 'b'])
    """
    word = str(type_of(column)).lower()
    numbers = ("int", "uint", "float", "double")  # one missing cell makes floats of whole numbers
    if kind_of(column, where, ALLOWED) == "numbers" and not word.startswith(numbers):
        raise refused(where, type_of(column), ALLOWED)
    array = column if isinstance(column, list) else np.asarray(column)
    if isinstance(array, np.ndarray) and np.can_cast(array.dtype, np.int64):
        return array.astype(np.int64)
    return [_identifier(cell) for cell in cells_of(column)]


def _identifier(cell: Any) -> int | str | None:
    if type(cell) is bytes:
        return cell.decode("utf-8", "surrogateescape")
    if type(cell) is str:
        return cell
    if isinstance(cell, float | np.floating):
        return int(cell) if float(cell).is_integer() else None
    if type(cell) is int or isinstance(cell, np.integer):
        return int(cell) if abs(int(cell)) < LARGEST else hex(cell)
    return None
