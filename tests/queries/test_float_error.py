"""Bounds of float errors allow for every rounding that a sum may meet."""

import tailguard as tg
from tailguard.queries.accuracy import accuracy_of
from tailguard.queries.certified import StepFacts
from tailguard.queries.float_error import ROUNDOFF, gradient_error


def test_every_coordinate_allows_for_one_more_rounding():
    facts = {"n_rows": 1, "clip_norm": 3.0, "row_limit": 4.0, "grid": 0.0}
    few, many = (gradient_error(tg.losses.Squared(), size=size, **facts) for size in (1, 100_001))
    assert many - few >= 99_999 * ROUNDOFF * 3.0


def test_every_record_of_a_chunk_allows_for_two_more():
    facts = {"size": 1, "clip_norm": 3.0, "row_limit": 4.0, "grid": 0.0}
    few, many = (gradient_error(tg.losses.Squared(), n_rows=n, **facts) for n in (1, 1_001))
    assert many - few >= 1_999 * ROUNDOFF * 3.0


def test_where_a_ball_cuts_a_set_float_errors_grow_with_the_gradients():
    ball = tg.sets.IntersectionWithBall(tg.sets.L2Ball(1.0), [0.5], radius=0.25)
    facts = {"size": 1, "move": 0.0, "curvature_ratio": 1.0, "gradient_off": 0.0}
    few, many = (
        accuracy_of(
            StepFacts(0.5, 1.0), ball, gradient_travel=travel, most_steps=10_000, **facts
        ).tolerance
        for travel in (1e6, 4e6)
    )
    assert 3.99 < many / few < 4.01
