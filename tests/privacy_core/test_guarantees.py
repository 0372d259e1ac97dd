"""Guarantees: validation, words, dictionaries, and the user's three arguments."""

import math

import pytest

from tailguard.checks import InputError
from tailguard.privacy.accounting.total_cost import satisfies
from tailguard.privacy.events import Gaussian
from tailguard.privacy.guarantees import (
    GDP,
    ZCDP,
    ApproxDP,
    PureDP,
    guarantee_from_dict,
    resolve_guarantee,
    weak_promise,
)

ALL = [ApproxDP(1.0, 1e-6), PureDP(1.0), ZCDP(0.5), GDP(1.0)]


@pytest.mark.parametrize("guarantee", ALL)
def test_round_trip(guarantee):
    assert guarantee_from_dict(guarantee.to_dict()) == guarantee
    assert "1" in guarantee.describe() or "0.5" in guarantee.describe()


@pytest.mark.parametrize(
    ("guarantee", "mu"),
    [(ApproxDP(1.0, 1e-6), 0.23670438066344), (ZCDP(0.5), 1.0), (GDP(2.0), 2.0)],
)
def test_gaussian_mu_is_the_largest_that_satisfies_it(guarantee, mu):
    assert guarantee.gaussian_mu() == pytest.approx(mu, rel=1e-11)
    assert guarantee.gaussian_mu() < mu
    assert satisfies(Gaussian(guarantee.gaussian_mu()), guarantee)
    assert not satisfies(Gaussian(guarantee.gaussian_mu() * (1 + 1e-11)), guarantee)


def test_pure_dp_has_no_gaussian_mu():
    with pytest.raises(InputError, match="pure DP needs a method with a pure mechanism"):
        PureDP(1.0).gaussian_mu()


def test_delta_is_part_of_two_of_them():
    assert [guarantee.delta for guarantee in ALL] == [1e-6, 0.0, None, None]


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "1", True, None])
@pytest.mark.parametrize("make", [PureDP, ZCDP, GDP, lambda bad: ApproxDP(bad, 1e-6)])
def test_bad_parameters_are_refused(make, bad):
    with pytest.raises(InputError, match="must be a finite number above 0"):
        make(bad)


@pytest.mark.parametrize("bad", [1e-300, 9e-16, 2e15, 1e308])
@pytest.mark.parametrize("make", [PureDP, ZCDP, GDP, lambda bad: ApproxDP(bad, 1e-6)])
def test_parameters_that_nobody_could_want_are_refused(make, bad):
    with pytest.raises(InputError, match=r"must lie between 1e-15 and 1e\+15"):
        make(bad)


@pytest.mark.parametrize("delta", [0, 1, -1e-6, math.nan])
def test_bad_delta_is_refused(delta):
    with pytest.raises(InputError, match="delta must be"):
        ApproxDP(1.0, delta)


def test_one_way_to_state_privacy():
    assert resolve_guarantee(epsilon=1, delta=1e-6) == ApproxDP(1, 1e-6)
    assert all(resolve_guarantee(guarantee=guarantee) is guarantee for guarantee in ALL)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Privacy parameters are missing"),
        ({"epsilon": 1.0}, "pass delta= .* or guarantee=tailguard.PureDP"),
        ({"delta": 1e-6}, "epsilon is missing"),
        ({"epsilon": 1.0, "guarantee": GDP(1.0)}, "not both"),
        ({"delta": 1.0, "guarantee": GDP(1.0)}, "not both"),
        ({"guarantee": 1.0}, "guarantee must be an ApproxDP"),
        ({"guarantee": (1.0, 1e-6)}, "guarantee must be an ApproxDP"),
    ],
)
def test_any_other_way_is_one_clear_error(arguments, message):
    with pytest.raises(InputError, match=message):
        resolve_guarantee(**arguments)


@pytest.mark.parametrize("data", [{}, {"kind": "gaussian", "mu": 1.0}, {"kind": "gdp", "mu": -1.0}])
def test_what_is_not_a_guarantee_is_refused(data):
    with pytest.raises(InputError):
        guarantee_from_dict(data)


def test_an_epsilon_beyond_20_is_a_weak_promise():
    assert weak_promise(ApproxDP(20.0, 1e-9), 1_000) == weak_promise(GDP(100.0), 1_000) == ()
    (sentence,) = weak_promise(ApproxDP(20.5, 1e-9), 1_000)
    assert sentence.startswith("epsilon should be about 1, and at most 20; got 20.5, at which")
    assert sentence.endswith(f"by a factor of {math.exp(20.5):.2g}.")
    assert len(weak_promise(ApproxDP(1e5, 1e-9), 1_000)) == 1


def test_a_delta_of_one_record_in_n_is_a_weak_promise():
    assert weak_promise(ApproxDP(1.0, 1e-6), 999_999) == weak_promise(GDP(1.0), 10**9) == ()
    (sentence,) = weak_promise(ApproxDP(1.0, 1e-6), 1_000_000)
    assert "delta should be far below 1 / n = 1e-06; got 1e-06" in sentence


@pytest.mark.parametrize("size", [1, 2, 10, 1000])
def test_group_privacy_of_one_row_keeps_the_whole_and_wastes_nothing(size):
    """The sums of epsilon, mu, squares of rho, and of the deltas of one row after the other."""
    for promise in (ApproxDP(1.0, 1e-6), ApproxDP(40.0, 1e-9), PureDP(2.0)):
        one = promise.of_one_row(size)
        assert 1.0 - 1e-9 <= size * one.epsilon / promise.epsilon <= 1.0
        total = math.fsum(math.exp(k * one.epsilon) * one.delta for k in range(size))
        assert promise.delta == total == 0.0 or 1.0 - 1e-6 <= total / promise.delta <= 1.0
    assert 1.0 - 1e-9 <= size**2 * ZCDP(0.5).of_one_row(size).rho / 0.5 <= 1.0
    assert 1.0 - 1e-9 <= size * GDP(2.0).of_one_row(size).mu / 2.0 <= 1.0


def test_a_gaussian_release_that_keeps_the_guarantee_of_one_row_keeps_that_of_a_group():
    whole = ApproxDP(2.0, 1e-6)
    mu = whole.of_one_row(5).gaussian_mu()
    assert satisfies(Gaussian(5.0 * mu), whole)
    assert not satisfies(Gaussian(5.0 * whole.gaussian_mu()), whole)
