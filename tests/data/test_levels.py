"""Declared levels: they differ, as text and as numbers, and each but the first has a name."""

import pytest

from tailguard.checks import InputError
from tailguard.data.declarations import check_levels, indicator_names, level_number


@pytest.mark.parametrize(
    "levels",
    [(), ("a", "a"), ("a", ""), ("a", "other"), ("other",), ("1", "1.0"), (1, "1"), ("01", "1")],
)
def test_levels_are_different_and_not_reserved(levels):
    with pytest.raises(InputError, match="levels of 'x' must be different"):
        check_levels("x", levels)


@pytest.mark.parametrize("levels", ["ab", None, 3, {"a": 1}, [1.5], [None], [True], [["a"]]])
def test_levels_are_a_list_of_text_or_whole_numbers(levels):
    with pytest.raises(InputError, match="levels of 'x' must be a list of text or whole numbers"):
        check_levels("x", levels)


def test_the_baseline_has_no_name_and_other_is_last():
    assert indicator_names("x", check_levels("x", [2, 1, "b"])) == ("x=1", "x=b", "x=other")
    assert indicator_names("x", ("a",)) == ("x=other",)


def test_levels_read_as_numbers_where_they_are_some():
    assert [level_number(text) for text in ("1", " 1e0", "true", "inf", "nan", "a", "")] == [
        *(1.0, 1.0, 1.0),
        *([None] * 4),
    ]
