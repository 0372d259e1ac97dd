"""A column that tells rows apart, as whole numbers or cell by cell.

A cell is judged by its exact type, as in ``cells.py``, and concerns its row alone. No column is
refused: one cell may be what made its type, and so a refusal would tell of it. A cell that is no
whole number, no text and no UUID tells nothing, as a missing one does. What the library that made
the column did before, such as rounding all whole numbers to floats since one is missing, cannot be
undone here; no privacy depends on it (``data/rows/keyed.py``).
"""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np

from tailguard.array_types import IntArray
from tailguard.data.tables.cells import CODED, TEXTS, scalar_types
from tailguard.data.tables.columns import cells_of, kind_if_read

Identifier: TypeAlias = int | str | None

# Beyond these a whole number counts as text, which may have any length in base 16.
SMALLEST, LARGEST = -(2**63), 2**63 - 1

# A decimal of more digits tells nothing: a cell as short as 1e999999999 would take all memory.
MOST_DIGITS = 1000


def identifiers_of(column: Any) -> IntArray | list[Identifier]:
    """Return a column as whole numbers or text; None where a cell is neither.

    Examples
    --------
    >>> identifiers_of(np.array([41, 50])), identifiers_of(np.array(["a", "b"]))
    (array([41, 50]), ['a', 'b'])
    >>> identifiers_of([Decimal("41.0"), UUID(int=7), np.str_("a"), 1.5, None])
    [41, '00000000-0000-0000-0000-000000000007', 'a', None, None]
    """
    kind = kind_if_read(column)
    if kind == "numbers":
        array = np.asarray(column)
        if np.can_cast(array.dtype, np.int64):
            return array.astype(np.int64)
    if kind is None:
        return [None] * len(column)
    return [_identifier(cell) for cell in cells_of(column)]


def _identifier(cell: Any) -> Identifier:
    """Return what one cell tells; a failure, as of an object that was tampered with, is its own."""
    read = READERS.get(id(type(cell)))
    try:
        return None if read is None else read(cell)
    except Exception:
        return None


def _of_whole(cell: Any) -> Identifier:
    whole = int(cell)
    return whole if SMALLEST <= whole <= LARGEST else hex(whole)


def _of_float(cell: Any) -> Identifier:
    return _of_whole(cell) if cell.is_integer() else None


def _of_complex(cell: Any) -> Identifier:
    return _of_float(cell.real) if cell.imag == 0.0 else None


def _of_decimal(cell: Decimal) -> Identifier:
    if not cell.is_finite() or cell.adjusted() >= MOST_DIGITS:
        return None
    return _of_whole(cell) if cell == cell.to_integral_value() else None


def _of_fraction(cell: Fraction) -> Identifier:
    above, below = cell.numerator, cell.denominator
    return _of_whole(above) if type(above) is int and type(below) is int and below == 1 else None


def _of_bytes(cell: bytes) -> Identifier:
    return cell.decode("utf-8", "surrogateescape")


def _of_uuid(cell: UUID) -> Identifier:
    return str(cell) if type(cell.int) is int else None


# Keyed by identity, as the readers of numbers are.
READERS: dict[int, Callable[[Any], Identifier]] = {
    **{id(kind): _of_whole for kind in (bool, int, *scalar_types("biu"))},
    **{id(kind): _of_float for kind in (float, *scalar_types("f"))},
    **{id(kind): _of_complex for kind in (complex, *scalar_types("c"))},
    **dict.fromkeys(TEXTS, str),
    **dict.fromkeys(CODED, _of_bytes),
    id(Decimal): _of_decimal,
    id(Fraction): _of_fraction,
    id(UUID): _of_uuid,
}
