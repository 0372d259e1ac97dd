"""The replacement contract for tables in batches: a cell of a file concerns its record alone.

Nothing about a value raises or shows, neither where a cell is read nor where it made its file have
other types than its neighbours. What is refused is refused by names and types, before any budget is
reserved.
"""

from datetime import date
from decimal import Decimal
from itertools import chain, repeat

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyarrow import parquet

import tailguard as tg
from support.batched import small_memory
from support.hostile_files import NO_NUMBERS, text_array
from support.solvers import FEW_ROUNDS
from tailguard.data.cells import cell_numbers
from tailguard.data.readers.lazy import LazyTable
from tailguard.privacy.books import MemoryBooks

__all__ = ["small_memory"]
pytestmark = pytest.mark.usefixtures("small_memory")

BUDGET = {"guarantee": tg.ApproxDP(8.0, 1e-6), "random_state": 0}
N_ROWS = 3000
LINEAR = tg.Schema(features=["age", "km"], missing={"km": 7.0}, target="cost")
POISSON = tg.Schema(features=["age", "km"], target="claims", exposure="years")
LOGISTIC = tg.Schema(
    features=["age", "region"],
    categorical={"region": ["north", "south"]},
    target="ill",
    classes=("no", "yes"),
)
# Cells differ and not the fit: few rounds read them as often as it takes to tell.
MODELS = {
    "linear": tg.LinearRegression(schema=LINEAR, solver=FEW_ROUNDS, **BUDGET),
    "poisson": tg.PoissonRegression(schema=POISSON, solver=FEW_ROUNDS, **BUDGET),
    "logistic": tg.LogisticRegression(schema=LOGISTIC, solver=FEW_ROUNDS, **BUDGET),
}


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(1)
    return {
        "age": rng.normal(50.0, 9.0, N_ROWS).tolist(),
        "km": rng.integers(1, 9, N_ROWS).tolist(),
        "cost": rng.standard_t(3, N_ROWS).tolist(),
        "claims": rng.poisson(1.0, N_ROWS).tolist(),
        "years": rng.uniform(0.5, 2.0, N_ROWS).tolist(),
        "region": rng.choice(["north", "south", "moon"], N_ROWS).tolist(),
        "ill": rng.choice(["no", "yes"], N_ROWS).tolist(),
    }


def as_text(cells):
    return text_array([None if cell is None else str(cell) for cell in cells])


def outputs(name, source):
    model = MODELS[name].fit(source)
    numbers = [model.coef_, model.intercept_]
    words = [model.summary(), model.explain(), model.certificate_.to_json(), repr(model.notes_)]
    return [np.asarray(number).tobytes() for number in numbers] + words


def written(folder, parts):
    """Files that follow one another, each with types of its own."""
    for number, part in enumerate(parts):
        parquet.write_table(pa.table(part), folder / f"part-{number}.parquet")
    return folder


PLACES = [
    *(("linear", column) for column in ("age", "km", "cost")),
    *(("poisson", column) for column in ("age", "claims", "years")),
    *(("logistic", column) for column in ("age", "ill")),
]
OFTEN = [("linear", "km"), ("poisson", "claims"), ("poisson", "years"), ("logistic", "ill")]
every_place = pytest.mark.parametrize(
    ("name", "column"),
    [*OFTEN, *(pytest.param(*p, marks=pytest.mark.audit) for p in PLACES if p not in OFTEN)],
)


@every_place
def test_cells_that_are_no_numbers_or_labels_are_missing_cells(name, column, columns, tmp_path):
    gaps = [cell for cell in NO_NUMBERS if np.isnan(cell_numbers([cell])[0])]
    strange = gaps if column in LINEAR.missing else NO_NUMBERS  # an infinite cell is no gap
    found = []
    for cells in ([None] * len(strange), strange):
        table = {each: as_text(held) for each, held in columns.items()}
        table[column] = as_text([*columns[column][: -len(cells)], *cells])
        found.append(outputs(name, written(tmp_path, [table])))
    assert found[0] == found[1]


