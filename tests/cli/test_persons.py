"""``--person`` and ``--max-rows``: the same fit as in Python."""

import json

import pytest

import tailguard as tg

PRIVACY = ["--epsilon", "5", "--delta", "1e-6", "--random-state", "1"]
BUDGET = {"epsilon": 5.0, "delta": 1e-6, "random_state": 1}
PERSONS = ["--person", "patient", "--max-rows", "3"]
UNIT = "one person (patient), at most 3 rows"
N_PERSONS = 900


@pytest.fixture
def file(visits, tmp_path):
    """The visits, and one of nobody."""
    path = tmp_path / "visits.csv"
    path.write_text(visits.to_csv(index=False) + ",50.0,1e9\n")
    return path


@pytest.fixture
def told(call, tmp_path):
    """Run a command on persons; give back what it prints, on one line, and what it writes."""

    def run(*words):
        out = tmp_path / "out.json"
        answer = call(*words, *PRIVACY, "--out", out)
        assert answer.code == 0, answer.err
        written = json.loads(out.read_text())
        assert written["certificate"]["n_rows"] == N_PERSONS
        assert f"{N_PERSONS} persons" in answer.out
        return " ".join(answer.out.split()), written

    return run


def test_a_column_of_keys_is_that_of_python(file, visits, tmp_path, call, told):
    printed, model = told("fit", file, "--target", "cost", *PERSONS)
    assert printed.count(UNIT) == 1  # in the title, and in no note
    assert (model["schema"]["person"], model["schema"]["max_rows"]) == ("patient", 3)
    python = tg.LinearRegression(max_rows=3, **BUDGET)
    python.fit(visits[["age"]], visits["cost"], person=visits["patient"])
    assert model["coef"] == python.coef_.tolist()
    assert call("predict", tmp_path / "out.json", file).code == 0
    certificate = call("certificate", tmp_path / "out.json")
    assert UNIT in " ".join(certificate.out.split())
    _, by_row = told("fit", file, "--target", "cost", *PERSONS, "--person-weight", "row")
    assert by_row["coef"] != model["coef"]


def test_means_and_schemas_take_persons(file, tmp_path, call, told):
    schema = tmp_path / "schema.json"
    assert call("schema", file, "--target", "cost", *PERSONS, "--out", schema).code == 0
    told("fit", file, "--schema", schema)
    _, means = told("mean", file, "--columns", "age", *PERSONS)
    assert means["certificate"]["unit"]["person"] == "patient"


def test_searches_take_persons(file, visits, told):
    tried = ["--try", "fit_intercept=true,false", "--tries", "2"]
    _, model = told("search", file, "--target", "cost", *PERSONS, *tried)
    candidates = {"fit_intercept": [True, False]}
    python = tg.PrivateSearch(tg.LinearRegression(max_rows=3), candidates, n_tries=2.0, **BUDGET)
    python.fit(visits[["age"]], visits["cost"], person=visits["patient"])
    assert model["coef"] == python.best_estimator_.coef_.tolist()


def test_descriptions_take_persons(file, visits, told):
    printed, written = told("describe", file, "--columns", "age", *PERSONS)
    assert UNIT in printed
    python = tg.describe(visits[["age"]], person=visits["patient"], max_rows=3, **BUDGET)
    assert written["tables"][0]["rows"][0][3] == python.mean[0, 0]
