"""Black-box audits of noise on a smooth scale, and the printed scales, which must be caught.

A release with arsinh-normal noise is told apart best by a threshold halfway. There it errs as often
as a Gaussian one of ``mu = 2 asinh(s / 2)`` whose answers are s smallest noise scales apart, so the
audit of Gaussian releases applies, at a false alarm of 1e-6 and with power against noise 1.3 times
too small, or half of it by default. The books state s, and the audit tests just that: the cost that
follows from it is checked against exact divergences elsewhere.
"""

import dataclasses
import math

import numpy as np
import pytest

import tailguard as tg
from privacy.mutants.printed_scales import (
    PrintedCentralScale,
    PrintedTrimmedScale,
)
from support.audits import POWER, gdp_audit
from support.smooth import smooth_attack, smooth_examples
from support.sources import QuietSource
from support.spy import in_known_order
from support.stages import smooth
from tailguard.audit.gates import understated
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.means.trimmed import TrimmedMean
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.events import Approximate, Repeated, ZeroConcentrated
from tailguard.queries.sample_aggregate import SampleAggregate
from tailguard.queries.units import Units

pytestmark = pytest.mark.usefixtures("any_query")

FALSE_ALARM = 1e-6
EXAMPLES = {example.name: example for example in smooth_examples()}
# Equal columns, each with a release of its own, save asking.
N_COLUMNS = 50


def answers(query, event, data, n_asks, source):
    gate = Gate(make_rows(data), guarantee=tg.GDP(1.0), source=source)
    in_known_order(gate)
    gate.reserve(Repeated(event, n_asks), coordinates=10**6, unprotected=True)
    found = np.array(
        [gate.ask(query, np.zeros(data.shape[1]), smooth(event)) for _ in range(n_asks)]
    )
    (release,) = gate.books.releases
    return found, release.parameters


def trimmed_pair():
    """A mean that moves by all of its scale: one more of the 41 values is 2 instead of -2."""
    data = np.full((41, N_COLUMNS), -2.0)
    data[:20] = 2.0
    moved = data.copy()
    moved[30] = 2.0
    return data, moved


def trimmed_query(calibration, shrink=1.0):
    """Nearly a median, so that the budget goes to the shift; ``shrink`` makes its noise smaller."""
    units = Units.raw(N_COLUMNS, intercept=False)
    options = {"n_trimmed": 20, "resolution": 100.0, "calibration": calibration}
    return understated(TrimmedMean(None, units, -2.0, 2.0, **options), shrink)


def trimmed_audit(shrink, n_draws, calibration, rho, too_much=1.3):
    event, query = ZeroConcentrated(rho * N_COLUMNS), trimmed_query(calibration, shrink)
    exact = [answers(query, event, data, 1, QuietSource())[0][0, 0] for data in trimmed_pair()]
    scores = []
    for seed, data in enumerate(trimmed_pair()):
        n_asks = n_draws // N_COLUMNS
        found, public = answers(query, event, data, n_asks, SimulationSource(seed))
        scores.append(found.ravel() - sum(exact) / 2)
    shift = public["shift"] * (1 - 1e-4)
    claimed, true = (2 * math.asinh(factor * shift / 2) for factor in (1.0, too_much))
    # Scores of unit variance around 0 and mu, as the power is worked out for them.
    return claimed, gdp_audit(
        *(np.sign(score) * 10 + true / 2 for score in scores),
        threshold=true / 2,
        claimed_mu=claimed * (1 + 1e-3),
        true_mu=true,
        false_alarm=FALSE_ALARM,
    )


def check_trimmed(calibration, rho, n_draws, too_much):
    facts = {"calibration": calibration, "rho": rho, "too_much": too_much}
    claimed, verdict = trimmed_audit(1.0, n_draws, **facts)
    assert 1.0 < claimed < 3.0
    assert verdict.accepted
    _, caught = trimmed_audit(too_much, n_draws, **facts)
    assert not caught.accepted
    assert caught.power >= POWER


@pytest.mark.parametrize(("calibration", "rho"), [("numerical", 1.45), ("tight", 3.0)])
def test_a_trimmed_mean_on_a_worst_pair_shows_what_is_stated_and_no_more(calibration, rho):
    check_trimmed(calibration, rho, 750, too_much=2.0)


