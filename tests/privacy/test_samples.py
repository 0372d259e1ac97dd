"""Black-box audits of fresh samples, one question at a time.

The worst pair: all records pull one way, and the one that differs pulls back or goes along. Then
one neighbour's answers are normal, and the other's are a mixture that attains the claimed profile.
At a stated epsilon, what is seen of one happens at most ``exp(epsilon)`` times as often as of the
other, and delta more; lower bounds at 99.9 per cent (Clopper and Pearson 1934) must not pass delta.
"""

import numpy as np
import pytest
from scipy.stats import binom, norm

import tailguard as tg
from privacy.mutants.public_sample import PublicSample
from support.stages import of_sample
from tailguard.audit.bounds import clopper_pearson_upper
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.amplification.sampling import fixed_size_profile, poisson_profile
from tailguard.privacy.events import Repeated, Sampled
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.units import Units

FALSE_ALARM = 1e-3
UNDER_NOISED = 1.3


def shown_delta(caught, false_alarms, n_runs, epsilon):
    """Lower confidence bound on delta at ``epsilon``, from one event."""
    upper = clopper_pearson_upper([n_runs - caught, false_alarms], n_runs, FALSE_ALARM / 2)
    return (1.0 - upper[0]) - np.exp(epsilon) * upper[1]


def power(n_runs, detection, false_alarm, epsilon, claimed):
    """Chance that the bound passes the claim, if the event has these probabilities."""
    counts = np.arange(n_runs + 1)
    upper = clopper_pearson_upper(counts, n_runs, FALSE_ALARM / 2)
    allowed = np.searchsorted(upper, 1.0 - np.exp(epsilon) * upper - claimed)
    missed = binom.cdf(allowed - 1, n_runs, 1.0 - detection)
    return float(binom.pmf(counts, n_runs, false_alarm) @ missed)


# One question after the other, on four of eight records.

MU, RATE, EPSILON, THRESHOLD = 2.0, 0.5, 1.0, 2.1
MEAN = MeanClippedGradient(None, Units.raw(1, intercept=False), row_limit=1.0, slope_limit=1.0)


def scores(kind, first, mu, n_runs, seed):
    """How far the answers are from what the others pull to, in noise deviations."""
    X = np.ones((8, 1))
    X[0] = first
    source = SimulationSource(seed)
    gate = kind(make_rows(X), guarantee=tg.GDP(1.0), source=source)
    event = Repeated(Sampled(mu, RATE), n_runs)
    gate.reserve(event, coordinates=n_runs, unprotected=True)
    answers = [gate.ask(MEAN, np.zeros(1), of_sample(mu, 4, 8))[0] for _ in range(n_runs)]
    return (1.0 - np.array(answers)) * 4.0 / 2.0 * mu


def delta_of_questions(kind, mu, n_runs):
    seen = [scores(kind, x, mu, n_runs, seed) > THRESHOLD for seed, x in enumerate((-1.0, 1.0))]
    return shown_delta(*(int(each.sum()) for each in seen), n_runs, EPSILON)


@pytest.mark.audit
def test_many_fresh_samples_show_what_is_claimed_and_no_more():
    claimed = float(fixed_size_profile(MU, RATE).delta(np.array([EPSILON]))[0])
    assert 0.75 * claimed < delta_of_questions(Gate, MU, 20_000) <= claimed


@pytest.mark.audit
def test_less_noise_and_known_samples_and_a_poisson_price_are_caught():
    n_runs, e = 3_000, np.array([EPSILON])
    claimed = float(fixed_size_profile(MU, RATE).delta(e)[0])
    missing = norm.sf(THRESHOLD)
    for mu, rate in ((UNDER_NOISED * MU, RATE), (MU, 1.0)):
        detection = (1.0 - rate) * missing + rate * norm.sf(THRESHOLD - mu)
        assert power(n_runs, detection, missing, EPSILON, claimed) >= 0.999
    assert delta_of_questions(Gate, UNDER_NOISED * MU, n_runs) > claimed
    assert delta_of_questions(PublicSample, MU, n_runs) > claimed
    # What is right shows more than Poisson samples would: to price it as such is a mistake.
    poisson = float(poisson_profile(MU, RATE).delta(e)[0])
    assert poisson < delta_of_questions(Gate, MU, n_runs) <= claimed
