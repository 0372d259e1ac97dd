"""Seeded faults: each changes what is done, names stay when lines move, and tests catch or miss."""

import ast

import pytest

from mutation.faults import faults_of, seeded
from mutation.report import score, survivors, table
from mutation.trials import codes_of

SOURCE = '''"""A module; 1 < 2 here is no code."""
LIMIT = 3


def allowed(count: int = 1, *, most=LIMIT):
    """Say 1 + 1."""
    if not count or count < 0:
        raise ValueError(f"{count + 1}")
    return min(count + 2, most) <= 3.5 and True
'''


def test_every_fault_is_another_program_and_texts_are_left_alone():
    found = faults_of(SOURCE)
    programs = [ast.unparse(seeded(SOURCE, fault)) for fault in found]
    assert len({*programs, ast.unparse(ast.parse(SOURCE))}) == len(found) + 1
    words = [fault.words for fault in found]
    for expected in ("3 -> 4", "or -> and", "without not", "< -> <=", "min -> max", "+ -> -"):
        assert expected in words
    assert sum(word == "+ -> -" for word in words) == 1  # not that in a message
    assert all(program.count("1 < 2 here") == 1 for program in programs)
    assert {fault.inside for fault in found} == {"", "allowed"}


def test_names_of_faults_stay_when_lines_move():
    moved = SOURCE.replace("LIMIT = 3\n", "LIMIT = 3\n\n# A comment.\n")
    assert [fault.key for fault in faults_of(moved)] == [fault.key for fault in faults_of(SOURCE)]


def test_code_of_a_fault_goes_where_that_of_the_function_was():
    fault = next(each for each in faults_of(SOURCE) if each.words == "min -> max")
    old, new = (
        codes_of(compile(tree, "a.py", "exec"))
        for tree in (ast.parse(SOURCE), seeded(SOURCE, fault))
    )
    assert list(old) == list(new)
    names = {}
    exec(SOURCE, names)
    assert names["allowed"](1)
    (code,) = (each for each in new.values() if each.co_name == "allowed")
    names["allowed"].__code__ = code
    assert names["allowed"](1)
    assert not names["allowed"](1, most=9.0)


def test_the_score_has_an_interval_around_it():
    share, low, high = score(95, 100)
    assert low < share < high
    assert (low, high) == pytest.approx((0.8872, 0.9836), abs=1e-4)
    assert score(10, 10)[2] == 1.0
    rows = {
        str(k): {"source": f"{room}/a.py", "line": "3", "words": "+ -> -", "verdict": verdict}
        for k, (room, verdict) in enumerate(
            [("noise", "caught"), ("noise", "survived"), ("gate", "caught: error")]
        )
    }
    assert "| all | 3 | 2 | 0 | 1 | 66.7% |" in table(rows, 4370, {})
    assert survivors(rows, {}) == "noise/a.py:3 + -> -: open"
    harmless = {"1": "its noise has two signs"}
    assert table(rows, 4370, harmless).endswith(
        "| all | 3 | 2 | 1 | 0 | 66.7% | 9.4% to 99.2% | 100.0% |\n"
    )
    assert survivors(rows, harmless) == "noise/a.py:3 + -> -: its noise has two signs"
