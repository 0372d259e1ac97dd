"""Sums fit the lattice by what records may add up to, and are charged with their float error."""

import numpy as np
import pytest

import tailguard as tg
from tailguard.data.rows.base import CHUNK_ROWS, RecordBlock, summation_slack
from tailguard.queries.base import sum_sensitivity
from tailguard.queries.class_view import ClassView
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


@pytest.mark.parametrize("n_classes", [4, 6, 9])
def test_classes_of_a_record_that_is_rounded_alone_add_up_alike_with_and_without_others(n_classes):
    rng, fine, n_rows = np.random.default_rng(0), 2.0**-50, 400
    records = rng.standard_normal((n_rows, 3)), rng.integers(n_classes, size=n_rows).astype(float)
    matrix = rng.standard_normal((3 * n_classes, 1))
    view = ClassView(None, Units.raw(3, intercept=False), matrix, n_classes=n_classes).curved()
    query = SecondMoments(view, row_limit=1.0, row_cap=1.0)
    state = query.read_state(rng.standard_normal(3 * n_classes))

    def total(start, stop):
        parts = (each[start:stop] for each in records)
        return query.sum_block(RecordBlock(*parts, first=None), state, fine)

    for start in range(0, n_rows, 2):
        alone = total(start, start + 1) + total(start + 1, start + 2)
        np.testing.assert_array_equal(total(start, start + 2), alone)
