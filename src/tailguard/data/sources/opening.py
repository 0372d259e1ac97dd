"""What a user may bring that is not in memory, and how it is opened."""

import os
from collections.abc import Callable
from importlib.util import find_spec
from inspect import isroutine
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from tailguard.checks import InputError, check_choice
from tailguard.data.design.columns import BatchedTable
from tailguard.data.sources.dask_table import DaskTable
from tailguard.data.sources.files import FileColumns, is_parquet
from tailguard.data.sources.lazy import of_arrow_dataset, of_arrow_readers, of_duckdb, of_polars
from tailguard.data.sources.parquet_files import DaskFiles, ParquetFiles, SparkFiles
from tailguard.data.sources.spark_table import SparkTable
from tailguard.data.tables.kinds import is_a

TableFiles: TypeAlias = FileColumns | ParquetFiles
"""What commands read: a CSV file whole, Parquet files in batches."""

LIBRARIES: tuple[tuple[str, str, Callable[[Any], BatchedTable]], ...] = (
    ("pyarrow.dataset", "Dataset", of_arrow_dataset),
    ("polars", "LazyFrame", of_polars),
    ("duckdb", "DuckDBPyRelation", of_duckdb),
    ("dask.dataframe", "DataFrame", DaskTable),
    ("pyspark.sql", "DataFrame", SparkTable),
)


def opened(X: Any) -> Any:
    """Return what reads a source, and anything else as it is.

    Sources are paths, patterns of Parquet files, datasets of pyarrow, lazy frames of polars,
    relations of DuckDB, data frames of Dask and Spark, and functions that open an Arrow reader.

    Examples
    --------
    >>> import polars as pl
    >>> opened(pl.LazyFrame({"age": [41, 50]})).n_rows, opened(7)
    (2, 7)
    """
    if isinstance(X, str | PathLike):
        return opened_path(X)
    for library, kind, read in LIBRARIES:
        if is_a(X, library, kind):
            return read(X)
    if is_a(X, "pyarrow", "RecordBatchReader"):
        raise InputError(
            "X must be read more than once, and a RecordBatchReader ends: pass a function that "
            "opens a new one at each call."
        )
    return of_arrow_readers(X) if isroutine(X) else X


def opened_path(path: str | PathLike[str]) -> TableFiles:
    r"""Return what reads a CSV file, or Parquet files.

    Examples
    --------
    >>> _ = Path("ages.csv").write_text("age\n41\n")
    >>> opened_path("ages.csv").names
    ('age',)
    """
    place = Path(path)
    if os.path.isfile(place) and not is_parquet(place):
        return FileColumns(place)
    return ParquetFiles(place)


ENGINES = ("local", "dask", "spark")
"""What may read the files of a command."""


def opened_table(
    path: str | PathLike[str], engine: str = "local", *, fewest: int = 1
) -> TableFiles:
    r"""Return what reads the files of a command, refusing fewer records than ``fewest``.

    Examples
    --------
    >>> _ = Path("ages.csv").write_text("age\n41\n")
    >>> opened_table("ages.csv", "dask")
    Traceback (most recent call last):
    tailguard.checks.InputError: --engine must be 'local' for a CSV file; got 'dask'.
    """
    table = opened_path(path)
    if check_choice("--engine", engine, ENGINES) != "local":
        if not isinstance(table, ParquetFiles):
            raise InputError(f"--engine must be 'local' for a CSV file; got {engine!r}.")
        if engine == "dask" and find_spec("dask") is None:
            raise InputError(
                "--engine dask needs Dask: install it with pip install 'tailguard[dask]'."
            )
        table = DaskFiles(Path(path)) if engine == "dask" else SparkFiles(Path(path))
    table.check_rows(fewest)
    return table


def has_columns(X: Any) -> bool:
    r"""Whether something is a source that was opened, whose columns have names.

    Examples
    --------
    >>> _ = Path("ages.csv").write_text("age\n41\n")
    >>> has_columns(opened_path("ages.csv")), has_columns("ages.csv")
    (True, False)
    """
    return isinstance(X, BatchedTable | FileColumns)
