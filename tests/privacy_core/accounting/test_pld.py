"""The loss-distribution accountant against quadrature, published values and closed forms."""

import math

import numpy as np
import pytest

from tailguard.privacy.accounting.gaussian import epsilon_of
from tailguard.privacy.accounting.pld import SLACK, SLACK_PER_STEP, PldAccountant
from tailguard.privacy.events import (
    Approximate,
    BoundedRange,
    Composed,
    Gaussian,
    Laplace,
    Parallel,
    Repeated,
    ZeroConcentrated,
)

SUPPORTED = PldAccountant()
TEN_LAPLACE = Composed((Gaussian(1.0), Repeated(Laplace(0.1), 10)))
EXAMPLE_A = Composed((TEN_LAPLACE, BoundedRange(0.3)))


def epsilon(event, delta=1e-6):
    return SUPPORTED.compose(event).epsilon(delta)


@pytest.mark.parametrize(
    ("times", "mu", "exact"),
    [
        (1, 1e-3, 0.0027182191),
        (100, 0.1, 0.39685738),
        (1000, 1, 4.88655412),
        (10000, 3, 18.16344576),
    ],
)
def test_gaussian_steps_are_merged_first(times, mu, exact):
    got = epsilon(Repeated(Gaussian(mu / math.sqrt(times)), times))
    assert got == pytest.approx(exact, rel=3e-7 if mu >= 0.1 else 1e-4)
    assert got >= epsilon_of(mu, 1e-6) * (1 - 1e-12)


@pytest.mark.parametrize(
    ("event", "n_convolutions"),
    [
        (TEN_LAPLACE, 11),
        (EXAMPLE_A, 12),
        (Composed((Parallel("a", 0, Laplace(0.1)), Parallel("a", 1, Gaussian(0.1)))), 3),
    ],
)
def test_rounding_is_charged_for_every_convolution(event, n_convolutions):
    composed = SUPPORTED.compose(event)
    assert composed._slack >= SLACK + n_convolutions * SLACK_PER_STEP


def test_a_million_convolutions_are_the_most_that_are_worked_out():
    assert SUPPORTED.compose(Repeated(Laplace(1e-7), 999_990))._feasible
    assert not SUPPORTED.compose(Repeated(Laplace(1e-7), 1_000_010))._feasible


@pytest.mark.parametrize(
    ("event", "delta", "published"),
    [
        (EXAMPLE_A, 1e-6, 5.21800147),
        (TEN_LAPLACE, 1e-6, 5.14233415),
        (Repeated(Laplace(1 / (2 * math.sqrt(10))), 10), 1e-6, 1.58011695),
        (Repeated(Laplace(1 / 200), 10**4), 1e-6, 2.25162609),
        (Repeated(Laplace(0.1), 10), 1e-6, 0.99897809),
        (Repeated(BoundedRange(0.3), 10), 1e-6, 2.20229297),
        (Repeated(BoundedRange(0.1), 100), 1e-6, 2.61177397),
    ],
)
def test_published_mixtures(event, delta, published):
    # Published with cells of 1e-4, rounded up too; our cells are finer here and coarser there.
    got = epsilon(event, delta)
    assert published * (1 - 3e-6) <= got <= published * (1 + 5e-5)


def test_merged_rhos_keep_the_conversion():
    parts = Composed((ZeroConcentrated(0.2), Repeated(ZeroConcentrated(0.1), 3)))
    assert epsilon(parts) == pytest.approx(5.22153444453, rel=1e-4)
    # Together with a Gaussian, sharper than adding the Gaussian's rho.
    assert epsilon(Composed((ZeroConcentrated(0.1), Gaussian(1.0)))) < 5.7906


def test_failures_are_charged():
    assert epsilon(Approximate(0.1, 1e-5)) == math.inf
    assert epsilon(Composed((Gaussian(1.0), Approximate(0.1, 5e-7)))) > epsilon(
        Composed((Gaussian(1.0), Approximate(0.1, 5e-9)))
    )


def test_no_answer_where_convolutions_are_not_trusted():
    accountant = SUPPORTED.compose(TEN_LAPLACE)
    assert accountant.epsilon(9.9e-11) == accountant.epsilon(0.0) == math.inf
    assert accountant.epsilon(1e-10) < 8.0
    assert accountant.delta(40.0) == 1e-10


def test_no_answer_where_it_would_be_slow_and_useless():
    loud = SUPPORTED.compose(Composed((Gaussian(40.0), Laplace(1.0))))
    assert loud.epsilon(1e-6) == math.inf
    assert loud.delta(1.0) == 1.0
    assert SUPPORTED.compose(Laplace(1e-6), times=2 * 10**6).epsilon(1e-6) == math.inf
    assert SUPPORTED.compose(Gaussian(1e-6), times=10**12).epsilon(1e-6) < 4.8866


def test_blocks_of_different_kinds_take_the_pointwise_maximum():
    everywhere = Gaussian(0.3)
    parts = [Gaussian(0.5), Repeated(Laplace(0.2), 4), Composed((Gaussian(0.2), Laplace(0.4)))]
    blocks = Composed([Parallel("m", block, part) for block, part in enumerate(parts)])
    each = [SUPPORTED.compose(Composed((everywhere, part))) for part in parts]
    together = SUPPORTED.compose(Composed((everywhere, blocks)))
    for e in np.linspace(0.0, 3.0, 7):
        worst = max(accountant.delta(e) for accountant in each)
        assert worst * (1 - 1e-6) - 1e-12 <= together.delta(e)
        assert together.delta(e) <= worst * 1.25
    assert together.epsilon(1e-9) >= max(accountant.epsilon(1e-9) for accountant in each)


def test_many_equal_blocks_cost_one():
    blocks = Composed([Parallel("m", b, Repeated(Laplace(0.1), 2)) for b in range(300)])
    assert epsilon(blocks) == pytest.approx(epsilon(Repeated(Laplace(0.1), 2)), rel=1e-9)


def test_a_block_that_is_cut_further():
    inner = Composed([Parallel("inner", b, Laplace(0.1 * (b + 1))) for b in range(3)])
    tree = Composed(
        (Parallel("m", 0, Composed((Gaussian(0.2), inner))), Parallel("m", 1, Gaussian(0.1)))
    )
    assert epsilon(tree) == pytest.approx(
        epsilon(Composed((Gaussian(0.2), Laplace(0.3)))), rel=1e-6
    )
