"""``--person`` and ``--max-rows``: the same fit as in Python."""

import json

import numpy as np
import pandas as pd
import pytest

import tailguard as tg

PRIVACY = ["--epsilon", "5", "--delta", "1e-6", "--random-state", "1"]
N_PERSONS = 900


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    keys = np.repeat(np.arange(N_PERSONS), rng.integers(1, 5, N_PERSONS))
    age = rng.uniform(20.0, 80.0, N_PERSONS)[keys].round(3)
    cost = (2.0 * age + rng.standard_normal(len(keys)) * 9.0).round(3)
    lines = [f"p{key},{a},{c}" for key, a, c in zip(keys, age, cost, strict=True)]
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(["patient,age,cost", *lines, ",50.0,1e9"]) + "\n")
    return path, keys, age, cost


def test_a_column_of_keys_is_that_of_python(file, tmp_path, call):
    path, keys, age, cost = file
    out, told = tmp_path / "model.json", ["--target", "cost", "--person", "patient"]
    answer = call("fit", path, *PRIVACY, *told, "--max-rows", "3", "--out", out)
    assert answer.code == 0, answer.err
    assert f"on {N_PERSONS} persons" in answer.out
    assert "one person (patient), at most 3 rows" in " ".join(answer.out.split())
    model = json.loads(out.read_text())
    assert (model["schema"]["person"], model["schema"]["max_rows"]) == ("patient", 3)
    python = tg.LinearRegression(epsilon=5.0, delta=1e-6, random_state=1, max_rows=3)
    python.fit(age[:, None], cost, person=[f"p{key}" for key in keys])
    assert model["coef"] == python.coef_.tolist()
    assert call("predict", out, path).code == 0
    certificate = call("certificate", out)
    assert "one person (patient), at most 3 rows" in " ".join(certificate.out.split())
    by_row = call(
        "fit", path, *PRIVACY, *told, "--max-rows", "3", "--person-weight", "row", "--out", out
    )
    assert by_row.code == 0
    assert json.loads(out.read_text())["coef"] != model["coef"]


def test_means_and_schemas_take_persons(file, tmp_path, call):
    path, *_ = file
    schema = tmp_path / "schema.json"
    told = ["--person", "patient", "--max-rows", "3"]
    assert call("schema", path, "--target", "cost", *told, "--out", schema).code == 0
    out = tmp_path / "model.json"
    assert call("fit", path, *PRIVACY, "--schema", schema, "--out", out).code == 0
    assert json.loads(out.read_text())["certificate"]["n_rows"] == N_PERSONS
    means = tmp_path / "means.json"
    answer = call("mean", path, *PRIVACY, "--columns", "age", *told, "--out", means)
    assert answer.code == 0, answer.err
    assert f"n = {N_PERSONS} persons, mode" in answer.out
    assert json.loads(means.read_text())["certificate"]["unit"]["person"] == "patient"


def test_searches_take_persons(file, tmp_path, call):
    path, keys, age, cost = file
    out, told = tmp_path / "model.json", ["--target", "cost", "--person", "patient"]
    tried = ["--try", "fit_intercept=true,false", "--tries", "2", "--max-rows", "3"]
    answer = call("search", path, *PRIVACY, *told, *tried, "--out", out)
    assert answer.code == 0, answer.err
    assert f"on {N_PERSONS} persons" in answer.out
    python = tg.PrivateSearch(
        tg.LinearRegression(max_rows=3), {"fit_intercept": [True, False]},
        n_tries=2.0, epsilon=5.0, delta=1e-6, random_state=1,
    )  # fmt: skip
    python.fit(age[:, None], cost, person=[f"p{key}" for key in keys])
    assert json.loads(out.read_text())["coef"] == python.best_estimator_.coef_.tolist()


def test_descriptions_take_persons(file, tmp_path, call):
    path, keys, age, _ = file
    told, out = ["--person", "patient", "--max-rows", "3"], tmp_path / "description.json"
    answer = call("describe", path, *PRIVACY, "--columns", "age", *told, "--out", out)
    assert answer.code == 0, answer.err
    assert f"n = {N_PERSONS} persons, mode" in answer.out
    assert "one person (patient), at most 3 rows" in " ".join(answer.out.split())
    python = tg.describe(
        age[:, None], person=[f"p{key}" for key in keys], max_rows=3,
        epsilon=5.0, delta=1e-6, random_state=1,
    )  # fmt: skip
    written = json.loads(out.read_text())
    assert written["certificate"]["n_rows"] == N_PERSONS
    assert written["tables"][0]["rows"][0][3] == python.mean[0, 0]


def test_a_folder_of_files_has_the_model_of_one_file(file, tmp_path, call):
    path, *_ = file
    folder = tmp_path / "visits"
    folder.mkdir()
    table = pd.read_csv(path).sample(frac=1.0, random_state=2)
    for number, rows in enumerate(np.array_split(np.arange(len(table)), 3)):
        table.iloc[rows].to_parquet(folder / f"{number}.parquet", row_group_size=100, index=False)
    told = ["--target", "cost", "--person", "patient", "--max-rows", "3"]
    models = []
    for number, (source, *engines) in enumerate(((path,), (folder, "--engine", "dask"))):
        out = tmp_path / f"{number}.json"
        answer = call("fit", source, *engines, *PRIVACY, *told, "--out", out)
        assert answer.code == 0, answer.err
        models.append(json.loads(out.read_text()))
        assert f"on {N_PERSONS} persons" in answer.out
    assert models[0]["coef"] == models[1]["coef"]
    assert models[0]["certificate"] == models[1]["certificate"]
