"""Sample and aggregate: known scales, blocks, misbehaving estimators, and what is refused."""

import math
from functools import partial

import numpy as np
import pytest

import tailguard as tg
from support.smooth import block_means
from support.sources import QuietSource
from support.stages import smooth
from tailguard.checks import InputError, QueryError
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.privacy.calibration import FLOAT_MARGIN
from tailguard.privacy.events import Approximate, Gaussian, ZeroConcentrated
from tailguard.queries.admission import check_admitted
from tailguard.queries.sample_aggregate import (
    SampleAggregate,
    ball_radii,
    central_point,
    central_scale,
)

LINE = np.array([0, 0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 5, -4])[:, None]
LIMITS = {"center": (0.0,), "diameter": 4.0}
EVENT = Approximate(9.0, 1e-2)


@pytest.mark.parametrize(
    ("overlap", "point", "scale"), [(1, 0.25, 5.094857541586), (2, 0.2, 9.4), (3, 0.2, 10.0)]
)
def test_known_values(overlap, point, scale):
    radii = ball_radii(LINE)
    assert LINE[central_point(radii, overlap), 0] == point
    assert central_scale(radii, 10.0, 0.5, overlap) == pytest.approx(scale, rel=1e-11)


def test_the_radii_hold_the_point_itself_first():
    sixth = ball_radii(LINE)[:, 5]
    np.testing.assert_allclose(sixth, (0.35, 0.25, 0.2, 0.15, 0.2, 0.25, 0.3, 4.8, 4.3))
    assert (ball_radii(LINE)[:, 0] == 0).all()


@pytest.mark.parametrize("overlap", [1, 2, 3])
def test_changing_as_many_points_as_one_record_may_keeps_the_smoothness(overlap):
    rng = np.random.default_rng(overlap)
    worst = [0.0, 0.0]
    for _ in range(400):
        m, smoothness = int(rng.integers(4, 24)), rng.uniform(0.05, 1.0)
        kind = rng.integers(3)
        z = rng.standard_cauchy((m, 2)) if kind else rng.choice([-1.0, 0.0, 1.0], (m, 2))
        near = np.clip(z * (0.1 if kind == 2 else 1.0), -3.0, 3.0)
        moved = near.copy()
        moved[rng.choice(m, overlap, replace=False)] = rng.choice([-3.0, 0.0, 0.5, 1.0, 3.0], 2)
        pair = [ball_radii(points) for points in (near, moved)]
        scales = [max(central_scale(r, 9.0, smoothness, overlap), 1e-9) for r in pair]
        centers = [
            points[central_point(r, overlap)] for points, r in zip((near, moved), pair, strict=True)
        ]
        ratio = abs(np.log(scales[0] / scales[1])) / smoothness
        move = np.linalg.norm(centers[0] - centers[1]) / min(scales)
        worst = np.maximum(worst, (ratio, move))
    assert (worst <= 1.0 + 1e-9).all()
    assert worst[0] > 0.99


def test_the_local_sensitivity_is_attained():
    # The first point goes from one end to the other, and the centre with it.
    before, after = (np.array([first, -1, -1, 0, 0, 0, 1, 1, 1.0])[:, None] for first in (-1, 1))
    radii = [ball_radii(points) for points in (before, after)]
    centers = [p[central_point(r), 0] for p, r in zip((before, after), radii, strict=True)]
    assert centers == [-1.0, 1.0]
    assert [central_scale(r, 10.0, smoothness=3.0) for r in radii] == [2.0, 2.0]


def test_scales_are_raised_by_what_floats_may_take_from_them():
    query = SampleAggregate(lambda X, y: X[0], center=(0.0,), diameter=10.0, n_blocks=9)
    calibration = query.calibrate_event(9, 1, EVENT)
    found = query.answer(make_rows(LINE), None, calibration)
    exact = central_scale(ball_radii(LINE), 10.0, calibration.decay)
    assert found.scale == pytest.approx([exact * (1.0 + FLOAT_MARGIN)], rel=0.01 * FLOAT_MARGIN)


def test_the_answer_is_one_of_the_blocks_own_estimates():
    rng = np.random.default_rng(5)
    X = rng.standard_t(3, size=(60, 2))
    seen = []

    def median(features, target):
        seen.append(features)
        return np.median(features, axis=0)

    query = SampleAggregate(median, center=(0.5, 0.0), diameter=8.0, n_blocks=7)
    gate = Gate(make_rows(X), guarantee=tg.ApproxDP(9.0, 2e-2), source=QuietSource())
    gate.reserve(EVENT)
    found = gate.ask(query, None, smooth(EVENT))
    assert sorted(len(block) for block in seen) == [8, 8, 8, 9, 9, 9, 9]
    np.testing.assert_array_equal(np.sort(np.concatenate(seen), axis=0), np.sort(X, axis=0))
    estimates = np.array([np.median(block, axis=0) for block in seen])
    assert np.abs(estimates - found).max(axis=1).min() < 1e-8


