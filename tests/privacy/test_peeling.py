"""Black-box audits of peeling on worst pairs: what a choice reveals, what a value reveals.

The pair moves one magnitude up and another one down by the whole sensitivity. The chance of a
choice then differs between neighbours by as much as the exponential mechanism's profile allows;
bounds are Clopper and Pearson's at a false-alarm rate of 1e-6, and each mutant is caught. A choice
and a value of either mechanism are audited by themselves as well: noise 1.3 times too small is
caught with a chance of 99.9 per cent in the audit, half of the noise by default.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import norm

import tailguard as tg
from privacy.mutants.loose_peeling import (
    LooseGaussianChoice,
    LooseGaussianValue,
    LooseLaplaceChoice,
)
from support.audits import POWER, event_audit, gdp_audit, mu_lower_bound, runs_for_event
from support.stages import once
from tailguard.audit.bounds import clopper_pearson_upper
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.noise.peeling import Peeling
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.accounting.gaussian import delta_of
from tailguard.privacy.accounting.pld import profile_of
from tailguard.privacy.calibration import peeling_event
from tailguard.privacy.events import BoundedRange, Gaussian, Pure
from tailguard.privacy.flat_events import flatten
from tailguard.queries.peeling import PeeledStep
from tailguard.queries.units import Units
from tailguard.solvers.hard_thresholding import HardThresholding

N_ROWS, N_RUNS, FALSE_ALARM = 20, 4_000, 1e-6
LOW, HIGH = (4.0, -4.0), (-4.0, 4.0)


def releases(mechanism, record, query, state, share, seed, n_runs=N_RUNS):
    """Answers on zeros and one record, drawn by a mechanism of the test's choice."""
    X = np.zeros((N_ROWS, len(record)))
    X[3] = record
    rows = make_rows(X)
    pure = mechanism.name == "peeled-laplace"
    calibrate = query.calibrate_pure if pure else query.calibrate
    calibration = calibrate(N_ROWS, len(record), share)
    lattice = query.answer(rows, state, calibration)
    source = SimulationSource(seed)
    return np.array([mechanism.release(lattice, calibration, source) for _ in range(n_runs)]), (
        calibration
    )


def choices(mechanism, share):
    """How often the first of two entries is chosen, on each side of the worst pair."""
    query = PeeledStep(None, Units.raw(2, intercept=False), 4.0, 1.0, n_nonzero=1)
    counts = []
    for seed, record in enumerate((LOW, HIGH)):
        answers, calibration = releases(mechanism, record, query, np.ones(2) * 9.0, share, seed)
        counts.append(int(np.count_nonzero(answers[:, 0])))
    return counts, calibration


def proven_gap(counts):
    """A lower bound on the difference of the two chances."""
    upper = clopper_pearson_upper([counts[0], N_RUNS - counts[1]], N_RUNS, FALSE_ALARM / 2)
    return 1.0 - float(upper.sum())


@pytest.mark.parametrize(
    ("mechanism", "accepted"), [(Peeling("peeled-gaussian"), True), (LooseGaussianChoice(), False)]
)
def test_a_gumbel_choice_reveals_what_its_profile_allows(mechanism, accepted):
    counts, calibration = choices(mechanism, math.sqrt(2.0))
    assert calibration.ratio == pytest.approx(1.0, rel=1e-6)
    (choice,) = (
        leaf
        for leaf in flatten(mechanism.event(calibration)).leaves
        if isinstance(leaf, BoundedRange)
    )
    allowed = float(profile_of(choice).delta(np.zeros(1))[0])
    assert allowed == pytest.approx(math.tanh(0.5), rel=1e-6)
    assert (proven_gap(counts) <= allowed) is accepted
    # The pair is the worst: what was seen comes close to what is allowed.
    assert (counts[1] - counts[0]) / N_RUNS >= 0.95 * allowed


@pytest.mark.parametrize(
    ("mechanism", "accepted"), [(Peeling("peeled-laplace"), True), (LooseLaplaceChoice(), False)]
)
def test_a_laplace_choice_reveals_no_more_than_twice_the_ratio(mechanism, accepted):
    counts, calibration = choices(mechanism, 3.0)
    assert calibration.ratio == pytest.approx(1.0, rel=1e-6)
    # Chances of the first entry: above a bound on one side, below one on the other.
    upper = clopper_pearson_upper([counts[0], N_RUNS - counts[1]], N_RUNS, FALSE_ALARM / 2)
    proven = math.log((1.0 - float(upper[1])) / float(upper[0]))
    (choice,) = (
        leaf for leaf in flatten(mechanism.event(calibration)).leaves if isinstance(leaf, Pure)
    )
    assert (proven <= choice.epsilon) is accepted


@pytest.mark.parametrize(
    ("mechanism", "accepted"), [(Peeling("peeled-gaussian"), True), (LooseGaussianValue(), False)]
)
def test_a_value_reveals_its_ratio_and_no_more(mechanism, accepted):
    query = PeeledStep(None, Units.raw(1, intercept=False), 4.0, 1.0, n_nonzero=1)
    scores = []
    for seed, record in enumerate(((4.0,), (-4.0,))):
        answers, calibration = releases(mechanism, record, query, np.zeros(1), 1.0, seed)
        scores.append(answers[:, 0] / calibration.lattice_scale + 0.5)
    verdict = gdp_audit(
        *scores,
        threshold=0.5,
        claimed_mu=calibration.ratio,
        true_mu=2.0,
        false_alarm=FALSE_ALARM,
    )
    assert calibration.ratio == pytest.approx(1.0, rel=1e-6)
    assert verdict.accepted is accepted
    assert verdict.power >= 0.999
    assert verdict.statistic > 0.75


