"""``tailguard predict``: one prediction a row, in order, from whatever the model file holds."""

import csv
import errno
import io
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import tailguard as tg

SIMULATED = "MODEL is of a simulation: NOT PRIVATE. So are its predictions.\n"


def cells(text, column="prediction"):
    return [row[column] for row in csv.DictReader(io.StringIO(text))]


def numbers(text, column="prediction"):
    return np.array([float(cell) for cell in cells(text, column)])


def test_predictions_are_the_coefficients(model_file, csv_file, columns, call):
    answer = call("predict", model_file, csv_file)
    assert (answer.code, answer.err) == (0, "")
    model = json.loads(model_file.read_text())
    region = columns["region"]
    design = np.column_stack([columns["age"], region == "south", region == "moon"])
    low, high = np.array(model["feature_bounds"], dtype=float)  # as it was fitted; null for none
    design = np.fmin(np.fmax(design, low), high)
    np.testing.assert_allclose(
        numbers(answer.out), design @ model["coef"] + model["intercept"], rtol=1e-9
    )


def test_csv_and_parquet_predict_the_same(model_file, csv_file, parquet_file, tmp_path, call):
    out = tmp_path / "predictions.csv"
    answer = call("predict", model_file, parquet_file, "--out", out)
    assert answer.out == f"Wrote 600 predictions to {out}.\n"
    assert out.read_text() == call("predict", model_file, csv_file).out


def test_predictions_are_not_written_as_what_they_are_not(model_file, csv_file, tmp_path, call):
    answer = call("predict", model_file, csv_file, "--out", tmp_path / "predictions.parquet")
    assert answer.code == 2
    assert "--out must be a CSV file" in answer.err
    assert not any(tmp_path.glob("*.parquet"))


def test_predictions_of_a_simulation_are_said_to_be_of_one(model_file, csv_file, tmp_path, call):
    out = tmp_path / "model.json"
    privacy = ["--epsilon", "5", "--delta", "1e-6", "--random-state", "1", "--out", out]
    call("fit", csv_file, "--target", "cost", "--features", "age", *privacy)
    answer = call("predict", out, csv_file)
    assert answer.code == 0
    assert answer.err == SIMULATED
    assert "NOT PRIVATE" not in answer.out
    assert call("predict", model_file, csv_file).err == ""


def test_a_row_with_a_missing_cell_gets_none(model_file, tmp_path, call):
    rows = tmp_path / "rows.csv"
    rows.write_text("region,age\nnorth,50\n,50\nmoon,?\nmoon,60\n")
    answer = call("predict", model_file, rows)
    assert [cell == "" for cell in cells(answer.out)] == [False, True, True, False]
    assert " ".join(answer.err.split()) == (
        "2 rows have no prediction, since cells are empty, unreadable or of void levels "
        "in columns of the model: age (1), region (1)."
    )


def test_levels_of_which_no_records_were_counted_are_said_to_be_the_baseline(
    csv_file, tmp_path, call
):
    out, rows = tmp_path / "model.json", tmp_path / "rows.csv"
    levels = ["--categorical", "region=north,south,moon", "--features", "age,region"]
    privacy = ["--epsilon", "5", "--delta", "1e-6", "--random-state", "1"]
    levels += ["--missing", "age=40"]
    fitted = call("fit", csv_file, "--target", "cost", *levels, *privacy, "--out", out)
    assert "not estimated: no records" in fitted.out
    assert fitted.out.count("not estimated") == 2  # in its row, and the words below
    assert "missing cells are taken as: age = 40" in fitted.out
    rows.write_text("region,age\nnorth,50\nmars,50\nsouth,50\nvenus,60\n")
    answer = call("predict", out, rows)
    predicted = numbers(answer.out)
    assert predicted[0] == predicted[1] != predicted[2]
    assert " ".join(answer.err.removeprefix(SIMULATED).split()) == (
        "2 rows have an undeclared level of region and the prediction of its baseline, since no "
        "records with undeclared levels were counted in the fit."
    )


def test_levels_that_are_void_have_no_prediction(csv_file, tmp_path, call):
    out, rows = tmp_path / "model.json", tmp_path / "rows.csv"
    levels = ["--categorical", "region=north,south,moon", "--other", "void"]
    privacy = ["--epsilon", "5", "--delta", "1e-6", "--random-state", "1", "--out", out]
    levels += ["--features", "age,region"]
    assert call("fit", csv_file, "--target", "cost", *levels, *privacy).code == 0
    rows.write_text("region,age\nmars,50\nsouth,50\n")
    answer = call("predict", out, rows, "--out", tmp_path / "predictions.csv")
    assert cells((tmp_path / "predictions.csv").read_text())[0] == ""
    assert "1 row has no prediction" in " ".join(answer.err.split())


@pytest.mark.long
def test_a_cache_folder_that_cannot_be_written_is_no_matter(model_file, csv_file, tmp_path):
    (tmp_path / "file").write_text("in the way")
    told = {"NUMBA_CACHE_DIR": str(tmp_path / "file" / "cache"), "XDG_CACHE_HOME": "/dev/null"}
    command = [sys.executable, "-m", "tailguard", "predict", str(model_file), str(csv_file)]
    done = subprocess.run(
        command, env=os.environ | told, capture_output=True, text=True, check=True
    )
    assert (len(done.stdout.splitlines()), done.stderr) == (601, "")


