"""The gallery's examples: a title that is a question, and public names that exist."""

import ast
import re
import runpy
from pathlib import Path

import pytest

import tailguard as tg
from tailguard.wing import wing

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
# An example of the wing is not asked where the wing is not installed.
SHOWN = [path for path in EXAMPLES if wing("rates") or "tg.papers" not in path.read_text()]


def test_there_are_ten_examples_each_with_a_question():
    assert len(EXAMPLES) >= 10
    for path in EXAMPLES:
        title, line, *_ = ast.get_docstring(ast.parse(path.read_text())).splitlines()
        assert title.endswith("?"), path.name
        assert set(line) == {"="}
        assert len(line) == len(title)


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.stem)
def test_public_names_of_an_example_exist(path):
    names = re.findall(r"\btg\.(\w+(?:\.\w+)*)", path.read_text())
    assert names
    for name in names:
        value = tg
        for part in name.split("."):
            value = getattr(value, part)


def test_the_run_that_a_ledger_has_no_room_for_is_refused(capsys, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    [path] = [path for path in EXAMPLES if path.stem.startswith("07_")]
    spent = runpy.run_path(str(path))["spent"]
    assert capsys.readouterr().out.startswith("one too many: ledger ")
    assert 0.0 < spent[1] < spent[2] < spent[3] == spent[4] < 3.0
