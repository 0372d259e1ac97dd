"""What the best of many tries costs: two derivations, a package, and exact mechanisms."""

import itertools
import math

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from tailguard.privacy.accounting.cover import covering_mu
from tailguard.privacy.accounting.gaussian import delta_of, epsilon_of
from tailguard.privacy.accounting.pld import PldAccountant
from tailguard.privacy.accounting.total_cost import satisfies, smallest_epsilon, total_cost
from tailguard.privacy.events import LAWS, Composed, Gaussian, Repeated, Selected
from tailguard.privacy.guarantees import ApproxDP
from tailguard.privacy.selection import (
    RenyiAccountant,
    SelectionAccountant,
    density_log_ratio,
    excess_divergence,
    mu_of_a_try,
    selected_profile,
    tries_of,
)
from tailguard.privacy.tries import NumberOfTries

SHAPES = {"geometric": 1.0, "logarithmic": 0.0}
GRID = list(itertools.product((0.05, 0.3, 1.0), (2.0, 10.0, 100.0), (1e-9, 1e-6, 1e-3)))
ORDERS = (1.01, 1.5, 2.0, 8.0, 64.0)
LEVELS = np.linspace(0.0, 5.0, 26)
every_law = pytest.mark.parametrize("law", LAWS)


def generating(tries, z):
    """The generating function of a number of tries."""
    p, z = tries.parameter, np.asarray(z)
    if tries.single:
        return z
    if tries.law == "poisson":
        return np.expm1(p * z) / math.expm1(p)
    if tries.law == "geometric":
        return p * z / (1.0 - (1.0 - p) * z)
    return np.log1p(-(1.0 - p) * z) / math.log(p)


def best_of(tries, chances):
    """Probabilities that each outcome is the best of many tries; the last outcome is the best."""
    ends = np.minimum(np.concatenate([[0.0], np.cumsum(chances)]), 1.0)
    return np.diff(generating(tries, ends))


def cells(mu, cuts):
    """Probabilities of the cells between cuts, for two Gaussian releases that differ by mu."""
    pair = (norm.cdf(np.sort(cuts) - shift) for shift in (0.0, mu))
    return [np.diff(np.concatenate([[0.0], ends, [1.0]])) for ends in pair]


def hockey_stick(first, second, epsilon):
    """The larger value of both orders of the pair."""
    factor = math.exp(epsilon)
    return max(
        float(np.maximum(one - factor * other, 0.0).sum())
        for one, other in ((first, second), (second, first))
    )


def renyi(first, second, order):
    """Renyi divergence of an order: the larger value of both orders of the pair."""
    seen = (first > 1e-290) & (second > 1e-290)
    logs = np.log(first[seen]), np.log(second[seen])
    return max(
        float(np.logaddexp.reduce(order * one + (1.0 - order) * other)) / (order - 1.0)
        for one, other in (logs, logs[::-1])
    )


def renyi_epsilon(event, delta):
    return RenyiAccountant().compose(event).epsilon(delta)


def profile_epsilon(event, delta):
    return SelectionAccountant().compose(event).epsilon(delta)


def package_epsilon(mu, mean, shape, delta, orders=None):
    accountant = RdpAccountant(orders)
    accountant.compose(
        dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(1 / mu), mean, shape)
    )
    return accountant.get_epsilon(delta)


@pytest.mark.parametrize("law", SHAPES)
def test_the_theorem_agrees_with_the_package_over_a_grid(law):
    """The package tries some orders, ours is the best of all; else both say the same."""
    close = []
    for mu, mean, delta in GRID:
        ours = renyi_epsilon(Selected(mu, mean, law), delta)
        theirs = package_epsilon(mu, mean, SHAPES[law], delta)
        assert ours <= theirs * (1 + 1e-9)
        close.append(ours / theirs)
    assert np.median(close) > 0.97
    fine = list(1.0 + np.exp(np.linspace(-1.0, 6.0, 400)))
    for mu, mean, delta in GRID[::5]:
        ours = renyi_epsilon(Selected(mu, mean, law), delta)
        theirs = package_epsilon(mu, mean, SHAPES[law], delta, fine)
        assert ours == pytest.approx(theirs, rel=2e-2)


def test_the_poisson_theorem_agrees_with_the_package():
    """Theirs may make no try; given at least one, the mean takes the place of the rate."""
    for mu, mean, delta in GRID[::4]:
        rate = NumberOfTries(mean, "poisson").parameter
        theirs = package_epsilon(mu, rate, math.inf, delta)
        ours = renyi_epsilon(Selected(mu, mean, "poisson"), delta)
        assert ours <= theirs + 20.0 * math.log(mean / rate) + 1e-9
        assert ours >= 0.6 * theirs  # whose failures come from divergences, not from the profile


