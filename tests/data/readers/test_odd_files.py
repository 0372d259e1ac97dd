"""Folders of which one file has other types because of one cell, under every reader.

Files that are each read by their own types leave all other records as they are. A library that
gives several files one type for each column is refused whatever the cells hold.
"""

import re
from datetime import date
from functools import partial
from itertools import cycle

import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyarrow import parquet

import tailguard as tg
from tailguard.checks import InputError, ReleaseError
from tailguard.data.readers import lazy
from tailguard.data.readers.opening import opened
from tailguard.data.rows import streams
from tailguard.data.rows.reader import RecordReader
from tailguard.data.rows.streams import StreamRows
from tailguard.data.schema import Schema
from tailguard.privacy.books import MemoryBooks
from tailguard.quiet import quietly

ROWS, FILES, ODD_ROW = 300, 3, 7
NAMES = ["double", "single", "whole", "flag", "day", "empty"]
BUDGET = {"epsilon": 1.0, "delta": 1e-6}


def clean(number):
    """One file. Numbers of single precision are such that any writer keeps them; one is tiny."""
    rng = np.random.default_rng(number)
    single = rng.standard_normal(ROWS).astype(np.float32)
    single[:3] = 1e-40, 0.1, 1e30
    return {
        "double": pa.array(rng.standard_t(2, ROWS)),
        "single": pa.array(single),
        "whole": pa.array(rng.integers(0, 9, ROWS) + 2**53 * (np.arange(ROWS) == 3)),
        "flag": pa.array(rng.random(ROWS) < 0.5),
        "day": pa.array([date(2026, 1, 1 + k % 28) for k in range(ROWS)]),
        "empty": pa.nulls(ROWS),
    }


def replaced(column, cell):
    cells = column.to_pylist()
    cells[ODD_ROW] = cell
    return cells


def text(column, cell, spell=repr):
    cells = replaced(column, cell)
    return pa.array([each if isinstance(each, str) else spell(each) for each in cells])


def typed(kind, column, cell, convert=None):
    cells = replaced(column, cell)
    return pa.array(cells if convert is None else list(map(convert, cells)), kind)


def floats(column, cell):
    return pa.array([None if each is None else float(each) for each in replaced(column, cell)])


# The column, what a writer makes of the file's cells, the odd cell, and the number that it is.
ODD = {
    "a word among doubles": ("double", text, "a bit", np.nan),
    "a word among singles": ("single", text, "a bit", np.nan),
    "a word among whole numbers": ("whole", text, "a bit", np.nan),
    "a word among flags": ("flag", text, "a bit", np.nan),
    "a fraction among whole numbers": ("whole", floats, 2.5, 2.5),
    "a gap among whole numbers": ("whole", floats, None, np.nan),
    "a whole number of 64 bits": ("whole", partial(typed, pa.uint64()), 2**63, 2.0**63),
    "a number that is no single": ("single", partial(typed, pa.float64()), 0.1, 0.1),
    "a number among flags": ("flag", partial(typed, pa.int64(), convert=int), 2, 2.0),
    "a bad date": ("day", partial(text, spell=str), "soon", np.nan),
    "a date": ("empty", partial(typed, pa.date32()), date(2026, 1, 1), np.nan),
    "a moment": ("empty", partial(typed, pa.timestamp("ns")), 1, np.nan),
    "a list": ("empty", partial(typed, pa.list_(pa.float64())), [1.0, 2.0], np.nan),
    "a structure": ("empty", partial(typed, pa.struct({"a": pa.int8()})), {"a": 1}, np.nan),
    "a number": ("empty", partial(typed, pa.float64()), 3.5, 3.5),
}


def numbers(table):
    """What the cells are, by the plainest reading: dates and gaps are none."""
    plain = {name: table[name].cast(pa.float64(), safe=False) for name in NAMES[:3]}
    plain["flag"] = table["flag"].cast(pa.int8()).cast(pa.float64())
    gaps = np.full((ROWS, 2), np.nan)
    return np.column_stack(
        [*(column.to_numpy(zero_copy_only=False) for column in plain.values()), gaps]
    )


def written(folder, odd=None, place=0):
    """Write the files; return what their cells are."""
    found = []
    for number in range(FILES):
        table = clean(number)
        expected = numbers(table)
        if odd is not None and number == place:
            name, make, cell, value = ODD[odd]
            table[name] = make(table[name], cell)
            expected[ODD_ROW, NAMES.index(name)] = value
        parquet.write_table(pa.table(table), folder / f"{number}.parquet")
        found.append(expected)
    return np.concatenate(found)


