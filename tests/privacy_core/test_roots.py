"""Root finding and rounding to the safe side."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailguard.privacy.roots import crossing, down, step_until, up


@given(root=st.floats(-200, 200).map(lambda power: 10.0**power), guess=st.floats(1e-9, 1e9))
def test_crossings_are_found_from_any_guess(root, guess):
    assert crossing(lambda x: math.log(x / root), guess) == pytest.approx(root, rel=1e-14)


def test_no_crossing_is_a_limit():
    assert crossing(lambda x: -1.0, 1.0) == math.inf
    assert crossing(lambda x: 1.0, 1.0) == 0.0


def test_steps_stop_where_the_bound_holds():
    assert step_until(lambda x: x <= 1.0, 1.0 + 1e-6, 1.0 - 1e-12) == pytest.approx(1.0, rel=2e-6)
    assert step_until(lambda x: True, 3.0, 2.0) == 3.0


@given(st.floats(1e-300, 1e300))
def test_budgets_pay_for_themselves(value):
    assert down(value) < up(down(value)) < value < up(value) <= value * (1 + 2e-12)
