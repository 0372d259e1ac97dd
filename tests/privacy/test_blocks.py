"""Black-box audits of blocks: of disjoint ones, and of secret ones that count as a shuffle.

A claim about disjoint blocks is one in mu, and is audited as such (Nasr et al. 2023). A claim about
a shuffle is a whole profile: at any epsilon, what is seen of one neighbour happens at most
``exp(epsilon)`` times as often as of the other, and delta more. False alarms at 1e-6.
"""

import numpy as np
import pytest
from scipy.stats import binom, norm

import tailguard as tg
from privacy.mutants.fixed_partition import FixedPartition
from support.statistics import clopper_pearson_upper, gdp_audit
from tailguard.gate import Gate
from tailguard.noise.sources import SimulationSource
from tailguard.papers.parameters.zhao2024 import printed_amplified_rho
from tailguard.privacy.amplification.shuffled import shuffled_profile
from tailguard.privacy.events import Gaussian, Parallel, Repeated, Shuffled
from tailguard.privacy.gaussian import delta_of, epsilon_of
from tailguard.privacy.guarantees import Unprotected
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.means.iterative import IterativeMean
from tailguard.queries.units import Units
from tailguard.rows.arrays import make_rows

FALSE_ALARM = 1e-6
RAW, ZERO = Units.raw(1, intercept=False), np.zeros(1)
MEAN = MeanClippedGradient(None, RAW, row_limit=1.0, slope_limit=1.0)
# The place of the differing record, and groups of two.
SHUFFLED = Shuffled(mu=0.5, n_units=500)


def records(first, n_rows):
    """All records on one side, the first of them where the neighbours differ."""
    X = np.ones((n_rows, 1))
    X[0] = first
    return make_rows(X)


def parallel_scores(first, mu, n_runs, seed):
    """Answers of both blocks of a partition that the observer knows, where the record is."""
    gate = Gate(records(first, 16), guarantee=tg.GDP(1e4), source=SimulationSource(seed))
    gate.reserve(Parallel("m", 0, Repeated(Gaussian(mu), n_runs)), coordinates=2 * n_runs)
    blocks = gate.partition("m", 2, equal_sizes=True)
    (home,) = (j for j in (0, 1) if 0 in gate._partitions._cuts["m"].places(j))
    answers = [gate.ask_each(MEAN, ZERO, mu=mu, blocks=blocks)[:, 0] for _ in range(n_runs)]
    # In noise deviations, from where the lower answer lies.
    return (np.array(answers)[:, home] - 6.0 / 8.0) / (2.0 / 8.0 / mu)


def audit_parallel(mu, n_runs, seed=0):
    return gdp_audit(
        parallel_scores(-1.0, mu, n_runs, seed),
        parallel_scores(1.0, mu, n_runs, seed + 1),
        threshold=0.5 * mu,
        claimed_mu=2.0,
        true_mu=2.6,
        false_alarm=FALSE_ALARM,
    )


def test_disjoint_blocks_reveal_what_one_of_them_does_and_no_more():
    assert audit_parallel(2.0, 1_500).accepted
    caught = audit_parallel(2.6, 1_500)
    assert caught.power >= 0.999
    assert not caught.accepted


def delta_lower_bound(scores, neighbour_scores, threshold, epsilon):
    """Lower confidence bound on delta at ``epsilon``, from one event."""
    n_runs = len(scores)
    missed = int((neighbour_scores <= threshold).sum())
    below = clopper_pearson_upper([missed], n_runs, FALSE_ALARM / 2)[0]
    false_alarms = int((scores > threshold).sum())
    above = clopper_pearson_upper([false_alarms], n_runs, FALSE_ALARM / 2)[0]
    return (1.0 - below) - np.exp(epsilon) * above


def power_against_no_shuffle(n_runs, mu, threshold, epsilon, claimed):
    """Chance that the bound exceeds the claim if the observer knows the block."""
    counts = np.arange(n_runs + 1)
    upper = clopper_pearson_upper(counts, n_runs, FALSE_ALARM / 2)
    allowed = np.searchsorted(upper, 1.0 - np.exp(epsilon) * upper - claimed)
    missed = binom.cdf(allowed - 1, n_runs, norm.cdf(threshold - mu / 2.0))
    return float(binom.pmf(counts, n_runs, norm.sf(threshold + mu / 2.0)) @ missed)


