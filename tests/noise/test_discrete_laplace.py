import math
from decimal import Decimal, getcontext

import mpmath
import numpy as np
import pytest

from support.sources import QuietSource, ScriptedSource
from support.statistics import goodness_of_fit
from tailguard.noise import discrete_laplace as module
from tailguard.noise.discrete_laplace import (
    NOISE_LIMIT,
    binary_digits,
    discrete_laplace,
    settle_tie,
)
from tailguard.noise.sources import SimulationSource


def probability():
    return Decimal(-1).exp()


@pytest.mark.parametrize("count", [1, 8, 64, 128, 1000])
def test_binary_digits_are_exact(count):
    with mpmath.workprec(count + 100):
        assert binary_digits(probability, count) == int(mpmath.floor(mpmath.exp(-1) * 2**count))


def test_precision_grows_until_the_digits_are_certain():
    precisions = []

    def barely_below_one_half():
        precisions.append(getcontext().prec)
        return Decimal("0.5") - Decimal(10) ** -200 if getcontext().prec > 250 else Decimal("0.5")

    assert binary_digits(barely_below_one_half, 1) == 0
    assert len(precisions) > 3
    assert precisions == sorted(precisions)


@pytest.mark.parametrize("n_equal", [0, 1, 3])
@pytest.mark.parametrize("step", [-1, 1])
def test_a_tie_is_decided_by_the_first_word_that_differs(n_equal, step):
    digits = [binary_digits(probability, 64 * count) % 2**64 for count in range(2, n_equal + 3)]
    source = ScriptedSource([*digits[:-1], digits[-1] + step])
    assert settle_tie(probability, source) == (step < 0)
    assert source.exhausted


def test_extreme_words_decide():
    assert settle_tie(probability, ScriptedSource([0]))
    assert not settle_tie(probability, ScriptedSource([int(np.iinfo(np.uint64).max)]))


MEDIAN = 2**63
# At scale 2**2 a geometric takes seven digits, of weights 1 to 64, and one word for the overflow.
LOG2_SCALE, N_WORDS = 2, 8


def exact_threshold(digit, n_bits, offset=0):
    """Digits ``offset`` to ``n_bits`` of a coin of the sampler at scale 4, by mpmath."""
    with mpmath.workprec(n_bits + 100):
        power = mpmath.mpf(2) ** (digit - LOG2_SCALE)
        coin = mpmath.exp(-power) if digit == N_WORDS - 1 else 1 / (1 + mpmath.exp(power))
        return int(mpmath.floor(coin * 2**n_bits)) % 2 ** (n_bits - offset)


@pytest.mark.parametrize("log2_scale", [16, 26])
def test_median_words_mean_zero(log2_scale):
    assert not discrete_laplace(7, log2_scale, QuietSource()).any()


def test_digits_multiply_to_the_geometric_distribution():
    with mpmath.workprec(200):
        ratio = mpmath.exp(-mpmath.mpf(1) / 2**LOG2_SCALE)
        coins = [1 / (1 + mpmath.exp(mpmath.mpf(2) ** (j - LOG2_SCALE))) for j in range(7)]
        overflow = mpmath.exp(-32)
        for value in (0, 1, 2, 77, 127, 128, 129, 300):
            above, digits = divmod(value, 128)
            product = overflow**above * (1 - overflow)
            for place, coin in enumerate(coins):
                product *= coin if digits >> place & 1 else 1 - coin
            assert abs(product / ((1 - ratio) * ratio**value) - 1) < 1e-50


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("digit", range(N_WORDS - 1))
def test_each_digit_turns_one_just_below_its_exact_threshold(digit, side):
    threshold = exact_threshold(digit, 64)
    sign = (1, -1)[side]
    for word, expected in ((threshold - 1, sign * 2**digit), (threshold + 1, 0)):
        words = [MEDIAN] * (2 * N_WORDS)
        words[side * N_WORDS + digit] = word
        assert discrete_laplace(1, LOG2_SCALE, ScriptedSource(words)).tolist() == [expected]


@pytest.mark.parametrize("step", [-1, 1])
@pytest.mark.parametrize("digit", range(N_WORDS))
def test_a_tie_is_settled_by_further_words(digit, step):
    words = [MEDIAN] * (2 * N_WORDS)
    words[digit] = exact_threshold(digit, 64)
    words.append(exact_threshold(digit, 128, 64))
    words.append(exact_threshold(digit, 192, 128) + step)
    if digit == N_WORDS - 1 and step < 0:
        words.append(MEDIAN)  # no second overflow
    source = ScriptedSource(words)
    expected = 2**digit if step < 0 else 0
    assert discrete_laplace(1, LOG2_SCALE, source).tolist() == [expected]
    assert source.exhausted


def test_overflows_are_counted_until_the_first_failure():
    words = [MEDIAN] * (4 * N_WORDS)
    words[0] = 0  # the digit of weight one of the first coordinate
    words[N_WORDS - 1] = 0  # its overflow, twice more below
    words[4 * N_WORDS - 1] = 0  # the overflow of the second side of the second coordinate
    source = ScriptedSource([*words, 0, 0, MEDIAN, MEDIAN])
    assert discrete_laplace(2, LOG2_SCALE, source).tolist() == [1 + 3 * 128, -128]
    assert source.exhausted


@pytest.mark.parametrize(("counts", "expected"), [((2**60, 0), 1), ((0, 2**80), -1), ((9, 9), 0)])
def test_noise_saturates_after_the_difference_only(monkeypatch, counts, expected):
    # No source lives long enough to overflow so often; the counts are put in by hand.
    remaining = list(counts)
    monkeypatch.setattr(module, "_successes", lambda *_: remaining.pop(0))
    words = [MEDIAN] * (2 * N_WORDS)
    words[N_WORDS - 1] = words[2 * N_WORDS - 1] = 0
    noise = discrete_laplace(1, LOG2_SCALE, ScriptedSource(words))
    assert noise.tolist() == [expected * NOISE_LIMIT]


def test_small_scale_has_the_discrete_laplace_probabilities():
    values = np.arange(-200, 201)
    edges = np.arange(-20, 21)

    def cells(scale):
        weights = np.exp(-abs(values) / scale)
        return np.bincount(np.digitize(values, edges), weights / weights.sum())

    draws = discrete_laplace(80_000, LOG2_SCALE, SimulationSource(23))
    counts = np.bincount(np.digitize(draws, edges), minlength=edges.size + 1)
    verdict = goodness_of_fit(counts, cells(4.0), false_alarm=1e-9, alternative=cells(3.8))
    assert verdict.accepted
    assert verdict.power > 0.999


def test_batches_cover_every_coordinate():
    size = 10_000
    draws = discrete_laplace(size, 26, SimulationSource(4))
    assert np.unique(draws).size > size - math.isqrt(size)


@pytest.mark.parametrize("rare", [None, "tie", "overflow"])
def test_machine_code_draws_what_its_source_says(rare):
    words = SimulationSource(5).words(200 * 2 * N_WORDS).copy()
    thresholds = module._thresholds(LOG2_SCALE)
    if rare is not None:
        digit = 3 if rare == "tie" else N_WORDS - 1
        words[5 * N_WORDS + digit] = thresholds[digit] if rare == "tie" else 0
    compiled, interpreted = np.empty(200, dtype=np.int64), np.empty(200, dtype=np.int64)
    assert module._compiled_differences()(words, thresholds, compiled) is (rare is not None)
    assert bool(module._digit_differences(words, thresholds, interpreted)) is (rare is not None)
    assert interpreted.tolist() == compiled.tolist()
    assert len(set(compiled.tolist())) > 10
