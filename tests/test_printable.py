"""Numbers for people to read."""

import math

import pytest

from tailguard.printable import to_error


@pytest.mark.parametrize(
    ("value", "error", "expected"),
    [
        (12.34567, 0.0456, "12.3457"),
        (0.1, 0.0999, "0.1000"),
        (1234.5678, 250.0, "1235"),
        (-0.0001, 0.1, "0.000"),
        (1.23456, 0.0, "1.235"),
        (-0.0, math.nan, "0"),
        (1.23456, math.inf, "1.235"),
        (math.nan, 1.0, "nan"),
        (-math.inf, 1.0, "-inf"),
        (1.23e-5, 1.23e-5, "1.23e-05"),
        (0.512345, 5e-5, "0.512345"),
        (1234567890.0, 1e4, "1.2345679e+09"),
        (5e9, 3e9, "5e+09"),
        (-0.0, 5e-5, "0"),
        (1e300, 1e-300, "1e+300"),
    ],
)
def test_numbers_end_at_the_third_digit_of_their_error(value, error, expected):
    assert to_error(value, error) == expected