def first_block_scores(kind, first, n_runs, seed):
    """Answers of the first block of a fresh partition, centred, in noise deviations."""
    mu, k = SHUFFLED.mu, SHUFFLED.n_units
    rows, source, answers = records(first, 2 * k), SimulationSource(seed), []
    for _ in range(n_runs):
        gate = kind(rows, guarantee=Unprotected(tg.GDP(mu)), source=source)
        gate.reserve(SHUFFLED)
        blocks = gate.partition("secret", k, secret=True, equal_sizes=True)
        answers.append(gate.ask(MEAN, ZERO, mu=mu, block=blocks[0])[0])
    return (np.array(answers) - 0.5) * mu


@pytest.mark.parametrize(("kind", "kept"), [(Gate, True), (FixedPartition, False)])
def test_the_first_block_of_a_secret_partition_reveals_less_than_that_of_a_fixed_one(kind, kept):
    n_runs, profile = 4_000, shuffled_profile(SHUFFLED.mu, SHUFFLED.n_units)
    claimed = float(profile.delta(np.zeros(1))[0])
    assert claimed < 0.5 * delta_of(SHUFFLED.mu, 0.0)
    low, high = (
        first_block_scores(kind, first, n_runs, seed) for seed, first in enumerate((-1, 1))
    )
    bound = delta_lower_bound(low, high, threshold=0.0, epsilon=0.0)
    assert bool(bound <= claimed) is kept
    assert power_against_no_shuffle(n_runs, SHUFFLED.mu, 0.0, 0.0, claimed) >= 0.999


def likelihood_scores(first, mu, n_blocks, n_runs, seed):
    """Logarithms of the likelihood ratio of all blocks' answers, the sharpest score there is."""
    rows, source, scores = records(first, 2 * n_blocks), SimulationSource(seed), []
    for _ in range(n_runs):
        gate = Gate(rows, guarantee=Unprotected(tg.GDP(mu)), source=source)
        gate.reserve(Shuffled(mu, n_blocks), coordinates=n_blocks)
        blocks = gate.partition("secret", n_blocks, secret=True, equal_sizes=True)
        z = (gate.ask_each(MEAN, ZERO, mu=mu, blocks=blocks)[:, 0] - 1.0) * mu
        scores.append(-np.log(np.mean(np.exp(-mu * z - mu**2 / 2.0))))
    return np.array(scores)


@pytest.mark.audit
def test_all_blocks_together_reveal_no_more_than_the_shuffle():
    mu, n_blocks, n_runs = 0.3, 100, 2_000
    profile = shuffled_profile(mu, n_blocks)
    low, high = (likelihood_scores(x, mu, n_blocks, n_runs, seed) for seed, x in enumerate((-1, 1)))
    for epsilon in (0.0, 0.05, 0.1, 0.25):
        claimed = float(profile.delta(np.array([epsilon]))[0])
        for threshold in np.quantile(np.concatenate([low, high]), [0.1, 0.3, 0.5, 0.7, 0.9]):
            assert delta_lower_bound(low, high, threshold, epsilon) <= claimed


def test_theorem_six_is_false_for_fixed_groups():
    """One group apart from all others: it is recognised, and its own noise is all there is."""
    n_groups, size, promise = 1_000_000, 1_000, tg.ApproxDP(0.2305, 1e-6)
    rho = printed_amplified_rho(n_groups=n_groups, epsilon=promise.epsilon, delta=promise.delta)
    mu = np.sqrt(2.0 * rho)
    assert epsilon_of(mu, promise.delta) == pytest.approx(0.4629, abs=1e-4)
    assert delta_of(mu, promise.epsilon) > 1_000 * promise.delta
    # The others lie 2 R away, in noise deviations: no group is ever taken for another.
    assert size * mu > 50.0


def test_fixed_groups_are_priced_by_their_own_noise():
    """The oracle's groups are public runs of records, and its price counts on no shuffle."""
    query = IterativeMean(None, RAW, clip_norm=1.0, n_groups=500)
    gate = Gate(records(1.0, 1_000), guarantee=tg.GDP(0.5), source=SimulationSource(0))
    gate.reserve(Gaussian(0.5))
    gate.ask(query, ZERO, mu=0.5)
    assert gate.certificate().spent.mu == pytest.approx(0.5, rel=1e-6)
