"""What cells are, from every kind of table: each mark follows from its own cell, and all agree."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import coo_array, csr_array

import tailguard as tg
from support import hostile
from tailguard.data.cells import cell_marks, cell_numbers
from tailguard.data.design import feature_marks
from tailguard.data.inputs import read_inputs
from tailguard.data.schema import Schema

NUMBER, EMPTY, OTHER = 0, 1, 2
# A cell, and what it is as a number.
CELLS = [
    *[(cell, NUMBER) for cell in (0, 1.5, "2.5", " 7 ", "true", True, b"3", Decimal(4), "1e-300")],
    *[(cell, EMPTY) for cell in (None, float("nan"), "", "  ", "NaN", pd.NA, pd.NaT, b"", [])],
    *[(cell, EMPTY) for cell in (np.float32("nan"), Decimal("nan"), [None], np.array([np.nan]))],
    *[(cell, EMPTY) for cell in (np.datetime64("NaT", "D"), np.timedelta64("NaT", "D"))],
    *[(cell, OTHER) for cell in (np.datetime64("2020-01-01"), np.timedelta64(1, "D"))],
    *[(cell, OTHER) for cell in ("two", "2,5", "2020-01-01", "inf", float("-inf"), 10**400, b"x")],
    *[(cell, OTHER) for cell in (datetime.date(2020, 1, 1), 1j, object(), [1.0, 2.0], {"a": 1})],
]
KINDS = {
    "age": [NUMBER, EMPTY, OTHER, NUMBER],
    "region": [NUMBER, NUMBER, EMPTY, NUMBER],
    "cost": [NUMBER, OTHER, EMPTY, NUMBER],
}
AGES, REGIONS, COSTS = ["41", "", "old", "3"], ["north", "moon", None, "2"], ["1", "-1", None, "2"]
SCHEMA = Schema(
    features=["age", "region"], categorical={"region": ["north", "south"]}, target="cost"
)


def kinds(marks):
    marks = np.asarray(marks)
    return np.where(np.isfinite(marks), NUMBER, np.where(np.isnan(marks), EMPTY, OTHER)).tolist()


def marks_of(table, *args, loss=None, classes=None, **how):
    """Marks of all records of what was given, side by side."""
    found = list(read_inputs(table, *args, **how).marks(loss, classes))
    parts = [np.concatenate([piece[0] for piece in found])]
    for vectors in zip(*(piece[1:] for piece in found), strict=True):
        parts += [] if vectors[0] is None else [np.concatenate(vectors)[:, None]]
    return np.concatenate(parts, axis=1)


def test_one_cell_that_makes_a_column_complex_or_objects_changes_no_other_mark():
    cells = [2.0, 1j, None, 5 - 1j, 0.0]
    for odd in (3j, "x", None):
        column = pd.Series([*cells, odd])
        marks = marks_of(column.to_frame("x"))[:, 0]
        assert kinds(marks)[:5] == [NUMBER, OTHER, EMPTY, OTHER, NUMBER]
    gaps = [[2.0, None], [2.0, None, 1j]]
    assert [kinds(marks_of(pd.DataFrame({"x": each}))[:2, 0]) for each in gaps] == [[0, 1], [0, 1]]


@pytest.mark.parametrize(
    ("cell", "kind"), CELLS, ids=lambda part: f"{type(part).__name__} {str(part)[:16]}"
)
def test_a_cell_is_a_number_or_empty_or_anything_else(cell, kind):
    assert kinds(cell_marks([1.0, cell, "x"])) == [NUMBER, kind, OTHER]


def test_no_cell_decides_what_another_is_and_none_is_run():
    for found in hostile.cells(500):
        values = [0.5, found.cell, None, "x"]
        hostile.VICTIMS[:] = [values]
        marks = cell_marks(values)
        assert kinds(marks[[0, 2, 3]]) == [NUMBER, EMPTY, OTHER]
        assert np.isfinite(marks[1]) == np.isfinite(found.number)


def test_one_cell_that_makes_dates_objects_leaves_the_others_as_they_are():
    dates = np.array(["2020-01-01", "NaT", "2020-01-03"], dtype="datetime64[D]")[:, None]
    objects = np.array([[*dates[:2, 0], 1.5]], dtype=object).T
    for array, last in ((dates, OTHER), (objects, NUMBER)):
        assert kinds(marks_of(array)) == [[OTHER], [EMPTY], [last]]


def test_what_is_read_as_a_number_is_marked_as_one():
    listed = [cell for cell, _ in CELLS]
    np.testing.assert_array_equal(
        np.isfinite(cell_marks(listed)), np.isfinite(cell_numbers(listed))
    )


TABLES = {
    "pandas": pd.DataFrame,
    "pandas objects": lambda columns: pd.DataFrame(columns, dtype=object),
    "pandas of Arrow": lambda columns: pd.DataFrame(columns, dtype="string[pyarrow]"),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.fixture(params=[*TABLES, "csv"])
def table(request, tmp_path):
    columns = {"age": AGES, "region": REGIONS, "cost": COSTS}
    if request.param != "csv":
        return TABLES[request.param](columns)
    rows = (",".join(cell or "" for cell in row) for row in zip(AGES, REGIONS, COSTS, strict=True))
    (tmp_path / "table.csv").write_text("\n".join(["age,region,cost", *rows, ""]))
    return str(tmp_path / "table.csv")


def test_every_table_says_the_same_of_its_cells(table):
    found = kinds(marks_of(table, schema=SCHEMA, loss=tg.losses.Poisson()).T)
    assert found == list(KINDS.values())


def test_labels_outside_the_declared_classes_are_anything_else(table):
    schema = Schema(drop=["age"], categorical=SCHEMA.categorical, target="cost", classes=(1, 2))
    assert kinds(marks_of(table, schema=schema, classes=(1, 2))[:, -1]) == KINDS["cost"]


def test_a_constant_stands_for_whatever_is_no_number_but_for_what_is_infinite():
    ages = ["41", "", "old", "inf"]
    expected = [NUMBER, NUMBER, NUMBER, OTHER]
    columns = {"age": ages, "cost": [1.0] * 4}
    named = marks_of(pd.DataFrame(columns), schema=Schema(missing={"age": 4.0}, target="cost"))
    array = np.array([ages, ages], dtype=object).T
    for found in (named[:, 0], marks_of(array, missing={0: 4.0})[:, 0]):
        assert kinds(found) == expected
    assert kinds(marks_of(array, missing={0: 4.0})[:, 1]) == [NUMBER, EMPTY, OTHER, OTHER]
    floats = np.array([[1.0, np.nan], [np.nan, np.inf]])
    assert kinds(marks_of(floats, missing={0: 4.0})) == [[NUMBER, EMPTY], [NUMBER, OTHER]]
    assert np.isnan(floats[1, 0])  # nothing of the user's is changed


def test_a_target_and_an_exposure_beside_the_table_are_marked_with_it():
    X = np.array([["1"], ["?"], [None]], dtype=object)
    found = marks_of(X, ["yes", None, "perhaps"], exposure=[1.0, 0.0, None], classes=("no", "yes"))
    assert kinds(found) == [[NUMBER, NUMBER, NUMBER], [OTHER, EMPTY, OTHER], [EMPTY, OTHER, EMPTY]]


def test_an_exposure_that_nobody_reads_is_not_marked():
    table = pd.DataFrame({"age": [1.0], "years": [0.0], "cost": [1.0]})
    schema = Schema(target="cost", exposure="years")
    assert marks_of(table, schema=schema).shape == (1, 2)
    assert marks_of(table, schema=schema, exposure="years").shape == (1, 3)


@pytest.mark.parametrize("form", [csr_array, coo_array])
def test_sparse_records_are_marked_as_they_are_read(form):
    dense = np.array([[0.0, np.nan], [np.inf, 2.0], [0.0, 0.0]])
    assert kinds(marks_of(form(dense))) == kinds(dense)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("form", [np.asmatrix, np.asfortranarray, np.ma.masked_invalid])
def test_arrays_of_every_class_are_marked_as_they_are_read(form):
    dense = np.array([[0.0, np.nan], [4.0, 2.0], [0.0, 0.0]])
    assert kinds(marks_of(form(dense))) == kinds(dense)


def test_columns_are_read_whole_or_in_pieces_to_the_same_marks(monkeypatch):
    table = TABLES["pandas"]({"age": AGES * 50, "cost": COSTS * 50})
    options = ({"schema": Schema(target="cost")}, {})
    expected = [marks_of(table, **how) for how in options]
    array = marks_of(table.to_numpy())
    monkeypatch.setattr("tailguard.data.inputs.NUMBERS_AT_ONCE", 6)
    assert len(list(read_inputs(table).marks())) > 60
    for how, marks in zip(options, expected, strict=True):
        np.testing.assert_array_equal(marks_of(table, **how), marks)
    np.testing.assert_array_equal(marks_of(table.to_numpy()), array)


def test_a_single_column_is_marked_whole():
    for column in (pd.Series(AGES), pl.Series(AGES), np.array(AGES)):
        ((found, *_),) = read_inputs(column, features_only=True).marks()
        assert kinds(found) == [[kind] for kind in KINDS["age"]]


def test_neither_levels_nor_other_records_matter_to_a_level():
    schema = Schema(features=["region"], categorical={"region": ["north", 2]})
    column = {"region": ["north", "2", 2.0, "moon", "", None, [1, 2], float("nan"), 7]}
    expected = [NUMBER] * 4 + [EMPTY, EMPTY, OTHER, EMPTY, NUMBER]
    assert kinds(feature_marks(column, schema)[:, 0]) == expected