def read(source, names=NAMES):
    with quietly():  # as a gate reads: libraries warn of their own ways
        rows = StreamRows(opened(source), RecordReader(Schema(features=names)))
        return np.concatenate([block.features for block in rows.blocks()])


def mean(source, **options):
    options |= {"columns": NAMES[:5], "method": "clipped", "clip_norm": 5.0}
    return tg.mean(source, **BUDGET, **options)


def pattern(folder):
    return str(folder / "*.parquet")


def scans(folder):
    return [pl.scan_parquet(file) for file in sorted(folder.glob("*.parquet"))]


def sql(query):
    return lambda folder: duckdb.connect().sql(query.format(folder=folder))


BY_THEIR_OWN_TYPES = {
    "folder": str,
    "pattern": pattern,
    "dataset": ds.dataset,
    "dataset of declared types": lambda folder: ds.dataset(
        folder, schema=pa.table(clean(0)).schema
    ),
    "dask": dd.read_parquet,
}
UNION = " union all ".join(
    f"select * from '{{folder}}/{number}.parquet'" for number in range(FILES)
)
AS_ONE_TABLE = {
    "polars": lambda folder: pl.scan_parquet(pattern(folder)),
    "polars, list of files": lambda folder: pl.scan_parquet(sorted(folder.glob("*.parquet"))),
    "polars, some columns": lambda folder: pl.scan_parquet(pattern(folder)).select(NAMES),
    "polars, one below another": lambda folder: pl.concat(scans(folder)),
    "polars, relaxed": lambda folder: pl.concat(scans(folder), how="vertical_relaxed"),
    "polars, dataset": lambda folder: pl.scan_pyarrow_dataset(ds.dataset(folder)),
    "duckdb": sql("select * from '{folder}/*.parquet'"),
    "duckdb, by name": sql("from read_parquet('{folder}/*.parquet', union_by_name = true)"),
    "duckdb, one below another": sql(UNION),
    "duckdb, one of several": sql(
        "select * exclude (filename) from read_parquet('{folder}/*.parquet', filename = true) "
        "where filename like '%/1.parquet'"
    ),
    "duckdb, some rows": sql("from '{folder}/*.parquet' where try_cast(whole as double) < 1e9"),
}
each_odd = pytest.mark.parametrize("odd", ODD)


@each_odd
@pytest.mark.parametrize("reader", BY_THEIR_OWN_TYPES)
def test_a_cell_of_one_file_changes_no_other_record(reader, odd, tmp_path):
    make = BY_THEIR_OWN_TYPES[reader]
    for told in ((), (odd, 0), (odd, FILES - 1)):
        expected = written(tmp_path, *told)
        assert read(make(tmp_path)).tobytes() == expected.tobytes(), told


@pytest.mark.parametrize(("odd", "reader"), [*zip(ODD, cycle(BY_THEIR_OWN_TYPES))])
def test_nor_does_it_end_a_run(reader, odd, tmp_path):
    """Readers in turn: above each reads each of these cells as the number that it is."""
    books = MemoryBooks()
    expected = written(tmp_path, odd, FILES - 1)[:, :5]
    found = mean(BY_THEIR_OWN_TYPES[reader](tmp_path), random_state=0, ledger=None)
    held = tg.mean(expected, **BUDGET, method="clipped", clip_norm=5.0, random_state=0)
    assert found.value.tobytes() == held.value.tobytes()
    mean(BY_THEIR_OWN_TYPES[reader](tmp_path), ledger=books)
    assert books.reserved != MemoryBooks().reserved


@pytest.mark.parametrize("reader", BY_THEIR_OWN_TYPES)
def test_a_file_without_any_value_of_a_column_leaves_the_others(reader, tmp_path):
    expected = written(tmp_path)
    for place in (0, FILES - 1):
        table = pa.table(clean(place) | {"double": pa.nulls(ROWS), "whole": pa.nulls(ROWS)})
        parquet.write_table(table, tmp_path / f"{place}.parquet")
        expected[place * ROWS : (place + 1) * ROWS, [0, 2]] = np.nan
    assert read(BY_THEIR_OWN_TYPES[reader](tmp_path)).tobytes() == expected.tobytes()


