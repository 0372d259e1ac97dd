"""The exact exponential mechanism: its law, its certainty, and how ties are settled."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from support.sources import QuietSource, ScriptedSource
from support.statistics import goodness_of_fit
from tailguard.noise import peeling as module
from tailguard.noise.peeling import gumbel_top
from tailguard.noise.sources import SimulationSource

N_DRAWS = 30_000
MEDIAN = 2**63
SCORES = np.array([0, 1500, 2200, 3000, 500])


def softmax(scores, scale):
    weights = np.exp((scores - scores.max()) / scale)
    return weights / weights.sum()


def counts_of_one(scale, n_draws=N_DRAWS, seed=1):
    source = SimulationSource(seed)
    draws = [int(gumbel_top(SCORES, 1, scale, source)[0]) for _ in range(n_draws)]
    return np.bincount(draws, minlength=SCORES.size)


@pytest.fixture(scope="module")
def counts():
    return counts_of_one(1000.0)


@pytest.mark.long
def test_one_choice_is_an_exponential_mechanism_and_wrong_scales_are_rejected(counts):
    for ratio, accepted in ((0.9, False), (1.0, True), (1.1, False)):
        verdict = goodness_of_fit(
            counts,
            softmax(SCORES, 1000.0 * ratio),
            false_alarm=1e-6,
            alternative=softmax(SCORES, 1000.0),
        )
        assert verdict.accepted is accepted
        assert verdict.power >= 0.999 or ratio == 1.0


def test_several_choices_are_exponential_mechanisms_one_after_the_other():
    scores, scale = np.array([0, 600, 1500, 1000]), 800.0
    weights = np.exp(scores / scale)
    pairs = list(itertools.combinations(range(4), 2))
    chances = []
    for first, second in pairs:
        orders = ((first, second), (second, first))
        total = weights.sum()
        chances.append(
            sum(weights[a] / total * weights[b] / (total - weights[a]) for a, b in orders)
        )
    source = SimulationSource(2)
    found = [tuple(gumbel_top(scores, 2, scale, source).tolist()) for _ in range(20_000)]
    counts = [found.count(pair) for pair in pairs]
    verdict = goodness_of_fit(counts, chances, false_alarm=1e-6, alternative=np.roll(chances, 1))
    assert verdict.accepted
    assert verdict.power >= 0.999


def exact_key(score, words, scale):
    with mpmath.workprec(600):
        digits = 0
        for word in words:
            digits = digits << 64 | word
        middle = mpmath.mpf(2 * digits + 1) / mpmath.mpf(2) ** (64 * len(words) + 1)
        return mpmath.mpf(score) / scale - mpmath.log(-mpmath.log(middle))


@pytest.mark.parametrize("word", [0, 1, 2**20, 2**40, MEDIAN - 1, MEDIAN, 2**64 - 2**30, 2**64 - 2])
def test_a_float_key_lies_within_the_slack_of_its_interval(word):
    words = np.array([word], dtype=np.uint64)
    found = float(module._gumbel(words)[0])
    with mpmath.workprec(300):
        ends = [
            -mpmath.log(-mpmath.log(mpmath.mpf(end) / 2**64)) for end in (word, word + 1) if end
        ]
    extreme = min(word, 2**64 - 1 - word) < int(module.EXTREME)
    if not extreme:
        assert all(abs(float(end - found)) < module.SLACK / 10 for end in ends)
    else:
        assert math.isfinite(found)


def test_undecided_keys_are_settled_by_further_words():
    # Keys at the same first word differ by less than the slack; the second word decides.
    further = [[5, 0, 0, 0], [7, 0, 0, 0], [6, 9, 0, 0]]
    script = ScriptedSource([MEDIAN] * 3 + list(itertools.chain(*further)))
    assert gumbel_top(np.array([10, 10, 10]), 1, 2.0**26, script).tolist() == [1]
    assert script.exhausted
    script = ScriptedSource([MEDIAN] * 3 + list(itertools.chain(*further)))
    assert gumbel_top(np.array([10, 10, 10]), 2, 2.0**26, script).tolist() == [1, 2]


def test_a_score_may_outweigh_digits_exactly():
    # One lattice step is 2**-26 of a key; the words move keys by about 2**-62 each.
    scores = np.array([0, 1, 0])
    words = [MEDIAN + 2**36, MEDIAN, MEDIAN + 2**40]
    further = [3, 0, 0, 0] * 3
    keys = [exact_key(int(s), (w, 3, 0, 0, 0), 2**26) for s, w in zip(scores, words, strict=True)]
    script = ScriptedSource([*words, *further])
    assert gumbel_top(scores, 1, 2.0**26, script).tolist() == [int(np.argmax(keys))]
    assert script.exhausted


@pytest.mark.parametrize(("digit", "winner"), [(0, 1), (2**64 - 1, 0)])
def test_extreme_words_are_looked_at_more_closely(digit, winner):
    # A word at the end of its range may stand for a key of 44 or of any more; 60 scales are far.
    words = [2**64 - 1, MEDIAN, MEDIAN, MEDIAN]
    scores = np.array([0, 60 * 2**26, 0, 0])
    script = ScriptedSource([*words, *([digit] * 4), *([0] * 4)])
    keys = [
        exact_key(int(score), (word, *([further] * 4)), 2**26)
        for score, word, further in zip(scores[:2], words[:2], (digit, 0), strict=True)
    ]
    assert int(np.argmax(keys)) == winner
    assert gumbel_top(scores, 1, 2.0**26, script).tolist() == [winner]
    assert script.exhausted


def test_a_quiet_source_takes_the_largest_and_the_earliest_of_equals():
    scores = np.array([3, 9, 9, 1, 9])
    assert gumbel_top(scores, 2, 2.0**26, QuietSource()).tolist() == [1, 2]
    assert gumbel_top(np.arange(50), 3, 2.0**26, QuietSource()).tolist() == [47, 48, 49]


@pytest.mark.parametrize("count", [3, 5])
def test_all_are_taken_where_there_are_no_more(count):
    assert gumbel_top(np.array([1, 2, 3]), count, 1.0, SimulationSource(1)).tolist() == [0, 1, 2]


def test_scores_at_the_end_of_their_range_do_not_overflow():
    scores = np.array([-(2**61), 0, 2**61, 2**61 - 1])
    assert gumbel_top(scores, 2, 2.0**16, SimulationSource(1)).tolist() == [2, 3]
    assert gumbel_top(scores, 3, 2.0**16, SimulationSource(1)).tolist() == [1, 2, 3]


def test_a_seed_repeats_and_words_are_never_shared():
    first, second = (
        [gumbel_top(np.zeros(100, dtype=np.int64), 5, 1.0, source).tolist() for _ in range(3)]
        for source in (SimulationSource(9), SimulationSource(9))
    )
    assert first == second
    assert first[0] != first[1]
