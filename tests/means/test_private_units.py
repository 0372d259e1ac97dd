"""Private units, and a histogram alone: how many rows it takes to buy them."""

import math

import pytest

import tailguard as tg
from support.means import planned, task_of
from tailguard.means.private_units import affords_tail, affords_units
from tailguard.means.registry import make_method

MU = 0.5


@pytest.mark.parametrize("n_features", [1, 10, 100])
@pytest.mark.parametrize("name", ["clipped", "soft"])
def test_a_quarter_more_than_the_documented_number_of_rows_is_safe(name, n_features):
    stated = 1.25 * 220.0 * math.sqrt(n_features) / MU
    affordable = [
        affords_units(
            planned(make_method(name), task_of(round(part * stated), n_features, tg.GDP(MU)))
        )
        for part in (0.95, 1.05)
    ]
    assert affordable == [False, True]


@pytest.mark.parametrize("n_features", [3, 100])
@pytest.mark.parametrize(
    ("guarantee", "stated"), [(tg.GDP(MU), 200.0 / MU), (tg.PureDP(MU), 2300.0 / MU)]
)
def test_a_histogram_takes_the_documented_number_of_rows_whatever_the_columns(
    n_features, guarantee, stated
):
    affordable = [
        affords_tail(
            planned(
                make_method("soft"), task_of(round(part * stated), n_features, guarantee, unit=1.0)
            )
        )
        for part in (0.9, 1.1)
    ]
    assert affordable == [False, True]