def refusal(make):
    books = MemoryBooks()
    with pytest.raises(InputError) as refused:
        mean(make(), ledger=books)
    assert books.reserved == MemoryBooks().reserved
    assert refused.value.__context__ is None
    return str(refused.value)


@pytest.mark.parametrize("reader", ["duckdb", "duckdb, by name", "duckdb, one of several"])
def test_two_files_are_several(reader, tmp_path):
    written(tmp_path)
    (tmp_path / "2.parquet").unlink()
    said = refusal(lambda: AS_ONE_TABLE[reader](tmp_path))
    assert said.startswith("X must be a query of one file at most")


@pytest.mark.parametrize("reader", AS_ONE_TABLE)
def test_what_reads_several_files_as_one_table_is_refused_whatever_they_hold(reader, tmp_path):
    make = AS_ONE_TABLE[reader]
    written(tmp_path)
    said = refusal(lambda: make(tmp_path))
    assert said.startswith("X must be a query of one file at most")
    assert "pass the path of several files" in said
    for odd in ("a word among doubles", "a word among whole numbers", "a bad date", "a list"):
        for place in (0, FILES - 1):
            written(tmp_path, odd, place)
            assert refusal(lambda: make(tmp_path)) == said


ONE_FILE = {  # beside the readers of several files above
    "polars": pl.scan_parquet,
    "polars, in memory": lambda path: pl.read_parquet(path).lazy(),
    "polars, filtered": lambda path: pl.scan_parquet(path).filter(pl.lit(value=True)),
    "duckdb": lambda path: duckdb.connect().sql(f"from '{path}'"),
    "duckdb, filtered": lambda path: duckdb.connect().sql(f"select * from '{path}' where true"),
    "readers": lambda path: parquet.read_table(path).to_reader,
}


@each_odd
@pytest.mark.parametrize("reader", ONE_FILE)
def test_one_file_is_read_by_its_own_types(reader, odd, tmp_path):
    expected = written(tmp_path, odd)
    assert read(ONE_FILE[reader](tmp_path / "0.parquet")).tobytes() == expected[:ROWS].tobytes()


def test_a_version_of_duckdb_that_counts_no_files_is_refused(tmp_path, monkeypatch):
    written(tmp_path)
    monkeypatch.setattr(lazy, "FILES_READ", re.compile("no such words"))
    assert "query of one file" in refusal(lambda: ONE_FILE["duckdb"](tmp_path / "0.parquet"))
    held = duckdb.sql("select 0.5::double as double from range(300)")
    assert tg.mean(held, **BUDGET).certificate.n_rows == 300


TYPES = "double double, single float, whole double, flag double, day text, empty double"


def test_a_table_whose_types_were_declared_is_read(tmp_path):
    """What is loaded file by file, each cell by TRY_CAST, has the types of the table."""
    for odd in ("a word among doubles", "a word among whole numbers", "a bad date"):
        expected = written(tmp_path, odd, 1)
        base = duckdb.connect()
        base.execute(f"create table claims ({TYPES})")
        for number in range(FILES):
            casts = ", ".join(f"try_cast({name} as double)" for name in NAMES[:4])
            base.execute(
                f"insert into claims select {casts}, day, null from '{tmp_path}/{number}.parquet'"
            )
        assert read(base.table("claims")).tobytes() == expected.tobytes()


STRICT = {
    "cast": (pl.col("double").cast(pl.Int64), "Column 'double' of X must be cast with strict"),
    "sum": ((pl.col("double") + pl.col("whole")).cast(pl.Int64), "X must be cast with strict"),
    "date": (pl.col("word").str.to_date("%Y"), "Column 'word' of X must be cast with strict"),
    "replace": (pl.col("word").replace_strict({"a": 1}), "Column 'word' of X must be cast with"),
}


@pytest.mark.parametrize("kind", STRICT)
@pytest.mark.parametrize("word", ["a", "2026"])
def test_strict_steps_are_refused_whatever_the_cells_hold(kind, word):
    step, words = STRICT[kind]
    frame = pl.LazyFrame({"double": [0.5] * ROWS, "whole": [1] * ROWS, "word": [word] * ROWS})
    with pytest.raises(InputError, match=words):
        tg.mean(frame.with_columns(new=step), **BUDGET, columns=["double"])
    kept = frame.with_columns(pl.col("double").cast(pl.Float64, strict=False))
    assert tg.mean(kept, **BUDGET, columns=["double"]).certificate.n_rows == ROWS


