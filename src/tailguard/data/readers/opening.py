"""Open files, and other sources that are not in memory, as tables."""

import os
from collections.abc import Callable
from importlib.util import find_spec
from inspect import isroutine
from os import PathLike
from pathlib import Path
from typing import Any

from tailguard.checks import InputError, check_choice
from tailguard.data.frames import is_a
from tailguard.data.readers.csv import CsvTable
from tailguard.data.readers.dask import DaskTable
from tailguard.data.readers.lazy import of_arrow_dataset, of_arrow_readers, of_duckdb, of_polars
from tailguard.data.readers.parquet import ParquetFiles, is_parquet
from tailguard.data.readers.spark import SparkTable, spark_session
from tailguard.data.table import Table

LIBRARIES: tuple[tuple[str, str, Callable[[Any], Table]], ...] = (
    ("pyarrow.dataset", "Dataset", of_arrow_dataset),
    ("polars", "LazyFrame", of_polars),
    ("duckdb", "DuckDBPyRelation", of_duckdb),
    ("dask.dataframe", "DataFrame", DaskTable),
    ("pyspark.sql", "DataFrame", SparkTable),
)


def opened(X: Any) -> Any:
    """Return a table that reads a source; return anything else unchanged.

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


def opened_path(path: str | PathLike[str]) -> CsvTable | ParquetFiles:
    """Return the table of a CSV file, read into memory, or of Parquet files, read in batches."""
    path = Path(path)
    if os.path.isfile(path) and not is_parquet(path):
        return CsvTable(path)
    return ParquetFiles(path)


def opened_table(path: str | PathLike[str], engine: str = "local", *, fewest: int = 1) -> Table:
    """Return a table of the files of a command; refuse fewer records than ``fewest``."""
    files = opened_path(path)
    if check_choice("--engine", engine, ("local", "dask", "spark")) == "local":
        files.check_rows(fewest)
        return files
    if not isinstance(files, ParquetFiles):
        raise InputError(f"--engine must be 'local' for a CSV file; got {engine!r}.")
    if engine == "dask" and find_spec("dask") is None:
        raise InputError("--engine dask needs Dask: install it with pip install 'tailguard[dask]'.")
    session = spark_session() if engine == "spark" else None
    files.check_rows(fewest)
    return DaskTable.of_files(files) if engine == "dask" else SparkTable.of_files(files, session)
