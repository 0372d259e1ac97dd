"""``schema=`` at the estimators and the mean: one table in, columns by name, the same bits."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

import tailguard as tg
from support.registered import ESTIMATORS
from support.solvers import few_rounds
from tailguard.privacy.books import MemoryBooks

BUDGET = {"epsilon": 5.0, "delta": 1e-5, "random_state": 0}
MODELS = [*ESTIMATORS.values()]
SCHEMA = tg.Schema(categorical={"region": ["north", "south"]}, drop=["id"], missing={"age": 40.0})
TABLES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.fixture(scope="module")
def columns():
    rng, n_rows = np.random.default_rng(0), 600
    age, region = rng.gamma(4.0, 12.0, n_rows), rng.choice(["north", "south", "moon"], n_rows)
    cost = 20.0 * age + 500.0 * (region == "south") + rng.normal(0, 50, n_rows)
    age[::7] = np.nan
    return {
        "id": [f"p{i}" for i in range(n_rows)],
        "age": age,
        "region": region,
        "cost": cost,
        "ill": np.where(cost > 900, "yes", "no"),
        "claims": rng.poisson(1.5, n_rows),
        "years": rng.uniform(0.5, 2.0, n_rows),
    }


@pytest.fixture(scope="module")
def encoded(columns):
    """The matrix that the schema stands for, by hand."""
    age = np.where(np.isnan(columns["age"]), 40.0, columns["age"])
    return np.column_stack([age, columns["region"] == "south", columns["region"] == "moon"])


def described(*targets):
    """The table's schema with this target, and everything else that is no feature dropped."""
    others = {"cost", "ill", "claims", "years"} - set(targets)
    schema = {"target": targets[0], "drop": ["id", *sorted(others)]}
    schema |= {"categorical": SCHEMA.categorical, "missing": SCHEMA.missing}
    return schema | ({"exposure": targets[1]} if targets[1:] else {})


def by_hand(model, levels, *given, **more):
    """Fit a matrix of which it is said, past the schema, where indicators of levels stand."""
    own = model._problem
    model._problem = lambda table, **told: replace(own(table, **told), levels=levels)
    return model.fit(*given, **more)


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_is_its_encoded_matrix(kind, columns, encoded):
    model = tg.LinearRegression(schema=described("cost"), **BUDGET).fit(TABLES[kind](columns))
    plain = by_hand(tg.LinearRegression(**BUDGET), ((1, 2),), encoded, columns["cost"])
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    new = TABLES[kind]({name: columns[name] for name in ("cost", "region", "age")})
    np.testing.assert_array_equal(model.predict(new), plain.predict(encoded))
    assert all(name in model.summary() for name in ("age ", "region=south", "region=other"))
    assert "missing cells are taken as: age = 40" in model.summary()
    assert "stands for missing cells: age = 40" in model.explain()
    assert model.feature_names_in_.tolist() == ["age", "region"]


@pytest.mark.parametrize("estimator", MODELS, ids=lambda model: model.__name__)
def test_every_estimator_takes_it(estimator, columns):
    labels = hasattr(estimator(), "classes")
    declared = described("ill" if labels else "claims")
    if labels:
        declared |= {"classes": ["no", "yes"]}
    table = pd.DataFrame(columns)
    model = few_rounds(estimator, schema=declared, **BUDGET)
    assert clone(model).get_params()["schema"] == declared
    fitted = clone(model).fit(table)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(table), fitted.predict(table))
    assert len(fitted.coef_) == len(fitted.schema_.coefficient_names) == 3


def test_a_target_of_its_own_comes_first(columns, encoded):
    features = pd.DataFrame(columns)[["region", "id", "age"]]
    model = tg.LinearRegression(schema=SCHEMA, **BUDGET).fit(features, columns["cost"])
    swapped = encoded[:, [1, 2, 0]]
    plain = by_hand(tg.LinearRegression(**BUDGET), ((0, 1),), swapped, columns["cost"])
    np.testing.assert_array_equal(model.coef_, plain.coef_)


def test_labels_are_those_that_are_declared(columns, encoded):
    declared = described("ill") | {"classes": ["no", "yes"]}
    model = tg.LogisticRegression(schema=declared, **BUDGET).fit(pd.DataFrame(columns))
    plain = tg.LogisticRegression(classes=("no", "yes"), **BUDGET)
    by_hand(plain, ((1, 2),), encoded, columns["ill"])
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.classes_.tolist() == ["no", "yes"]
    beside = tg.LogisticRegression(schema=described("ill"), classes=("no", "yes"), **BUDGET)
    np.testing.assert_array_equal(beside.fit(pd.DataFrame(columns)).coef_, plain.coef_)


def test_poisson_takes_the_exposure_from_the_table(columns, encoded):
    declared = described("claims", "years")
    model = tg.PoissonRegression(schema=declared, **BUDGET).fit(pd.DataFrame(columns))
    plain = tg.PoissonRegression(**BUDGET)
    by_hand(plain, ((1, 2),), encoded, columns["claims"], exposure=columns["years"])
    np.testing.assert_array_equal(model.coef_, plain.coef_)


