"""The table of what theorems say: each of its sentences is said by a theorem in some case."""

import re
import tomllib
from importlib.resources import files

import pytest

from papers.support.theorems import CASES
from tailguard.papers.common import statement
from tailguard.papers.ranking import THEOREMS

TABLE = tomllib.loads(files("tailguard.papers").joinpath("statements.toml").read_text())
PRINTED = {"calibration": "printed"}
# The cases that a theorem's code names.
ARGUMENTS = {
    "kamath2022.convex": [{"groups": "uniform"}],
    "tao2022.convex": [{"groups": "uniform"}],
    "wang2020.sample_aggregate": [{"n_blocks": n, "layout": "overlapping"} for n in (16, 100)],
    "xu2025.localised": [{"schedule": "steps"}],
    "xu2025.tsybakov": [{"schedule": "steps"}],
    "xu2025.unknown_growth": [{"schedule": "steps"}, {"schedule": "printed"}],
}


def said_by(name):
    found = set()
    for more in ({}, PRINTED, *ARGUMENTS.get(name, ())):
        if more is PRINTED and not CASES[name].prints:
            continue
        theorem = CASES[name].theorem(**more)
        found |= {*theorem.deviations, *theorem.for_accuracy, *theorem.for_privacy}
    return found


@pytest.mark.parametrize("name", CASES)
def test_every_sentence_is_said(name):
    paper, _, own = name.partition(".")
    known, found = TABLE[paper], said_by(name)
    for part in ("accuracy", "differs", "tight", "privacy"):
        for each in {**known, **known[own]}.get(part, ()):
            words = each["says"] if isinstance(each, dict) else each
            pattern = re.sub(r"\\{\w+\\}", r"\\d+", re.escape(known["shared"].get(words, words)))
            assert any(re.fullmatch(pattern, line) for line in found), words


@pytest.mark.parametrize("paper", sorted({*TABLE} - {"batches", "means", "rates"}))
def test_the_table_has_every_theorem_and_no_other(paper):
    listed = {name for kind in THEOREMS.values() for name in kind}
    parts = {"paper", "accuracy", "differs", "tight", "privacy", "shared"}
    assert {f"{paper}.{each}" for each in {*TABLE[paper]} - parts} == {
        name for name in listed if name.startswith(paper)
    }


def test_a_sentence_is_said_in_its_case_alone(monkeypatch):
    table = {
        "paper": "A",
        "shared": {"short": "long"},
        "b": {"theorem": "1", "differs": ["short", {"when": "c", "says": "c {n}"}, "d"]},
    }
    table["b"]["tight"] = [{"unless": "c", "says": "e"}, {"when": "printed", "says": "f"}]
    monkeypatch.setattr(statement, "sentences", lambda paper: table)
    facts = type("Facts", (), {"calibration": "tight", "prints": False})
    said = statement.statement_of("a.b", facts, 0.0)
    assert (said.name, said.deviations) == ("A, 1", ("e", "long", "d"))
    said = statement.statement_of("a.b", facts, 0.0, "c", n=3)
    assert said.deviations == ("long", "c 3", "d")
    assert said.for_privacy == statement.NOTHING
