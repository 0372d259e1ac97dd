"""Single cells: what counts as a number, and what no cell can do."""

import numpy as np
import pytest

from tailguard.data import cells
from tailguard.data.cells import cell_numbers, cell_texts


def test_text_counts_as_the_number_that_it_spells():
    spelled = {
        "5": 5.0,
        " -2.5e3 ": -2500.0,
        "TRUE": 1.0,
        "false": 0.0,
        "inf": np.inf,
        "two": np.nan,
    }
    np.testing.assert_array_equal(cell_numbers(spelled), [*spelled.values()])
    coded = [text.encode() for text in spelled]
    np.testing.assert_array_equal(cell_numbers(coded), [*spelled.values()])


def test_the_same_number_is_the_same_in_every_form():
    forms = [10**400, str(10**400), f"{10**400:_}", 2**1024]
    np.testing.assert_array_equal(cell_numbers(forms), [np.inf] * 4)
    forms = [2**53 + 1, str(2**53 + 1), float(2**53 + 1), np.uint64(2**53 + 1)]
    np.testing.assert_array_equal(cell_numbers(forms), [2.0**53] * 4)


def test_long_text_is_read_to_its_end():
    """There is no limit on its length: reading takes time in proportion."""
    half = "0.5" + "0" * 10**6
    np.testing.assert_array_equal(
        cell_numbers([half, half + "x", "7" * 10**6]), [0.5, np.nan, np.inf]
    )


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_no_interrupt_is_swallowed(interrupt, monkeypatch):
    """One that comes while a cell is read is the user's own: no cell can raise it."""

    def interrupted(_):
        raise interrupt

    monkeypatch.setitem(cells.READERS, id(str), interrupted)
    with pytest.raises(interrupt):
        cell_numbers(["1"])


def test_texts_are_texts_alone():
    found = cell_texts(["a", b"b", np.str_("c"), ["d"], 1, None, ["e", "f"], np.array("g"), True])
    assert found == ["a", "b", "c", "d", None, None, None, "g", None]
    assert [type(text) for text in found[:4]] == [str] * 4


def test_a_list_of_one_is_its_cell_and_a_longer_one_is_missing():
    """As docs/nulls.md says."""
    found = cell_numbers([[1], ("2.5",), np.array([True]), np.array(3.0), [], [1, 2], {1}])
    np.testing.assert_array_equal(found, [1.0, 2.5, 1.0, 3.0, np.nan, np.nan, np.nan])
