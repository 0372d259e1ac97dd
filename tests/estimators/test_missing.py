"""``missing={column: constant}`` at the estimators: every table, fits and predictions alike."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

import tailguard as tg
from support.attack import MU, move
from support.registered import ESTIMATORS
from support.solvers import few_rounds
from support.targets import target_for
from tailguard.data.rows.arrays import make_rows
from tailguard.privacy.books import MemoryBooks
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.units import Units

BUDGET = {"epsilon": 5.0, "delta": 1e-5, "random_state": 0}
MISSING = {"age": 40.0, "income": 0.0}
NAMES = ["age", "income", "km"]
MODELS = [*ESTIMATORS.values()]
TABLES = {
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas nullable": lambda X: pd.DataFrame(X, columns=NAMES).convert_dtypes(),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES, nan_to_null=True),
    "pyarrow": lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
    "pyarrow nulls": lambda X: pa.table(
        {name: pa.array(column, from_pandas=True) for name, column in zip(NAMES, X.T, strict=True)}
    ),
}


def data(n_rows=600, model=tg.LinearRegression):
    rng = np.random.default_rng(0)
    X = rng.normal([40.0, 0.0, 5.0], 1.0, (n_rows, 3))
    y = target_for(model, X[:, 0] - 40.0, rng)
    X[rng.random(n_rows) < 0.3, 0] = np.nan
    X[rng.random(n_rows) < 0.3, 1] = np.nan
    return X, y, np.where(np.isnan(X), [40.0, 0.0, np.nan], X)


@pytest.mark.parametrize("model", MODELS)
def test_every_model_fits_and_predicts_as_if_filled_beforehand(model):
    X, y, whole = data(model=model)
    fitted = few_rounds(model, missing={0: 40.0, 1: 0.0}, **BUDGET).fit(X, y)
    expected = few_rounds(model, **BUDGET).fit(whole, y)
    np.testing.assert_array_equal(fitted.coef_, expected.coef_)
    np.testing.assert_array_equal(fitted.predict(X), expected.predict(whole))
    assert "stands for missing cells: x0 = 40, x1 = 0" in fitted.explain()
    assert "missing cells are taken as: x0 = 40, x1 = 0" in fitted.summary()
    assert clone(fitted).get_params() == fitted.get_params()


@pytest.mark.parametrize("kind", TABLES)
def test_every_table_is_filled_by_name(kind):
    X, y, whole = data()
    table = TABLES[kind](X)
    fitted = tg.LinearRegression(missing=MISSING, **BUDGET).fit(table, y)
    expected = tg.LinearRegression(**BUDGET).fit(whole, y)
    np.testing.assert_array_equal(fitted.coef_, expected.coef_)
    np.testing.assert_array_equal(fitted.predict(table), expected.predict(whole))


def test_an_infinite_cell_stays_void_and_predicts_no_number():
    X, y, _ = data()
    infinite, nothing = X.copy(), X.copy()
    infinite[:9, 0], nothing[:9, 2] = np.inf, np.nan
    coefs = [
        tg.LinearRegression(missing={0: 40.0, 1: 0.0}, **BUDGET).fit(features, y).coef_
        for features in (infinite, nothing)
    ]
    np.testing.assert_array_equal(*coefs)
    fitted = tg.LinearRegression(missing={0: 40.0, 1: 0.0}, **BUDGET).fit(X, y)
    assert not np.isfinite(fitted.predict(infinite)[:9]).any()


def test_what_is_no_public_constant_is_refused_before_anything_is_spent():
    X, y, _ = data()
    books = MemoryBooks()
    model = tg.LinearRegression(missing={0: "median"}, epsilon=1.0, delta=1e-5, ledger=books)
    with pytest.raises(tg.InputError, match="missing"):
        model.fit(X, y)
    assert books.releases == ()
    assert not hasattr(model, "coef_")


def test_the_sensitivity_holds_for_records_that_are_filled():
    """Replace a record by another, with missing cells in either: no sum moves further."""
    rng = np.random.default_rng(1)
    X, y, _ = data(40)
    query = MeanClippedGradient(tg.losses.Squared(), Units.raw(3, intercept=True), clip_norm=2.0)
    calibration = query.calibrate(40, 3, MU)

    def answer(features, missing):
        rows = make_rows(features, y, loss=query.loss, missing=missing)
        return query.answer(rows, np.ones(4), calibration)

    moved = []
    for missing in ({0: 40.0, 1: 0.0}, {0: 1e300, 1: -1e300}, {0: 5e-324}):
        for _ in range(60):
            neighbour = X.copy()
            record = rng.choice([np.nan, 0.0, 40.0, -1e308, 1e308], 3)
            neighbour[rng.integers(40)] = record
            moved.append(move(answer(X, missing), answer(neighbour, missing)))
    assert 0.5 * calibration.charged < max(moved) * calibration.grid <= calibration.charged
