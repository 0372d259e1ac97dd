"""Cells of a file's columns that are compared with declared text."""

from typing import Any

from tailguard.checks import InputError
from tailguard.tables import cells_of, type_word

__all__ = ["arrow_cells"]


def arrow_cells(column: Any, where: str, *, floats: bool) -> list[Any]:
    """Return the cells of a pyarrow column whose type a label can have; None where one is missing.

    Text is decoded here, as pyarrow raises where the bytes of a cell are no text.

    Examples
    --------
    >>> import pyarrow as pa
    >>> arrow_cells(pa.array(["north", None]), "Column 'region'", floats=False)
    ['north', None]
    """
    _check_arrow_type(column.type, where, floats=floats)
    cells = cells_of(column)
    return [cell.decode(errors="replace") if isinstance(cell, bytes) else cell for cell in cells]


def _check_arrow_type(kind: Any, where: str, *, floats: bool) -> None:
    from pyarrow import types  # noqa: PLC0415 (the column is from there)

    inner = kind.value_type if types.is_dictionary(kind) else kind
    text = types.is_string(inner) or types.is_large_string(inner)
    whole = types.is_integer(inner) or types.is_boolean(inner)
    if not (text or whole or (floats and types.is_floating(inner))):
        allowed = (
            "text, integers, real numbers or booleans" if floats else "text, integers or booleans"
        )
        raise InputError(f"{where} must hold {allowed}; got {type_word(kind)}.")
