"""What a command line declares of columns, and what it says where nothing is declared."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tailguard as tg
from tailguard.cli.declarations import declared_schema, undeclared_sentence

PRIVACY = ["--epsilon", "5", "--delta", "1e-6", "--random-state", "3"]
DECLARED = {
    "target": "cost",
    "features": ["age", "region", "power"],
    "categorical": {"region": ["north", "south"]},
    "missing": {"age": 40.0},
}
OPTIONS = [
    *("--target", "cost", "--categorical", "region=north,south"),
    *("--features", "age,region,power", "--missing", "age=40"),
]
SAID = "Nothing is declared of"


def flat(text):
    return " ".join(text.split())


@pytest.fixture
def schema_file(tmp_path):
    tg.Schema(**DECLARED).save(tmp_path / "schema.json")
    return tmp_path / "schema.json"


def test_options_and_a_file_declare_the_same(schema_file):
    by_options = {
        "target": "cost",
        "categorical": ["region=north,south"],
        "features": "age,region,power",
        "missing": ["age=40"],
    }
    by_file = {"schema": schema_file}
    assert declared_schema(by_options) == declared_schema(by_file) == tg.Schema(**DECLARED)


def test_columns_choose_among_what_a_file_declares(schema_file):
    chosen = declared_schema({"schema": schema_file, "columns": "cost,region"})
    assert chosen.features == ("cost", "region")
    assert (chosen.levels, chosen.missing) == ({"region": ("north", "south")}, {})
    assert chosen.target is None


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_schema_is_its_options_and_python_s_fit(
    kind, csv_file, parquet_file, columns, schema_file, tmp_path, call
):
    written = []
    for options in (OPTIONS, ["--schema", schema_file]):
        file = {"csv": csv_file, "parquet": parquet_file}[kind]
        answer = call("fit", file, *options, *PRIVACY, "--out", tmp_path / "model.json")
        assert answer.code == 0, answer.err
        assert SAID not in answer.out
        written.append(json.loads((tmp_path / "model.json").read_text()))
    model = tg.LinearRegression(schema=DECLARED, epsilon=5.0, delta=1e-6, random_state=3)
    model.fit(pd.DataFrame(columns))
    assert written[0] == written[1]
    assert written[0]["coef"] == model.coef_.tolist()
    assert np.isfinite(model.coef_).all()
    assert written[0]["schema"] == model.schema_.to_dict()


def test_a_schema_that_leaves_columns_out_says_so(csv_file, tmp_path, call):
    tg.Schema(target="cost", drop=["ill", "region", "claims"]).save(tmp_path / "part.json")
    options = ["--schema", tmp_path / "part.json", "--out", tmp_path / "model.json"]
    assert f"{SAID} age, power, years, so they" in call("fit", csv_file, *options, *PRIVACY).out


@pytest.mark.parametrize("command", ["fit", "mean"])
def test_what_is_undeclared_is_said_in_the_same_words_for_every_file(
    command, csv_file, parquet_file, tmp_path, call, monkeypatch
):
    """The sentence is made of the header: what the cells hold, and their type, is not in it."""
    monkeypatch.chdir(tmp_path)
    said = []
    for file in (csv_file, parquet_file):
        options = ["--target", "cost", "--out", "model.json"] if command == "fit" else []
        drop = ["--drop", "nothing"] if file is parquet_file else []
        answer = call(command, file, *options, *drop, *PRIVACY)
        assert answer.code == 3  # two of the columns hold words
        said.append(flat(answer.out).replace(str(file), "FILE").split(" begins).")[0])
    assert said[0] == said[1]
    names = "age, power, region, years, claims, ill" + (", cost" if command == "mean" else "")
    last, taken = ("cost", "--columns") if command == "mean" else ("ill", "--features")
    assert said[0] == (
        f"{SAID} {names}, so they are read as numbers, and a row with any other cell there is "
        f"void; where that is wrong, declare levels (--categorical {last}=A,B), leave columns out "
        f"(--drop {last}), choose them ({taken} age,power) or declare all in a file (--schema "
        "schema.json, which 'tailguard schema FILE --out schema.json'"
    )


def test_a_constant_for_missing_cells_declares_a_number(tmp_path, call):
    file = tmp_path / "rows.csv"
    file.write_text("age,cost\n" + "40,1\n60,2\n" * 50)
    options = ["--target", "cost", "--missing", "age=50", "--out", tmp_path / "model.json"]
    assert SAID not in call("fit", file, *options, *PRIVACY).out


def test_the_sentence_is_quoted_for_a_shell_and_counts_what_it_does_not_list():
    sentence = undeclared_sentence(tuple(f"my x{j}" for j in range(100)), "my file.csv")
    assert "my x11 and 88 more, so they" in sentence
    assert "--drop 'my x99'" in sentence
    assert "tailguard schema 'my file.csv' --out" in sentence


def test_a_column_of_words_voids_no_row_once_it_is_dropped(csv_file, tmp_path, call):
    """Read as numbers it leaves no row, which stops the fit, as the sentence says before."""
    out = tmp_path / "model.json"
    told = call("fit", csv_file, "--target", "cost", *PRIVACY, "--out", out)
    assert told.out.startswith(SAID)
    assert (told.code, out.exists()) == (3, False)
    for name in ("region", "ill"):
        assert f"Column '{name}' holds about 600 cells that are no numbers: declare its" in told.err
        assert f"(--categorical {name}=A,B) or dates (--dates {name}=ORIGIN,days), " in told.err
        assert f"turn it into numbers, or leave it out (--drop {name})" in told.err
        assert "write 2,5 as 2.5 and 1,000 as 1000" in told.err
    assert "Traceback" not in told.err
    for more in (["--on-unusable", "fit"], ["--no-check-records"]):
        told = call("fit", csv_file, "--target", "cost", *more, *PRIVACY, "--out", out)
        assert told.code == 0
        assert ("on_unusable='fit'" in flat(told.out)) == (more[0] == "--on-unusable")
        assert not any(json.loads(out.read_text())["coef"])
    means = call("mean", csv_file, "--columns", "region,age", *PRIVACY)
    assert means.code == 3
    assert "Column 'region' holds about" in means.err
    dropped = call(
        "fit", csv_file, "--target", "cost", "--drop", "region,ill", *PRIVACY, "--out", out
    )
    assert dropped.code == 0
    assert all(json.loads(out.read_text())["coef"])


def test_predictions_take_columns_by_name_and_ignore_others(csv_file, schema_file, tmp_path, call):
    out, rows = tmp_path / "model.json", tmp_path / "rows.csv"
    assert call("fit", csv_file, "--schema", schema_file, *PRIVACY, "--out", out).code == 0
    rows.write_text("power,day,region,age\n50,today,south,40\n50,?,south,\n50,,?,40\n50,x,,40\n")
    first, filled, other, missing = call("predict", out, rows).out.splitlines()[1:]
    assert first == filled != other
    assert missing == '""'


def test_means_of_levels_are_shares(csv_file, columns, schema_file, tmp_path, call):
    out = tmp_path / "means.json"
    options = ["--columns", "region,cost", "--out", out, "--epsilon", "20", "--delta", "1e-6"]
    answer = call("mean", csv_file, "--schema", schema_file, *options)
    assert (answer.code, answer.err) == (0, "")
    means = json.loads(out.read_text())["means"]
    assert list(means) == ["region=south", "region=other", "cost"]
    share = np.mean(columns["region"] == "south")
    assert means["region=south"]["mean"] == pytest.approx(share, abs=0.05)


def test_labels_without_classes_are_numbers(columns, tmp_path, call):
    file, out = tmp_path / "rows.parquet", tmp_path / "model.json"
    ill = [int(label == "yes") for label in columns["ill"]]
    pq.write_table(pa.table({"age": columns["age"], "ill": ill}), file)
    options = ["--target", "ill", "--features", "age", "--model", "logistic", "--out", out]
    answer = call("fit", file, *options, *PRIVACY)
    assert "classes assumed 0 and 1; other labels, such as -1, count as missing" in answer.out
    model = tg.LogisticRegression(epsilon=5.0, delta=1e-6, random_state=3)
    model.fit(columns["age"][:, None], columns["ill"] == "yes")
    written = json.loads(out.read_text())
    assert written["coef"] == model.coef_.tolist()
    assert (written["classes"], written["schema"]["classes"]) == ([0, 1], None)


@pytest.mark.parametrize("model", ["logistic", "sparse-logistic"])
def test_text_labels_come_back_with_their_probability(model, csv_file, tmp_path, call):
    out = tmp_path / "model.json"
    options = ["--target", "ill", "--features", "age", "--classes", "no,yes", "--model", model]
    assert call("fit", csv_file, *options, *PRIVACY, "--out", out).code == 0
    (tmp_path / "rows.csv").write_text("age\n90\n?\n")
    predicted = call("predict", out, tmp_path / "rows.csv").out.splitlines()
    assert predicted[0] == "prediction,probability"
    assert re.fullmatch(r"(no|yes),0\.\d+", predicted[1])
    assert predicted[2] == ","


@pytest.mark.parametrize("command", ["mean", "describe"])
def test_dates_are_declared_for_means_too(command, tmp_path, call):
    path = tmp_path / "days.csv"
    path.write_text("day\n" + 500 * "2020-01-03\n2020-01-05\n")
    budget = ("--epsilon", "5", "--delta", "1e-5")
    answer = call(command, path, "--dates", "day=2020-01-01,days", *budget, "--json")
    assert (answer.code, answer.err) == (0, "")
    found = json.loads(answer.out)
    means = [found["means"]["day"]["mean"]] if command == "mean" else found["tables"][0]["rows"][0]
    assert any(abs(cell - 3.0) < 0.2 for cell in means if isinstance(cell, float))


def test_a_single_column_is_one():
    sentence = undeclared_sentence(("age",), Path("claims.csv"))
    assert sentence.startswith("Nothing is declared of age, so it is read as numbers, and a row")
