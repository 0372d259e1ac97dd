"""Models with dates, terms and void levels: the same from any table, file and command."""

import ast
import re

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import tailguard as tg
from tailguard.cli.app import run
from tailguard.data.design import design_matrix
from tailguard.solvers.newton.covariance import RARE_LEVEL

BUDGET = {"epsilon": 8.0, "delta": 1e-6, "random_state": 0}
N_ROWS = 4000
SCHEMA = tg.Schema(
    dates={"issued": {"origin": "2020-01-01", "unit": "years"}},
    terms=["...", "log1p(income)", "linear(age, 20, 40, 80)", "age:region", "age", "missing(age)"],
    categorical={"region": ["north", "south"]},
    other="void",
    missing={"age": 40, "region": "south"},
    target="cost",
)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    days = rng.integers(0, 2000, N_ROWS)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20, 80, N_ROWS).round(1),
            "region": rng.choice(["north", "south", "moon"], N_ROWS, p=[0.5, 0.4, 0.1]),
            "issued": pd.Timestamp("2020-01-01") + pd.to_timedelta(days, unit="D"),
            "income": rng.lognormal(3, 1, N_ROWS),
        }
    )
    frame["cost"] = 3 * np.log1p(frame.income) + 0.1 * frame.age + rng.normal(0, 1, N_ROWS)
    frame.loc[::9, "age"] = np.nan
    frame.loc[::11, "region"] = None
    return frame


@pytest.fixture(scope="module")
def model(table):
    return tg.LinearRegression(schema=SCHEMA, **BUDGET).fit(table)


def text(frame):
    return frame.assign(issued=frame.issued.dt.strftime("%Y-%m-%d"))


def test_coefficients_have_names_of_their_terms(model):
    assert model.schema_.features == ("age", "region", "issued", "income")
    assert model.schema_.coefficient_names == (
        *("region=south", "issued", "log1p(income)", "age at 40", "age at 80"),
        *("age:region=south", "age", "missing(age)"),
    )
    assert "log1p(income)" in str(model.summary())
    assert "missing cells are taken as: age = 40, region = south" in str(model.summary())
    assert abs(model.coef_[2] - 3.0) < 0.3
    assert model.wald_test("linear(age, 20, 40, 80)").df == 2


def test_a_fit_is_that_of_the_matrix_that_the_schema_stands_for(table, model):
    X = design_matrix(table, model.schema_)
    own = tg.LinearRegression(**BUDGET)
    stated = own._problem
    levels = model.schema_.level_columns
    own._problem = lambda given: stated(given).__class__(
        **{**stated(given).__dict__, "levels": levels}
    )
    own.fit(X, table.cost)
    np.testing.assert_array_equal(own.coef_, model.coef_)


@pytest.mark.parametrize("engine", ["polars", "pyarrow", "parquet", "dask", "text"])
def test_every_engine_has_the_same_bits(engine, table, model, tmp_path):
    folder = tmp_path / "rows"
    folder.mkdir()
    frame = text(table) if engine == "text" else table
    cut = [0, 1500, N_ROWS]
    for part in (0, 1):
        rows = pa.Table.from_pandas(frame[cut[part] : cut[part + 1]], preserve_index=False)
        parquet.write_table(rows, folder / f"{part}.parquet")
    source = {
        "polars": lambda: pl.from_pandas(table),
        "pyarrow": lambda: pa.Table.from_pandas(table),
        "parquet": lambda: str(folder),
        "text": lambda: str(folder),
        "dask": lambda: dd.from_pandas(table, npartitions=3),
    }[engine]()
    found = tg.LinearRegression(schema=SCHEMA, **BUDGET).fit(source)
    np.testing.assert_array_equal(found.coef_, model.coef_)
    assert found.intercept_ == model.intercept_


def test_a_saved_model_predicts_the_same(table, model, tmp_path):
    model.save(tmp_path / "model.json")
    again = tg.load(tmp_path / "model.json")
    assert again.schema_ == model.schema_
    expected = model.predict(table)
    np.testing.assert_array_equal(again.predict(text(table)), expected)
    void = table.region == "moon"
    np.testing.assert_array_equal(np.isnan(expected), void)


def test_the_command_line_declares_the_same(table, model, tmp_path, capsys):
    given, out = tmp_path / "rows.csv", tmp_path / "model.json"
    text(table).to_csv(given, index=False)
    columns = ["--categorical", "region=north,south", "--other", "void", "--target", "cost"]
    columns += ["--dates", "issued=2020-01-01,years", "--missing", "age=40"]
    columns += ["--missing", "region=south"]
    terms = [part for term in SCHEMA.terms for part in ("--term", term)]
    budget = ["--epsilon", "8", "--delta", "1e-6", "--random-state", "0", "--out", out]
    assert run([*map(str, ("fit", given, *columns, *terms, *budget))]) == 0
    capsys.readouterr()
    found = tg.load(out)
    assert found.schema_ == model.schema_
    np.testing.assert_array_equal(found.coef_, model.coef_)
    assert run(["predict", str(out), str(given)]) == 0
    predicted = capsys.readouterr().out.splitlines()
    expected = model.predict(table)
    shown = ['""' if np.isnan(value) else repr(float(value)) for value in expected]
    assert predicted[1:] == shown


def test_a_level_of_all_that_is_not_declared_without_records_says_so(table):
    levels = {"region": ["north", "south", "moon"]}
    schema = tg.Schema(features=["region", "income"], categorical=levels, target="cost")
    model = tg.LinearRegression(schema=schema, **BUDGET).fit(table)
    place = model.schema_.coefficient_names.index("region=other")
    assert model.reasons_[place] == "not estimated: no records"
    assert RARE_LEVEL not in " ".join(model.reasons_)
    rows = pd.DataFrame({"region": ["mars", "north"], "income": [2.0, 2.0]})
    assert len({*model.predict(rows)}) == 1
    note = "levels of region that were not declared: predictions for these are the baseline's"
    assert note in " ".join(str(model.summary()).split())
    assert sum("not declared" in each for each in model.notes_) == 1


def test_columns_of_dates_without_a_date_are_blamed(table):
    schema = tg.Schema(dates={"region": {"origin": "2020-01-01", "unit": "days"}}, target="cost")
    with pytest.raises(
        tg.UnusableTableError, match=r"'region' holds about .* no dates: write them"
    ):
        tg.LinearRegression(schema=schema, **BUDGET).fit(table[["region", "cost"]])


def test_the_remedy_for_dates_of_another_format_can_be_copied():
    days = pd.date_range("2021-01-01", periods=2_000).strftime("%d.%m.%Y")
    table = pd.DataFrame({"begin": days, "cost": np.arange(2_000.0)})
    budget = {"epsilon": 1.0, "delta": 1e-6, "random_state": 0}
    schema = {"dates": {"begin": {"origin": "2020-01-01", "unit": "years"}}, "target": "cost"}
    with pytest.raises(tg.UnusableTableError, match="that are no dates") as refused:
        tg.LinearRegression(schema=schema, **budget).fit(table)
    (copied,) = re.findall("`schema=(.*?)`", str(refused.value))
    declared = {**ast.literal_eval(copied), "target": "cost"}
    model = tg.LinearRegression(schema=declared, **budget).fit(table)
    assert model.feature_names_in_.tolist() == ["begin"]
