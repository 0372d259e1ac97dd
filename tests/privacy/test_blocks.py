"""Black-box audits of blocks: of disjoint ones, and of secret ones that count as a shuffle.

A claim about disjoint blocks is one in mu, and is audited as such (Nasr et al. 2023). A claim about
a shuffle is a whole profile: at any epsilon, what is seen of one neighbour happens at most
``exp(epsilon)`` times as often as of the other, and delta more. False alarms at 1e-6.
"""

import numpy as np
import pytest
from scipy.stats import norm

import tailguard as tg
from privacy.mutants.faulty_gates import FixedPartition
from support.audits import (
    POWER,
    event_audit,
    gdp_audit,
    hidden_rates,
    hidden_ratio,
    runs_for_event,
    runs_for_mu,
)
from support.stages import once
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.means.iterative import IterativeMean
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.accounting.gaussian import delta_of
from tailguard.privacy.amplification.shuffling import shuffled_profile
from tailguard.privacy.events import Gaussian, Parallel, Repeated, Shuffled
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.units import Units

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
    answers = [gate.ask(MEAN, ZERO, once(mu), blocks=blocks)[:, 0] for _ in range(n_runs)]
    # In noise deviations, from where the lower answer lies.
    return (np.array(answers)[:, home] - 6.0 / 8.0) / (2.0 / 8.0 / mu)


@pytest.mark.parametrize(
    "too_much", [2.0, pytest.param(1.3, marks=pytest.mark.audit)], ids=["gross", "slight"]
)
def test_disjoint_blocks_reveal_what_one_of_them_does_and_no_more(too_much):
    claimed, true = 2.0, too_much * 2.0
    claim = {"claimed_mu": claimed, "true_mu": true, "threshold": true / 2.0}
    n_runs = runs_for_mu(**claim, false_alarm=FALSE_ALARM)
    for mu in (claimed, true):
        scores = [
            parallel_scores(first, mu, n_runs, seed) for seed, first in enumerate((-1.0, 1.0))
        ]
        verdict = gdp_audit(*scores, **claim, false_alarm=FALSE_ALARM)
        assert verdict.accepted is (mu == claimed)
    assert verdict.power >= POWER


def first_block_scores(kind, first, n_runs, seed):
    """Answers of the first block of a fresh partition, centred, in noise deviations."""
    mu, k = SHUFFLED.mu, SHUFFLED.n_units
    rows, source, answers = records(first, 2 * k), SimulationSource(seed), []
    for _ in range(n_runs):
        gate = kind(rows, guarantee=tg.GDP(mu), source=source)
        gate.reserve(SHUFFLED, unprotected=True)
        blocks = gate.partition("secret", k, amplified=True)
        answers.append(gate.ask(MEAN, ZERO, once(mu), block=blocks[0])[0])
    return (np.array(answers) - 0.5) * mu


@pytest.mark.audit
@pytest.mark.parametrize(("kind", "kept"), [(Gate, True), (FixedPartition, False)])
def test_the_first_block_of_a_secret_partition_reveals_less_than_that_of_a_fixed_one(kind, kept):
    n_runs, profile = 4_000, shuffled_profile(SHUFFLED.mu, SHUFFLED.n_units)
    claimed = float(profile.delta(np.zeros(1))[0])
    assert claimed < 0.5 * delta_of(SHUFFLED.mu, 0.0)
    low, high = (
        first_block_scores(kind, first, n_runs, seed) for seed, first in enumerate((-1, 1))
    )
    # What an observer sees who knows the block.
    rates = norm.cdf(-SHUFFLED.mu / 2.0), norm.cdf(-SHUFFLED.mu / 2.0)
    claim = {"epsilon": 0.0, "delta": claimed, "rates": rates, "false_alarm": FALSE_ALARM}
    verdict = event_audit(int((low > 0.0).sum()), int((high <= 0.0).sum()), n_runs, **claim)
    assert verdict.accepted is kept
    assert verdict.power >= POWER


# All blocks together, by the likelihood ratio. What they may show is what secret blocks with this
# noise do show, worked out from ideal draws: of 20 blocks that is far less than can be proved.


def hidden_counts(mu, n_blocks, n_runs):
    """How often the ratio misleads, either way, on runs with noise of ``mu``."""
    counts = []
    for seed, first in enumerate((1, -1)):
        rows, source, noises = records(first, 2 * n_blocks), SimulationSource(seed), []
        for _ in range(n_runs):
            gate = Gate(rows, guarantee=tg.GDP(mu), source=source)
            gate.reserve(Shuffled(mu, n_blocks), coordinates=n_blocks, unprotected=True)
            blocks = gate.partition("secret", n_blocks, amplified=True)
            answers = gate.ask(MEAN, ZERO, once(mu), blocks=blocks)[:, 0]
            noises.append((1.0 - answers) * mu)
        counts.append(int((hidden_ratio(np.array(noises), mu) > 0.0).sum()))
    return counts[0], n_runs - counts[1]


@pytest.mark.parametrize(
    ("n_blocks", "too_much"),
    [(5, 3.0), pytest.param(20, 1.3, marks=pytest.mark.audit)],
    ids=["gross", "slight"],
)
def test_all_blocks_together_reveal_no_more_than_the_shuffle(n_blocks, too_much):
    mu = 2.0
    wrong, missed = hidden_rates(mu, n_blocks, 0.0)
    claim = {"epsilon": 0.0, "delta": 1.0 - wrong - missed, "false_alarm": FALSE_ALARM}
    assert claim["delta"] <= float(shuffled_profile(mu, n_blocks).delta(np.zeros(1))[0])
    claim["rates"] = hidden_rates(too_much * mu, n_blocks, 0.0)
    n_runs = runs_for_event(**claim)
    assert event_audit(*hidden_counts(mu, n_blocks, n_runs), n_runs, **claim).accepted
    counts = hidden_counts(too_much * mu, n_blocks, n_runs)
    caught = event_audit(*counts, n_runs, **claim)
    assert not caught.accepted
    assert caught.power >= POWER


def test_fixed_groups_are_priced_by_their_own_noise():
    """The oracle's groups are public runs of records, and its price counts on no shuffle."""
    query = IterativeMean(None, RAW, clip_norm=1.0, n_groups=500)
    gate = Gate(records(1.0, 1_000), guarantee=tg.GDP(0.5), source=SimulationSource(0))
    gate.reserve(Gaussian(0.5))
    gate.ask(query, ZERO, once(0.5))
    assert gate.certificate().spent.mu == pytest.approx(0.5, rel=1e-6)
