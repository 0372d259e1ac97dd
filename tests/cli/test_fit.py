"""``tailguard fit``, end to end, from CSV and from Parquet."""

import errno
import json
import os
import re
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import tailguard as tg
from support.targets import column_for, takes_labels
from tailguard.cli.app import run
from tailguard.estimators.registry import ESTIMATORS, estimator_called

PRIVACY = ["--epsilon", "1", "--delta", "1e-6"]
SEEDED = ["--random-state", "3"]
# Options of models that have some; all are told targets of their kind, and classes of labels.
OWN = {
    "huber": ["--threshold", "2"],
    "poisson": ["--exposure", "years"],
    "gamma": ["--exposure", "years", "--alpha", "0.1"],
    "tweedie": ["--exposure", "years", "--power", "1.2"],
    "quantile": ["--level", "0.9"],
    "sparse-linear": ["--keep", "1"],
    "lp": ["--power", "3", "--no-intercept"],
}
# Models of every kind of column.
READ_ALIKE = ("linear", "poisson", "logistic")
TWO_FEATURES = ("linear", "sparse-linear")
FITS = {
    name: [
        *("--target", column_for(model)),
        *("--features", "age,power" if name in TWO_FEATURES else "age"),
        *(("--classes", "no,yes") if takes_labels(model) else ()),
        *OWN.get(name, ()),
    ]
    for name, model in ((name, estimator_called(name)) for name in ESTIMATORS)
}


def test_a_fit_reports_and_writes(csv_file, tmp_path, call):
    out = tmp_path / "model.json"
    answer = call("fit", csv_file, *FITS["linear"], *PRIVACY, "--out", out)
    assert (answer.code, answer.err) == (0, "")
    assert "LinearRegression on 600 rows, mode: private" in answer.out
    assert all(name in answer.out for name in ("age", "power", "(intercept)", str(out)))
    assert json.loads(out.read_text())["certificate"]["mode"] == "private"


@pytest.mark.parametrize("shown", [(), ("--json",)])
@pytest.mark.parametrize("command", ["fit", "mean", "describe", "score"])
def test_a_reader_who_leaves_early_loses_nothing_that_was_paid_for(
    command, shown, csv_file, model_file, tmp_path, monkeypatch
):
    out = tmp_path / "answer.json"
    options = {"fit": FITS["linear"], "score": ["--target", "cost"]}.get(
        command, ["--columns", "age"]
    )
    files = [model_file, csv_file] if command == "score" else [csv_file]
    read_end, write_end = os.pipe()
    os.close(read_end)  # as 'head' does once it has its lines
    arguments = [command, *files, *options, *PRIVACY, "--out", out, *shown]
    with suppress(BrokenPipeError), os.fdopen(write_end, "w", buffering=1) as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        with pytest.raises(SystemExit):
            run([*map(str, arguments)])
        monkeypatch.undo()
    assert json.loads(out.read_text())["certificate"]["mode"] == "private"


@pytest.mark.long
def test_intervals_are_shown_where_there_are_some(csv_file, columns, tmp_path, call):
    out = tmp_path / "model.json"
    privacy = ["--epsilon", "25", "--delta", "1e-3", *SEEDED, "--out", out]
    answer = call("fit", csv_file, *FITS["linear"], *privacy)
    model = tg.LinearRegression(epsilon=25.0, delta=1e-3, random_state=3)
    model.fit(np.column_stack([columns["age"], columns["power"]]), columns["cost"])
    assert "[0.025" in answer.out
    known = model.conf_int()[~np.isnan(model.conf_int()).any(axis=1)]
    assert len(known) > 0
    shown = [cell for cell in answer.out.split() if re.fullmatch(r"-?\d+\.?\d*", cell)]
    for end in known.ravel():
        assert any(float(cell) == pytest.approx(end, rel=2e-3) for cell in shown)
    missing = model.n_features_in_ + 1 - len(known)
    assert sum("(a)" in line or "(b)" in line for line in answer.out.splitlines()) >= missing
    for z, _ in model.wald_test()[~np.isnan(model.conf_int()[:, 0])]:
        assert f" {z:.2f} " in answer.out
    assert model.notes_[0].startswith("the result rests on about ")
    assert model.notes_[0] in answer.out
    sparse = call("fit", csv_file, "--model", "sparse-linear", *FITS["sparse-linear"], *privacy)
    assert sparse.code == 0
    assert "95 %" not in sparse.out


