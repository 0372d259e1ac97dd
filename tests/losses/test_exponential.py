"""The exponential errs by as little as is said, and by the same for every place in a loop."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from support.compiled_slopes import compiled_slopes
from tailguard.losses import make_loss
from tailguard.losses.compiled import compile_slopes, exponential

ROUNDOFFS = 4  # what its docstring allows
compiled = compile_slopes(lambda score, target, shape: exponential(score))


def exponents():
    """All of its range, small ones, and those half-way between two powers of two."""
    rng = np.random.default_rng(0)
    halves = (rng.integers(-1009, 1009, size=2000) + 0.5) * math.log(2.0)
    small = rng.standard_normal(2000) * 10.0 ** rng.uniform(-320, 0, size=2000)
    ends = [0.0, -0.0, 700.0, -700.0, 5e-324]
    return np.concatenate([rng.uniform(-700.0, 700.0, 4000), small, halves, ends])


def worst_error(found, exponents):
    """The largest relative error, in roundoffs."""
    with localcontext() as context:
        context.prec = 40
        true = [Decimal(float(exponent)).exp() for exponent in exponents]
        pairs = zip(found, true, strict=True)
        return float(max(abs(Decimal(float(value)) / exact - 1) for value, exact in pairs)) * 2**53


def values_of(exponents):
    table = np.zeros((3, len(exponents)))
    table[0] = exponents
    compiled(table, np.zeros(1))
    return table[2]


def test_it_errs_by_a_few_roundoffs():
    tried = exponents()
    found = values_of(tried)
    assert worst_error(found, tried) <= ROUNDOFFS
    np.testing.assert_array_equal(found, [exponential(float(exponent)) for exponent in tried])


def test_one_digit_less_of_the_series_is_seen(monkeypatch):
    monkeypatch.setitem(exponential.__globals__, "TENTH", 0.0)
    tried = exponents()
    assert worst_error([exponential(float(e)) for e in tried], tried) > ROUNDOFFS


def test_what_is_no_number_stays_none():
    assert math.isnan(exponential(math.nan))
    assert np.isnan(values_of([1.0, math.nan])).tolist() == [False, True]


@pytest.mark.parametrize("name", ["logistic", "poisson", "balanced_logistic"])
def test_a_slope_has_the_same_bits_at_every_place_and_whatever_stands_beside_it(name):
    loss, rng = make_loss(name), np.random.default_rng(1)
    score, target = 30.0 * rng.standard_normal(40), (rng.random(40) > 0.5).astype(float)
    alone = np.concatenate(
        [compiled_slopes(loss, score[[i]], target[[i]]) for i in range(len(score))]
    )
    for n_scores in (7, 8, 9, 40):
        for first in range(0, 40 - n_scores + 1, 3):
            part = slice(first, first + n_scores)
            found = compiled_slopes(loss, score[part], target[part])
            np.testing.assert_array_equal(found, alone[part])
            for hostile in (math.nan, math.inf, -1e308, 5e-324):
                changed = score[part].copy()
                changed[n_scores // 2] = hostile
                others = np.arange(n_scores) != n_scores // 2
                beside = compiled_slopes(loss, changed, target[part])
                np.testing.assert_array_equal(beside[others], found[others])
