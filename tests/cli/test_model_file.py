"""The model file: nothing is lost on the way, and nothing else passes for one."""

import json
import math

import numpy as np
import pytest

import tailguard as tg
from tailguard.cli.design import Design
from tailguard.cli.model_file import ModelFile, load_model


@pytest.fixture(scope="module")
def written():
    model = tg.LinearRegression(epsilon=1.0, delta=1e-6, random_state=0)
    model.fit(np.arange(100.0)[:, None] % 2, np.arange(100.0) % 2)
    return ModelFile("linear", model, Design(("age",)), target="cost")


def test_a_round_trip_loses_nothing(written, tmp_path):
    path = tmp_path / "model.json"
    written.save(path)
    again = load_model(path)
    assert again.to_dict() == written.to_dict()
    assert again.estimator.get_params() == written.estimator.get_params()
    rows = np.array([[0.25], [0.5]])
    np.testing.assert_array_equal(again.estimator.predict(rows), written.estimator.predict(rows))
    assert again.estimator.summary() == written.estimator.summary()


def test_numbers_that_are_not_finite_are_null(written, tmp_path, monkeypatch):
    monkeypatch.setattr(written.estimator, "intercept_noise_std_", math.nan)
    written.save(tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text())["intercept_noise_std"] is None
    assert math.isnan(load_model(tmp_path / "model.json").estimator.intercept_noise_std_)


def test_intervals_and_notes_are_kept(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5_000, 1))
    model = tg.LinearRegression(guarantee=tg.GDP(1.0), random_state=0)
    model.fit(X, X[:, 0] + rng.standard_normal(5_000))
    ModelFile("linear", model, Design(("age",)), target="cost").save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json").estimator
    assert np.isfinite(model.conf_int()).all()
    np.testing.assert_array_equal(again.conf_int(), model.conf_int())
    assert again.notes_ == model.notes_ != ()
    assert again.summary() == model.summary()


def test_a_file_from_before_intervals_and_notes_were_kept_loads(written, tmp_path):
    content = written.to_dict()
    for name in ("coef_std", "intercept_std", "notes"):
        del content[name]
    (tmp_path / "model.json").write_text(json.dumps(content))
    again = load_model(tmp_path / "model.json").estimator
    assert (again.coef_std_, again.notes_) == (None, ())
    assert "interval" not in again.summary()
    np.testing.assert_array_equal(again.coef_, written.estimator.coef_)


def test_a_model_without_intervals_goes_round(tmp_path):
    model = tg.SparseLinearRegression(n_nonzero=1, guarantee=tg.GDP(9.0), random_state=0)
    model.fit(np.arange(100.0)[:, None] % 2, np.arange(100.0) % 2)
    content = ModelFile("sparse-linear", model, Design(("age",)), target="cost").to_dict()
    assert content["coef_std"] is None
    assert ModelFile.from_dict(content).to_dict() == content


@pytest.mark.parametrize(
    "change",
    [
        {"format": "tailguard-model-2"},
        {"model": "forest"},
        {"parameters": {"bounds": 3}},
        {"parameters": None},
        {"columns": ["age", "km"]},
        {"categorical": {"age": []}},
        {"feature_names": ["km"]},
        {"coef": ["0"]},
        {"coef": 1.0},
        {"coef_noise_std": []},
        {"intercept": "zero"},
        {"certificate": {}},
        {"coef_std": [0.1, 0.2]},
        {"coef_std": "0"},
        {"intercept_std": "0"},
        {"notes": "a note"},
        {"notes": [1]},
    ],
    ids=str,
)
def test_a_changed_file_is_refused(change, written, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(written.to_dict() | change))
    with pytest.raises(tg.InputError, match="MODEL must be a file of format tailguard-model-1"):
        load_model(path)


def test_a_model_whose_classes_were_assumed_goes_round(tmp_path):
    X, y = np.arange(100.0)[:, None] % 7, np.arange(100) % 2
    model = tg.LogisticRegression(epsilon=1.0, delta=1e-6, random_state=0).fit(X, y)
    ModelFile("logistic", model, Design(("age",)), target="ill").save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json").estimator
    assert again.classes_.tolist() == [0, 1]
    assert again.summary() == model.summary()
    assert "classes assumed 0 and 1" in again.summary()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