def test_the_mean_of_a_table_is_that_of_its_features(columns, encoded):
    options = {"guarantee": tg.GDP(1.0), "method": "soft", "random_state": 0}
    found = tg.mean(pd.DataFrame(columns), schema=described("cost"), **options)
    assert found.names == ("age", "region=south", "region=other")
    np.testing.assert_array_equal(found.value, tg.mean(encoded, **options).value)


REFUSED = {
    "an array": (lambda table: table[["cost"]].to_numpy(), {}, "X must be a pandas, polars"),
    "no target": (lambda table: table[["age"]], {"schema": {}}, "requires y to be passed"),
    "constants twice": (lambda table: table, {"missing": {"age": 1.0}}, "missing must be decl"),
    "constants by number": (
        lambda table: table,
        {"schema": {"target": "cost"}, "missing": {0: 1.0}},
        "missing must map names of columns",
    ),
    "classes for numbers": (
        lambda table: table,
        {"schema": {"target": "ill", "classes": ["no", "yes"]}},
        "classes must not be declared for a LinearRegression",
    ),
    "a list": (lambda table: table, {"schema": ["age"]}, "schema must be a tg.Schema"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_costs_nothing(case, columns):
    make, parameters, words = REFUSED[case]
    books = MemoryBooks()
    options = {"schema": described("cost"), "epsilon": 1.0, "delta": 1e-5, "ledger": books}
    model = tg.LinearRegression(**(options | parameters))
    with pytest.raises(tg.InputError, match=words):
        model.fit(make(pd.DataFrame(columns)))
    assert books.releases == ()


def test_a_column_that_is_gone_at_prediction_is_named(columns):
    model = tg.LinearRegression(schema=described("cost"), **BUDGET).fit(pd.DataFrame(columns))
    with pytest.raises(tg.InputError, match="X must have a column 'region'; its columns are 'age"):
        model.predict(pd.DataFrame({"age": [1.0]}))


@pytest.mark.parametrize("form", [pd.Index, np.array])
def test_columns_are_chosen_by_arrays_of_names_too(form):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((1_000, 3)), columns=["a", "b", "cost"])
    model = tg.LinearRegression(epsilon=1.0, delta=1e-6, random_state=0)
    model.fit(table, target="cost", columns=form(["b"]))
    assert model.schema_.features == ("b",)


def test_a_fit_of_chosen_columns_reads_no_other_feature(columns):
    schema = described("cost")
    schema["categorical"] = {"region": ["north", "south"], "ill": ["no", "yes"]}
    schema["drop"] = ["id", "claims", "years"]
    found = {}
    for ill in ("no", None):  # empty cells would make every record void
        table = pd.DataFrame({**columns, "ill": [ill] * len(columns["age"])})
        model = tg.LinearRegression(schema=schema, **BUDGET).fit(table, columns=["age", "region"])
        found[ill] = model.coef_
        assert model.schema_.coefficient_names == ("age", "region=south", "region=other")
        model.predict(table[["age", "region"]])
    np.testing.assert_array_equal(found["no"], found[None])


def test_a_fit_of_chosen_columns_refuses_declarations_of_columns_that_are_gone(columns):
    table, schema = pd.DataFrame(columns), {"categorical": {"regoin": ["north", "south"]}}
    with pytest.raises(tg.InputError, match="X must have a column 'regoin'"):
        tg.LinearRegression(schema=schema, **BUDGET).fit(table, target="cost", columns=["age"])
    schema = {"features": ["age", "region"], "categorical": {"region": ["north", "south"]}}
    with pytest.raises(tg.InputError, match="schema must have a column 'years'"):
        tg.LinearRegression(schema=schema, **BUDGET).fit(table, target="cost", columns=["years"])


def test_columns_that_are_read_as_numbers_are_noted_where_there_is_no_schema():
    rng = np.random.default_rng(0)
    X = rng.standard_t(3, (5_000, 3))
    y = X.sum(axis=1) + rng.standard_normal(5_000)
    frame = pd.DataFrame(X, columns=["age", "km", "years"]).assign(cost=y)
    words = "nothing is declared of age, km, so they are read as numbers"
    budget = {"guarantee": tg.GDP(1.0), "random_state": 0}
    model = tg.LinearRegression(missing={"years": 1.0}, **budget).fit(
        frame[["age", "km", "years"]], y
    )
    assert model.notes_[0].startswith(words)
    assert model.notes_[0] in model.certificate_.assumptions_for_accuracy
    assert words in model.summary()
    assert model.notes_[0].endswith("or leave columns out (schema={'drop': ['km']})")
    named = tg.LinearRegression(**budget).fit(frame[["age", "km", "cost"]], target="cost")
    assert named.notes_[0].startswith(words)
    assert tg.mean(frame[["age", "km"]], **budget).notes[0].startswith(words)
    solved = tg.minimize(
        tg.losses.Squared(), frame[["age", "km"]], y, constraint=tg.sets.L2Ball(2.0), **budget
    )
    assert solved.notes[0].startswith(words)
    for quiet in (
        tg.LinearRegression(**budget).fit(X, y),
        tg.LinearRegression(schema={"drop": ["age"]}, **budget).fit(frame, target="cost"),
        tg.LinearRegression(**budget).fit(frame, target="cost", columns=["age"]),
    ):
        assert not any("nothing is declared" in note for note in quiet.notes_)
