"""What each check allows, to the last number, and that it refuses all else in one sentence."""

import math
from functools import partial

import numpy as np
import pytest

from tailguard.checks import (
    InputError,
    check_between,
    check_choice,
    check_cost,
    check_failure,
    check_finite,
    check_integer,
    check_open_unit,
    check_positive,
)

TINY, BELOW_1, ABOVE_1 = 5e-324, math.nextafter(1.0, 0.0), math.nextafter(1.0, 2.0)
CHECKS = [
    (check_finite, "a finite number", (-1e308, 0, 2), (math.inf, -math.inf)),
    (check_positive, "a finite number above 0", (TINY, 1e308, np.float32(2)), (0, -TINY, math.inf)),
    (partial(check_positive, infinite=True), "a number above 0", (TINY, math.inf), (0, -TINY)),
    (check_cost, "a number of at least 0", (0, math.inf), (-TINY, -math.inf)),
    (check_failure, "a number of at least 0 and below 1", (0, TINY, BELOW_1), (-TINY, 1)),
    (check_open_unit, "a number strictly between 0 and 1", (TINY, BELOW_1), (0, 1)),
    (partial(check_between, low=0.0, high=1.0), "a number from 0 to 1", (0, 1), (-TINY, ABOVE_1)),
    (partial(check_integer, minimum=2), "a whole number of at least 2", (2, 10**400), (1, 2.0)),
    (partial(check_integer, minimum=0, maximum=9), "a whole number from 0 to 9", (0, 9), (-1, 10)),
    (partial(check_choice, allowed=("a", 1)), "one of 'a', 1", ("a", 1), ("b", 2, 1.0)),
]
NO_NUMBERS = (math.nan, True, "0", None, 1j, np.zeros(2), np.bool_(True), [1])


@pytest.mark.parametrize(
    ("check", "allowed", "good", "bad"), CHECKS, ids=[allowed for _, allowed, _, _ in CHECKS]
)
def test_every_check_keeps_its_range(check, allowed, good, bad):
    for value in good:
        found = check("x", value)
        assert found == value
        assert type(found) in (float, int, str)
    for value in (*bad, *NO_NUMBERS[: 7 if "'a'" not in allowed else 1]):
        with pytest.raises(InputError, match=f"x must be {allowed}; got "):
            check("x", value)


def test_a_whole_number_beyond_the_floats_is_no_float():
    with pytest.raises(InputError, match="x must be a finite number; got int"):
        check_finite("x", 10**400)
