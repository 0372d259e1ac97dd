"""Columns of Parquet files, accepted or refused by the types that the file states.

Whether a column holds text or numbers may have come from one of its cells, where the file was
written from a table whose types were inferred. So text is read as a CSV file's is, cell by cell,
and a column without any value is read as missing cells. A dictionary, a date or a nested type was
chosen by whoever wrote the file, and is refused as a number.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tailguard.checks import InputError
from tailguard.kernels.block import FloatArray
from tailguard.tables import to_matrix, type_word

from .labels import arrow_cells

__all__ = [
    "check_number_types",
    "parquet_cells",
    "parquet_names",
    "parquet_numbers",
    "parquet_rows",
    "text_number",
]


def text_number(cell: str | None) -> float:
    """Read a cell of text as a number, NaN if it is none.

    Examples
    --------
    >>> text_number("7.5"), text_number("seven")
    (7.5, nan)
    """
    try:
        return float(cell or "nan")
    except ValueError:
        return np.nan


def parquet_names(path: Path) -> list[str]:
    """Return the names of the columns.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> pq.write_table(pa.table({"age": [41, 50], "cost": [7.5, 3.0]}), "ages.parquet")
    >>> parquet_names(Path("ages.parquet"))
    ['age', 'cost']
    """
    return list(_opened(path).schema_arrow.names)


def parquet_rows(path: Path) -> int:
    """Return the number of records, which the file states.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> pq.write_table(pa.table({"age": [41, 50]}), "ages.parquet")
    >>> parquet_rows(Path("ages.parquet"))
    2
    """
    n_rows: int = _opened(path).metadata.num_rows
    if n_rows == 0:
        raise InputError(f"{path} must have records; it has none.")
    return n_rows


def parquet_numbers(path: Path, names: Sequence[str]) -> FloatArray:
    """Read columns as a float64 matrix.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> pq.write_table(pa.table({"age": ["41", "?"], "cost": [7.5, None]}), "ages.parquet")
    >>> parquet_numbers(Path("ages.parquet"), ["cost", "age"])
    array([[ 7.5, 41. ],
           [ nan,  nan]])
    """
    check_number_types(path, names)
    table = _table(path, names)
    for place, name in enumerate(names):
        column = _readable(table.column(place), f"Column {name!r} of {path}")
        table = table.set_column(place, name, column)
    return to_matrix(table, str(path)).astype(np.float64) if names else np.empty((len(table), 0))


def check_number_types(path: Path, names: Sequence[str]) -> None:
    """Refuse columns whose types were chosen and are no numbers; no cell is read.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> kinds = pa.array(["a", "b"]).dictionary_encode()
    >>> pq.write_table(pa.table({"kind": kinds}), "kinds.parquet")
    >>> check_number_types(Path("kinds.parquet"), ["kind"])
    Traceback (most recent call last):
    tailguard.checks.InputError: Column 'kind' of kinds.parquet must hold real numbers, integers \
or booleans; got dictionary: declare its levels in a schema, or drop it.
    """
    schema = _opened(path).schema_arrow
    from pyarrow import types  # noqa: PLC0415 (an extra)

    plain = (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal)
    for name in names:
        kind = schema.field(name).type
        if not any(fits(kind) for fits in (*plain, types.is_null, _is_text)):
            levels = types.is_dictionary(kind)
            remedy = "declare its levels in a schema" if levels else "give it as numbers"
            raise InputError(
                f"Column {name!r} of {path} must hold real numbers, integers or booleans; got "
                f"{type_word(kind)}: {remedy}, or drop it."
            )


def parquet_cells(path: Path, names: Sequence[str]) -> list[list[Any]]:
    """Read columns as lists of cells; None where a cell is missing.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> pq.write_table(pa.table({"region": ["north", None]}), "regions.parquet")
    >>> parquet_cells(Path("regions.parquet"), ["region"])
    [['north', None]]
    """
    columns = zip(names, _table(path, names).columns, strict=True)
    return [
        arrow_cells(_typed(column), f"Column {name!r} of {path}", floats=True)
        for name, column in columns
    ]


def _readable(column: Any, where: str) -> Any:
    """Return a column as one of numbers."""
    import pyarrow as pa  # noqa: PLC0415 (an extra)

    column = _typed(column)
    if _is_text(column.type):
        return pa.array(map(text_number, arrow_cells(column, where, floats=True)), pa.float64())
    return column


def _is_text(kind: Any) -> bool:
    from pyarrow import types  # noqa: PLC0415 (an extra)

    return bool(types.is_string(kind) or types.is_large_string(kind))


def _typed(column: Any) -> Any:
    """Return decimals, and a column without any value, as floats."""
    import pyarrow as pa  # noqa: PLC0415 (an extra)

    others = pa.types.is_null(column.type) or pa.types.is_decimal(column.type)
    return column.cast(pa.float64()) if others else column


def _opened(path: Path) -> Any:
    try:
        from pyarrow.parquet import ParquetFile  # noqa: PLC0415 (an extra)
    except ImportError:
        raise InputError(
            "Reading Parquet needs pyarrow: install it with pip install 'tailguard[parquet]'."
        ) from None
    try:
        return ParquetFile(path)
    except (ValueError, OSError):
        raise InputError(f"{path} must be a Parquet file; it cannot be read as one.") from None


def _table(path: Path, names: Sequence[str]) -> Any:
    parquet_rows(path)
    return _opened(path).read(columns=list(names)).select(list(names))
