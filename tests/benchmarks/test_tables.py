"""Real tables from a folder: splits, missing cells, and what judges a fit."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import tailguard as tg
from accuracy import suites, tables
from accuracy.runner import Options, Unit, run_unit

SPLITS = [
    {"constant": 3.0, "best": 1.0},
    {"constant": 1.0, "best": 1.0, "stable": False},
    {"constant": 5.0, "best": 2.0},
]


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(6)
    cells = pd.DataFrame(rng.standard_normal((2000, 3)), columns=["a", "b", "target"])
    cells.loc[::7, "a"] = np.nan
    cells["target"] = (cells["target"] > 0).astype(float)
    cells.to_parquet(tmp_path / "events.parquet")
    facts = [{"name": "events", "kind": "logistic", "splits": SPLITS}]
    (tmp_path / "metadata.json").write_text(json.dumps(facts))
    return str(tmp_path)


def test_a_folder_becomes_a_suite_and_no_folder_an_empty_one(folder):
    (task,) = suites.make_suite("tables", folder=folder).tasks
    assert (task.name, task.loss, task.n_rows, task.n_features) == ("events", "logistic", 1600, 2)
    assert suites.make_suite("tables").tasks == []
    assert "none" in suites.make_suite("tables").words


def test_unstable_splits_are_left_out_and_cells_filled(folder):
    (task,) = tables.tables_tasks(folder)
    gaps = [task.trial(seed).constant_gap for seed in range(3)]
    assert gaps == [2.0, 3.0, 2.0]
    trial = task.trial(1)
    assert np.isfinite(trial.features).all()
    train, test = tables.rows_of(2000, 2)
    features, _ = tables.table(folder, "events")
    assert sorted([*train, *test]) == list(range(2000))
    seen = np.isfinite(features[train, 0])
    (fill,) = np.unique(trial.features[~seen, 0])
    assert fill == pytest.approx(np.median(features[train][seen, 0]))


def test_risks_are_those_of_the_losses():
    score, target = np.array([0.0, 100.0]), np.array([1.0, 1.0])
    assert tables.risk_of("squared", score, target) == pytest.approx((1 + 99**2) / 2)
    assert tables.risk_of("logistic", score, target) == pytest.approx(np.log(2) / 2, rel=1e-9)
    assert tables.risk_of("poisson", score[:1], target[:1]) == 0.0


def test_ours_is_judged_by_its_own_predictions(folder):
    (task,) = tables.tables_tasks(folder)
    trial = task.trial(0)
    model = tg.LogisticRegression(epsilon=1.0, delta=1e-5, classes=(0, 1), random_state=1)
    model.fit(trial.features, trial.target.astype(int))
    _, test = tables.rows_of(2000, 0)
    features, target = tables.table(folder, "events")
    X = np.where(np.isnan(features[test]), np.nanmedian(trial.features, axis=0), features[test])
    chance = np.clip(expit(model.decision_function(X)), 1e-15, 1 - 1e-15)
    risk = -np.mean(np.log(np.where(target[test] > 0, chance, 1 - chance)))
    assert trial.predicted(model) == pytest.approx(risk - SPLITS[0]["best"], rel=1e-9)


def test_a_line_of_ours_holds_what_its_predictions_lose(folder, monkeypatch):
    judge = tables.scores_of
    monkeypatch.setattr(tables, "scores_of", lambda *words: judge(*words) + 40.0)
    options = Options(epsilons=(1.0,), methods=("tailguard",), folder=folder)
    lines = run_unit(Unit("tables", 0, 0, options, frozenset()))
    (ours,) = [line for line in lines if line["method"] == "tailguard"]
    (task,) = tables.tables_tasks(folder)
    _, test = tables.rows_of(2000, 0)
    zeros = 1.0 - tables.table(folder, "events")[1][test].mean()
    assert ours["excess"][0] == pytest.approx(30.0 * zeros - SPLITS[0]["best"], rel=1e-3)
    assert ours["gap"] == task.trial(0).constant_gap
