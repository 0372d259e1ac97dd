"""Trimmed means and samples and aggregates: order statistics, public numbers, refusals."""

import math

import numpy as np
import pytest

from support.known import outcome
from tailguard.losses import Squared
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.events import Approximate, Gaussian, ZeroConcentrated
from tailguard.queries import sample_aggregate as aggregate
from tailguard.queries.gather import MOST_NUMBERS, check_gathered
from tailguard.queries.means.trimmed import TrimmedMean, trimmed_mean, trimmed_scale
from tailguard.queries.overlapping_blocks import (
    _draw,
    _likely,
    largest_overlap,
    overlapping_blocks,
)
from tailguard.queries.sample_aggregate import SampleAggregate
from tailguard.queries.units import Units
from tailguard.rows.arrays import make_rows

TAILED = np.sort(np.random.default_rng(4).standard_t(1.5, 41))
POINTS = np.random.default_rng(5).standard_t(1.5, (23, 2))
ONE, TWO = Units.raw(1, intercept=False), Units.raw(2, intercept=True)
BAD = (0, -1, 1.5, None)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("n_trimmed", [1, 2, 7, 20])
def test_trimming(known, n_trimmed, exact):
    known(
        [
            [trimmed_mean(TAILED, n_trimmed, low, high)
             for low, high in ((-9.0, 9.0), (0.5, 9.0), (-9.0, -0.5))],
            [trimmed_scale(TAILED, n_trimmed, width, smoothness, exact=exact)
             for width in (0.1, 30.0, 1e9) for smoothness in (0.0, 0.05, 3.0)],
        ]
    )  # fmt: skip


