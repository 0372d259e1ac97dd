"""Bounds of float errors allow for every rounding that a sum may meet."""

import decimal
import math

import numpy as np
import pytest

import tailguard as tg
from tailguard.data.rows.arrays import make_rows
from tailguard.queries.certified_descent import (
    ROUNDOFF,
    StepFacts,
    accuracy_of,
    gradient_error,
    point_roundoff,
)
from tailguard.queries.clipped_minimiser import ClippedMinimiser
from tailguard.queries.units import Units


def test_every_coordinate_allows_for_one_more_rounding():
    facts = {"n_rows": 1, "clip_norm": 3.0, "row_limit": 4.0, "grid": 0.0}
    few, many = (gradient_error(tg.losses.Squared(), size=size, **facts) for size in (1, 100_001))
    assert many - few >= 99_999 * ROUNDOFF * 3.0


def test_every_record_of_a_chunk_allows_for_two_more():
    facts = {"size": 1, "clip_norm": 3.0, "row_limit": 4.0, "grid": 0.0}
    few, many = (gradient_error(tg.losses.Squared(), n_rows=n, **facts) for n in (1, 1_001))
    assert many - few >= 1_999 * ROUNDOFF * 3.0


def test_a_slope_near_zero_errs_by_as_much_as_its_terms():
    """The terms of a slope of Gamma cancel at the mean, however short the clip is."""
    row, score, clip_norm = 2.0**20, 0.3, 1e-9
    targets = math.exp(score) * (1.0 + np.arange(-8, 9) * 2.0**-52)
    query = ClippedMinimiser(
        tg.losses.Gamma(), Units.raw(1, intercept=False), strength=1.0, clip_norm=clip_norm,
        row_limit=row,
    )  # fmt: skip
    rows = make_rows(np.full((len(targets), 1), row), targets, loss=query.loss)
    with decimal.localcontext(prec=50):
        mean = decimal.Decimal(score).exp()
        exact = [(1 - decimal.Decimal(float(target)) / mean) * int(row) for target in targets]
        cut = [
            min(max(each, -decimal.Decimal(clip_norm)), decimal.Decimal(clip_norm))
            for each in exact
        ]
        exact_mean = float(sum(cut) / len(cut))
    found = query._gradient(rows, np.array([score / row]))
    facts = {"n_rows": len(targets), "clip_norm": clip_norm, "row_limit": row, "grid": 0.0}
    assert abs(found[0] - exact_mean) <= gradient_error(query.loss, size=1, **facts)


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


def test_the_level_of_a_cut_errs_in_every_coordinate():
    for size in (1, 100, 10_000):
        assert point_roundoff(size) >= size / 2.0 * size**0.5 * ROUNDOFF


def test_a_search_that_is_cut_short_is_charged_for_gradients_and_for_points():
    facts = {"size": 1, "move": 0.0, "curvature_ratio": 1.0, "gradient_travel": 1.0}
    for off in (0.0, 1e-3):
        found = accuracy_of(
            StepFacts(1e-3, 1.0), tg.sets.L2Ball(1.0), gradient_off=off, most_steps=1, **facts
        )
        assert not found.certified
        assert found.tolerance >= 4.0 * max(off, 2.0 / 1e-3 * point_roundoff(1))


def test_without_bounds_a_center_may_lie_as_far_off_as_its_errors_allow():
    space, facts = tg.sets.WholeSpace(), {"size": 1, "curvature_ratio": 1.0, "gradient_off": 0.0}
    few, many = (
        accuracy_of(
            StepFacts(0.5, 1.0), space, move=move, gradient_travel=1.0, most_steps=10_000, **facts
        ).largest_center
        for move in (1e-3, 3e-3)
    )
    assert many / few == pytest.approx(3.0, rel=1e-9)
