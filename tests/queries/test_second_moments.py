"""Sums fit the lattice by what records may add up to, and are charged with their float error."""

import pytest

import tailguard as tg
from tailguard.data.rows.base import CHUNK_ROWS, summation_slack
from tailguard.queries.base import sum_sensitivity
from tailguard.queries.second_moments import SecondMoments
from tailguard.queries.units import Units
from tailguard.queries.view import View


def test_a_total_is_that_of_its_chunks():
    view = View.plain(tg.losses.Squared(), Units.raw(2, intercept=False))
    query = SecondMoments(view, row_limit=3.0, row_cap=2.0)
    one = query.sensitivity(CHUNK_ROWS, 2)
    assert one.largest_partial == one.largest_total
    three = query.sensitivity(3 * CHUNK_ROWS, 2)
    assert three.largest_partial == one.largest_partial
    assert three.largest_total == pytest.approx(3.0 * one.largest_total, rel=1e-12)


def test_a_sum_is_charged_with_the_float_error_of_its_chunk():
    for n_rows, move, ideal in ((3 * CHUNK_ROWS, None, 5.0), (10, 1.0, 1.0)):
        stated = sum_sensitivity(2.5, 3, n_rows, move=move)
        assert (stated.norm, stated.ideal, stated.size, stated.integer) == ("l2", ideal, 3, False)
        assert stated.computed == ideal + summation_slack(2.5)
        assert stated.largest_partial == min(CHUNK_ROWS, n_rows) * 2.5
        assert stated.largest_total == n_rows * 2.5
    assert sum_sensitivity(2.5, 3, 10, norm="l1").norm == "l1"
