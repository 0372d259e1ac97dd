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

from tailguard.array_types import FloatArray
from tailguard.checks import InputError
from tailguard.data.design.columns import TableColumns
from tailguard.data.tables import to_matrix
from tailguard.data.tables.columns import numbers_of


def parquet_names(path: Path) -> list[str]:
    """Return the names of the columns.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> pq.write_table(pa.table({"age": [41, 50], "cost": [7.5, 3.0]}), "ages.parquet")
    >>> parquet_names(Path("ages.parquet"))
    ['age', 'cost']
    """
    return list(opened_parquet(path).schema_arrow.names)


def parquet_rows(path: Path) -> int:
    """Return the number of records, which the file states.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> pq.write_table(pa.table({"age": [41, 50]}), "ages.parquet")
    >>> parquet_rows(Path("ages.parquet"))
    2
    """
    n_rows: int = opened_parquet(path).metadata.num_rows
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
    table = _table(path, names)
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
    nothing = opened_parquet(path).schema_arrow.empty_table()
    for name in names:
        numbers_of(nothing.column(name), f"Column {name!r} of {path}")


def parquet_cells(path: Path, names: Sequence[str]) -> list[list[Any]]:
    """Read columns as lists of cells; None where a cell is missing.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> pq.write_table(pa.table({"power": [4, None]}), "cars.parquet")
    >>> parquet_cells(Path("cars.parquet"), ["power"])
    [[4, None]]
    """
    return TableColumns(_table(path, names), str(path)).cells(names)


def parquet_column(path: Path, name: str) -> Any:
    """Read a column with the type that the file states.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> pq.write_table(pa.table({"power": [4, None]}), "cars.parquet")
    >>> str(parquet_column(Path("cars.parquet"), "power").type)
    'int64'
    """
    return _table(path, [name]).column(name)


def opened_parquet(path: Path, **options: Any) -> Any:
    """Open a file, with options of pyarrow's ``ParquetFile``; no cell is read.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> pq.write_table(pa.table({"age": [41, 50]}), "ages.parquet")
    >>> opened_parquet(Path("ages.parquet"), buffer_size=4096).num_row_groups
    1
    """
    try:
        from pyarrow.parquet import ParquetFile  # noqa: PLC0415 (an extra)
    except ImportError:
        raise InputError(
            "Reading Parquet needs pyarrow: install it with pip install 'tailguard[parquet]'."
        ) from None
    try:
        return ParquetFile(path, **options)
    except (ValueError, OSError):
        raise InputError(f"{path} must be a Parquet file; it cannot be read as one.") from None


def _table(path: Path, names: Sequence[str]) -> Any:
    parquet_rows(path)
    return opened_parquet(path).read(columns=list(names)).select(list(names))
