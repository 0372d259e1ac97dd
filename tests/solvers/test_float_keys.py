"""Float keys: ordered, invertible, one octave apart by 2**52."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tailguard.solvers.float_keys import LARGEST_KEY, float_of, key_of

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite, finite)
def test_keys_keep_the_order_of_floats(first, second):
    keys = key_of(np.array([first, second]))
    assert (keys[0] < keys[1]) == (first < second)


@given(finite)
def test_keys_can_be_undone(value):
    assert float_of(key_of(np.array([value])))[0] == value


def test_the_largest_keys_are_the_largest_floats():
    largest = np.finfo(np.float64).max
    assert float_of(np.array([LARGEST_KEY, -LARGEST_KEY])).tolist() == [largest, -largest]


def test_an_octave_holds_two_to_the_52_keys():
    keys = key_of(np.array([1.0, 2.0, 4.0]))
    assert (np.diff(keys) == 2**52).all()
