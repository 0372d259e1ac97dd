"""Released sums of weights and of their squares are cut to values that such sums can have."""

import numpy as np
import pytest

from tailguard.queries.usable_records import WeightTotals


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ((60.0, 50.0), (60.0, 50.0)),
        ((60.0, 70.0), (60.0, 60.0)),  # squares of weights in [0, 1] are at most the weights
        ((60.0, 20.0), (60.0, 36.0)),  # and at least the square of the sum over the records
        ((170.0, 170.0), (100.0, 100.0)),
        ((-5.0, -5.0), (2.0, 0.04)),  # the noise is the least total
    ],
)
def test_sums_are_cut_to_possible_values(answer, expected):
    assert WeightTotals.totals(np.array(answer), 2.0, 100) == pytest.approx(expected)