def test_a_fit_says_that_it_is_but_a_constant(csv_file, tmp_path, call):
    out = tmp_path / "model.json"
    small = ["--epsilon", "0.13", "--delta", "1e-6", *SEEDED, "--out", out]
    answer = call("fit", csv_file, *FITS["linear"], *small)
    assert answer.code == 0
    assert answer.err.startswith("Warning: only a constant is fitted")
    assert answer.err.count("\n") == 1
    assert "decided on released numbers: no coefficient was fitted: the budget" in answer.out
    assert answer.out.count("not estimated: the budget showed no more than a constant") == 1
    assert "95 %" not in answer.out
    assert json.loads(out.read_text())["notes"] == [
        "no coefficient was fitted: the budget shows no scale, and went to the constant"
    ]


@pytest.mark.parametrize("model", FITS)
def test_every_model_is_fitted_and_csv_and_parquet_give_the_same_bits(
    model, csv_file, parquet_file, tmp_path, call
):
    written = []
    for file in (csv_file, parquet_file) if model in READ_ALIKE else (csv_file,):
        out = tmp_path / "model.json"
        answer = call("fit", file, "--model", model, *FITS[model], *PRIVACY, *SEEDED, "--out", out)
        assert answer.code == 0, answer.err
        written.append(json.loads(out.read_text()))
    assert written[0]["coef"] == written[-1]["coef"]
    assert written[0]["model"] == model
    assert np.isfinite(written[0]["coef"]).all()


def test_a_fit_is_resumed_and_says_the_same(csv_file, tmp_path, call):
    out, point = tmp_path / "model.json", tmp_path / "fit.checkpoint"
    words = ["fit", csv_file, *FITS["linear"], *PRIVACY, "--out", out, "--checkpoint", point]
    assert call(*words).code == 0
    first = json.loads(out.read_text())
    assert call(*words, "--resume").code == 0
    assert json.loads(out.read_text()) == first
    assert "checkpoint" not in out.read_text()


def test_a_simulation_says_so_everywhere(csv_file, tmp_path, call):
    out = tmp_path / "model.json"
    answer = call("fit", csv_file, *FITS["linear"], *PRIVACY, *SEEDED, "--out", out)
    assert "NOT PRIVATE" in answer.out
    assert "NOT PRIVATE" in call("certificate", out).out
    assert "NOT PRIVATE" in json.loads(out.read_text())["certificate"]["mode"]


def test_all_other_columns_are_features_by_default(parquet_file, tmp_path, call):
    small = tmp_path / "small.csv"
    small.write_text("years,age,claims\n" + "1,40,0\n2,60,3\n" * 50)
    out = tmp_path / "model.json"
    options = ["--target", "claims", "--exposure", "years", "--model", "poisson"]
    assert call("fit", small, *options, *PRIVACY, "--out", out).code == 0
    assert json.loads(out.read_text())["schema"]["features"] == ["age"]


def test_a_declared_level_gets_its_coefficient(model_file):
    written = json.loads(model_file.read_text())
    assert written["feature_names"] == ["age", "region=south", "region=other"]
    assert written["schema"]["categorical"] == {"region": ["north", "south"]}


def test_a_full_disk_is_one_sentence(csv_file, call, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    out = tmp_path / "model.json"
    answer = call("fit", csv_file, *FITS["linear"], *PRIVACY, "--out", out)
    assert answer.code == 2
    assert "(intercept)" in answer.out  # what was paid for is not lost
    assert "Wrote" not in answer.out
    assert (
        f"Error: --out must be a file that can be written; '{out}' was not: No space" in answer.err
    )
    assert "the budget of the run is spent, and its answer is printed above" in answer.err
    assert answer.err.count("\n") == 1


def test_constants_stand_for_missing_cells_in_fits_and_predictions(tmp_path, call):
    lines = ["40,0,1.5", "60,5,2.5", "50,7,3.5"] * 100
    file, whole, out = (tmp_path / name for name in ("gaps.csv", "whole.csv", "model.json"))
    for path, first in ((file, ",,1"), (whole, "40,0,1")):
        path.write_text("\n".join(["age,income,cost", *[first] * 50, *lines]) + "\n")
    declared = ["--missing", "age=40", "--missing", "income=0"]
    written = []
    for path, options in ((whole, []), (file, declared)):
        fitted = call("fit", path, "--target", "cost", *options, *PRIVACY, *SEEDED, "--out", out)
        assert fitted.code == 0, fitted.err
        written.append(json.loads(out.read_text()))
    assert written[0]["coef"] == written[1]["coef"]
    assert written[1]["schema"]["missing"] == {"age": 40.0, "income": 0.0}
    predictions = [call("predict", out, path).out for path in (whole, file)]
    assert predictions[0] == predictions[1]
