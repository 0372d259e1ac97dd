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
    model.fit([[0.0], [1.0]] * 50, [0.0, 1.0] * 50)
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
    ],
    ids=str,
)
def test_a_changed_file_is_refused(change, written, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(written.to_dict() | change))
    with pytest.raises(tg.InputError, match="MODEL must be a file of format tailguard-model-1"):
        load_model(path)