def test_records_are_dealt_by_their_places_in_the_order_of_the_gate_and_nothing_else():
    blocks = []
    for scale in (1.0, 1e6):
        held = []
        query = SampleAggregate(
            lambda X, y, held=held: held.append(np.round(X[:, 0] % 1 * 100)) or X[0, :1],
            **LIMITS,
            n_blocks=5,
        )
        data = np.arange(20.0)[:, None] / 100 + np.round(scale * np.arange(20) % 7)[:, None]
        query.answer(make_rows(data), None, query.calibrate_event(20, 1, EVENT))
        blocks.append(np.concatenate(held))
    np.testing.assert_array_equal(*blocks)
    np.testing.assert_array_equal(blocks[0], np.arange(20))


def misbehave(what):
    def estimator(features, target):
        if what == "raises":
            raise ValueError(f"singular: {features}")
        if what == "exits":
            raise SystemExit(1)
        if what == "writes":
            features[:] = np.nan
        return {
            "writes": [0.0],
            "not-finite": [np.nan],
            "shape": [1.0, 2.0],
            "text": ["a"],
            "complex": [1j],
            "ragged": [[1.0], [1.0, 2.0]],
            "nothing": None,
            "overflows": [np.float64(1e308) * 10],
        }[what]

    return estimator


@pytest.mark.parametrize(
    "what",
    [
        *("raises", "exits", "writes", "not-finite", "shape"),
        *("text", "complex", "ragged", "nothing", "overflows"),
    ],
)
def test_an_estimator_that_misbehaves_gives_the_centre_and_says_nothing(what):
    query = SampleAggregate(misbehave(what), center=(2.5,), diameter=4.0, n_blocks=4)
    X = np.ones((8, 1))
    rows = make_rows(X)
    found = query.answer(rows, None, query.calibrate_event(8, 1, EVENT))
    assert found.value[0] == pytest.approx(0.5 if what == "writes" else 2.5, abs=1e-12)
    assert (X == 1.0).all()


def test_estimates_far_away_are_cut_to_the_ball():
    query = SampleAggregate(lambda X, y: [1e300, 1e300], (1.0, 0.0), 10.0, n_blocks=4)
    found = query.answer(make_rows(np.ones((8, 2))), None, query.calibrate_event(8, 2, EVENT))
    np.testing.assert_allclose(found.value, np.array([1.0, 0.0]) + 5.0 / 2**0.5)


def test_records_with_bad_values_are_left_out_of_their_blocks():
    query = SampleAggregate(lambda X, y: [len(X) + y.sum()], (0.0,), 100.0, n_blocks=4)
    X, y = np.ones((16, 1)), np.zeros(16)
    X[:3], y[3:6] = np.nan, np.inf
    found = query.answer(make_rows(X, y), None, query.calibrate_event(16, 1, EVENT))
    assert 0 <= found.value[0] <= 4
    empty = query.answer(
        make_rows(np.full((16, 1), np.nan)), None, query.calibrate_event(16, 1, EVENT)
    )
    assert empty.value.tolist() == [0.0]


def test_how_many_blocks_follows_from_public_numbers():
    chosen = SampleAggregate(block_means, **LIMITS, least_rows=10)
    public = chosen.calibrate_event(1_000, 1, EVENT)
    useful = 4 + int(np.ceil(2.0 / public.smoothness * np.log(1_000)))
    assert public.facts["n_blocks"] == min(100, useful)
    assert chosen.calibrate_event(20, 1, EVENT).facts["n_blocks"] == 4
    with pytest.raises(InputError, match="n_rows must be at least 4"):
        chosen.calibrate_event(3, 1, EVENT)
    with pytest.raises(InputError, match="n_rows must be at least 50"):
        SampleAggregate(block_means, **LIMITS, n_blocks=50).calibrate_event(49, 1, EVENT)


@pytest.mark.parametrize("layout", ["disjoint", "overlapping"])
def test_one_record_changes_as_many_estimates_as_the_books_say_and_no_more(layout):
    n_rows = 80
    held = []
    query = SampleAggregate(
        lambda X, y: held.append(X.sum()) or X[0, :1], **LIMITS, n_blocks=36, layout=layout
    )
    public = query.calibrate_event(n_rows, 1, EVENT)
    assert (public.facts["layout"], public.facts["overlap"]) == (
        layout,
        1 if layout == "disjoint" else 6,
    )

    def sums(data):
        held.clear()
        query.answer(make_rows(data), None, public)
        return np.array(held)

    data = np.random.default_rng(2).standard_normal((n_rows, 1))
    before, changed = sums(data), []
    for place in range(n_rows):
        other = data.copy()
        other[place] = 1e6
        changed.append(int((sums(other) != before).sum()))
    # The blocks are equally many and large for other records, and are the same ones.
    assert 1 <= max(changed) <= public.facts["overlap"]
    assert layout == "disjoint" or max(changed) > 2


