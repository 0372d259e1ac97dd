"""Declared levels become columns; the data never adds one."""

import numpy as np
import pytest

from tailguard.checks import InputError
from tailguard.rows.categories import check_levels, indicator_names, indicators


def test_names_and_columns_agree():
    levels = ("a", "b", "c")
    assert len(indicator_names("x", levels)) == indicators(["a"], levels).shape[1] == 3


def test_each_level_has_its_column_and_strangers_share_the_last():
    coded = indicators(["b", "z", "a", "c", "y"], ("a", "b", "c"))
    np.testing.assert_array_equal(coded, [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 1, 0], [0, 0, 1]])


def test_a_missing_cell_is_nan_throughout():
    assert np.isnan(indicators([None, ""], ("a", "b"))).all()


def test_the_width_does_not_depend_on_the_cells():
    assert indicators([], ("a", "b")).shape == (0, 2)


@pytest.mark.parametrize("levels", [(), ("a", "a"), ("a", ""), ("a", "other"), ("other",)])
def test_levels_are_different_and_not_reserved(levels):
    with pytest.raises(InputError, match="levels of 'x'"):
        check_levels("x", levels)
