"""``tailguard score``: the numbers of ``private_score``, on the screen and in a file."""

import json

import numpy as np
import pandas as pd
import pytest

import tailguard as tg

PRIVACY = ("--epsilon", "5", "--delta", "1e-6")
SEED = ("--random-state", "1")
BUDGET = {"epsilon": 5.0, "delta": 1e-6, "random_state": 1}


def rows_of(path):
    return {row[0]: row[1:] for row in json.loads(path.read_text())["tables"][0]["rows"]}


@pytest.mark.parametrize("kind", ["csv_file", "parquet_file"])
def test_numbers_are_those_of_python(kind, call, request, columns, model_file, tmp_path):
    file, out = request.getfixturevalue(kind), tmp_path / "score.json"
    answer = call("score", model_file, file, *PRIVACY, *SEED, "--out", out)
    assert answer.code == 0, answer.err
    python = tg.load(model_file).private_score(pd.DataFrame(columns), columns["cost"], **BUDGET)
    assert rows_of(out)["R2"] == [*python.explained]
    assert f"{python.explained.value:.6g}" in answer.out
    certificate = tg.Certificate.from_dict(json.loads(out.read_text())["certificate"])
    assert certificate == python.certificate
    page = tmp_path / "page.html"
    assert call("report", out, "--out", page).code == 0
    assert "private score of LinearRegression" in page.read_text()


def test_exposures_and_labels_are_read_as_in_the_fit(call, csv_file, columns, tmp_path):
    frame, model, out = pd.DataFrame(columns), tmp_path / "model.json", tmp_path / "score.json"
    told = ("--features", "age", *PRIVACY, *SEED, "--out", model)
    fitted = ("--target", "claims", "--model", "poisson", "--exposure", "years")
    assert call("fit", csv_file, *fitted, *told).code == 0
    assert call("score", model, csv_file, *PRIVACY, *SEED, "--out", out).code == 0
    python = tg.load(model).private_score(
        frame, columns["claims"], exposure=columns["years"], **BUDGET
    )
    assert rows_of(out)["mean deviance"][0] == python.deviance.value
    fitted = ("--target", "ill", "--model", "logistic", "--classes", "no,yes")
    assert call("fit", csv_file, *fitted, *told).code == 0
    assert call("score", model, csv_file, *PRIVACY, *SEED, "--out", out).code == 0
    python = tg.load(model).private_score(frame, columns["ill"], **BUDGET)
    assert rows_of(out)["AUC"] == [*python.auc]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_several_classes_have_a_log_loss_and_an_accuracy(ending, call, tmp_path):
    rng = np.random.default_rng(0)
    age = rng.uniform(20.0, 80.0, 3_000).round(3)
    state = np.array(["ill", "well", "away"])[np.digitize(age + rng.normal(0, 9, 3_000), [40, 65])]
    table = pd.DataFrame({"age": age, "state": state})
    file, model, out = (tmp_path / name for name in (f"v.{ending}", "model.json", "score.json"))
    getattr(table, f"to_{ending}")(file, index=False)
    fitted = ("--target", "state", "--model", "logistic", "--classes", "ill,well,away")
    assert call("fit", file, *fitted, *PRIVACY, "--out", model).code == 0
    answer = call("score", model, file, *PRIVACY, *SEED, "--out", out)
    assert answer.code == 0, answer.err
    python = tg.load(model).private_score(table, state, **BUDGET)
    assert rows_of(out)["accuracy"] == [*python.accuracy]
    assert [*rows_of(out)] == ["D2", "log-loss", "accuracy"]
    assert f"{python.accuracy.value:.6g}" in answer.out
    printed = call("score", model, file, *PRIVACY, *SEED, "--json")
    assert json.loads(printed.out)["tables"] == json.loads(out.read_text())["tables"]


def test_persons_are_those_of_the_fit_and_a_ledger_of_theirs_is_charged(call, visits, tmp_path):
    file, model, out = (tmp_path / name for name in ("v.csv", "model.json", "score.json"))
    visits.to_csv(file, index=False)
    persons = ("--person", "patient", "--max-rows", "3")
    assert call("fit", file, "--target", "cost", *persons, *PRIVACY, "--out", model).code == 0
    answer = call("score", model, file, *PRIVACY, *SEED, "--out", out)
    assert answer.code == 0, answer.err
    assert "n = 900 persons, mode" in answer.out
    assert "one person (patient), at most 3 rows" in " ".join(answer.out.split())
    python = tg.load(model).private_score(visits, visits["cost"], **BUDGET)
    assert rows_of(out)["R2"] == [*python.explained]
    by_row = ("--person", "patient", "--max-rows", "2", "--person-weight", "row")
    assert call("score", model, file, *PRIVACY, *by_row, "--out", out).code == 0
    unit = json.loads(out.read_text())["certificate"]["unit"]
    assert (unit["max_rows"], unit["weight"]) == (2, "row")
    ledger = tg.Ledger(tmp_path / "l.sqlite", "v", epsilon=9.0, delta=1e-4, person="patient")
    charged = ("--ledger", tmp_path / "l.sqlite", "--ledger-key", "score")
    assert call("score", model, file, *PRIVACY, *charged).code == 0
    assert len(ledger.lines()) > 1
    assert call("score", model, file, *PRIVACY, *charged).code == 2


def test_a_model_that_does_not_name_its_target_is_told_one(call, csv_file, tmp_path):
    table = pd.read_csv(csv_file)[["age", "cost"]]
    model = tg.LinearRegression(epsilon=1.0, delta=1e-6).fit(table[["age"]], table.cost)
    model.save(tmp_path / "model.json")
    answer = call("score", tmp_path / "model.json", csv_file, *PRIVACY)
    assert "--target must name the column to predict" in " ".join(answer.err.split())
    assert call("score", tmp_path / "model.json", csv_file, *PRIVACY, "--target", "cost").code == 0


def test_weights_are_those_of_the_fit_or_of_another_column(call, tmp_path):
    rng = np.random.default_rng(0)
    age, weight = rng.uniform(20.0, 80.0, (2, 900)).round(3)
    table = pd.DataFrame({"age": age, "w": weight, "v": weight[::-1]})
    table["cost"] = (2.0 * age + weight * rng.standard_normal(900)).round(3)
    file, model, out = (tmp_path / name for name in ("v.csv", "model.json", "score.json"))
    table.to_csv(file, index=False)
    weighed = ("--features", "age", "--weight", "w", "--weight-bound", "80")
    assert call("fit", file, "--target", "cost", *weighed, *PRIVACY, "--out", model).code == 0
    for options, told in (((), {}), (("--weight", "v"), {"sample_weight": "v"})):
        assert call("score", model, file, *PRIVACY, *SEED, *options, "--out", out).code == 0
        python = tg.load(model).private_score(table, table["cost"], **told, **BUDGET)
        known = [None if np.isnan(number) else number for number in python.explained]
        assert rows_of(out)["R2"] == known
    answer = call("score", model, file, *PRIVACY, "--weight-bound", "3")
    assert answer.code == 2
    assert "--weight-bound must be left out without --weight" in " ".join(answer.err.split())