def test_where_no_overlapping_blocks_are_found_they_are_disjoint():
    options = {**LIMITS, "n_blocks": 16}
    queries = [
        SampleAggregate(block_means, **options, layout=x) for x in ("overlapping", "disjoint")
    ]
    X = np.random.default_rng(1).standard_normal((10_000, 1))
    public = [query.calibrate_event(10_000, 1, EVENT) for query in queries]
    assert public[0] == public[1]
    assert public[0].facts == {"n_blocks": 16, "layout": "disjoint", "overlap": 1}
    first, second = (q.answer(make_rows(X), None, p) for q, p in zip(queries, public, strict=True))
    assert (first.value, first.scale) == (second.value, second.scale)


def test_overlapping_blocks_that_the_noise_can_use_are_as_many_as_the_square():
    query = SampleAggregate(block_means, **LIMITS, least_rows=10, layout="overlapping")
    public = query.calibrate_event(40_000, 1, EVENT)
    rounds = math.ceil(2.0 / public.smoothness * math.log(40_000))
    assert public.facts["n_blocks"] == min(4_000, 4 + rounds**2)
    # With so many blocks the scale of points that coincide is as small as that of disjoint ones.
    together = ball_radii(np.zeros((1_000, 1)))
    scales = [central_scale(together, 1.0, 0.5, overlap) for overlap in (1, 32)]
    assert scales == pytest.approx([math.exp(-0.5 * 498), math.exp(-0.5 * 15)])


def test_numerical_constants_give_less_noise_and_the_certificate_says_why():
    X = np.random.default_rng(4).standard_normal((60, 1))
    shifts = {}
    for calibration in ("published", "tight", "numerical"):
        query = SampleAggregate(block_means, **LIMITS, n_blocks=12, calibration=calibration)
        gate = Gate(make_rows(X), guarantee=tg.ApproxDP(9.0, 2e-2), source=QuietSource())
        gate.reserve(EVENT)
        gate.ask(query, None, smooth(EVENT))
        (release,) = gate.books.releases
        shifts[calibration] = release.parameters["shift"]
        words = " ".join(gate.certificate().to_text().split())
        proved = "is proved in real arithmetic" in words
        certified = "numerically certified in real arithmetic, not proved" in words
        assert (proved, certified) == (calibration != "numerical", calibration == "numerical")
        assert 0.2 * EVENT.epsilon < release.event().epsilon <= EVENT.epsilon
    assert shifts["published"] < shifts["tight"] < shifts["numerical"]


def test_a_ball_that_floats_cannot_tell_apart_is_refused():
    query = SampleAggregate(block_means, (1e20,), 1.0, n_blocks=4)
    with pytest.raises(InputError, match="floats must distinguish them"):
        query.calibrate_event(40, 1, EVENT)


@pytest.mark.parametrize(
    "wrong",
    [
        {"center": ()},
        {"center": (np.nan,)},
        {"diameter": 0.0},
        {"diameter": 1e200},
        {"n_blocks": 3},
        {"n_blocks": 5_001},
        {"least_rows": 0},
        {"calibration": "loose"},
        {"calibration": "paper"},
        {"layout": "paper"},
    ],
)
def test_nonsense_is_refused(wrong):
    with pytest.raises(InputError):
        SampleAggregate(block_means, **{**LIMITS, **wrong})


class Median:
    def __call__(self, X, y):
        return np.median(X, axis=0)


@pytest.mark.parametrize("estimator", [partial(np.median, axis=0), Median(), np.median, Median])
def test_an_estimator_is_a_plain_function(estimator):
    kind = type(estimator).__name__
    query = SampleAggregate(estimator, center=(0.0,), diameter=2.0)
    with pytest.raises(QueryError, match=f"estimator must be a plain function .*; got {kind}"):
        check_admitted(query)


@pytest.mark.parametrize("event", [Gaussian(0.5), ZeroConcentrated(0.5)])
def test_only_an_approximate_cost_has_its_noise(event):
    with pytest.raises(InputError, match="event must be an Approximate cost"):
        SampleAggregate(block_means, **LIMITS).calibrate_event(1000, 1, event)


def test_whoever_stops_an_estimator_by_hand_stops_the_answer():
    def stopped(features, target):
        raise KeyboardInterrupt

    query = SampleAggregate(stopped, center=(0.0,), diameter=4.0, n_blocks=4)
    with pytest.raises(KeyboardInterrupt):
        query.answer(make_rows(np.ones((8, 1))), None, query.calibrate_event(8, 1, EVENT))


@pytest.mark.parametrize("diameter", [1e-100, 1e100])
def test_a_diameter_is_as_large_as_is_said_and_no_larger(diameter):
    assert SampleAggregate(np.mean, center=(0.0,), diameter=diameter).diameter == diameter
    beyond = diameter * (1.01 if diameter > 1.0 else 0.99)
    with pytest.raises(InputError, match="diameter"):
        SampleAggregate(np.mean, center=(0.0,), diameter=beyond)