def in_two(columns):
    parts = slice(0, 999), slice(999, N_ROWS)
    return [{name: held[part] for name, held in columns.items()} for part in parts]


# What one writer or another makes of a whole file's cells of a column.
KINDS = {
    "floats": lambda cells: pa.array(map(float, cells), pa.float64()),
    "text": as_text,
    "large text": lambda cells: as_text(cells).cast(pa.large_string()),
    "bytes": lambda cells: pa.array([str(cell).encode() for cell in cells]),
    "decimals": lambda cells: pa.array([Decimal(cell) for cell in cells], pa.decimal128(9, 2)),
    "bytes in 8 bits": lambda cells: pa.array(cells, pa.int8()),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "column"), [("linear", "km"), ("poisson", "claims")])
def test_files_of_other_types_say_the_same(name, column, kind, columns, tmp_path):
    """One cell that is no number turns its file's column into text, and a gap into floats."""
    parts = in_two(columns)
    expected = outputs(name, written(tmp_path, parts))
    parts[1][column] = KINDS[kind](parts[1][column])
    assert outputs(name, written(tmp_path, parts)) == expected


@every_place
def test_a_file_without_any_value_of_a_column_has_void_records(name, column, columns, tmp_path):
    parts = in_two(columns)
    kinds = [pa.nulls(999), as_text([None] * 999), pa.nulls(999, pa.float64())]
    files = [[parts[0] | {column: nothing}, parts[1]] for nothing in kinds]
    found = [outputs(name, written(tmp_path, each)) for each in files]
    assert found[1:] == found[:-1]


OTHERS = {
    "dates": pa.array([date(2026, 1, 1)] * 999),
    "lists": pa.array([[1.0, 2.0]] * 999),
    "structures": pa.array([{"a": 1.0}] * 999),
}


@pytest.mark.parametrize("kind", OTHERS)
@every_place
def test_a_file_of_another_type_has_void_records(name, column, kind, columns, tmp_path):
    parts = in_two(columns)
    files = [[parts[0] | {column: held}, parts[1]] for held in (pa.nulls(999), OTHERS[kind])]
    found = [outputs(name, written(tmp_path, each)) for each in files]
    assert found[0] == found[1]


@pytest.mark.parametrize("column", ["age", "cost"])
def test_categories_are_refused_before_anything_is_reserved(column, tmp_path):
    good = {name: np.zeros(900) for name in ("age", "km", "cost")}
    levels = pa.array(["a", "b"] * 450).dictionary_encode()
    folder = written(tmp_path, [good, good, good | {column: levels}])
    ledger = MemoryBooks()
    words = "dictionary: declare its levels"
    with pytest.raises(tg.InputError, match=f"Column '{column}' of .* must hold .*{words}"):
        tg.LinearRegression(schema=LINEAR, epsilon=1.0, delta=1e-6, ledger=ledger).fit(folder)
    assert ledger.reserved == MemoryBooks().reserved


def test_columns_are_refused_by_name(tmp_path):
    good = {name: np.zeros(900) for name in ("age", "km", "cost")}
    folder = written(tmp_path, [good, {"age": np.zeros(5), "cost": np.zeros(5)}])
    with pytest.raises(tg.InputError, match=r"part-1.parquet must have a column 'km'"):
        MODELS["linear"].fit(folder)
    written(tmp_path, [good, good])
    for words, options in (
        (r"must have a column 'weight'; its columns are 'age", {"target": "weight"}),
        (r"must have a column 'height'", {"target": "cost", "columns": ["height"]}),
        (
            "columns must be a list of different names of columns; got '",
            {"target": "cost", "columns": "age"},
        ),
        (r"requires y to be passed", {}),
    ):
        with pytest.raises(tg.InputError, match=words):
            tg.LinearRegression(**BUDGET).fit(folder, **options)
    with pytest.raises(tg.InputError, match=r"y must be a column of .*give its name, as target="):
        tg.LinearRegression(**BUDGET).fit(folder, np.zeros(1800))
    with pytest.raises(tg.InputError, match=r"y must be None if target names a column"):
        tg.LinearRegression(**BUDGET).fit(pa.table(good), np.zeros(900), target="cost")


