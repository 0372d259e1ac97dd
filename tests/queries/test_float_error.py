"""Bounds of float errors allow for every rounding that a sum may meet."""

import tailguard as tg
from tailguard.queries.float_error import ROUNDOFF, gradient_error


def test_every_coordinate_allows_for_one_more_rounding():
    facts = {"n_rows": 1, "clip_norm": 3.0, "row_limit": 4.0, "grid": 0.0}
    few, many = (gradient_error(tg.losses.Squared(), size=size, **facts) for size in (1, 100_001))
    assert many - few >= 99_999 * ROUNDOFF * 3.0


def test_every_record_of_a_chunk_allows_for_two_more():
    facts = {"size": 1, "clip_norm": 3.0, "row_limit": 4.0, "grid": 0.0}
    few, many = (gradient_error(tg.losses.Squared(), n_rows=n, **facts) for n in (1, 1_001))
    assert many - few >= 1_999 * ROUNDOFF * 3.0
