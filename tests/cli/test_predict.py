"""``tailguard predict``: one prediction a row, in order, from whatever the model file holds."""

import csv
import io
import json

import numpy as np

import tailguard as tg


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


def test_a_row_with_a_missing_cell_gets_none(model_file, tmp_path, call):
    rows = tmp_path / "rows.csv"
    rows.write_text("region,age\nnorth,50\n,50\nmoon,?\nmoon,60\n")
    predicted = cells(call("predict", model_file, rows).out)
    assert [cell == "" for cell in predicted] == [False, True, True, False]


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


def test_a_label_needs_a_whole_row(csv_file, tmp_path, call):
    out, rows = tmp_path / "model.json", tmp_path / "rows.csv"
    fit(call, csv_file, out, "--target", "ill", "--model", "logistic", "--classes", "no,yes")
    rows.write_text("age\n?\n")
    assert call("predict", out, rows).out == "prediction,probability\n,\n"


def test_counts_follow_the_exposure(csv_file, columns, tmp_path, call):
    out = tmp_path / "model.json"
    fit(call, csv_file, out, "--target", "claims", "--model", "poisson", "--exposure", "years")
    rate = numbers(call("predict", out, csv_file).out)
    count = numbers(call("predict", out, csv_file, "--exposure", "years").out)
    np.testing.assert_allclose(count, rate * columns["years"], rtol=1e-12)


def test_one_row_is_enough(model_file, tmp_path, call):
    rows = tmp_path / "rows.csv"
    rows.write_text("age,region\n40,south\n")
    assert len(cells(call("predict", model_file, rows).out)) == 1


def test_the_file_s_model_is_the_estimator_s(csv_file, columns, tmp_path, call):
    out = tmp_path / "model.json"
    fit(call, csv_file, out, "--target", "cost")
    model = tg.LinearRegression(epsilon=5.0, delta=1e-6, random_state=1)
    age = columns["age"][:, None]
    expected = model.fit(age, columns["cost"]).predict(age)
    np.testing.assert_array_equal(numbers(call("predict", out, csv_file).out), expected)
