"""The model file: nothing is lost on the way, and nothing else passes for one."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import tailguard as tg
from support.solvers import few_rounds
from tailguard.estimators.model_file import KEY, VERSION, model_content
from tailguard.estimators.registry import ESTIMATORS, estimator_called
from tailguard.privacy.certificate.certificate import KEY as CERTIFICATE

SCHEMA = tg.Schema(features=["age"], target="cost")
WANTED = r"path must be a model file, as model\.save or 'tailguard fit' wrote it; got"
FEW = pd.DataFrame({"age": [0.0, 1.0] * 500, "cost": [0.0, 1.0] * 500})


@pytest.fixture(scope="module")
def written():
    model = tg.LinearRegression(schema=SCHEMA, epsilon=1.0, delta=1e-6, random_state=0)
    return model.fit(FEW)


def test_numbers_that_are_not_finite_are_null(written, tmp_path, monkeypatch):
    monkeypatch.setattr(written, "intercept_noise_std_", math.nan)
    written.save(tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text())["intercept_noise_std"] is None
    assert math.isnan(tg.load(tmp_path / "model.json").intercept_noise_std_)


def test_coefficients_that_are_not_known_are_null_in_its_table(tmp_path):
    X = np.random.default_rng(0).standard_normal((1_000, 2)) * [1.0, 0.0]
    model = tg.LinearRegression(guarantee=tg.GDP(9.0), random_state=0).fit(X, X[:, 0])
    rows = {row["name"]: row for row in model_content(model)["coefficients"]}
    assert rows["x1"]["coefficient"] is rows["x1"]["p"] is None
    assert rows["x1"]["reason"].startswith("not estimated: ")
    assert rows["x0"]["low"] < rows["x0"]["coefficient"] < rows["x0"]["high"]


def check_refused(path, content):
    path.write_text(json.dumps(content))
    with pytest.raises(tg.InputError, match=WANTED):
        tg.load(path)


PARTS = ("coef_std", "interval_center", "feature_bounds", "notes", "reasons", "score_bounds", KEY)


@pytest.mark.parametrize("name", PARTS)
def test_a_file_without_a_part_is_refused(name, written, tmp_path):
    content = model_content(written)
    del content[name]
    check_refused(tmp_path / "model.json", content)


@pytest.mark.parametrize(
    "change",
    [
        {KEY: None},
        {"model": "forest"},
        {"parameters": {"bounds": 3}},
        {"parameters": None},
        {"schema": {}},
        {"schema": {"features": ["age"], "categorical": {"age": []}}},
        {"schema": {"features": ["age", "km"]}},
        {"schema": {"features": ["age"], "columns": ["age"]}},
        {"schema": {"tailguard_schema": 2, "features": ["age"]}},
        {"classes": ["no", "yes"]},
        {"feature_names": ["km"]},
        {"parameters": {"epsilon": 1.0, "delta": 1e-6, "random_state": 0, "alpha": "x"}},
        {"coef": ["0"]},
        {"coef": [None]},
        {"intercept": None},
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
        {"covariance_root": [[1.0]]},
        {"covariance_root": [[1.0], [1.0, 2.0, 3.0]]},
        {"covariance_root": [[1.0], ["2", 1.0]]},
        {"covariance_root": None, "coef_std": [1.0]},
        {"residual_shares": [[1.0, 0.0], [0.0, 1.0]]},
        {"residual_shares": [[1.0], [0.0, 1.0]]},
        {"residual_center": [1.0]},
        {"residual_center": [1.0, None]},
        {"residual_center": None, "residual_shares": [[0.0, 1.0], [0.0, 1.0]]},
        {"reasons": ["one", "two", "three"]},
        {"plan": None},
        {"total_error": "small"},
        {"missing": [["age", 1.0]]},
        {"columns": ["km"]},
    ],
    ids=str,
)
def test_a_changed_file_is_refused(change, written, tmp_path):
    check_refused(tmp_path / "model.json", model_content(written) | change)


@pytest.mark.parametrize(
    ("model", "parameter"),
    [
        (tg.HuberRegression(), "threshold"),
        (tg.QuantileRegression(), "level"),
        (tg.SparseLinearRegression(n_nonzero=1), "n_nonzero"),
    ],
)
def test_a_parameter_that_no_fit_has_is_refused(model, parameter, tmp_path):
    model = model.set_params(guarantee=tg.GDP(1.0), random_state=0)
    content = model_content(model.fit(FEW[["age"]], FEW["cost"]))
    content["parameters"][parameter] = "x"
    check_refused(tmp_path / "model.json", content)


def test_the_version_is_a_whole_number_and_a_newer_one_is_named(written, tmp_path):
    content = model_content(written)
    assert content[KEY] == VERSION
    assert content["schema"]["tailguard_schema"] == 1
    assert content["certificate"][CERTIFICATE] >= 1
    path = tmp_path / "model.json"
    newer = {
        "it must have format version 4; got version 5, which": {KEY: 5},
        "it must have format version 4; got 3": {KEY: 3},
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
            tg.load(path)


def test_the_bounds_of_features_go_round(tmp_path):
    table = pd.DataFrame({"age": np.arange(1000.0) % 7, "none": 0.0, "cost": np.arange(1000.0) % 7})
    model = tg.LinearRegression(schema={"target": "cost"}, epsilon=1.0, delta=1e-6, random_state=0)
    model.fit(table).save(tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    assert content["feature_bounds"][0][1] is None
    again = tg.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.feature_bounds_, model.feature_bounds_)
    far = pd.DataFrame({"age": [1e9], "none": [1e9]})
    np.testing.assert_array_equal(again.predict(far), model.predict(far))
    for changed in ([[0.0], [1.0]], [[2.0, 2.0], [1.0, 3.0]]):
        check_refused(tmp_path / "other.json", content | {"feature_bounds": changed})


@pytest.mark.parametrize("estimator", [tg.PoissonRegression, tg.GammaRegression])
def test_the_bounds_of_predictions_go_round(estimator, tmp_path):
    table = pd.DataFrame({"age": np.arange(1000.0) % 7, "count": 1.0 + np.arange(1000.0) % 3})
    model = estimator(schema={"target": "count"}, epsilon=1.0, delta=1e-6, random_state=0)
    model.fit(table).save(tmp_path / "model.json")
    np.testing.assert_array_equal(
        tg.load(tmp_path / "model.json").score_bounds_, model.score_bounds_
    )
    low, high = model.score_bounds_
    assert np.isfinite(low) == (estimator is tg.GammaRegression)
    assert high < 9.0
    content = json.loads((tmp_path / "model.json").read_text())
    for changed in ("far", "", [], None, [0.0], [1.0, 0.0], [0.0, 1.0, 2.0], ["0", 1.0]):
        check_refused(tmp_path / "model.json", content | {"score_bounds": changed})


def test_the_bounds_of_several_classes_go_round(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3_000, 2))
    y = (X @ [[2.0, 0.0, -2.0], [0.0, 2.0, -2.0]] + rng.gumbel(size=(3_000, 3))).argmax(axis=1)
    model = tg.LogisticRegression(classes=(0, 1, 2), epsilon=3.0, delta=1e-6, random_state=0)
    model.fit(X, y).save(tmp_path / "model.json")
    assert np.isfinite(model.score_bounds_).all()
    assert model.score_bounds_.shape == (2, 3)
    found = tg.load(tmp_path / "model.json")
    np.testing.assert_array_equal(found.score_bounds_, model.score_bounds_)
    assert found.summary() == model.summary()
    far = 30.0 * X
    np.testing.assert_array_equal(found.predict_proba(far), model.predict_proba(far))
    content = json.loads((tmp_path / "model.json").read_text())
    for changed in ([], [[]], [[0.0, 1.0]] * 2, [[1.0, 0.0]] * 3, [[0.0]] * 3, [0.0, [1.0, 2.0]]):
        check_refused(tmp_path / "model.json", content | {"score_bounds": changed})
    for name in ("coef", "intercept"):
        check_refused(tmp_path / "model.json", content | {name: content[name][:-1]})


def test_a_model_whose_classes_were_assumed_goes_round(tmp_path):
    table = pd.DataFrame({"age": np.arange(1000.0) % 7, "ill": np.arange(1000) % 2})
    schema = tg.Schema(features=["age"], target="ill")
    model = tg.LogisticRegression(schema=schema, epsilon=1.0, delta=1e-6, random_state=0)
    model.fit(table)
    model.save(tmp_path / "model.json")
    again = tg.load(tmp_path / "model.json")
    assert again.classes_.tolist() == [0, 1]
    assert again.summary() == model.summary()
    assert "classes assumed 0 and 1" in again.summary()
    np.testing.assert_array_equal(again.predict(table), model.predict(table))


@pytest.mark.parametrize("given", ["array", "frame"])
def test_a_model_without_a_schema_goes_round_with_all_that_it_says(given, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5_000, 3)) * [1.0, 1.0, 0.0]
    y = X[:, 0] + rng.standard_normal(5_000)
    table = X if given == "array" else pd.DataFrame(X, columns=["a", "b", "c"])
    missing = {0: 0.5} if given == "array" else {"a": 0.5}
    budget = {"epsilon": np.float64(4.0), "delta": 1e-6, "random_state": np.int64(0)}
    model = tg.HuberRegression(missing=missing, **budget).fit(table, y)
    model.save(tmp_path / "model.json")
    again = tg.load(tmp_path / "model.json")
    assert again.get_params() == model.get_params()
    assert again.explain() == model.explain()
    assert repr(again.summary()) == repr(model.summary())
    pd.testing.assert_frame_equal(again.coef_frame(), model.coef_frame())
    np.testing.assert_array_equal(again.covariance_, model.covariance_)
    assert again.wald_test(["(intercept)"]).p == model.wald_test(["(intercept)"]).p
    for interval in (None, "mean", "new"):
        new = table[:5]
        np.testing.assert_array_equal(
            again.predict(new, interval=interval), model.predict(new, interval=interval)
        )
    assert again.n_features_in_ == 3
    assert model_content(again) == model_content(model)


def test_a_promise_of_another_kind_and_declared_classes_go_round(tmp_path):
    X = np.random.default_rng(0).standard_normal((2_000, 2))
    ill = np.where(X[:, 0] > 0.0, "yes", "no")
    model = tg.LogisticRegression(classes=("no", "yes"), guarantee=tg.ZCDP(1.0)).fit(X, ill)
    model.save(tmp_path / "model.json")
    again = tg.load(str(tmp_path / "model.json"))
    assert again.guarantee == tg.ZCDP(1.0)
    assert again.certificate_ == model.certificate_
    assert again.classes == ("no", "yes")
    assert again.predict(X).tolist() == model.predict(X).tolist()


def test_the_error_of_a_predicted_total_is_kept(tmp_path):
    X = np.random.default_rng(0).standard_normal((20_000, 2))
    y = np.random.default_rng(1).poisson(np.exp(0.3 * X[:, 0]))
    model = tg.PoissonRegression(epsilon=4.0, delta=1e-6, random_state=0).fit(X, y)
    model.save(tmp_path / "model.json")
    assert 0.0 < tg.load(tmp_path / "model.json").total_error_ == model.total_error_


def test_a_file_has_one_entry_a_line(written, tmp_path):
    written.save(tmp_path / "model.json")
    lines = (tmp_path / "model.json").read_text().splitlines()
    assert len(lines) == len(model_content(written)) + 2


def test_what_cannot_be_saved_or_read_is_refused_by_one_sentence(written, tmp_path):
    with pytest.raises(tg.InputError, match="path must be that of a file that can be written"):
        written.save(tmp_path)
    with pytest.raises(NotFittedError):
        tg.LinearRegression().save(tmp_path / "model.json")

    class Mine(tg.LinearRegression):
        pass

    mine = Mine(epsilon=1.0, delta=1e-6, random_state=0).fit(FEW[["age"]], FEW["cost"])
    with pytest.raises(tg.InputError, match="must hold an estimator of tailguard; got Mine"):
        mine.save(tmp_path / "model.json")
    for path in (tmp_path / "absent.json", tmp_path, 3, None):
        with pytest.raises(tg.InputError, match="path must be a model file"):
            tg.load(path)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_goes_round(name, tmp_path):
    X = np.random.default_rng(0).standard_normal((1_000, 2))
    model = few_rounds(estimator_called(name), guarantee=tg.GDP(1.0), random_state=0)
    if hasattr(model, "classes"):
        model.set_params(classes=(1, 2))
    model.fit(X, 1 + (X[:, 0] > 0.0)).save(tmp_path / "model.json")
    again = tg.load(tmp_path / "model.json")
    assert type(again) is type(model)
    assert model_content(again) == model_content(model)
    np.testing.assert_array_equal(again.predict(X[:9]), model.predict(X[:9]))
