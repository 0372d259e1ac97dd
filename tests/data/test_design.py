"""The same matrix of every table: columns by name, levels as indicators, each row of one record."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import tailguard as tg
from tailguard.data.design import column_of, declared_weight, design_matrix, weight_given
from tailguard.data.matrices import to_vector
from tailguard.data.readers.opening import opened_path
from tailguard.data.table import FrameTable, as_table

COLUMNS = {
    "age": [30.0, 40.0, None],
    "region": ["north", None, "moon"],
    "power": [4, 5, 6],
    "id": ["a", "b", "c"],
}
SCHEMA = tg.Schema(
    features=["power", "region", "age"], categorical={"region": ["north", "south"]}, drop=["id"]
)
EXPECTED = [[4, 0, 0, 30], [5, np.nan, np.nan, 40], [6, 0, 1, np.nan]]
TABLES = {
    "pandas": pd.DataFrame,
    "pandas nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas categories": lambda columns: pd.DataFrame(columns).astype({"region": "category"}),
    "polars": pl.DataFrame,
    "polars categories": lambda columns: pl.DataFrame(columns).cast({"region": pl.Categorical}),
    "pyarrow": pa.table,
    "pyarrow batch": pa.RecordBatch.from_pydict,
    "pyarrow dictionary": lambda columns: pa.table(
        columns | {"region": pa.array(columns["region"]).dictionary_encode()}
    ),
}


@pytest.mark.parametrize("kind", TABLES)
def test_every_table_gives_the_same_matrix(kind):
    for names in (list(COLUMNS), list(COLUMNS)[::-1]):
        table = TABLES[kind]({name: COLUMNS[name] for name in names})
        np.testing.assert_array_equal(design_matrix(table, SCHEMA), EXPECTED)


@pytest.mark.parametrize("names", [["c", "a"], ["b", "c"], ["a", "b", "c"], ["c"], ["a", "c"]])
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, pa.RecordBatch.from_pydict])
def test_columns_are_those_that_are_named_in_that_order(make, kind, names):
    columns = {name: np.array([n, n + 0.5, np.nan], kind) for n, name in enumerate("abcd")}
    matrix = design_matrix(make(columns), tg.Schema(features=names))
    assert matrix.dtype == np.float64
    assert matrix.flags.c_contiguous
    np.testing.assert_array_equal(matrix, np.column_stack([columns[name] for name in names]))


def test_a_file_gives_the_same_matrix(tmp_path):
    table = pd.DataFrame(COLUMNS)
    table.to_csv(tmp_path / "rows.csv", index=False)
    table.to_parquet(tmp_path / "rows.parquet")
    for name in ("rows.csv", "rows.parquet"):
        columns = opened_path(tmp_path / name)
        assert as_table(columns) is columns
        np.testing.assert_array_equal(design_matrix(columns, SCHEMA), EXPECTED)


def test_a_column_of_several_files_is_read_cell_by_cell(tmp_path):
    for number, cells in enumerate(([7.5, None], ["3", "a word"])):
        parquet.write_table(pa.table({"cost": cells}), tmp_path / f"{number}.parquet")
    found = to_vector(column_of(opened_path(tmp_path), "cost"))
    np.testing.assert_array_equal(found, [7.5, np.nan, 3.0, np.nan])


def test_features_may_be_categorical_only_or_numbers_only():
    table = pd.DataFrame(COLUMNS)
    only = tg.Schema(features=["region"], categorical={"region": ["north"]})
    np.testing.assert_array_equal(design_matrix(table, only), [[0], [np.nan], [1]])
    single = table[["age"]].astype(np.float32)
    assert design_matrix(single, tg.Schema(features=["age"])).dtype == np.float64


@pytest.mark.parametrize("column", ["power", "region"])
@pytest.mark.parametrize("kind", TABLES)
def test_a_column_that_is_gone_is_refused_by_name(kind, column):
    rest = {name: COLUMNS[name] for name in COLUMNS if name not in (column, "id", "age")}
    schema = tg.Schema(features=[column], categorical={column: ["a"]} if column == "region" else {})
    table = TABLES["pandas" if "categories" in kind or "dict" in kind else kind](rest)
    with pytest.raises(tg.InputError, match=f"X must have a column '{column}'; its columns are "):
        design_matrix(table, schema)


@pytest.mark.parametrize("table", [np.zeros((3, 2)), [[1.0, 2.0]], pd.DataFrame(np.zeros((3, 2)))])
def test_what_has_no_names_is_refused(table):
    with pytest.raises(tg.InputError, match="X must be a pandas, polars or pyarrow table whose"):
        as_table(table)


def test_a_date_is_no_level():
    table = pd.DataFrame({"day": pd.to_datetime(["2024-01-01", "2024-01-02"])})
    schema = tg.Schema(features=["day"], categorical={"day": ["2024-01-01"]})
    np.testing.assert_array_equal(design_matrix(table, schema), [[np.nan], [np.nan]])


def test_a_table_whose_columns_are_called_like_methods_is_a_table():
    """The model, the mean and the fit of such a table used to read the records as methods."""
    names = ["where", "names", "numbers", "cells", "target"]
    table = pd.DataFrame(np.arange(500.0).reshape(100, 5) + 0.125, columns=names)
    assert type(as_table(table)) is FrameTable
    model = tg.LinearRegression(epsilon=5.0, delta=1e-3, schema=tg.Schema(target="target"))
    assert model.set_params(random_state=0).fit(table).coef_.shape == (4,)
    mean = tg.mean(table, guarantee=tg.GDP(5.0), schema=tg.Schema(drop=["target"]), random_state=0)
    assert mean.value.shape == (4,)


class Deceiving(float):
    """A number that is another one where it divides."""

    def __rtruediv__(self, other):
        return 1e9


@pytest.mark.parametrize("bound", [2, np.float32(2.0), Deceiving(2.0)])
def test_the_bound_of_weights_is_a_plain_number(bound):
    schema = tg.Schema(weight="w", weight_bound=bound)
    for weight in (weight_given(np.ones(3), bound), declared_weight(schema)):
        assert type(weight.bound) is float
