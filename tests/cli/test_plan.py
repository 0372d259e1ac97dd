"""``tailguard plan``: the table and the JSON of tg.plan, and nothing else."""

import json

import tailguard as tg
from tailguard.cli.app import run

SIZES = ["--rows", "100000", "--columns", "5", "--epsilon", "1", "--delta", "1e-6"]
KNOWN = {"n_rows": 100_000, "n_features": 5, "epsilon": 1.0, "delta": 1e-6}


def test_the_table_is_that_of_the_library(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "500")  # nothing is folded
    assert run(["plan", "mean", *SIZES, "--moment-bound", "5"]) == 0
    moment = tg.Moment(2.0, 5.0, kind="norm")
    found = tg.plan("mean", moment=moment, **KNOWN)
    assert capsys.readouterr().out == str(found) + "\n"


def test_json_is_that_of_the_library(capsys):
    assert run(["plan", "squared", *SIZES, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == tg.plan("squared", **KNOWN).to_dict()
    assert answer["guarantee"] == {"kind": "approx", "epsilon": 1.0, "delta": 1e-6}
    assert answer["candidates"][0]["method"] == answer["recommended"]


def test_persons_are_planned_for(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "500")
    sizes = ["--columns", "5", "--epsilon", "1", "--delta", "1e-6", "--persons", "20000"]
    assert run(["plan", "squared", *sizes, "--rows-per-person", "1,3,12"]) == 0
    known = {"n_features": 5, "epsilon": 1.0, "delta": 1e-6, "persons": 20_000}
    found = tg.plan("squared", rows_per_person=[1, 3, 12], **known)
    assert capsys.readouterr().out == str(found) + "\n"
    assert run(["plan", "squared", *sizes, "--rows-per-person", "few"]) == 2
    assert "--rows-per-person must be numbers, such as 1,3,12; got 'few'" in capsys.readouterr().err
    html = ["plan", "squared", "--columns", "5", "--delta", "1e-6", "--html"]
    assert run([*html, "--persons", "20000", "--rows-per-person", "3"]) == 2


def test_a_path_without_a_page_is_refused(capsys, tmp_path):
    out = tmp_path / "plan.json"
    assert run(["plan", "squared", *SIZES, "--json", "--out", str(out)]) == 2
    assert "--out must be given with --html" in capsys.readouterr().err
    assert not out.exists()


def test_rows_that_are_not_given_are_asked_for(capsys):
    assert run(["plan", "squared", "--columns", "5", "--epsilon", "1", "--delta", "1e-6"]) == 2
    assert "--rows must be given, or " in capsys.readouterr().err


def test_long_lines_are_folded(call):
    words = ("plan", "mean", "--rows", "10000", "--columns", "2", "--epsilon", "1")
    answer = call(*words, "--delta", "1e-6")
    assert answer.code == 0
    assert max(map(len, answer.out.splitlines())) <= 80
