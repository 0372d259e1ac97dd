"""``tailguard fit --classes a,b,c`` and what ``predict`` writes of it."""

import csv

import numpy as np
import pandas as pd

import tailguard as tg


def test_several_classes_are_fitted_and_predicted(call, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(1_000)
    y = np.array(["a", "b", "c"])[np.digitize(x + 0.3 * rng.standard_normal(1_000), [-0.5, 0.5])]
    table, model, out = (tmp_path / name for name in ("table.csv", "model.json", "out.csv"))
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([("x", "y"), *zip(x.tolist(), y, strict=True)])
    told = ["--target", "y", "--model", "logistic", "--epsilon", "5", "--delta", "1e-6"]
    fitted = call("fit", table, *told, "--classes", "a,b,c", "--random-state", "0", "--out", model)
    assert fitted.code == 0, fitted.err
    assert "b: x" in fitted.out
    assert "a: x" not in fitted.out
    assert call("predict", model, table, "--out", out).code == 0
    with out.open() as file:
        rows = list(csv.DictReader(file))
    chances = np.array([[float(row[f"probability of {label}"]) for label in "abc"] for row in rows])
    np.testing.assert_array_equal(chances, tg.load(model).predict_proba(pd.DataFrame({"x": x})))
    assert np.mean([row["prediction"] == label for row, label in zip(rows, y, strict=True)]) > 0.7
    refused = call("fit", table, *told, "--classes", "a", "--out", model)
    assert refused.code == 2
    assert "--classes must be different labels, two at least" in refused.err