def laplace_choice_rates(ratio):
    """Chances of the errors where one of four is equal to the others, or two moves below them."""
    x = np.linspace(-40.0, 40.0, 400_001)
    others = np.where(x < 0.0, np.exp(x) / 2.0, 1.0 - np.exp(-x) / 2.0) ** 3
    low, high = (
        float(others @ np.exp(-np.abs(x + below)) / 2.0 * (x[1] - x[0]))
        for below in (2.0 * ratio, 0.0)
    )
    return low, 1.0 - high


@dataclass(frozen=True)
class Part:
    """One choice or one value, a worst pair for it, and an event that is likelier on one side.

    At a ratio the event shows ``delta`` at ``epsilon`` where noise is as claimed, and errors have
    the chances ``rates(ratio)``.
    """

    mechanism: object
    state: tuple
    low: tuple
    high: tuple
    beyond: float  # what the first entry must pass
    share: float  # of a release, at which the ratio is 1
    ratio: float
    epsilon: float
    delta: float
    rates: object


MOVE = 8.0 / N_ROWS  # of every entry, between neighbours
PARTS = {
    "gaussian-choice": Part(
        *(Peeling("peeled-gaussian"), (9.0, 9.0), LOW, HIGH, 0.0, math.sqrt(2.0), 1.0),
        *(0.0, math.tanh(0.5), lambda ratio: (1.0 / (1.0 + math.exp(ratio)),) * 2),
    ),
    "gaussian-value": Part(
        *(Peeling("peeled-gaussian"), (0.0,), LOW[:1], HIGH[:1], 0.0, 1.0, 2.0),
        *(0.0, delta_of(2.0, 0.0), lambda ratio: (norm.sf(ratio / 2.0),) * 2),
    ),
    "laplace-choice": Part(
        *(Peeling("peeled-laplace"), (9.0 - MOVE, 9.0, 9.0, 9.0), (4.0,) + (-4.0,) * 3),
        *((-4.0,) + (4.0,) * 3, 0.0, 3.0, 1.0, 2.0, 0.0, laplace_choice_rates),
    ),
    "laplace-value": Part(
        *(Peeling("peeled-laplace"), (0.0,), LOW[:1], HIGH[:1], MOVE / 2.0, 1.0, 2.0),
        *(2.0, 0.0, lambda ratio: (0.5 * math.exp(-ratio), 0.5)),
    ),
}


@pytest.mark.parametrize(
    "too_much", [2.0, pytest.param(1.3, marks=pytest.mark.audit)], ids=["gross", "slight"]
)
@pytest.mark.parametrize("name", PARTS)
def test_each_part_keeps_its_claim_and_too_little_noise_is_caught(name, too_much):
    part = PARTS[name]
    query = PeeledStep(None, Units.raw(len(part.state), intercept=False), 4.0, 1.0, n_nonzero=1)
    claim = {"epsilon": part.epsilon, "delta": part.delta, "false_alarm": FALSE_ALARM}
    claim["rates"] = part.rates(too_much * part.ratio)
    n_runs = runs_for_event(**claim)
    for factor in (1.0, too_much):
        share, counts = factor * part.ratio * part.share, []
        for seed, record in enumerate((part.low, part.high)):
            asked = part.mechanism, record, query, np.array(part.state), share, seed, n_runs
            answers, calibration = releases(*asked)
            counts.append(int((answers[:, 0] * calibration.grid > part.beyond).sum()))
            assert calibration.ratio == pytest.approx(factor * part.ratio, rel=1e-4)
        verdict = event_audit(counts[0], n_runs - counts[1], n_runs, **claim)
        assert verdict.accepted is (factor == 1.0)
    assert verdict.power >= POWER


def first_kept(record, guarantee, seeds):
    """How often a fit of one step keeps the first of two columns."""
    X, y = np.full((N_ROWS, 2), 0.5), np.full(N_ROWS, 2.0)
    X[3], y[3] = record, 1.0
    units = {"feature_scale": 1.0, "target_scale": 1.0}
    solver = HardThresholding(1, n_steps=1, threshold=8.0, step_size=1.0, **units)
    loss = tg.losses.Squared()
    return sum(
        bool(tg.minimize(loss, X, y, guarantee=guarantee, solver=solver, random_state=seed).coef[0])
        for seed in seeds
    )


@pytest.mark.audit
@pytest.mark.parametrize(("true_mu", "accepted"), [(1.5, True), (3.0, False)])
def test_a_whole_fit_keeps_its_claim_and_half_the_noise_is_caught(true_mu, accepted):
    claimed_mu, n_runs = 1.5, 2_000
    high = first_kept((8.0, -8.0), tg.GDP(true_mu), range(n_runs))
    low = first_kept((-8.0, 8.0), tg.GDP(true_mu), range(n_runs, 2 * n_runs))
    proven = mu_lower_bound(low, n_runs - high, n_runs, FALSE_ALARM)
    assert (proven <= claimed_mu) is accepted
    assert proven > 0.5 * claimed_mu


def test_the_gate_books_choices_and_values_and_stops_what_was_not_planned():
    gate = Gate.over(np.zeros((N_ROWS, 3)), guarantee=tg.ApproxDP(1.0, 1e-6), random_state=0)
    query = PeeledStep(None, Units.raw(3, intercept=False), 1.0, 1.0, n_nonzero=2)
    planned = peeling_event("peeled-gaussian", 0.05, 2)
    gate.reserve(planned)
    gate.ask(query, np.zeros(3), once(0.1))
    (release,) = gate.books.releases
    booked = flatten(release.event())
    assert booked.kinds == {BoundedRange, Gaussian}
    assert flatten(planned).covers(booked)
    with pytest.raises(tg.BudgetError):
        gate.ask(query, np.zeros(3), once(0.1))