def failing_reader():
    schema = pa.schema([("double", pa.float64())])

    def batches():
        yield pa.record_batch([pa.array([0.5])], schema=schema)
        raise ValueError("the record with 41 is at fault")

    return pa.RecordBatchReader.from_batches(schema, batches())


FRAME = pd.DataFrame({"whole": [1, 0] * ROWS, "word": ["1", "forty-one"] * ROWS})
FAILING = {
    "duckdb, cast": lambda: duckdb.sql("select cast(word as double) as double from FRAME"),
    "duckdb, sum": lambda: duckdb.sql(f"select whole + {2**63 - 1} as double from FRAME"),
    "polars": lambda: pl.LazyFrame(FRAME).select(double=pl.col("word").str.to_integer()),
    "readers": lambda: failing_reader,
    "dask": lambda: dd.from_pandas(FRAME, npartitions=2).assign(
        double=lambda frame: frame["word"].astype(float)
    ),
}


@pytest.mark.parametrize("kind", FAILING)
def test_a_query_that_fails_by_a_cell_fails_before_anything_is_spent(kind):
    books = MemoryBooks()
    with pytest.raises(InputError) as refused:
        tg.mean(FAILING[kind](), **BUDGET, columns=["double"], ledger=books)
    assert books.reserved == MemoryBooks().reserved
    assert not any(word in str(refused.value) for word in ("forty", "41", "9223372036854775807"))
    assert refused.value.__context__ is None
    assert str(refused.value).count("\n") == 0
    if kind.startswith(("duckdb", "polars")):
        assert "nothing is spent" in str(refused.value)


def test_a_lazy_query_that_fails_later_says_that_all_of_it_stays_charged(monkeypatch):
    """Its first reading went well, before the charge; there is no telling what spoilt the next."""
    n_passes = []

    def spoilt(cells):
        n_passes.append(len(cells))
        if sum(n_passes) > 3 * ROWS:
            raise ValueError("the record with 41 is at fault")
        return cells

    monkeypatch.setattr(streams, "NUMBERS_KEPT", 0)
    step = pl.col("double").map_batches(spoilt, return_dtype=pl.Float64)
    frame = pl.LazyFrame({"double": np.arange(float(ROWS))}).with_columns(step)
    books = MemoryBooks()
    with pytest.raises(ReleaseError, match="stays charged, and nothing of it leaves") as failed:
        tg.mean(frame, **BUDGET, columns=["double"], ledger=books)
    assert "41" not in str(failed.value)
    assert books.reserved != MemoryBooks().reserved


def test_columns_of_folders_and_missing_columns_of_a_dataset(tmp_path):
    for year, table in ((1, {"a": [1.0, 2.0], "b": [5, 6]}), (2, {"a": ["3", "a bit"]})):
        (tmp_path / f"year={year}").mkdir()
        parquet.write_table(pa.table(table), tmp_path / f"year={year}" / "part.parquet")
    dataset = ds.dataset(tmp_path, partitioning="hive")
    found, nan = read(dataset, ["a", "b", "year"]), np.nan
    np.testing.assert_array_equal(found, [[1, 5, 1], [2, 6, 1], [3, nan, 2], [nan, nan, 2]])
    with pytest.raises(InputError, match="X must be a dataset without a filter"):
        tg.mean(dataset.filter(ds.field("year") == 1), **BUDGET)


@pytest.mark.parametrize("classes", [None, (0, 1)])
def test_one_label_decides_about_its_own_record(classes, tmp_path):
    labels = np.random.default_rng(0).integers(0, 2, (FILES, ROWS)).tolist()
    fits = []
    for last in ([*labels[-1][:-1], None], [*map(str, labels[-1][:-1]), "?"]):
        for number, ill in enumerate([*labels[:-1], last]):
            table = pa.table({"double": clean(number)["double"], "ill": ill})
            parquet.write_table(table, tmp_path / f"{number}.parquet")
        for source in (tmp_path, ds.dataset(tmp_path), dd.read_parquet(tmp_path)):
            model = tg.LogisticRegression(classes=classes, random_state=0, **BUDGET)
            fits.append(model.fit(source, target="ill").coef_.tobytes())
    assert len(set(fits)) == 1
