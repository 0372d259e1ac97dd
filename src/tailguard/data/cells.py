"""Read cells one at a time as numbers, texts or identifiers; all other cells are missing.

The exact type of a cell decides how it is read. No method of a type that is not listed here is
called, since code of an unknown class could raise, warn or change another record. So a cell affects
its own record only.
"""

import sys
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.quiet import quietly

Identifier: TypeAlias = int | str | None

# Whole numbers outside this range become hexadecimal text, which may have any length.
SMALLEST, LARGEST = -(2**63), 2**63 - 1
# A longer decimal is not an identifier: to convert 1e999999999 would take all memory.
MOST_DIGITS = 1000
# CSV readers parse these words as booleans, in upper or lower case.
TRUTH = {"true": 1.0, "false": 0.0}


def cell_numbers(cells: Iterable[Any]) -> FloatArray:
    """Return cells as numbers; NaN for a cell that is not a number.

    Numbers are those of Python, NumPy, ``decimal`` and ``fractions`` without an imaginary part, and
    text that ``float`` parses. The words true and false count as 1 and 0, because a column of
    booleans turns into text if one cell is not a boolean. A list, a tuple or an array of one number
    counts as that number.
    """
    listed = list(cells)
    with quietly():
        return np.fromiter(map(_cell_number, listed), np.float64, len(listed))


def cell_marks(cells: Iterable[Any]) -> FloatArray:
    """Return a mark for each cell: finite for a number, NaN for an empty cell, else infinite.

    Empty cells are None, missing values of pandas, NumPy's NaT, blank text, and NaN as a number or
    as text.
    """
    listed = list(cells)
    numbers, missing = cell_numbers(listed), _missing_types()
    empty = np.fromiter((_is_empty(cell, missing) for cell in listed), np.bool_, len(listed))
    return np.where(np.isnan(numbers) & ~empty, np.inf, numbers)


def cell_texts(cells: Iterable[Any]) -> list[str | None]:
    """Return cells as text, and bytes decoded; None for a cell that is neither."""
    return [_text(_unpacked(cell)) for cell in cells]


def _cell_number(cell: Any) -> float:
    """Return one cell as a number; a failure, as for the text ``n/a``, affects no other cell."""
    if type(cell) is float:
        return cell
    try:
        cell = _unpacked(cell)
        reader = READERS.get(id(type(cell)))
        return np.nan if reader is None else reader(cell)
    except Exception:
        return np.nan


def _is_empty(cell: Any, missing: set[int]) -> bool:
    """Whether a cell without a number is empty."""
    cell = _unpacked(cell)
    text = _text(cell)
    if text is not None:
        return text.strip().lower() in BLANK
    if id(type(cell)) in DATES:
        return bool(np.isnat(cell))
    if id(type(cell)) in COMPLEX:  # in a column of complex numbers an empty cell is NaN + 0j
        return bool(cell.imag == 0.0)
    return cell is None or id(type(cell)) in missing


def _missing_types() -> set[int]:
    """Return the ids of types whose cells are empty if they are no number, as NaN is."""
    pandas = sys.modules.get("pandas")
    return REAL if pandas is None else REAL | {id(type(pandas.NA)), id(type(pandas.NaT))}


def _unpacked(cell: Any) -> Any:
    """Return the entry of a list, tuple or array of one, None for an empty one, else the cell."""
    kind = type(cell)
    if kind is list or kind is tuple:
        return cell[0] if len(cell) == 1 else cell or None
    if kind is np.ndarray and cell.size < 2:
        return cell.item() if cell.size else None
    return cell


def _text(cell: Any) -> str | None:
    if id(type(cell)) in TEXTS:
        return str(cell)
    return cell.decode(errors="replace") if id(type(cell)) in BYTES else None


def _float_of_text(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return TRUTH.get(text.lower(), np.nan)


def _float_of_bytes(encoded: bytes) -> float:
    return _float_of_text(encoded.decode(errors="replace"))


def _float_of_integer(whole: int) -> float:
    """Return an integer as a float; infinite beyond the largest float, as its text would be."""
    try:
        return float(whole)
    except OverflowError:
        return np.inf if whole > 0 else -np.inf


def _float_of_complex(number: complex) -> float:
    return float(number.real) if number.imag == 0.0 else np.nan


def _float_of_fraction(ratio: Fraction) -> float:
    top, bottom = ratio.numerator, ratio.denominator
    return top / bottom if type(top) is type(bottom) is int else np.nan


def cell_identifier(cell: Any) -> Identifier:
    """Return one cell as an identifier; a failure, as for a forged object, stays with it."""
    reader = IDENTIFIERS.get(id(type(cell)))
    try:
        return None if reader is None else reader(cell)
    except Exception:
        return None


def _whole(cell: Any) -> Identifier:
    """Return a whole number; outside 64 bits as hexadecimal text."""
    whole = int(cell)
    return whole if SMALLEST <= whole <= LARGEST else hex(whole)


def _whole_float(cell: Any) -> Identifier:
    return _whole(cell) if cell.is_integer() else None


def _whole_complex(cell: Any) -> Identifier:
    return _whole_float(cell.real) if cell.imag == 0.0 else None


def _whole_decimal(cell: Decimal) -> Identifier:
    if not cell.is_finite() or cell.adjusted() >= MOST_DIGITS:
        return None
    return _whole(cell) if cell == cell.to_integral_value() else None


def _whole_fraction(cell: Fraction) -> Identifier:
    top, bottom = cell.numerator, cell.denominator
    return _whole(top) if type(top) is int and type(bottom) is int and bottom == 1 else None


def _decoded(cell: bytes) -> Identifier:
    return cell.decode("utf-8", "surrogateescape")


def _uuid(cell: UUID) -> Identifier:
    return str(cell) if type(cell.int) is int else None


def _scalar_types(kinds: str) -> list[type]:
    """Return NumPy's scalar types of these kinds."""
    return [kind for kind in set(np.sctypeDict.values()) if np.dtype(kind).kind in kinds]


BLANK = {"", "nan"}
# Keyed by identity: looking a class up by itself would call the hash of its metaclass.
TEXTS = {id(kind) for kind in (str, np.str_)}
BYTES = {id(kind) for kind in (bytes, np.bytes_)}
COMPLEX = {id(kind) for kind in (complex, *_scalar_types("c"))}
READERS: dict[int, Callable[[Any], float]] = {
    **{id(kind): float for kind in (bool, float, Decimal, *_scalar_types("biuf"))},
    **dict.fromkeys(TEXTS, _float_of_text),
    **dict.fromkeys(BYTES, _float_of_bytes),
    **dict.fromkeys(COMPLEX, _float_of_complex),
    id(int): _float_of_integer,
    id(Fraction): _float_of_fraction,
}
DATES = {id(kind) for kind in (np.datetime64, np.timedelta64)}
REAL = {kind for kind, reader in READERS.items() if reader is float}
"""Ids of types of real numbers: a cell of these that is not a number is NaN, and so empty."""

IDENTIFIERS: dict[int, Callable[[Any], Identifier]] = {
    **{id(kind): _whole for kind in (bool, int, *_scalar_types("biu"))},
    **{id(kind): _whole_float for kind in (float, *_scalar_types("f"))},
    **dict.fromkeys(COMPLEX, _whole_complex),
    **dict.fromkeys(TEXTS, str),
    **dict.fromkeys(BYTES, _decoded),
    id(Decimal): _whole_decimal,
    id(Fraction): _whole_fraction,
    id(UUID): _uuid,
}
