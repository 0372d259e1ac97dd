"""Messages show what was given only where it is too short to be a table of records."""

from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tailguard as tg
from tailguard.checks import shown

X = np.arange(600.0).reshape(200, 3) + 0.123456
Y = X[:, 0]
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
TABLES = {
    "matrix": X,
    "vector": Y,
    "list": Y.tolist(),
    "tuple": tuple(Y.tolist()),
    "rows": X.tolist(),
    "pandas": pd.DataFrame(X, columns=["a", "b", "c"]),
    "series": pd.Series(Y),
    "polars": pl.DataFrame(X),
    "dict": {"a": Y.tolist()},
    "text": "".join(map(str, Y)),
    "set": set(Y.tolist()),
}
MODEL, LOGISTIC = tg.LinearRegression, tg.LogisticRegression
CALLS = {
    "minimize loss": lambda t: tg.minimize(t, X, Y, **BUDGET),
    "minimize constraint": lambda t: tg.minimize(tg.losses.Squared(), X, Y, constraint=t, **BUDGET),
    "minimize intercept": lambda t: tg.minimize(tg.losses.Squared(), X, Y, intercept=t, **BUDGET),
    "minimize solver": lambda t: tg.minimize(tg.losses.Squared(), X, Y, solver=t, **BUDGET),
    "record gradient": tg.losses.RecordGradient,
    "record size": lambda t: tg.losses.RecordGradient(lambda w, x, y: x, size=t),
    "huber": tg.losses.Huber,
    "multinomial": tg.losses.Multinomial,
    "epsilon": lambda t: MODEL(epsilon=t, delta=1e-6).fit(X, Y),
    "epsilon alone": lambda t: MODEL(epsilon=t).fit(X, Y),
    "delta alone": lambda t: MODEL(delta=t).fit(X, Y),
    "delta": lambda t: MODEL(epsilon=1.0, delta=t).fit(X, Y),
    "guarantee": lambda t: MODEL(guarantee=t).fit(X, Y),
    "random_state": lambda t: MODEL(random_state=t, **BUDGET).fit(X, Y),
    "ledger": lambda t: MODEL(ledger=t, **BUDGET).fit(X, Y),
    "solver": lambda t: MODEL(solver=t, **BUDGET).fit(X, Y),
    "fit_intercept": lambda t: MODEL(fit_intercept=t, **BUDGET).fit(X, Y),
    "missing": lambda t: MODEL(missing={0: t}, **BUDGET).fit(X, Y),
    "missing map": lambda t: MODEL(missing=t, **BUDGET).fit(X, Y),
    "schema": lambda t: MODEL(schema=t, **BUDGET).fit(TABLES["pandas"], Y),
    "target": lambda t: MODEL(target=t, **BUDGET).fit(X, Y),
    "classes": lambda t: LOGISTIC(classes=t, **BUDGET).fit(X, Y),
    "class": lambda t: LOGISTIC(classes=(0, t), **BUDGET).fit(X, Y),
    "n_nonzero": lambda t: tg.SparseLinearRegression(n_nonzero=t, **BUDGET).fit(X, Y),
    "mean method": lambda t: tg.mean(X, method=t, **BUDGET),
    "mean moment": lambda t: tg.mean(X, moment=t, **BUDGET),
    "mean calibration": lambda t: tg.mean(X, calibration=t, **BUDGET),
    "mean option": lambda t: tg.mean(X, method="clipped", clip_norm=t, **BUDGET),
    "moment": lambda t: tg.Moment(t, 1.0),
    "moment kind": lambda t: tg.Moment(2.0, 1.0, kind=t),
    "ball": tg.sets.L2Ball,
    "ball center": lambda t: tg.sets.L2Ball(1.0, center=t),
    "box": lambda t: tg.sets.Box(t, 0.0),
    "schema columns": lambda t: tg.Schema(features=t),
    "schema target": lambda t: tg.Schema(target=t),
    "schema levels": lambda t: tg.Schema(categorical={"a": t}),
    "guarantee value": tg.GDP,
}


@pytest.mark.parametrize("name", CALLS)
def test_no_message_shows_more_than_a_few_short_values(name):
    for kind, table in TABLES.items():
        try:
            CALLS[name](table)
        except (tg.InputError, tg.QueryError) as refused:
            said = str(refused)
        else:
            continue  # a set may have a public centre
        assert len(said) < 600, kind
        assert said.count(".123456") <= (60 // 8 if kind == "text" else 0), kind


def test_what_is_short_is_shown_as_python_writes_it():
    for value in (0.5, 7, -1.5, True, None, "linear", (0, 1), ("no", None), [1, "a"], (), (1,)):
        assert shown(value) == repr(value)
    assert shown(np.float64(1.5)) == repr(np.float64(1.5))
    assert shown("x" * 61) == repr("x" * 61)[:60] + "..."


HUGE = [10**400, -(10**5000)]  # Python writes no more than some thousand digits
LONG = [list(range(6)), (1, (2,)), datetime(2020, 1, 1), object(), {1}]


@pytest.mark.parametrize("value", [*HUGE, *LONG], ids=lambda value: type(value).__name__)
def test_of_everything_else_the_type_is_shown(value):
    assert shown(value) == type(value).__name__
