"""What queries are made of: units, views, directions, centres, medians; who is admitted."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

import tailguard as tg
from support.known import outcome
from tailguard.checks import QueryError
from tailguard.losses.link import Link
from tailguard.queries.admission import check_admitted, check_state
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.counts import CountBelow
from tailguard.queries.loss_differences import LossDifferences
from tailguard.queries.magnitudes import CountMagnitudes
from tailguard.queries.means import directions, iterative
from tailguard.queries.means.clamped import ClampedMean
from tailguard.queries.means.coordinate_mean import CoordinateMean, median_of_groups
from tailguard.queries.means.iterative import IterativeMean
from tailguard.queries.means.soft import SoftMean
from tailguard.queries.means.truncated import TruncatedMean
from tailguard.queries.peeling import PeeledStep
from tailguard.queries.sample_aggregate import SampleAggregate
from tailguard.queries.second_moments import symmetric
from tailguard.queries.units import Units
from tailguard.queries.view import LARGEST_ENTRY, View
from tailguard.rows.arrays import make_rows

SKEWED = Units(np.array([0.5, -1.0]), np.array([2.0, 0.25]), intercept=True, target_center=3.0,
               target_scale=4.0, offset_center=0.125)  # fmt: skip
RAW, PAIR = Units.raw(2, intercept=True), Units.raw(2, intercept=False)
BAD = (0.0, -1.0, math.inf, math.nan, None)
CLOUD = np.random.default_rng(2).standard_t(2.0, (21, 3)) + np.array([1.0, 0.5, -2.0])


@pytest.mark.parametrize("link", Link)
def test_units(known, link):
    units = (SKEWED, RAW, PAIR)
    weights = np.array([1.5, -0.5, 2.0])
    known([[each.size, each.gain(link), each.coefficients(weights[: each.size], link),
            dict(each.for_kernels())] for each in units])  # fmt: skip
    known_default = SKEWED.coefficients(weights)
    np.testing.assert_array_equal(known_default[0], SKEWED.coefficients(weights, Link.LOGIT)[0])


def test_views(known):
    loss = tg.losses.Squared()
    plain = [View.plain(loss, SKEWED), View.plain(None, PAIR, target_in_row=True)]
    narrow = plain[0].through(np.array([[1.0, 2.0]] * 3))
    known([[each.width, each.height, each.whitening, each.target_in_row, each.bound]
           for each in (*plain, narrow)])  # fmt: skip

    limit = LARGEST_ENTRY
    wide = [narrow.through(np.full((3, 2), x)) for x in (limit, 2.0 * limit, math.nan, -limit)]
    assert [each.reads() for each in wide] == [True, False, False, True]
    weights = [np.full(3, x) for x in (limit, -2.0 * limit, math.inf)]
    assert [narrow.reads(each) for each in weights] == [True, False, False]
    np.testing.assert_array_equal(narrow.rows().weights, np.zeros(3))


@pytest.mark.parametrize("count", [11, 19, 21])
def test_directions(known, count):
    line, plane = CLOUD[:, :1], CLOUD[:, :2]
    many = np.random.default_rng(7).standard_normal((51, 2)) + 1.0
    found = [directions.furthest_direction(each, count) for each in (line, plane, CLOUD)]
    turned = directions.furthest_direction(1e-200 * CLOUD, count)
    known(
        [
            *(found, turned, directions.furthest_direction(np.zeros((21, 3)), count)),
            directions.furthest_direction(many, 46),
            directions.reach(CLOUD, np.eye(3), count),
            directions._starts(CLOUD) * np.sign(directions._starts(CLOUD)[:, :1]),
            directions._ties(plane[:4]),
            directions._unit_vectors(np.array([[3.0, 4.0], [0.0, 0.0], [0.0, -2.0]])),
        ],
        rel=1e-6,
        absolute=1e-9,
    )


def test_searches_of_directions(known):
    start = np.array([0.0, 0.6, 0.8])
    known(
        [
            *(directions._alternate(CLOUD, start, count) for count in (11, 19)),
            *(directions._ascend(CLOUD, start, count) for count in (11, 19)),
            *(directions._search_direction(CLOUD, start, count) for count in (11, 19)),
            directions._widest_margin(CLOUD[:5] + 4.0),
            directions._widest_margin(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])),
            directions._widest_margin(np.array([[2.0, 1.0], [2.0, -1.0]])),
        ],
        rel=1e-6,
        absolute=1e-9,
    )


@pytest.mark.parametrize("centre", iterative.CENTRES)
def test_centres(known, centre):
    clouds = (CLOUD, CLOUD[:, :1], CLOUD[:2], CLOUD[:1], np.ones((4, 2)))
    known([iterative.centre_of(each, centre) for each in clouds], rel=1e-6, absolute=1e-9)


def test_updates(known):
    """After more steps, or at other levels, which way is furthest hangs on the last digit."""
    start = np.array([30.0, 0.0, 0.0])
    known(
        [
            *(iterative.updated_centre(CLOUD, start, n_steps=n) for n in (0, 1, 2, 5)),
            *(
                iterative.updated_centre(CLOUD, start, level=x, n_steps=5)
                for x in (0.01, 0.5, 0.9, 0.999)
            ),
            *(iterative.centre_of(CLOUD, "updates", level=0.8, start=s) for s in iterative.STARTS),
            [iterative.group_edges(n, k) for n, k in ((10, 4), (3, 3), (7, 1), (10**6, 3))],
            [outcome(iterative.check_group_count, k, 5) for k in (0, 1, 5, 6, 1.5)],
        ],
        rel=1e-6,
        absolute=1e-9,
    )


def test_medians():
    rows = np.array([[4, -1], [1, 7], [2, 2], [9, 3]])
    found = [median_of_groups(rows[:n]).tolist() for n in (1, 2, 3, 4)]
    assert found == [[4, -1], [5, 6], [2, 2], [6, 5]]
    matrix = symmetric(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 3)
    root = math.sqrt(0.5)
    expected = [[1.0, 2 * root, 3 * root], [2 * root, 4.0, 5 * root], [3 * root, 5 * root, 6.0]]
    np.testing.assert_allclose(matrix, expected, rtol=1e-15)


def test_refused_means(known):
    edges = [(), (0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (1.0, 2.0), (-1.0,), (5e-324,)]
    few = ClampedMean(None, PAIR, threshold=1.0, n_groups=4)
    soft = {"n_rows": 100, "moment_bound": 2.0, "failure_probability": 0.1}
    known(
        [
            *(str(outcome(kind, None, PAIR, threshold=bad, n_groups=2))
              for kind in (ClampedMean, TruncatedMean) for bad in BAD),
            *(str(outcome(kind, None, PAIR, threshold=1.0, n_groups=bad))
              for kind in (ClampedMean, TruncatedMean) for bad in (0, 1, -1, 1.5)),
            *(str(outcome(SoftMean, None, PAIR, bad)) for bad in BAD),
            *(str(outcome(SoftMean, None, PAIR, 1.0, bad))
              for bad in (0.25, 0.2499999, 400.0, 400.001, None)),
            *(str(outcome(IterativeMean, None, PAIR, bad)) for bad in BAD),
            *(str(outcome(IterativeMean, None, PAIR, 1.0, **each)) for each in (
                {"n_groups": 0}, {"n_groups": 1}, {"n_groups": 1.5}, {"centre": "mean"},
                {"centre": "all"}, {"start": "mean"}, {"level": 0.0}, {"level": 1.0})),
            *(str(outcome(PeeledStep, None, PAIR, 1.0, bad, 1)) for bad in BAD),
            *(str(outcome(PeeledStep, None, PAIR, bad, 1.0, 1)) for bad in BAD),
            *(str(outcome(PeeledStep, None, PAIR, 1.0, 1.0, bad)) for bad in (0, 1, 1.5)),
            *(str(outcome(CountMagnitudes, PAIR, each)) for each in edges),
            str(outcome(CountMagnitudes, PAIR, (1.0,), "rows")),
            *(outcome(CountMagnitudes(PAIR, (1.0,)).sensitivity, 9, n) for n in (1, 2, 3)),
            *(outcome(few.sensitivity, n, 2) for n in (3, 4, 5)),
            *(outcome(LossDifferences(tg.losses.Squared(), (View.plain(None, PAIR),) * 2, bad)
                      .sensitivity, 9, 2) for bad in (0.0, -1.0, math.inf)),
            SoftMean.wang2020(None, PAIR, **soft).parameters(),
            SoftMean.kamath2022(None, PAIR, threshold=2.0, noise_variance=0.5).parameters(),
            *(str(outcome(SoftMean.wang2020, None, PAIR, **soft | {name: bad}))
              for name in ("moment_bound", "failure_probability") for bad in (0.0, -1.0, 1.0)),
            *(str(outcome(SoftMean.kamath2022, None, PAIR, threshold=2.0, noise_variance=bad))
              for bad in BAD),
        ]
    )  # fmt: skip


def test_differences_need_weights_of_every_candidate():
    view = View.plain(None, PAIR)
    query = LossDifferences(tg.losses.Squared(), (view, view), limit=1.0)
    rows = make_rows(np.ones((4, 2)), np.ones(4))
    calibration = query.calibrate(4, 2, 1.0)
    for count in (1, 3):
        with pytest.raises(ValueError, match="zip"):
            query.answer(rows, (np.zeros(2),) * count, calibration)


def test_peeled_steps(known):
    cases = [(units, n) for units in (RAW, PAIR) for n in (1, 2, 3)]
    steps = [PeeledStep(tg.losses.Squared(), units, 2.0, 0.5, n) for units, n in cases]
    known([[each.n_selected, each.n_free, each.bound, each.parameters()] for each in steps])


def test_reaches_at_which_little_is_cut(known):
    wide = (MeanClippedGradient, ClampedMean, TruncatedMean, SoftMean, IterativeMean)
    known([kind.wide(7.0) for kind in wide])


def test_bases_say_nothing_of_their_own(known):
    bare = CoordinateMean(None, PAIR)
    known([outcome(lambda name=name: getattr(bare, name)) for name in ("bound", "group_count")])


@dataclass(frozen=True)
class Stranger:
    """An object of no registry."""

    columns: tuple = (0,)


def function(features, target):
    return [0.0]


def test_admission(known):
    stray = CountBelow(columns=(0,))
    object.__setattr__(stray, "more", 1)
    admitted = [
        *(CountBelow(columns=(0, np.int64(1))), CountBelow(columns=[0])),
        *(ClampedMean(tg.losses.Squared(), PAIR, 1.0, 2), SampleAggregate(function, (0.0,), 1.0)),
        *(MeanClippedGradient(None, SKEWED, clip_norm=1.0), Stranger(), stray, 3, CountBelow),
        *(CountBelow(columns=(Stranger(),)), CountBelow(columns=(None, True, 1.5, "a"))),
        *(CountBelow(columns=([(0,)],)), CountBelow(columns=np.zeros(2)), CountBelow({0: 1})),
        *(CountBelow(columns=np.array(["a"])), CountBelow(columns=function)),
        *(ClampedMean(Stranger(), PAIR, 1.0, 2), SampleAggregate(np.mean, (0.0,), 1.0)),
        *(SampleAggregate(Stranger(), (0.0,), 1.0), SampleAggregate(max, (0.0,), 1.0)),
        ClampedMean(None, Stranger(), 1.0, 2),
    ]
    known([outcome(check_admitted, each) for each in admitted])
    assert isinstance(outcome(check_admitted, Stranger()), QueryError)


def test_states(known):
    states = [
        *(
            None,
            1,
            1.5,
            True,
            "word",
            np.float32(1.0),
            np.zeros(2),
            np.zeros(2, bool),
            (1, (None,)),
        ),
        *(np.array(["a"]), np.array([None]), np.zeros(2, complex), [1.0], {}, 1j, Stranger()),
        *((1, [2]), (np.array(["a"]),), np.ma.zeros(2), np.zeros(2, np.uint8)),
    ]
    known([outcome(check_state, each) for each in states])
