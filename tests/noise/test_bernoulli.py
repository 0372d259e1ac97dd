from decimal import Decimal, getcontext

import mpmath
import numpy as np
import pytest

from support.sources import ScriptedSource
from tailguard.noise.discrete_laplace import binary_digits, settle_tie


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