OPTIONS = {
    "plain": {},
    "share": {"smoothness_share": 0.6},
    "count": {"n_trimmed": 60},
    "resolution": {"resolution": 1.0},
    "exact": {"exact": True},
    "numerical": {"calibration": "numerical"},
    "published": {"calibration": "published"},
    "paper": {"calibration": "paper", "unsafe_reproduction": True},
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("units", [ONE, TWO], ids=["one", "two"])
def test_trimmed_means(known, name, units):
    query = TrimmedMean(Squared() if units is TWO else None, units, -2.0, 5.0, **OPTIONS[name])
    events = [ZeroConcentrated(0.5), ZeroConcentrated(0.01), ZeroConcentrated(150.0)]
    rng = np.random.default_rng(6)
    records = rng.standard_t(2.0, (1500, units.center.size + 1))
    rows = make_rows(records[:, :-1].copy(), records[:, -1].copy(), loss=query.loss)
    found = [outcome(query.calibrate_event, n, units.center.size, e)
             for n in (5, 300, 1500, 10**5) for e in events]  # fmt: skip
    made = query.calibrate_event(1500, units.center.size, events[0])
    state = np.full(units.size, 0.25)
    answer = query.answer(rows, state, made)
    known([found, query.width, query.parameters(), query.random_order, answer.value, answer.scale],
          rel=1e-11)  # fmt: skip


def test_refused_trimmed_means(known):
    made = [
        *((low, high) for low, high in ((1.0, 1.0), (2.0, 1.0), (math.nan, 1.0), (0.0, math.inf))),
        *((0.0, math.nextafter(1e-100, 0.0)), (0.0, 1e-100), (-1e100, 1.0)),
        (math.nextafter(-1e100, -1e101), 0.0),
    ]
    options = [
        *({"smoothness_share": bad} for bad in (0.0, 1.0, None)),
        *({"n_trimmed": bad} for bad in (0, -1, 1.5)),
        *({"resolution": bad} for bad in (0.0, -1.0, math.inf)),
        *({"calibration": "paper"}, {"calibration": "loose"}, {"exact": None}),
        *({"unsafe_reproduction": None}, {"calibration": "paper", "unsafe_reproduction": 1}),
    ]
    query = TrimmedMean(None, ONE, -1.0, 1.0, n_trimmed=4)
    event, other = ZeroConcentrated(4.0), (Gaussian(1.0), Approximate(1.0, 1e-6), None)
    known(
        [
            *(str(outcome(TrimmedMean, None, ONE, *each)) for each in made),
            *(outcome(TrimmedMean, None, ONE, -1.0, 1.0, **each) for each in options[:-5]),
            *(str(outcome(TrimmedMean, None, ONE, -1.0, 1.0, **each)) for each in options[-5:]),
            *(outcome(query.calibrate_event, 100, 1, each) for each in other),
            *(outcome(query.calibrate_event, n, 1, event) for n in (8, 9, 10, 11)),
            outcome(query.calibrate_event, 2**30 + 1, 1, event),
            *(outcome(call, 100, 1, 1.0) for call in (query.calibrate, query.calibrate_pure)),
        ]
    )


def test_sizes_that_fit_memory():
    assert MOST_NUMBERS == 2**30
    assert check_gathered(2**27, 8) is None
    assert isinstance(outcome(check_gathered, 2**27 + 1, 8), ValueError)


@pytest.mark.parametrize("overlap", [1, 2, 3, 5])
def test_centres(known, overlap):
    radii = aggregate.ball_radii(POINTS)
    known(
        [
            [aggregate.central_point(radii[:n, :n], overlap) for n in (4, 5, 9, 23)],
            [aggregate.central_scale(radii[:n, :n], d, s, overlap)
             for n in (4, 5, 23) for d in (0.5, 8.0, 1e3) for s in (0.0, 0.3, 2.0)],
            [outcome(aggregate.printed_smooth_scale, radii, d, s, overlap)
             for d in (0.5, 1e3) for s in (0.01, 2.0)],
            [aggregate.least_scale(n, 3.0, 0.2, overlap) for n in (1, 4, 9, 10, 11, 400)],
        ]
    )  # fmt: skip


LAYOUTS = [
    *({}, {"n_blocks": 12}, {"least_rows": 3}, {"n_blocks": 9}),
    *({"layout": "overlapping"}, {"layout": "overlapping", "n_blocks": 100}),
    *({"calibration": c} for c in ("numerical", "published")),
    {"calibration": "paper", "unsafe_reproduction": True},
    {"layout": "overlapping", "calibration": "paper", "unsafe_reproduction": True, "n_blocks": 100},
]


def middle(features, target):
    return [np.median(features[:, 0]) + np.median(target), np.mean(features[:, -1])]


@pytest.mark.parametrize("number", range(len(LAYOUTS)))
def test_samples_and_aggregates(known, number):
    query = SampleAggregate(middle, (0.5, -1.0), 3.0, **LAYOUTS[number])
    events = [Approximate(1.0, 1e-5), Approximate(8.0, 1e-2)]
    records = np.random.default_rng(6).standard_t(2.0, (900, 3))
    records[::50, 1] = np.nan
    made = query.calibrate_event(900, 2, events[1])
    answer = query.answer(make_rows(records[:, :-1].copy(), records[:, -1].copy()), None, made)
    found = [outcome(query.calibrate_event, n, 2, e) for n in (3, 4, 900, 10**6) for e in events]
    known([found, query.parameters(), query.random_order, answer.value, answer.scale], rel=1e-8)


@pytest.mark.parametrize(
    "estimator",
    [
        lambda X, y: [1.0, math.nan],
        lambda X, y: [math.inf, 0.0],
        lambda X, y: [1.0],
        lambda X, y: [[1.0, 2.0]],
        lambda X, y: ["1", "2"],
        lambda X, y: [1, 2],
        lambda X, y: 1 / 0,
        lambda X, y: [X.shape[0], X.shape[1] + y.sum()],
    ],
)
def test_estimates(known, estimator):
    query = SampleAggregate(estimator, (0.5, -1.0), 3.0)
    records = np.arange(12.0).reshape(4, 3)
    records[1, 2] = np.inf
    known(query._estimate(records))


def test_refused_samples_and_aggregates(known):
    centers = [(), (math.nan,), "1", None, ((1.0,),), (1.0, 2.0), 3.0]
    ends = (1e-100, math.nextafter(1e-100, 0.0), 1e100, math.nextafter(1e100, 1e101), 0.0, -1.0)
    options = [
        *({"n_blocks": bad} for bad in (3, 4, 5000, 5001, 4.5)),
        *({"least_rows": bad} for bad in BAD),
        *({"layout": "other"}, {"calibration": "loose"}, {"calibration": "paper"}),
        {"unsafe_reproduction": None},
    ]
    query = SampleAggregate(middle, (0.0,), 1.0, n_blocks=8)
    other = (ZeroConcentrated(1.0), Gaussian(1.0), None)
    known(
        [
            *(str(outcome(SampleAggregate, middle, each, 1.0)) for each in centers),
            *(str(outcome(SampleAggregate, middle, (0.0,), each)) for each in ends),
            *(str(outcome(SampleAggregate, middle, (0.0,), 1.0, **each)) for each in options),
            *(outcome(query.calibrate_event, 100, 1, each) for each in other),
            *(outcome(query.calibrate_event, n, 1, Approximate(1.0, 1e-6)) for n in (7, 8)),
            outcome(query.calibrate_event, 2**29 + 1, 1, Approximate(1.0, 1e-6)),
        ]
    )


def test_overlapping_blocks(known):
    drawn = overlapping_blocks(200, 50, 3)
    known(
        [
            [largest_overlap(n) for n in (1, 2, 4, 5, 9, 10, 400, 401)],
            [_likely(*each) for each in ((200, 50), (1000, 100), (1000, 16), (10**5, 900))],
            *(len(drawn), drawn[0], drawn[-1], drawn[0].flags.writeable),
            overlapping_blocks(300, 16, 0),
            [_draw(SimulationSource(seed), 100, 16) for seed in range(4)],
        ],
        rel=1e-10,
    )
    times = np.bincount(np.concatenate(drawn))
    assert times.max() <= largest_overlap(50)
