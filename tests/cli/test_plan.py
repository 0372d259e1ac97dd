"""``tailguard plan``: the table and the JSON of tg.plan, and nothing else."""

import json

import pytest

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


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["convex", "--rows", "9", "--epsilon", "1"],
            "--moment-bound and --diameter must be given for task 'convex': a bound on a moment of "
            "the gradients, and the diameter of the set.",
        ),
        (
            ["sparse", "--rows", "9", "--epsilon", "1"],
            "--keep, or --moment-bound and --diameter must be given for task 'sparse': a bound on "
            "a moment of the gradients, and the diameter of the set.",
        ),
        (
            ["linear", "--error", "0.1"],
            "--error must be given with --rows or --epsilon, and not with both: the answer is the "
            "other one; got neither.",
        ),
    ],
)
def test_a_refusal_has_no_word_of_python(call, words, sentence):
    answer = call("plan", *words, "--columns", "3", "--delta", "1e-6")
    assert (answer.code, answer.err) == (2, f"Error: {sentence}\n")


def test_long_lines_are_folded(call):
    words = ("plan", "mean", "--rows", "10000", "--columns", "2", "--epsilon", "1")
    answer = call(*words, "--delta", "1e-6")
    assert answer.code == 0
    assert max(map(len, answer.out.splitlines())) <= 80
