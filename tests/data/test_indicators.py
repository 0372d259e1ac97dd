"""Declared levels become columns; the data never adds one."""

from datetime import date

import numpy as np
import pandas as pd
import pytest

from tailguard.checks import InputError
from tailguard.data.declarations import check_levels, indicator_names
from tailguard.data.design import indicators

MISSING = [
    None,
    "",
    np.nan,
    float("nan"),
    pd.NA,
    pd.NaT,
    object(),
    [1, 2],
    {"a": 1},
    date(2024, 1, 1),
]


def speak(*_):
    raise RuntimeError("a record spoke")


QUESTIONS = {f"__{name}__": speak for name in ("eq", "ne", "hash", "str", "float", "bool", "len")}
Talking = type("Talking", (type,), {"__hash__": speak, "__eq__": speak})
Hostile = Talking("Hostile", (), QUESTIONS)  # a cell and a type whose code raises if it is run
Float = type("Float", (float,), QUESTIONS)


@pytest.mark.parametrize(
    "levels",
    [(), ("a", "a"), ("a", ""), ("a", "other"), ("other",), ("1", "1.0"), (1, "1"), ("01", "1")],
)
def test_levels_are_different_and_not_reserved(levels):
    with pytest.raises(
        InputError, match=r"levels of 'x' must be (one or more and different|different numbers)"
    ):
        check_levels("x", levels)


@pytest.mark.parametrize(
    "levels",
    ["ab", None, 3, {"a": 1}, {"a", "b"}, [1.5], np.array([0.5, 1.0]), [None], [True], [["a"]]],
)
def test_levels_are_a_list_of_text_or_whole_numbers(levels):
    with pytest.raises(InputError, match="levels of 'x' must be a list of text or whole numbers"):
        check_levels("x", levels)


def test_each_level_has_its_column_and_strangers_share_the_last():
    coded = indicators(["b", "z", "a", "c", "y"], ("a", "b", "c"))
    np.testing.assert_array_equal(coded, [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 1, 0], [0, 0, 1]])


@pytest.mark.parametrize(
    "cell", [*MISSING, Hostile(), Float(1.0)], ids=lambda cell: type(cell).__name__
)
def test_a_missing_cell_is_nan_throughout_and_changes_no_other(cell):
    coded = indicators(["b", cell, "a"], ("a", "b"))
    assert np.isnan(coded[1]).all()
    np.testing.assert_array_equal(coded[[0, 2]], [[1, 0], [0, 0]])


def test_the_width_does_not_depend_on_the_cells():
    levels = ("a", "b", "c")
    assert indicators([], levels).shape == (0, 3)
    assert indicators(["a"], levels).shape == (1, 3)
    assert indicator_names("x", levels) == ("x=b", "x=c", "x=other")


@pytest.mark.parametrize("cell", [2, 2.0, "2", " 2.0", b"2", np.int8(2), np.float32(2.0)])
def test_a_level_that_is_a_number_is_found_however_it_is_written(cell):
    levels = check_levels("x", [1, 2, "2a"])
    np.testing.assert_array_equal(indicators([cell], levels), [[1, 0, 0]])


@pytest.mark.parametrize("cell", [2.5, "2b", np.inf, "inf", "nan", 2**70, 10**400])
def test_another_number_is_another_level(cell):
    np.testing.assert_array_equal(indicators([cell], ("1", "2")), [[0, 1]])


@pytest.mark.parametrize(("no", "yes"), [("False", "True"), ("0", "1"), ("false", "true")])
def test_booleans_are_found_as_text_or_numbers(no, yes):
    cells = [True, False, np.True_, "True", "False"]
    np.testing.assert_array_equal(indicators(cells, (no, yes))[:, 0], [1, 0, 1, 1, 0])


def test_many_cells_are_coded_as_each_alone():
    rng = np.random.default_rng(0)
    kinds = [
        "a",
        "b",
        b"a",
        b"\xff",
        "",
        " 2.0",
        2,
        2.5,
        True,
        None,
        np.nan,
        "z",
        ["a"],
        np.str_("b"),
    ]
    cells = [kinds[place] for place in rng.integers(0, len(kinds), 300)]
    levels = ("a", "b", "2")
    alone = np.vstack([indicators([cell], levels) for cell in cells])
    np.testing.assert_array_equal(indicators(cells, levels), alone)