@pytest.mark.audit
@pytest.mark.parametrize(
    ("calibration", "rho", "n_draws"),
    [("numerical", 0.6, 15_000), ("numerical", 1.45, 9_000), ("tight", 3.0, 9_000)],
)
def test_trimmed_means_are_audited_at_length(calibration, rho, n_draws):
    check_trimmed(calibration, rho, n_draws, too_much=1.3)


def ends(features, target):
    """The one record of a block, as a point."""
    return features[0]


def central_pair():
    """Nine points on a line; the first goes from one end to the other, and the centre with it."""
    line = np.array([-1, -1, -1, 0, 0, 0, 1, 1, 1.0])[:, None]
    return line, np.vstack([[[1.0]], line[1:]])


def central_audit(shrink, n_runs, event, too_much, calibration):
    plain = SampleAggregate(ends, (0.0,), 4.0, n_blocks=9, calibration=calibration)
    query = understated(plain, shrink)
    scores, shifts = [], []
    for seed, data in enumerate(central_pair()):
        found, public = answers(query, event, data, n_runs, SimulationSource(seed))
        exact, _ = answers(query, event, data, 1, QuietSource())
        assert exact[0, 0] == pytest.approx(2.0 * seed - 1.0, abs=1e-6)
        scale = plain.answer(make_rows(data), None, query.calibrate_event(9, 1, event)).scale[0]
        scores.append((found[:, 0] + 1.0) * public["shift"] / scale)
        shifts.append(2.0 * public["shift"] / scale)
    claimed = min(shifts)
    assert claimed == pytest.approx(max(shifts))
    return claimed, gdp_audit(
        *scores,
        threshold=claimed / 2,
        claimed_mu=claimed * (1 + 1e-3),
        true_mu=too_much * claimed,
        false_alarm=FALSE_ALARM,
    )


def check_center(n_runs, event, too_much, calibration):
    claimed, verdict = central_audit(1.0, n_runs, event, too_much, calibration)
    assert 1.0 < claimed < 3.0
    assert verdict.accepted
    _, caught = central_audit(too_much, n_runs, event, too_much, calibration)
    assert not caught.accepted
    assert caught.power >= POWER


@pytest.mark.long
@pytest.mark.parametrize("calibration", ["tight", "numerical"])
def test_sample_and_aggregate_on_a_worst_pair_shows_what_is_stated_and_no_more(calibration):
    check_center(400, Approximate(20.0, 0.1), 2.0, calibration)


@pytest.mark.audit
@pytest.mark.parametrize("calibration", ["tight", "numerical"])
def test_sample_and_aggregate_is_audited_at_length(calibration):
    check_center(12_000, Approximate(12.0, 0.1), 1.3, calibration)


@pytest.mark.parametrize(
    ("mutant", "name"),
    [
        (PrintedTrimmedScale, "trimmed-mean/tight"),
        (PrintedTrimmedScale, "trimmed-mean/numerical"),
        (PrintedCentralScale, "sample-aggregate/means"),
        (PrintedCentralScale, "sample-aggregate/single"),
        (PrintedCentralScale, "sample-aggregate/overlapping"),
    ],
)
def test_the_printed_scales_are_caught(mutant, name):
    example = EXAMPLES[name]
    printed = mutant(
        **{f.name: getattr(example.query, f.name) for f in dataclasses.fields(example.query)}
    )
    assert smooth_attack(example, 200, seed=1)[0] <= 1.0
    assert smooth_attack(example, 200, seed=1, query=printed)[0] > 3.0


def test_the_sizes_of_the_breaches_are_those_that_are_known():
    zeros = np.zeros((100, 1))
    far = zeros.copy()
    far[0] = 1e6
    units = Units.raw(1, intercept=False)
    query = PrintedTrimmedScale(None, units, -1.0, 1.0, n_trimmed=20, calibration="published")
    public = query.calibrate_event(100, 1, ZeroConcentrated(0.8))
    scales = [query.answer(make_rows(data), np.zeros(1), public).scale[0] for data in (zeros, far)]
    assert public.smoothness == pytest.approx(0.1)
    assert scales == pytest.approx([0.27067, 16_666.67], rel=1e-4)
