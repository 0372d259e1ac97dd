"""Every text of a result that shows a promise says if the run was a simulation."""

import numpy as np
import pandas as pd
import pytest

import tailguard as tg

BUDGET = {"epsilon": 4.0, "delta": 1e-6}
X = np.random.default_rng(0).standard_normal((2_000, 2))
TABLE = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.resize(["u", "v"], len(X))})
SCHEMA = {"categorical": {"c": ["u", "v"]}}


def searched(**run):
    search = tg.PrivateSearch(tg.LinearRegression(), [{"target": "mean"}], n_tries=1, **run)
    return search.fit(X, X[:, 0])


RESULTS = {
    "fit": lambda **run: tg.LinearRegression(**run).fit(X, X[:, 0]),
    "search": searched,
    "mean": lambda **run: tg.mean(X, **run),
    "crosstab": lambda **run: tg.crosstab(TABLE, "c", schema=SCHEMA, **run),
    "describe": lambda **run: tg.describe(TABLE, schema=SCHEMA, **run),
}


@pytest.mark.parametrize("name", RESULTS)
def test_an_explanation_states_the_mode_of_a_simulation_alone(name):
    said = RESULTS[name](random_state=0, **BUDGET).explain()
    assert "differential privacy" in said
    assert "mode: simulation: NOT PRIVATE" in said.splitlines()[-2 if name == "search" else -1]
    assert "mode:" not in RESULTS[name](**BUDGET).explain()
