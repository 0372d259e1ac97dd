"""Targets and exposures of usable records, and their number: values, proof, noise."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import tailguard as tg
from support.sources import QuietSource
from support.stages import once
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.events import Gaussian
from tailguard.queries.target_totals import COUNTED, TargetTotals

N_ROWS, MU, LIMIT = 200, 0.5, 4.0
RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((N_ROWS, 2)), RNG.exponential(2.0, N_ROWS)
EXPOSURE = RNG.uniform(0.2, 3.0, N_ROWS)
X[::5, 0] = np.nan
USABLE = np.isfinite(X[:, 0])
PLAIN, EXPOSED = TargetTotals(LIMIT), TargetTotals(LIMIT, math.log(2.0))


def asked(query, n_times=1, source=None, weight=None):
    """Answers of the gate, with or without exposures."""
    exposure = None if query.log_exposure_limit is None else EXPOSURE
    poisson = tg.losses.Poisson()
    rows = make_rows(
        X, Y, exposure=exposure, sample_weight=weight,
        weight_bound=None if weight is None else 1.0, loss=poisson,
    )  # fmt: skip
    source = source or SimulationSource(0)
    gate = Gate(rows, guarantee=tg.GDP(2.0 * MU * math.sqrt(n_times)), source=source)
    gate.reserve(Gaussian(MU * 1.001 * math.sqrt(n_times)), coordinates=10**6)
    return np.array([gate.ask(query, None, once(MU)) for _ in range(n_times)])


def test_two_records_are_never_farther_apart_than_what_is_stated():
    """Of contributions of usable records, weighted or not, and of a void one, which is zero."""
    ends = np.array([-1.0, -0.3, 0.0, 1.0])
    for query in (PLAIN, EXPOSED):
        n_sums = 1 + (query is EXPOSED)
        points = [np.zeros(n_sums + 1)] + [
            weight * np.array([*values, COUNTED * math.sqrt(n_sums)])
            for values in itertools.product(ends, repeat=n_sums)
            for weight in (1.0, 0.4, 1e-9)
        ]
        apart = max(math.dist(a, b) for a, b in itertools.combinations(points, 2))
        stated = query.sensitivity(N_ROWS, 2).ideal
        assert apart <= stated
        assert apart == pytest.approx(stated)
        void = max(math.dist(point, points[0]) for point in points)
        assert stated * (1.0 - 1e-4) < void < stated


@pytest.mark.parametrize("weight", [None, RNG.random(N_ROWS)])
def test_without_noise_means_are_those_of_usable_records(weight):
    own = USABLE if weight is None else USABLE * weight
    (answer,) = asked(EXPOSED, source=QuietSource(), weight=weight)
    means = EXPOSED.means(answer, 1e-9)
    exact = np.array([np.minimum(Y, LIMIT) / LIMIT, np.minimum(EXPOSURE, 2.0) / 2.0])
    np.testing.assert_allclose(means, exact @ own / own.sum(), atol=1e-6)
    assert answer[-1] == pytest.approx(own.sum() / N_ROWS, abs=1e-6)


def test_means_stay_in_the_range_whatever_noise_does():
    for answer in ((9.0, 1e-3), (-9.0, -4.0), (0.0, 9.0), (0.0, 0.0)):
        (mean,) = PLAIN.means(np.array(answer), 0.1)
        assert 0.0 <= mean <= 1.0


def chance(numbers):
    """The chance of so extreme a sum of squares if the numbers are standard normal."""
    below = stats.chi2.cdf(numbers @ numbers, numbers.size)
    return 2.0 * min(below, 1.0 - below)


@pytest.mark.parametrize("query", [PLAIN, EXPOSED], ids=["targets", "exposures"])
def test_numbers_have_the_noise_that_is_stated_and_no_other(query):
    """A normal law, and a scale: one that is a tenth off is rejected."""
    n_times = 1_500
    (exact,) = asked(query, source=QuietSource())
    found = (asked(query, n_times) - exact) / query.noise_std(N_ROWS, 2, MU)
    found[:, -1] *= COUNTED * math.sqrt(found.shape[1] - 1)
    assert query.noise_std(N_ROWS, 2, MU) == pytest.approx(
        query.sensitivity(N_ROWS, 2).ideal / (MU * N_ROWS), rel=1e-3
    )
    for numbers in found.T:
        assert stats.kstest(numbers, "norm").pvalue > 1e-4
        assert chance(numbers) > 1e-4
        for wrong in (0.9, 1.1):
            assert chance(numbers / wrong) < 1e-4
    assert abs(np.corrcoef(found.T)[0, -1]) < 0.12


def test_a_mean_has_hardly_more_noise_than_a_sum_over_a_known_number_of_records():
    noise = PLAIN.noise_std(N_ROWS, 2, MU)
    means = [PLAIN.means(each, noise) for each in asked(PLAIN, 400)]
    alone = 0.5 * noise / USABLE.mean()
    assert 0.85 * alone < np.std(means) < 1.155 * 1.15 * alone


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (TargetTotals(0.0), "limit must be"),
        (TargetTotals(1.0, math.inf), "log_exposure_limit must be"),
    ],
)
def test_limits_that_are_no_limits_are_refused_before_a_record_is_read(query, words):
    with pytest.raises(tg.InputError, match=words):
        query.read_state(None)
