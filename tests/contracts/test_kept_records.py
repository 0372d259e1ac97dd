"""What a run returns holds released numbers and no records, so that it may be handed on."""

import gc
import pickle
from types import FrameType, ModuleType

import numpy as np
import pandas as pd
import pytest

import tailguard as tg
from support.problems import example_of
from support.registered import ESTIMATORS
from support.solvers import SOLVERS, brief_solver, few_rounds
from support.targets import target_for
from tailguard.data.rows.base import RecordBlock
from tailguard.gate import Gate
from tailguard.means.choice import MEANS

N_ROWS, CANARY = 2_000, 1234.5678901234567
PROMISE = {"epsilon": 4.0, "delta": 1e-5, "random_state": 0}
SCHEMA = {"categorical": {"level": ["low", "high"]}}


def features():
    X = np.random.default_rng(0).standard_normal((N_ROWS, 2))
    X[7] = CANARY
    return X


def table():
    columns = dict(zip("ab", features().T, strict=True))
    keys = [f"canary {row // 2}" for row in range(N_ROWS)]
    return pd.DataFrame(columns | {"level": ["low", "high"] * (N_ROWS // 2), "key": keys})


def reached(result):
    """Everything that an object holds, directly or not, but for classes and modules."""
    seen, waiting = {id(result): result}, [result]
    while waiting:
        for held in gc.get_referents(waiting.pop()):
            if id(held) not in seen and not isinstance(held, type | ModuleType | FrameType):
                seen[id(held)] = held
                waiting.append(held)
    return seen.values()


def holds_a_record(held):
    """Whether something is records, what reads them, or one of them."""
    if isinstance(held, Gate | RecordBlock | pd.DataFrame | pd.Series):
        return True
    if isinstance(held, np.ndarray) and held.dtype.kind == "f":
        return bool((held == CANARY).any())
    if isinstance(held, str):
        return held.startswith("canary")
    return isinstance(held, float) and held == CANARY


def minimised(name):
    example = example_of(name)
    return tg.minimize(
        tg.losses.Squared(), features(), features()[:, 0], solver=brief_solver(name),
        constraint=example.constraint, guarantee=tg.ApproxDP(4.0, 1e-5), random_state=0,
    )  # fmt: skip


def fitted(name):
    X, model = features(), ESTIMATORS[name]
    return few_rounds(model, **PROMISE).fit(X, target_for(model, X[:, 1], np.random.default_rng(0)))


def scored():
    X = features()
    model = tg.LinearRegression(**PROMISE).fit(X, X[:, 0])
    return model.private_score(X, X[:, 0], **PROMISE)


def searched():
    candidates = {"alpha": [0.0, 0.1]}
    X = features()
    return tg.PrivateSearch(tg.LinearRegression(), candidates, **PROMISE).fit(X, X[:, 0])


def mean_by(name):
    return tg.mean(features(), method=name, **PROMISE)


LEVELS = {"columns": ["a", "level"], "schema": SCHEMA, **PROMISE}
SUMMARIES = {
    "describe": lambda: tg.describe(features(), **PROMISE),
    "describe by": lambda: tg.describe(table(), by="level", **LEVELS),
    "describe persons": lambda: tg.describe(table(), person="key", max_rows=2, **LEVELS),
    "quantile": lambda: tg.quantile(features(), q=0.5, **PROMISE),
    "histogram": lambda: tg.histogram(features(), **PROMISE),
    "variance": lambda: tg.variance(features(), **PROMISE),
    "covariance": lambda: tg.covariance(features(), **PROMISE),
    "correlation": lambda: tg.correlation(features(), **PROMISE),
    "count": lambda: tg.count(table(), where={"level": "low"}, **LEVELS),
    "rows per person": lambda: tg.rows_per_person(table()["key"], **PROMISE),
    "score": scored,
    "search": searched,
}
RUNS = (
    SUMMARIES
    | {f"mean {name}": lambda name=name: mean_by(name) for name in MEANS}
    | {f"fit {name}": lambda name=name: fitted(name) for name in ESTIMATORS}
    | {f"minimum {name}": lambda name=name: minimised(name) for name in SOLVERS}
)


LONG = {"minimum dp-sgd", "search"}
MARKED = [pytest.param(name, marks=pytest.mark.long if name in LONG else ()) for name in RUNS]


@pytest.mark.parametrize("name", MARKED)
def test_a_result_holds_no_record_and_can_be_stored(name):
    result = RUNS[name]()
    found = [type(held).__name__ for held in reached(result) if holds_a_record(held)]
    assert found == []
    assert np.float64(CANARY).tobytes() not in pickle.dumps(result)