def test_the_divergence_follows_the_statement():
    """Theorem 2 at ten geometric tries, with numbers worked out by hand."""
    mu, mean, order = 0.5, 10.0, 3.0
    rho = mu**2 / 2
    inner = math.sqrt(math.log(10.0) / rho)
    by_hand = 2.0 * ((1.0 - 1.0 / inner) * inner * rho + math.log(10.0) / inner)
    by_hand += math.log(mean) / (order - 1.0)
    assert excess_divergence(Selected(mu, mean), order - 1.0) == pytest.approx(by_hand, rel=1e-9)


def test_the_profile_derivation_is_the_tighter_one_for_negative_binomial_tries():
    for law, (mu, mean, delta) in itertools.product(SHAPES, GRID[::4]):
        event = Selected(mu, mean, law)
        assert profile_epsilon(event, delta) < renyi_epsilon(event, delta)
        assert smallest_epsilon(event, delta).epsilon <= profile_epsilon(event, delta)


def test_the_smallest_bound_is_certified_whichever_derivation_gives_it():
    poisson = Selected(0.2367, 10.0, "poisson")
    assert renyi_epsilon(poisson, 1e-6) < profile_epsilon(poisson, 1e-6)
    found = total_cost(poisson, 1e-6)
    assert found.epsilon <= renyi_epsilon(poisson, 1e-6)
    assert found.accountant in ("renyi", "pld")
    assert total_cost(Selected(0.2367, 10.0), 1e-6).accountant == "selection"


@every_law
def test_one_try_costs_what_one_fit_costs(law):
    for mu, delta in itertools.product((0.05, 0.5, 2.0), (1e-9, 1e-6, 1e-3)):
        one = epsilon_of(mu, delta)
        assert profile_epsilon(Selected(mu, 1.0, law), delta) == pytest.approx(one, rel=1e-9)
        assert smallest_epsilon(Selected(mu, 1.0, law), delta).epsilon == pytest.approx(one)
        nearly = profile_epsilon(Selected(mu, 1.0 + 1e-9, law), delta)
        assert one <= nearly <= one * (1 + 1e-3)


MECHANISMS = st.tuples(
    st.lists(st.floats(-4.0, 6.0), min_size=1, max_size=12),
    st.integers(0, 2**32 - 1),
    st.sampled_from([(0.1, 3.0), (0.3, 40.0), (1.0, 10.0), (2.0, 1.5)]),
)


def pair_of(law, mechanism):
    """An event, and exact chances of the best try of a mechanism that keeps one try's claim."""
    cuts, seed, (mu, mean) = mechanism
    one, other = cells(mu, np.array(cuts))
    order = np.random.default_rng(seed).permutation(len(one))
    if seed % 3:
        order = np.arange(len(one))[:: 1 if seed % 3 == 1 else -1]
    event = Selected(mu, mean, law)
    return event, *(best_of(tries_of(event), chances[order]) for chances in (one, other))


@every_law
@settings(max_examples=60)
@given(mechanism=MECHANISMS)
def test_no_mechanism_of_few_outcomes_costs_more(law, mechanism):
    event, first, second = pair_of(law, mechanism)
    bound = selected_profile(event).delta(LEVELS)
    exact = [hockey_stick(first, second, level) for level in LEVELS]
    assert (np.array(exact) <= bound + 1e-12).all()
    for order in ORDERS:
        most = order * event.mu**2 / 2 + excess_divergence(event, order - 1.0)
        assert renyi(first, second, order) <= most + 1e-9


@pytest.mark.parametrize("law", SHAPES)
def test_some_mechanism_costs_nearly_as_much_and_far_more_than_one_try(law):
    """So neither the bound is idle, nor could the cost of one try stand for it."""
    event, e, rng = Selected(1.0, 10.0, law), 4.0, np.random.default_rng(0)
    attained = 0.0
    for _ in range(300):
        pair = cells(1.0, rng.normal(0.5, 1.5, rng.integers(2, 60)))
        order = rng.permutation(len(pair[0]))
        best = [best_of(tries_of(event), chances[order]) for chances in pair]
        attained = max(attained, hockey_stick(*best, e))
    bound = float(selected_profile(event).delta(np.linspace(0.0, e, 50))[-1])
    assert attained < bound < 25.0 * attained
    assert attained > 100.0 * delta_of(1.0, e)


@every_law
def test_a_profile_falls_from_at_most_one(law):
    profile = selected_profile(Selected(0.5, 20.0, law))
    delta = profile.delta(np.linspace(0.0, profile.end, 2_000))
    assert 1.0 >= delta[0] > delta[-1]
    assert (np.diff(delta) <= 1e-15).all()
    assert delta[-1] <= 1e-19