def test_a_model_of_a_matrix_has_no_columns_to_look_for(csv_file, tmp_path, call):
    X = np.arange(1000.0)[:, None]
    tg.LinearRegression(epsilon=1.0, delta=1e-6).fit(X, X[:, 0]).save(tmp_path / "model.json")
    for command in (["predict"], ["score", "--epsilon", "1", "--delta", "1e-6"]):
        answer = call(*command, tmp_path / "model.json", csv_file)
        assert answer.code == 2
        assert "MODEL must be of a table whose columns have names" in " ".join(answer.err.split())
    table = pd.read_csv(csv_file)[["age"]]
    model = tg.LinearRegression(missing={"age": 40}, epsilon=1.0, delta=1e-6)
    model.fit(table, table.age).save(tmp_path / "model.json")
    found = numbers(call("predict", tmp_path / "model.json", csv_file).out)
    np.testing.assert_array_equal(found, model.predict(table))


def fit(call, file, out, *options):
    privacy = ["--epsilon", "5", "--delta", "1e-6", "--random-state", "1"]
    assert call("fit", file, *privacy, "--features", "age", "--out", out, *options).code == 0


def test_labels_come_with_their_probability(csv_file, columns, tmp_path, call):
    out = tmp_path / "model.json"
    fit(call, csv_file, out, "--target", "ill", "--model", "logistic", "--classes", "no,yes")
    answer = call("predict", out, csv_file)
    labels, chances = cells(answer.out), numbers(answer.out, "probability")
    assert labels == ["yes" if chance > 0.5 else "no" for chance in chances]
    assert np.mean(np.array(labels) == columns["ill"]) > 0.8


def test_counts_follow_the_exposure(csv_file, columns, tmp_path, call):
    out = tmp_path / "model.json"
    fit(call, csv_file, out, "--target", "claims", "--model", "poisson", "--exposure", "years")
    of_rates = call("predict", out, csv_file)
    of_counts = call("predict", out, csv_file, "--exposure", "years")
    assert "rates, for an exposure of 1: --exposure years predicts" in of_rates.err
    assert "rates" not in of_counts.err
    rate, count = numbers(of_rates.out), numbers(of_counts.out)
    np.testing.assert_allclose(count, rate * columns["years"], rtol=1e-12)


def test_an_offset_is_read_in_the_fit_and_in_predictions(csv_file, columns, tmp_path, call):
    out = tmp_path / "model.json"
    fit(call, csv_file, out, "--target", "claims", "--offset", "years")
    plain = numbers(call("predict", out, csv_file).out)
    shifted = numbers(call("predict", out, csv_file, "--offset", "years").out)
    np.testing.assert_allclose(shifted, plain + columns["years"], rtol=1e-12)
    assert json.loads(out.read_text())["schema"]["offset"] == "years"


def test_one_row_is_enough(model_file, tmp_path, call):
    rows = tmp_path / "rows.csv"
    rows.write_text("age,region\n40,south\n")
    assert len(cells(call("predict", model_file, rows).out)) == 1


@pytest.mark.parametrize("kind", ["csv_file", "parquet_file"])
def test_a_file_of_any_size_is_predicted_in_pieces(kind, model_file, request, call, monkeypatch):
    """The same bytes, and never more than so many rows in memory."""
    file = request.getfixturevalue(kind)
    whole = call("predict", model_file, file).out
    module, seen = sys.modules["tailguard.cli.commands.predict"], []
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 70)
    predicted = module._predicted_columns

    def spied(fitted, piece, observed):
        seen.append(piece.n_rows)
        return predicted(fitted, piece, observed)

    monkeypatch.setattr(module, "_predicted_columns", spied)
    assert call("predict", model_file, file).out == whole
    assert sum(seen) == len(cells(whole))
    assert max(seen) <= 70 < sum(seen)
    answer = call("predict", model_file, file, "--out", model_file.parent / "out.csv")
    assert (model_file.parent / "out.csv").read_text() == whole
    assert f"Wrote {len(cells(whole))} predictions" in answer.out


