"""Roots and rounding to the safe side, to the last digit."""

import math

import pytest

from support.known import outcome
from tailguard.checks import check_cost, check_failure
from tailguard.privacy import roots

VALUES = (0.0, -0.0, 1.0, 0.3, 1e-300, -2.0, 7e200, math.inf)


def test_rounding_is_known_to_the_last_digit(known):
    known([[roots.up(x), roots.down(x), roots.up(roots.down(x))] for x in VALUES], rel=1e-15)


@pytest.mark.parametrize("guess", [1e-9, 0.5, 1.0, 3.0, 1e9])
def test_crossings(known, guess):
    functions = (lambda x: x * x - 2.0, lambda x: math.log(x) + 3.0, lambda x: 1.0, lambda x: -1.0)
    known([roots.crossing(each, guess) for each in functions], rel=1e-14)


def test_a_crossing_is_asked_for_each_point_once():
    asked = []
    roots.crossing(lambda x: asked.append(x) or x - 100.0, 1.0)
    assert len(asked) == len(set(asked))
    assert asked[:5] == [1.0, 4.0, 16.0, 64.0, 256.0]


def test_at_a_root_nothing_is_searched():
    asked = []
    assert roots.crossing(lambda x: asked.append(x) or x - 1.0, 1.0) == 1.0
    assert asked == [1.0]


def test_steps(known):
    known(
        [
            roots.step_until(lambda x: x >= 1.0, 1.0, 1.5),
            roots.step_until(lambda x: x >= 10.0, 1.0, 1.5),
            roots.step_until(lambda x: x <= 0.1, 1.0, 0.9),
        ]
    )


@pytest.mark.parametrize("check", [check_cost, check_failure], ids=["cost", "failure"])
def test_ranges(known, check):
    values = (0, 0.0, 0.5, 1, 1.0, math.nextafter(1.0, 0.0), 2, math.inf, -1e-300, math.nan, None)
    known([outcome(check, "delta", value) for value in (*values, True, "1", [0.5])])