def test_sources_that_cannot_be_read_twice_are_refused():
    table = pa.table({"age": np.zeros(9)})
    with pytest.raises(tg.InputError, match=r"X must be read more than once"):
        tg.mean(table.to_reader(), **BUDGET)
    with pytest.raises(tg.InputError, match=r"must be a file, a folder of Parquet files or a pat"):
        tg.mean("nowhere/*.parquet", **BUDGET)


@pytest.mark.parametrize("kind", ["nulls", "fractions", "text"])
def test_a_dataset_turns_no_cell_into_another_type(kind, tmp_path):
    """It would fail, or not, by the cells."""
    ages = np.arange(900.0)
    others = {"nulls": pa.nulls(900), "fractions": ages + 0.5, "text": as_text([*ages[1:], "?"])}
    schema = pa.schema([("age", pa.int64())])
    written(tmp_path, [{"age": ages.astype(int)}, {"age": others[kind]}])
    found, expected = (
        tg.mean(source, **BUDGET).value.tobytes()
        for source in (ds.dataset(tmp_path, schema=schema), tmp_path)
    )
    assert found == expected


def broken(fails_at, n_rows=30_000):
    """A table whose second batch quotes a record instead of being read, from some pass on."""
    table = pa.table({"age": np.arange(float(n_rows))})
    passes = iter(range(99))

    def read(names, size):
        late = next(passes) >= fails_at
        for number, batch in enumerate(table.select(names).to_batches(size)):
            if late and number == 1:
                raise ValueError("the record with age 41 is at fault")
            yield batch

    return LazyTable(("age",), n_rows, [table[:0]], read)


@pytest.mark.parametrize("fails_at", [0, 1, 3])
def test_what_fails_while_records_are_read_is_told_to_nobody(fails_at):
    """Nothing is spent before the table was read to its end once."""
    ledger = MemoryBooks()
    with pytest.raises(tg.ReleaseError if fails_at else tg.InputError) as told:
        tg.mean(broken(fails_at), epsilon=1.0, delta=1e-6, method="clipped", ledger=ledger)
    assert (ledger.reserved == MemoryBooks().reserved) == (fails_at == 0)
    assert "41" not in str(told.value)
    assert (told.value.__cause__, told.value.__context__) == (None, None)


@pytest.mark.parametrize("passes", [0, 1, 2])
def test_a_table_that_shrinks_between_passes_is_told_to_nobody(passes):
    tables = chain([pa.table({"age": np.zeros(5000)})] * passes, repeat(pa.table({"age": [0.0]})))
    empty = pa.table({"age": pa.array([], pa.float64())})
    shorter = LazyTable(("age",), 5000, [empty], lambda names, n: next(tables).to_batches(n))
    with pytest.raises(tg.ReleaseError if passes else tg.InputError):
        tg.mean(shorter, epsilon=1.0, delta=1e-6, method="clipped")


def test_what_fails_while_a_table_is_opened_says_nothing_of_values():
    def fail():
        raise ValueError("the record with age 41 is at fault")

    lazy = pl.LazyFrame({"age": ["1", "forty-one"]}).select(pl.col("age").cast(pl.Int64))
    for source in (fail, lazy.filter(pl.col("age") > 0)):
        with pytest.raises(tg.InputError) as told:
            tg.mean(source, **BUDGET)
        assert "forty" not in str(told.value)
        assert "41" not in str(told.value)
        assert (told.value.__cause__, told.value.__context__) == (None, None)
