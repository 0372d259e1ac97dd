"""The smallest valid epsilon, kept promises, and calibration that wastes little."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.events import GAUSSIAN_TREES
from tailguard.checks import InputError
from tailguard.privacy.accounting.gaussian import epsilon_of, mu_of
from tailguard.privacy.accounting.total_cost import (
    ACCOUNTANTS,
    calibrate,
    satisfies,
    smallest_epsilon,
    spent_share,
    total_cost,
    total_mu,
)
from tailguard.privacy.accounting.zcdp import epsilon_of_zcdp
from tailguard.privacy.events import (
    Approximate,
    BoundedRange,
    Composed,
    Event,
    Gaussian,
    Laplace,
    Nothing,
    Parallel,
    Pure,
    Repeated,
    ZeroConcentrated,
)
from tailguard.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP

EXAMPLE_A = Composed((Gaussian(1.0), Repeated(Laplace(0.1), 10), BoundedRange(0.3)))


@pytest.mark.parametrize(
    ("event", "delta", "epsilon", "accountant"),
    [
        (Gaussian(1.0), 1e-6, 4.88655412, "gdp"),
        (Gaussian(1.0), 1e-15, 8.1655796955, "gdp"),
        (EXAMPLE_A, 1e-6, 5.21800147, "pld"),
        (
            EXAMPLE_A,
            1e-12,
            epsilon_of(1.0919423064, 1e-12),
            "gdp",
        ),  # below what convolutions can be trusted with
        (Repeated(BoundedRange(0.1), 10), 1e-6, 0.68612897, "pld"),
        (Repeated(BoundedRange(0.05), 50), 1e-6, 0.788736, "zcdp"),
        (Repeated(BoundedRange(0.1), 100), 1e-6, 2.419094, "zcdp"),
        (Laplace(0.5), 1e-6, 0.4999984, "pure"),
        (Repeated(Pure(0.1), 10), 0.0, 1.0, "pure"),
        (ZeroConcentrated(0.5), 1e-12, epsilon_of_zcdp(0.5, 1e-12), "zcdp"),
        (Nothing(), 0.0, 0.0, "gdp"),
        (Gaussian(1.0), 0.0, math.inf, "gdp"),
    ],
)
def test_which_accountant_wins(event, delta, epsilon, accountant):
    bound = smallest_epsilon(event, delta)
    assert bound.epsilon == pytest.approx(epsilon, rel=1e-6)
    assert bound.accountant == accountant


@given(GAUSSIAN_TREES)
def test_total_mu_is_exact_for_gaussian_trees(tree):
    mu = total_mu(tree)
    assert mu == pytest.approx(math.sqrt(ACCOUNTANTS["gdp"]().compose(tree).total))
    assert total_mu(Composed((tree, Laplace(0.1)))) is None


def test_unknown_events_have_no_epsilon():
    with pytest.raises(InputError, match="known to an accountant"):
        smallest_epsilon(Event(), 1e-6)
    with pytest.raises(InputError, match="delta must be"):
        smallest_epsilon(Gaussian(1.0), 1.0)


def test_totals_in_every_currency():
    total = total_cost(Gaussian(1.0), 1e-6)
    assert (total.mu, total.rho, total.accountant) == (1.0, 0.5, "gdp")
    mixed = total_cost(EXAMPLE_A, None)
    assert (mixed.epsilon, mixed.delta, mixed.mu, mixed.accountant) == (None, None, None, "zcdp")
    assert total_cost(Gaussian(1.0), 0.0).to_dict()["epsilon"] == "infinite"


SIZES = st.floats(0.01, 10)
GUARANTEES = st.one_of(
    st.builds(ApproxDP, SIZES, st.sampled_from([1e-3, 1e-6, 1e-9, 1e-13])),
    st.builds(ZCDP, SIZES),
    st.builds(GDP, SIZES),
)


@pytest.mark.parametrize(
    ("event", "guarantee", "kept"),
    [
        (Gaussian(1.0), GDP(1.0), True),
        (Repeated(Gaussian(0.5), 4), GDP(1.0), True),
        (Composed((Gaussian(1.0), Gaussian(1e-7))), GDP(1.0), False),
        (Laplace(0.1), GDP(0.1253091), True),
        (Laplace(0.1), GDP(0.1253090), False),
        (ZeroConcentrated(0.01), GDP(1.0), False),  # zCDP does not imply GDP
        (Gaussian(1.0), ZCDP(0.5), True),
        (Composed((ZeroConcentrated(0.25), Repeated(ZeroConcentrated(0.125), 2))), ZCDP(0.5), True),
        (Composed((Gaussian(1.0), ZeroConcentrated(1e-9))), ZCDP(0.5), False),
        (Approximate(0.1, 1e-9), ZCDP(0.5), False),
        (Approximate(0.1, 1e-9), GDP(1.0), False),
        (Repeated(Laplace(0.25), 4), PureDP(1.0), True),
        (Repeated(Laplace(0.1), 10), PureDP(1.0), False),  # ten times the float 0.1 exceeds 1
        (Repeated(Laplace(0.1), 10), PureDP(1.0 + 2**-52), True),
        (BoundedRange(1.0), PureDP(1.0), True),
        (Gaussian(0.001), PureDP(1.0), False),
        (ZeroConcentrated(0.001), PureDP(1.0), False),
        (Gaussian(1.0), ApproxDP(4.886554118, 1e-6), True),
        (Gaussian(1.0), ApproxDP(4.886554117, 1e-6), False),
        (Nothing(), PureDP(1e-9), True),
    ],
)
def test_promises(event, guarantee, kept):
    assert satisfies(event, guarantee) is kept
    assert (spent_share(guarantee, event) <= 1.0) is kept


def test_what_is_no_guarantee_is_refused():
    with pytest.raises(InputError, match="guarantee must be"):
        satisfies(Gaussian(1.0), 1.0)


@settings(max_examples=30)
@given(guarantee=GUARANTEES, times=st.integers(1, 1000))
def test_gaussian_calibration_is_one_sided_and_sharp(guarantee, times):
    mu = calibrate(lambda mu: Repeated(Gaussian(mu), times), guarantee)
    assert satisfies(Repeated(Gaussian(mu), times), guarantee)
    assert mu * math.sqrt(times) == pytest.approx(guarantee.gaussian_mu(), rel=1e-9)


@settings(max_examples=30)
@given(epsilon=SIZES, times=st.integers(1, 1000))
def test_pure_calibration_is_one_sided_and_sharp(epsilon, times):
    share = calibrate(lambda share: Repeated(Laplace(share), times), PureDP(epsilon))
    assert satisfies(Repeated(Laplace(share), times), PureDP(epsilon))
    assert share * times == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.long
@settings(max_examples=8)
@given(
    epsilon=st.floats(0.1, 5),
    delta=st.sampled_from([1e-4, 1e-6, 1e-9]),
    times=st.integers(1, 20),
    ratio=st.floats(0.1, 2.0),
)
def test_mixture_calibration_is_one_sided_and_sharp(epsilon, delta, times, ratio):
    def event_of(size):
        return Composed((Gaussian(size), Repeated(Laplace(ratio * size), times)))

    guarantee = ApproxDP(epsilon, delta)
    size = calibrate(event_of, guarantee)
    assert satisfies(event_of(size), guarantee)
    assert not satisfies(event_of(size * (1 + 1e-4)), guarantee)


def test_blocks_share_a_budget():
    mu = calibrate(
        lambda mu: Composed([Parallel("batches", b, Gaussian(mu)) for b in range(5)]),
        ApproxDP(1.0, 1e-6),
    )
    assert mu == pytest.approx(mu_of(1.0, 1e-6), rel=1e-9)


@pytest.mark.parametrize("event_of", [lambda size: Nothing(), lambda size: Gaussian(1.0)])
def test_a_cost_that_never_meets_the_promise_is_refused(event_of):
    with pytest.raises(InputError, match="event_of must meet"):
        calibrate(event_of, GDP(0.5))