def test_a_profile_of_losses_whose_exponentials_are_zero_in_floats_is_no_lower_than_one_try():
    mu, profile = 100.0, selected_profile(Selected(100.0, 10.0))
    assert math.exp(-profile.end) == 0.0
    levels = np.array([0.0, mu**2 / 4.0, mu**2 / 2.0])
    assert (profile.delta(levels) >= [delta_of(mu, level) for level in levels]).all()


@every_law
def test_accountants_agree_on_a_search_beside_gaussian_releases(law):
    event = Composed((Repeated(Gaussian(0.05), 4), Selected(0.3, 10.0, law)))
    closed, cells_ = (kind().compose(event) for kind in (SelectionAccountant, PldAccountant))
    assert 0.8 * closed.epsilon(1e-6) < cells_.epsilon(1e-6) <= closed.epsilon(1e-6) * (1 + 1e-3)
    if law != "poisson":
        assert closed.epsilon(1e-6) == pytest.approx(cells_.epsilon(1e-6), rel=1e-3)
    assert closed.epsilon(1e-6) > profile_epsilon(Selected(0.3, 10.0, law), 1e-6)


def test_a_ledger_prices_a_search_at_a_gaussian_release_not_far_above_it():
    for epsilon, mean in itertools.product((0.5, 2.0), (3.0, 10.0)):
        guarantee = ApproxDP(epsilon, 1e-6)
        mu = mu_of_a_try(guarantee, NumberOfTries(mean))
        cover, missed = covering_mu(Selected(mu, mean))
        assert guarantee.gaussian_mu() < cover < 2.1 * guarantee.gaussian_mu()
        assert missed < 1e-9


@every_law
@pytest.mark.parametrize("beside", [0.0, 0.3])
def test_the_budget_of_a_try_is_the_largest_that_keeps_the_promise(law, beside):
    guarantee, tries = ApproxDP(1.0, 1e-6), NumberOfTries(10.0, law)
    mu = mu_of_a_try(guarantee, tries, beside)

    def event(mu):
        released = (Gaussian(mu * beside),) if beside else ()
        return Composed((Selected(mu, 10.0, law), *released))

    assert satisfies(event(mu), guarantee)
    assert not satisfies(event(mu * 1.001), guarantee)


def test_the_log_ratio_solves_its_equation():
    event = Selected(0.4, 8.0)
    a = density_log_ratio(event) / 2.0
    assert math.expm1(a) / 7.0 == pytest.approx(delta_of(0.4, a), rel=1e-8)
    rate = tries_of(Selected(0.4, 8.0, "poisson")).parameter
    assert density_log_ratio(Selected(0.4, 8.0, "poisson")) == pytest.approx(
        rate * delta_of(0.4, 0.0)
    )


def test_a_search_that_is_too_dear_for_anyone_has_a_price():
    event = Selected(2.5, 900.0, "poisson")
    assert epsilon_of(2.5, 1e-6) < smallest_epsilon(event, 1e-6).epsilon < math.inf
    assert not satisfies(event, ApproxDP(9.0, 1e-6))


def test_delta_of_a_search_is_that_of_a_try_at_a_shifted_epsilon_times_the_mean():
    accountant = SelectionAccountant().compose(Selected(0.5, 10.0))
    for beyond in (0.2, 0.5, 0.9, 2.0):
        assert accountant.delta(accountant.shift + beyond) == pytest.approx(
            min(10.0 * delta_of(0.5, beyond), 1.0), rel=1e-9
        )
    before = math.exp(-0.1) * delta_of(0.5, 0.1) - math.expm1(-0.1)
    assert accountant.delta(accountant.shift - 0.1) == pytest.approx(min(10.0 * before, 1.0))


@pytest.mark.parametrize("mu", [1.0, 20.0, 60.0, 80.0, 120.0])
def test_no_profile_of_a_search_is_below_that_of_a_try_however_large_the_losses(mu):
    levels = np.sort([0.0, 1.0, mu, mu**2 / 4.0, mu**2 / 2.0])
    alone = np.array([delta_of(mu, level) for level in levels])
    found = selected_profile(Selected(mu, 2.0)).delta(levels)
    assert (found >= alone * (1.0 - 1e-9)).all()
    assert (np.diff(found) <= 1e-9).all()


def test_more_tries_than_floats_count_have_no_delta_left():
    many = SelectionAccountant().compose(Repeated(Selected(0.1, 1000.0), 100))
    assert many.delta(1.0) == 1.0
    assert many.epsilon(1e-6) == math.inf
