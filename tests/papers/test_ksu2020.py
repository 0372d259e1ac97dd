"""The mean after Kamath, Singhal and Ullman: bins, cut, noise, and what one record can do."""

import math

import numpy as np
import pytest

import tailguard as tg
from support.means import without_noise
from tailguard.gate.plan import Problem
from tailguard.papers.ksu2020 import RangeThenMean, mean
from tailguard.privacy.events import Laplace

PURE, CONCENTRATED = tg.PureDP(1.0), tg.ZCDP(0.5)
N, D = 10_000, 3
TOLD = {"radius": 50.0, "scale": 2.0}


def half_width(promise, n, d, scale=2.0, order=2.0):
    """Re-derived: 5 scales, and the threshold of Kamath, Liu and Zhang, Theorem 4.1."""
    cost = math.sqrt(d) / math.sqrt(0.75 * 0.5) if promise is CONCENTRATED else d / 0.75
    return 5.0 * scale + scale * (n / cost) ** (1.0 / order)


@pytest.mark.parametrize("promise", [PURE, CONCENTRATED])
@pytest.mark.parametrize("order", [2.0, 4.0])
def test_the_plan_is_that_of_the_derivation(promise, order):
    plan = RangeThenMean(**TOLD, order=order).plan(Problem(None, N, D), promise)
    cut = half_width(promise, N, D, order=order)
    assert plan.settings["half-width"] == pytest.approx(cut, rel=1e-8)
    assert plan.settings["bins"] == math.ceil(100.0 / 12.0) + 1
    l1, l2 = 2 * cut * D / N, 2 * cut * math.sqrt(D) / N
    one = math.sqrt(2) * l1 / 0.75 if promise is PURE else l2 / math.sqrt(2 * 0.75 * 0.5)
    assert plan.expected.noise == pytest.approx(math.sqrt(D) * one, rel=1e-3)
    t = cut - 10.0
    sizes = np.linspace(t, 50 * t, 200_001)
    worst = np.max((sizes - t) / sizes**order) * 2.0**order  # where all of the moment is
    assert plan.expected.bias == pytest.approx(math.sqrt(D) * worst, rel=1e-4)
    assert isinstance(plan.stages[0].asked, Laplace) == (promise is PURE)


@pytest.mark.parametrize("promise", [PURE, CONCENTRATED])
def test_it_is_the_mean_cut_around_the_fullest_bin(promise):
    rng = np.random.default_rng(0)
    X = np.array([-31.0, 0.0, 17.0]) + 2.0 * rng.standard_t(3.0, (2_000, 3))
    X[::40] += 300.0  # which are cut
    found = without_noise(X, RangeThenMean(**TOLD), promise)
    edges = -60.0 + 12.0 * np.arange(11)  # ten bins of six scales
    cut = half_width(promise, 2_000, 3)
    for j in range(3):
        counts, _ = np.histogram(X[:, j], edges)
        middle = edges[np.argmax(counts)] + 6.0
        assert abs(middle - (-31.0, 0.0, 17.0)[j]) <= 10.0
        wanted = middle + np.clip(X[:, j] - middle, -cut, cut).mean()
        assert found[j] == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("promise", [PURE, CONCENTRATED])
def test_one_record_moves_the_mean_by_its_sensitivity_and_no_more(promise):
    X = np.zeros((1_000, 1))
    cut, found = half_width(promise, 1_000, 1), []
    for far in (-1e300, 1e300, np.nan):
        X[7] = far
        found.append(float(without_noise(X, RangeThenMean(**TOLD), promise)[0]))
    assert found[1] - found[0] == pytest.approx(2 * cut / 1_000, rel=1e-5)
    assert found[0] <= found[2] <= found[1]  # void: as if at the centre
    # Nor does it turn the histogram: all of its bins but one are empty.
    assert max(map(abs, found)) < 1.0


@pytest.mark.parametrize("promise", [PURE, CONCENTRATED])
def test_the_noise_is_that_of_the_promise_and_no_other(promise):
    """The mean absolute noise of 400 columns of zeros, which rejects scales of 0.8 and 1.25."""
    n, d = 1_000, 400
    near = {"radius": 5.0, "scale": 2.0}  # whatever bin is found, no zero is cut
    told = {"guarantee": promise, "random_state": 3, "check_records": False}
    result = mean(np.zeros((n, d)), **near, **told)
    cut = half_width(promise, n, d)
    if promise is PURE:
        usual = 2 * cut * d / n / 0.75  # |Laplace(b)| has the mean b
        doubt = 1.0 / math.sqrt(d)
    else:
        usual = 2 * cut * math.sqrt(d) / n / math.sqrt(2 * 0.75 * 0.5) * math.sqrt(2 / math.pi)
        doubt = 0.76 / math.sqrt(d)
    assert abs(np.mean(np.abs(result.value)) / usual - 1.0) < 2.2 * doubt < 0.12


def test_heavy_tails_far_off_are_found_at_the_published_rate():
    rng = np.random.default_rng(1)
    X = 400.0 + rng.standard_t(3.0, (20_000, 4))
    result = mean(X, radius=1e4, scale=1.8, guarantee=PURE, random_state=0)
    assert np.linalg.norm(result.value - 400.0) < 0.5
    assert 0.99 < result.certificate.total.epsilon <= 1.0
    for order, slope in ((2.0, -1 / 2), (4.0, -3 / 4)):
        errors = [
            RangeThenMean(**TOLD, order=order).plan(Problem(None, n, 1), PURE).expected
            for n in (10**9, 10**11)
        ]
        private = [math.hypot(each.noise, each.bias) for each in errors]
        assert math.log10(private[1] / private[0]) / 2 == pytest.approx(slope, abs=0.02)


def test_a_budget_that_shows_no_bin_is_said():
    plan = RangeThenMean(**TOLD).plan(Problem(None, 100, 20), tg.PureDP(0.1))
    assert "too small to find the bin" in plan.warnings[0]
    assert not RangeThenMean(**TOLD).plan(Problem(None, N, D), PURE).warnings


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"radius": 0.0}, "radius must be"),
        ({"radius": 1e9}, "radius must be at most 5000 bins"),
        ({"scale": -1.0}, "scale must be"),
        ({"order": 1.5}, "moment_order must be"),
        ({"center": math.nan}, "center must be"),
        ({"moment": tg.Moment(2.0, 1.0)}, "moment must not be given"),
    ],
)
def test_what_it_cannot_is_refused(told, words):
    with pytest.raises(tg.InputError, match=words):
        mean(np.zeros((100, 2)), **{**TOLD, "guarantee": PURE, **told})


@pytest.mark.parametrize("radius", [20.0, 25_000.0])
def test_all_bins_are_counted_in_what_sampled_noise_costs(radius):
    X = np.random.default_rng(0).standard_t(3.0, (4_000, 50))
    for promise in (tg.ApproxDP(1.0, 1e-6), tg.ApproxDP(20.0, 1e-8)):
        found = mean(X, radius=radius, scale=2.0, guarantee=promise, random_state=0)
        spent = found.certificate.total.epsilon
        assert 0.9 * promise.epsilon < spent <= promise.epsilon
