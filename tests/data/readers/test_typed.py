"""Libraries that read text guess types from cells: one cell would decide how all are read."""

import numpy as np
import pytest

import tailguard as tg
from tailguard.checks import InputError
from tailguard.data.readers.lazy import check_typed, silenced

TEXT = "x,y\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(3_000))
GOOD, BAD = TEXT + "0.25,1\n", TEXT + "a bit,1\n"


def polars_scan(path):
    return pytest.importorskip("polars").scan_csv(path)


def polars_query(path):
    polars = pytest.importorskip("polars")
    return polars.scan_csv(path).with_columns(z=polars.col("y") + 1)


def arrow_dataset(path):
    return pytest.importorskip("pyarrow.dataset").dataset(path, format="csv")


def duckdb_relation(path):
    return pytest.importorskip("duckdb").connect().sql(f"select * from '{path}'")


def dask_frame(path):
    return pytest.importorskip("dask.dataframe").read_csv(path)


def optimised_dask_frame(path):
    return dask_frame(path)[["x", "y"]].optimize()


@pytest.mark.parametrize("text", [GOOD, BAD], ids=["good", "bad"])
@pytest.mark.parametrize(
    "opened",
    [polars_scan, polars_query, arrow_dataset, duckdb_relation, dask_frame, optimised_dask_frame],
)
def test_what_a_library_reads_from_text_is_refused_whatever_its_cells_hold(opened, text, tmp_path):
    path = tmp_path / "claims.csv"
    path.write_text(text)
    model = tg.LinearRegression(epsilon=1.0, delta=1e-6, random_state=0)
    with pytest.raises(InputError, match="X must come from files that carry types"):
        model.fit(opened(str(path)), target="y", columns=["x"])


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
