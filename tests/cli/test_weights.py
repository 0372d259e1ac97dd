"""``tailguard fit --weight``: the same fit as in Python."""

import json

import numpy as np

import tailguard as tg

PRIVACY = ["--epsilon", "5", "--delta", "1e-6", "--random-state", "1"]


def fit(call, file, out, *options):
    told = ["--target", "claims", "--features", "age", "--out", out]
    return call("fit", file, *PRIVACY, *told, *options)


def test_a_column_of_weights_is_that_of_python(csv_file, columns, tmp_path, call):
    out = tmp_path / "model.json"
    answer = fit(call, csv_file, out, "--weight", "years", "--weight-bound", "2")
    assert answer.code == 0, answer.err
    model = json.loads(out.read_text())
    assert (model["schema"]["weight"], model["schema"]["weight_bound"]) == ("years", 2.0)
    assert any("weights above 2 are cut" in note for note in model["notes"])
    python = tg.LinearRegression(epsilon=5.0, delta=1e-6, random_state=1, weight_bound=2.0)
    X = np.asarray(columns["age"], dtype=float)[:, None]
    python.fit(X, columns["claims"], sample_weight=columns["years"])
    assert model["coef"] == python.coef_.tolist()
    assert call("predict", out, csv_file).code == 0


def test_a_mean_by_weight_is_that_of_python(csv_file, columns, tmp_path, call):
    out = tmp_path / "mean.json"
    told = ["--columns", "age", "--weight", "years", "--weight-bound", "2", "--out", out]
    answer = call("mean", csv_file, *PRIVACY, *told)
    assert answer.code == 0, answer.err
    weighed = {"sample_weight": columns["years"], "weight_bound": 2.0}
    age = np.asarray(columns["age"], dtype=float)
    python = tg.mean(age, epsilon=5.0, delta=1e-6, random_state=1, **weighed)
    assert json.loads(out.read_text())["means"]["age"]["mean"] == python.value
