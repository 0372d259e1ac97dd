"""Sums of outer products fit the lattice by what records may add up to, and not by more."""

import pytest

import tailguard as tg
from tailguard.data.rows.base import CHUNK_ROWS
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