@pytest.fixture
def rows(tmp_path):
    """As many rows as an interval needs, in a file too."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.gamma(9.0, 5.0, 8_000), "years": rng.uniform(0.5, 2.0, 8_000)})
    table["cost"] = 30.0 * table["age"] + rng.normal(0.0, 90.0, 8_000)
    table["claims"] = rng.poisson(table["years"] * np.exp(0.02 * table["age"] - 1.0))
    table["ill"] = (rng.logistic(size=8_000) + 0.05 * table["age"] > 2.0).astype(int)
    table.to_csv(tmp_path / "rows.csv", index=False)
    return table


@pytest.mark.parametrize("kind", ["mean", "new"])
def test_intervals_stand_beside_predictions(kind, rows, tmp_path, call, monkeypatch):
    model = tg.LinearRegression(guarantee=tg.GDP(5.0), random_state=0)
    model.fit(rows[["age"]], rows["cost"]).save(tmp_path / "model.json")
    monkeypatch.setattr(sys.modules["tailguard.cli.commands.predict"], "ROWS_AT_ONCE", 3_000)
    given = "--interval", kind, "--level", "0.9"
    answer = call("predict", tmp_path / "model.json", tmp_path / "rows.csv", *given)
    assert (answer.out.partition("\n")[0], answer.err) == ("prediction,low,high", SIMULATED)
    expected = model.predict(rows[["age"]], interval=kind, level=0.9)
    assert np.isfinite(expected).all()
    ends = np.column_stack([numbers(answer.out, "low"), numbers(answer.out, "high")])
    np.testing.assert_allclose(ends, expected, rtol=1e-12)


def test_intervals_follow_the_link(rows, tmp_path, call):
    options = {"guarantee": tg.GDP(5.0), "random_state": 0}
    labels, rates = tg.LogisticRegression(**options), tg.PoissonRegression(**options)
    labels.fit(rows[["age"]], rows["ill"]).save(tmp_path / "labels.json")
    rates.fit(rows[["age"]], rows["claims"], exposure=rows["years"]).save(tmp_path / "rates.json")
    file, given = tmp_path / "rows.csv", ("--interval", "mean")
    text = call("predict", tmp_path / "labels.json", file, *given).out
    assert text.startswith("prediction,probability,low,high\n")
    low, high = labels.predict_proba(rows[["age"]], interval="mean").T
    np.testing.assert_allclose(numbers(text, "low"), low, rtol=1e-12)
    np.testing.assert_allclose(numbers(text, "high"), high, rtol=1e-12)
    text = call("predict", tmp_path / "rates.json", file, *given, "--exposure", "years").out
    ends = rates.predict(rows[["age"]], exposure=rows["years"], interval="mean")
    np.testing.assert_allclose(numbers(text, "low"), ends[:, 0], rtol=1e-12)


def test_a_row_without_an_interval_is_counted(model_file, csv_file, tmp_path, call):
    """So small a budget gives this model predictions alone; they stand there as before."""
    rows = tmp_path / "rows.csv"
    rows.write_text("age,region\n50,north\n,north\n40,south\n")
    answer = call("predict", model_file, rows, "--interval", "mean")
    plain = call("predict", model_file, rows)
    assert answer.code == 0
    assert cells(answer.out) == cells(plain.out)
    assert cells(answer.out, "low") == cells(answer.out, "high") == ["", "", ""]
    assert "2 rows have a prediction but no interval" in " ".join(answer.err.split())
    rows.write_text("age,region\n50,north\n")
    said = " ".join(call("predict", model_file, rows, "--interval", "mean").err.split())
    assert "1 row has a prediction but no interval, since a coefficient that it needs has" in said


def test_intervals_that_a_model_cannot_have_are_refused_before_a_row(csv_file, tmp_path, call):
    out, model = tmp_path / "out.csv", tmp_path / "model.json"
    poisson = "--target", "claims", "--exposure", "years", "--model", "poisson"
    fit(call, csv_file, model, *poisson)
    for given, said in (
        (("--interval", "new"), "--interval must be 'mean' for this model"),
        (("--interval", "both"), "--interval must be one of 'mean', 'new'"),
        (("--level", "0.9"), "--level must be given with --interval"),
        (("--interval", "mean", "--level", "0.05"), "--level must be the share of intervals"),
    ):
        answer = call("predict", model, csv_file, "--out", out, *given)
        assert (answer.code, out.exists()) == (2, False)
        assert said in " ".join(answer.err.split())
    sparse = "--target", "cost", "--model", "sparse-linear", "--keep", "1"
    fit(call, csv_file, model, *sparse)
    answer = call("predict", model, csv_file, "--interval", "mean")
    assert answer.code == 2
    assert "--interval must be for a model with intervals" in " ".join(answer.err.split())


def test_exposures_that_cannot_be_used_are_counted(csv_file, tmp_path, call):
    out, rows = tmp_path / "counts.json", tmp_path / "rows.csv"
    fit(call, csv_file, out, "--target", "claims", "--model", "poisson", "--exposure", "years")
    years = ("0.5", "-1", "", "inf", "0")
    rows.write_text(
        "age,years,region\n,1,north\n" + "".join(f"50,{each},north\n" for each in years)
    )
    answer = call("predict", out, rows, "--exposure", "years")
    assert [cell == "" for cell in cells(answer.out)] == [True, False, True, True, True, False]
    assert cells(answer.out)[-1] == "0.0"
    assert " ".join(answer.err.removeprefix(SIMULATED).split()) == (
        "4 rows have no prediction, since cells are empty, unreadable or of void levels, or "
        "exposures below 0 or infinite, in columns of the model: age (1), years (3)."
    )


def test_a_full_disk_leaves_no_part_of_a_file(model_file, csv_file, tmp_path, call, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tailguard.cli.arguments.chain", full)
    out = tmp_path / "predictions.csv"
    answer = call("predict", model_file, csv_file, "--out", out)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.endswith(f"; '{out}' was not: No space left on device.\n")
    assert not out.exists()
