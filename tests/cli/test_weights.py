"""``--weight`` and ``--weight-bound``: the same results as in Python."""

import json

import pytest

import tailguard as tg

PRIVACY = ["--epsilon", "5", "--delta", "1e-6", "--random-state", "1"]
BUDGET = {"epsilon": 5.0, "delta": 1e-6, "random_state": 1}
WEIGHED = ["--weight", "years", "--weight-bound", "2"]
GIVEN = {"sample_weight": "years", "weight_bound": 2.0, **BUDGET}


@pytest.fixture
def told(call, csv_file, tmp_path):
    """Run a command on the file; give back what it writes."""

    def run(command, *words):
        answer = call(command, csv_file, *PRIVACY, *words, "--out", tmp_path / "out.json")
        assert answer.code == 0, answer.err
        return json.loads((tmp_path / "out.json").read_text())

    return run


def test_a_column_of_weights_is_that_of_python(csv_file, tmp_path, call, told):
    model = told("fit", "--target", "claims", "--features", "age", *WEIGHED)
    assert (model["schema"]["weight"], model["schema"]["weight_bound"]) == ("years", 2.0)
    assert any("weights above 2 are cut" in note for note in model["notes"])
    python = tg.LinearRegression(weight_bound=2.0, **BUDGET)
    python.fit(csv_file, target="claims", columns=["age"], sample_weight="years")
    assert model["coef"] == python.coef_.tolist()
    assert call("predict", tmp_path / "out.json", csv_file).code == 0


def test_means_and_descriptions_by_weight_are_those_of_python(csv_file, told):
    written = told("mean", "--columns", "age", *WEIGHED)
    assert written["means"]["age"]["mean"] == tg.mean(csv_file, columns=["age"], **GIVEN).value
    written = told("describe", "--columns", "cost,age", *WEIGHED)
    found = tg.describe(csv_file, columns=["cost", "age"], **GIVEN)
    means = [row[3] for row in written["tables"][0]["rows"]]
    assert means == found.to_frame()["mean"].tolist()
