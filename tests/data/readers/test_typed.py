"""Libraries that read text guess types from cells: one cell would decide how all are read."""

import dask.dataframe as dd
import duckdb
import numpy as np
import polars as pl
import pyarrow.dataset as ds
import pytest

import tailguard as tg
from tailguard.checks import InputError
from tailguard.data.readers.lazy import check_typed, silenced

TEXT = "x,y\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(3_000))
GOOD, BAD = TEXT + "0.25,1\n", TEXT + "a bit,1\n"


OPENED = {
    "polars scan": pl.scan_csv,
    "polars query": lambda path: pl.scan_csv(path).with_columns(z=pl.col("y") + 1),
    "arrow dataset": lambda path: ds.dataset(path, format="csv"),
    "duckdb relation": lambda path: duckdb.connect().sql(f"select * from '{path}'"),
    "dask frame": dd.read_csv,
    "optimised dask frame": lambda path: dd.read_csv(path)[["x", "y"]].optimize(),
}


@pytest.mark.parametrize("text", [GOOD, BAD], ids=["good", "bad"])
@pytest.mark.parametrize("library", OPENED)
def test_what_a_library_reads_from_text_is_refused_whatever_its_cells_hold(library, text, tmp_path):
    path = tmp_path / "claims.csv"
    path.write_text(text)
    model = tg.LinearRegression(epsilon=1.0, delta=1e-6, random_state=0)
    with pytest.raises(InputError, match="X must come from files that carry types"):
        model.fit(OPENED[library](str(path)), target="y", columns=["x"])


def test_the_path_of_the_same_file_is_read_cell_by_cell(tmp_path):
    path = tmp_path / "claims.csv"
    path.write_text(BAD)
    model = tg.LinearRegression(epsilon=1.0, delta=1e-6, random_state=0)
    assert np.isfinite(model.fit(str(path), target="y", columns=["x"]).coef_).all()


@pytest.mark.parametrize(
    "plan", ["Function: READ_XLSX", "NDJson SCAN [a.json]", "READ_CSV_AUTO", "FileScan csv [a]"]
)
def test_readers_of_cells_without_types_are_known(plan):
    with pytest.raises(InputError, match="X must come from files that carry types"):
        check_typed(plan)


def test_whatever_a_library_raises_is_not_passed_on():
    """Polars panics by what is no Exception; an interruption is the user's own."""

    class Panic(BaseException):
        pass

    def fail(error):
        raise error("the record with 41 is at fault")

    for error in (ValueError, Panic, SystemExit):
        with pytest.raises(InputError, match="reading it failed") as told:
            silenced(lambda error=error: fail(error))
        assert told.value.__context__ is None
    with pytest.raises(KeyboardInterrupt):
        silenced(lambda: fail(KeyboardInterrupt))
