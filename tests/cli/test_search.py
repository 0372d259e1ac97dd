"""``tailguard search``: the best of secret tries, as a model file that any command reads."""

import json

import numpy as np

import tailguard as tg

FLAT = ["--target", "cost", "--features", "age,power"]
PRIVACY = ["--epsilon", "8", "--delta", "1e-3", "--random-state", "4"]
TRIED = ["--try", "alpha=0,0.1", "--try", "fit_intercept=true,false", "--tries", "3"]


def test_the_best_of_many_settings_is_the_one_that_python_finds(csv_file, columns, tmp_path, call):
    out = tmp_path / "model.json"
    answer = call("search", csv_file, *FLAT, *TRIED, *PRIVACY, "--out", out)
    assert answer.code == 0
    search = tg.PrivateSearch(
        tg.LinearRegression(), {"alpha": [0, 0.1], "fit_intercept": [True, False]},
        n_tries=3.0, epsilon=8.0, delta=1e-3, random_state=4,
    )  # fmt: skip
    search.fit(np.column_stack([columns["age"], columns["power"]]), columns["cost"])
    best = tg.load(out)
    np.testing.assert_array_equal(best.coef_, search.best_estimator_.coef_)
    assert best.certificate_.total == search.certificate_.total
    chosen = ", ".join(f"{name} = {value}" for name, value in search.best_params_.items())
    assert f"Chosen among 4 settings: {chosen}\n" in answer.out
    assert call("predict", out, csv_file).code == 0
    assert call("verify", out).code == 0


def test_a_search_is_charged_once(csv_file, tmp_path, call):
    ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", epsilon=9.0, delta=1e-2)
    options = ["--ledger", ledger.path, "--ledger-key", "first", "--out", tmp_path / "model.json"]
    private = ["--epsilon", "8", "--delta", "1e-3"]
    assert call("search", csv_file, *FLAT, *TRIED, *private, *options).code == 0
    assert [line.kind for line in ledger.lines()] == ["created", "reserved"]
    again = call("search", csv_file, *FLAT, *TRIED, *private, *options)
    assert (again.code, again.out) == (2, "")
    written = json.loads((tmp_path / "model.json").read_text())
    assert written["certificate"]["mode"] == "private"
