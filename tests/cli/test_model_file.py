"""The model file: nothing is lost on the way, and nothing else passes for one."""

import json
import math

import numpy as np
import pandas as pd
import pytest

import tailguard as tg
from tailguard.cli.model_file import KEY, VERSION, ModelFile, load_model
from tailguard.privacy.certificate.certificate import KEY as CERTIFICATE

SCHEMA = tg.Schema(features=["age"], target="cost")
FEW = pd.DataFrame({"age": [0.0, 1.0] * 500, "cost": [0.0, 1.0] * 500})


@pytest.fixture(scope="module")
def written():
    model = tg.LinearRegression(schema=SCHEMA, epsilon=1.0, delta=1e-6, random_state=0)
    return ModelFile("linear", model.fit(FEW))


def test_a_round_trip_loses_nothing(written, tmp_path):
    path = tmp_path / "model.json"
    written.save(path)
    again = load_model(path)
    assert again.to_dict() == written.to_dict()
    assert again.estimator.get_params() == written.estimator.get_params()
    rows = pd.DataFrame({"age": [0.25, 0.5]})
    np.testing.assert_array_equal(again.estimator.predict(rows), written.estimator.predict(rows))
    assert again.estimator.summary() == written.estimator.summary()


def test_numbers_that_are_not_finite_are_null(written, tmp_path, monkeypatch):
    monkeypatch.setattr(written.estimator, "intercept_noise_std_", math.nan)
    written.save(tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text())["intercept_noise_std"] is None
    assert math.isnan(load_model(tmp_path / "model.json").estimator.intercept_noise_std_)


def test_intervals_and_notes_are_kept(tmp_path):
    rng = np.random.default_rng(0)
    age = rng.standard_normal(5_000)
    table = pd.DataFrame({"age": age, "cost": age + rng.standard_normal(5_000)})
    model = tg.LinearRegression(schema=SCHEMA, guarantee=tg.GDP(1.0), random_state=0).fit(table)
    ModelFile("linear", model).save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json").estimator
    assert np.isfinite(model.conf_int()).all()
    np.testing.assert_array_equal(again.conf_int(), model.conf_int())
    assert again.notes_ == model.notes_ != ()
    assert again.summary() == model.summary()


def test_a_model_without_intervals_goes_round(tmp_path):
    model = tg.SparseLinearRegression(
        n_nonzero=1, schema=SCHEMA, guarantee=tg.GDP(9.0), random_state=0
    )
    content = ModelFile("sparse-linear", model.fit(FEW)).to_dict()
    assert content["coef_std"] is None
    assert ModelFile.from_dict(content).to_dict() == content


@pytest.mark.parametrize(
    "change",
    [
        {KEY: None},
        {"model": "forest"},
        {"parameters": {"bounds": 3}},
        {"parameters": None},
        {"schema": None},
        {"schema": {}},
        {"schema": {"features": ["age"], "categorical": {"age": []}}},
        {"schema": {"features": ["age", "km"]}},
        {"schema": {"features": ["age"], "columns": ["age"]}},
        {"schema": {"tailguard_schema": 2, "features": ["age"]}},
        {"classes": ["no", "yes"]},
        {"feature_names": ["km"]},
        {"coef": ["0"]},
        {"coef": 1.0},
        {"coef_noise_std": []},
        {"intercept": "zero"},
        {"certificate": {}},
        {"certificate": {CERTIFICATE: 99}},
        {"coef_std": [0.1, 0.2]},
        {"interval_center": [0.1]},
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
    with pytest.raises(tg.InputError, match="MODEL must be a file that 'tailguard fit' wrote; got"):
        load_model(path)


@pytest.mark.parametrize(
    "name",
    ["coef_std", "interval_center", "feature_bounds", "notes", "reasons", "score_bound", KEY],
)
def test_a_file_without_a_part_is_refused(name, written, tmp_path):
    content = written.to_dict()
    del content[name]
    (tmp_path / "model.json").write_text(json.dumps(content))
    with pytest.raises(tg.InputError, match="MODEL must be a file that 'tailguard fit' wrote; got"):
        load_model(tmp_path / "model.json")


def test_the_version_is_a_whole_number_and_a_newer_one_is_named(written, tmp_path):
    content = written.to_dict()
    assert content[KEY] == VERSION
    assert content["schema"]["tailguard_schema"] == 1
    assert content["certificate"][CERTIFICATE] >= 1
    path = tmp_path / "model.json"
    newer = {
        "MODEL must have format version 1; got version 4, which": {KEY: 4},
        "schema must have format version 1; got version 4, which a newer tailguard wrote": {
            "schema": content["schema"] | {"tailguard_schema": 4}
        },
        "certificate must have .*; got version 99, which a newer tailguard wrote": {
            "certificate": content["certificate"] | {CERTIFICATE: 99}
        },
    }
    for words, change in newer.items():
        path.write_text(json.dumps(content | change))
        with pytest.raises(tg.InputError, match=words):
            load_model(path)


def test_the_bounds_of_features_go_round(tmp_path):
    table = pd.DataFrame({"age": np.arange(1000.0) % 7, "none": 0.0, "cost": np.arange(1000.0) % 7})
    model = tg.LinearRegression(schema={"target": "cost"}, epsilon=1.0, delta=1e-6, random_state=0)
    ModelFile("linear", model.fit(table)).save(tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    assert content["feature_bounds"][0][1] is None
    again = load_model(tmp_path / "model.json").estimator
    np.testing.assert_array_equal(again.feature_bounds_, model.feature_bounds_)
    far = pd.DataFrame({"age": [1e9], "none": [1e9]})
    np.testing.assert_array_equal(again.predict(far), model.predict(far))
    for changed in ([[0.0], [1.0]], [[2.0, 2.0], [1.0, 3.0]]):
        (tmp_path / "other.json").write_text(json.dumps(content | {"feature_bounds": changed}))
        with pytest.raises(tg.InputError, match="MODEL must be a file"):
            load_model(tmp_path / "other.json")


def test_the_bound_of_predictions_goes_round(tmp_path):
    table = pd.DataFrame({"age": np.arange(1000.0) % 7, "count": np.arange(1000.0) % 3})
    model = tg.PoissonRegression(schema={"target": "count"}, epsilon=1.0, delta=1e-6)
    ModelFile("poisson", model.set_params(random_state=0).fit(table)).save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").estimator.score_bound_ == model.score_bound_ < 9.0
    content = json.loads((tmp_path / "model.json").read_text())
    (tmp_path / "model.json").write_text(json.dumps(content | {"score_bound": "far"}))
    with pytest.raises(tg.InputError, match="MODEL must be a file"):
        load_model(tmp_path / "model.json")


def test_a_model_whose_classes_were_assumed_goes_round(tmp_path):
    table = pd.DataFrame({"age": np.arange(1000.0) % 7, "ill": np.arange(1000) % 2})
    schema = tg.Schema(features=["age"], target="ill")
    model = tg.LogisticRegression(schema=schema, epsilon=1.0, delta=1e-6, random_state=0)
    model.fit(table)
    ModelFile("logistic", model).save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json").estimator
    assert again.classes_.tolist() == [0, 1]
    assert again.summary() == model.summary()
    assert "classes assumed 0 and 1" in again.summary()
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
