"""What every accountant promises, checked for every line of the registry."""

import math
from dataclasses import dataclass
from functools import cache

import pytest
from dp_accounting.pld import privacy_loss_distribution as package
from hypothesis import given, settings
from hypothesis import strategies as st

from support.events import TREES
from tailguard.checks import InputError
from tailguard.privacy.accounting.gaussian import delta_of, epsilon_of
from tailguard.privacy.accounting.total_cost import (
    ACCOUNTANTS,
    smallest_epsilon,
    total_mu,
)
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
    Sampled,
    Selected,
    Shuffled,
    ShuffledPure,
    ZeroConcentrated,
)
from tailguard.privacy.flat_events import flatten

pytestmark = pytest.mark.parametrize("name", ACCOUNTANTS)

LEAVES = [
    *(Gaussian, Laplace, Pure, BoundedRange, ZeroConcentrated, lambda s: Approximate(s, 1e-8)),
    *(lambda s: Sampled(s, 0.1), lambda s: Sampled(s, 0.1, "poisson")),
    *(lambda s: Shuffled(s, 200), lambda s: ShuffledPure(s, 200)),
    *(lambda s: Selected(s, 4.0), lambda s: Selected(s, 3.0, "poisson")),
]
DELTAS = [1e-3, 1e-6, 1e-9]


@dataclass(frozen=True)
class Unheard(Event):
    """An event of a later version."""

    mu: float = 1.0
    kind = "unheard"


class Louder(Gaussian):
    """A subclass could mean anything."""


def known_leaves(name):
    return [make for make in LEAVES if ACCOUNTANTS[name]().supports(make(0.5))]


def epsilon(name, event, delta=1e-6, times=1):
    return ACCOUNTANTS[name]().compose(event, times).epsilon(delta)


def test_every_accountant_knows_some_leaves(name):
    assert known_leaves(name)


@pytest.mark.long
def test_epsilon_falls_in_delta_and_grows_in_size_and_times(name):
    for make in known_leaves(name):
        by_delta = [epsilon(name, make(0.2), delta) for delta in (1e-7, 1e-6, 1e-4, 1e-2, 0.5)]
        by_size = [epsilon(name, make(size)) for size in (0.01, 0.1, 0.5, 2.0)]
        by_times = [epsilon(name, make(0.2), times=times) for times in (1, 2, 5, 50)]
        assert by_delta == sorted(by_delta, reverse=True)
        assert by_delta[0] > by_delta[-1] >= 0
        assert by_size == sorted(by_size)
        assert by_size[0] < by_size[-1]
        assert by_times == sorted(by_times)
        assert by_times[0] < by_times[-1]


def test_delta_falls_in_epsilon_and_inverts_it(name):
    for make in known_leaves(name):
        accountant = ACCOUNTANTS[name]().compose(make(0.3), times=3)
        deltas = [accountant.delta(e) for e in (0.0, 0.1, 0.5, 1.0, 3.0)]
        assert deltas == sorted(deltas, reverse=True)
        assert all(0 <= delta <= 1 for delta in deltas)
        assert accountant.delta(accountant.epsilon(1e-5)) <= 1e-5 * (1 + 1e-7)


def test_never_below_an_exact_value(name):
    accountant = ACCOUNTANTS[name]()
    if accountant.supports(Gaussian(1.0)):
        for mu in (0.01, 0.1, 1.0, 3.0):
            got = accountant.compose(Gaussian(mu / 8), times=64)
            assert all(got.epsilon(delta) >= epsilon_of(mu, delta) * 0.9999999 for delta in DELTAS)
            assert all(got.delta(e * mu) >= delta_of(mu, e * mu) * 0.9999999 for e in (0, 1, 3))
    if accountant.supports(Laplace(1.0)):
        for e in (0.0, 0.3, 0.9):
            exact = -math.expm1((e - 1.0) / 2)
            assert accountant.compose(Laplace(1.0)).delta(e) >= exact * (1 - 1e-12)
        exact = 0.5 + 2 * math.log1p(-1e-3)
        assert accountant.compose(Laplace(0.5)).epsilon(1e-3) >= exact


@pytest.mark.parametrize(
    ("e", "exact"),  # Gaussian(1) with Laplace(0.5), by quadrature
    [
        (0.5, 0.2800803263871),
        (1.0, 0.1642423717814),
        (2.0, 0.03546968009189),
        (4.0, 1.701142504045e-4),
    ],
)
def test_never_below_an_exact_mixture(name, e, exact):
    accountant = ACCOUNTANTS[name]()
    mixture = Composed((Gaussian(1.0), Laplace(0.5)))
    if accountant.supports(mixture):
        assert accountant.compose(mixture).delta(e) >= exact * (1 - 1e-12)


@cache
def epsilon_of_the_package(mu):
    losses = package.from_gaussian_mechanism(1 / mu, value_discretization_interval=1e-4)
    return losses.get_epsilon_for_delta(1e-6)


def test_agrees_with_the_package_on_gaussian(name):
    accountant = ACCOUNTANTS[name]()
    if not accountant.supports(Gaussian(1.0)):
        return
    for mu in (0.1, 1.0, 3.0):
        theirs = epsilon_of_the_package(mu)
        ours = accountant.compose(Repeated(Gaussian(mu / 2), 4)).epsilon(1e-6)
        # zCDP is blind to the difference between a Gaussian and other rho-zCDP mechanisms.
        allowed = 0.16 if accountant.supports(ZeroConcentrated(0.5)) else 1e-6
        assert theirs * (1 - 1e-6) <= ours <= theirs * (1 + allowed)


@pytest.mark.parametrize("strange", [Unheard(), Louder(1.0)])
def test_unknown_events_are_refused_at_any_depth(name, strange):
    accountant = ACCOUNTANTS[name]()
    for event in (
        strange,
        Repeated(strange, 2),
        Composed((Laplace(0.1), strange)),
        Parallel("m", 0, strange),
        Repeated(Composed((Parallel("m", 1, Repeated(strange, 3)), Laplace(0.1))), 2),
    ):
        assert not accountant.supports(event)
        with pytest.raises(InputError, match="does not know events of type"):
            accountant.compose(event)
    assert accountant == ACCOUNTANTS[name]()


@pytest.mark.parametrize(
    "amplified", [Sampled(0.3, 0.1), Sampled(0.3, 0.1, "poisson"), Shuffled(0.3, 200)]
)
def test_amplification_is_priced_from_profiles_or_refused(name, amplified):
    accountant = ACCOUNTANTS[name]()
    assert any(ACCOUNTANTS[each]().supports(amplified) for each in ACCOUNTANTS)
    supported = accountant.supports(amplified)
    assert accountant.supports(Composed((Gaussian(0.1), amplified))) == supported
    if supported:
        plain = accountant.compose(Gaussian(0.3), times=4).epsilon(1e-6)
        assert accountant.compose(amplified, times=4).epsilon(1e-6) < plain


def test_nothing_costs_nothing(name):
    empty = ACCOUNTANTS[name]()
    for accountant in (empty, empty.compose(Nothing(), times=9), empty.compose(Composed(()))):
        assert accountant.epsilon(1e-6) == accountant.epsilon(1e-15) == 0.0
        assert accountant.epsilon(0.0) == accountant.delta(0.0) == 0.0


def test_accountants_are_immutable(name):
    leaf = known_leaves(name)[0](0.5)
    before = ACCOUNTANTS[name]().compose(leaf)
    cost = before.epsilon(1e-6)
    after = before.compose(leaf, times=3)
    assert before.epsilon(1e-6) == cost < after.epsilon(1e-6)
    with pytest.raises(AttributeError):
        before.flat_events = after.flat_events


def test_order_and_nesting_do_not_matter(name):
    one, other = (make(0.3) for make in known_leaves(name)[:2])
    accountant = ACCOUNTANTS[name]()
    assert accountant.compose(one).compose(other, times=2).epsilon(1e-6) == accountant.compose(
        Composed((Repeated(other, 2), Composed((one, Nothing()))))
    ).epsilon(1e-6)


def test_blocks_cost_their_maximum_and_maps_add(name):
    small, large = (known_leaves(name)[0](size) for size in (0.2, 0.5))
    together = Composed((Parallel("m", 0, small), Parallel("m", 1, large)))
    aligned = Composed((together, Parallel("m", 0, large)))
    across = Composed((together, Parallel("other", 0, small)))
    assert epsilon(name, together) == pytest.approx(epsilon(name, large), rel=1e-9)
    assert epsilon(name, aligned) == pytest.approx(epsilon(name, Composed((small, large))))
    assert epsilon(name, across) == pytest.approx(epsilon(name, Composed((small, large))))
    assert epsilon(name, together, times=3) == pytest.approx(epsilon(name, large, times=3))


def test_blocks_of_different_kinds_cost_at_least_each(name):
    leaves = [make(0.4) for make in known_leaves(name)[:3]]
    everywhere = known_leaves(name)[0](0.3)
    parts = [Parallel("m", block, leaf) for block, leaf in enumerate(leaves)]
    together = epsilon(name, Composed((everywhere, *parts)))
    each = [epsilon(name, Composed((everywhere, leaf))) for leaf in leaves]
    assert together >= max(each) * (1 - 1e-6)
    assert together <= epsilon(name, Composed((everywhere, *leaves)))


@pytest.mark.parametrize("bad", [-1e-9, 1.0, math.nan, None])
def test_bad_questions_are_refused(name, bad):
    accountant = ACCOUNTANTS[name]()
    with pytest.raises(InputError, match="delta must be"):
        accountant.epsilon(bad)
    with pytest.raises(InputError, match="epsilon must be"):
        accountant.delta(-1.0)
    with pytest.raises(InputError, match="times must be"):
        accountant.compose(Nothing(), times=0)


@settings(max_examples=15)
@given(tree=TREES, delta=st.sampled_from(DELTAS))
def test_the_smallest_epsilon_is_one_of_the_bounds(name, tree, delta):
    accountant = ACCOUNTANTS[name]()
    smallest = smallest_epsilon(tree, delta)
    assert smallest.accountant in ACCOUNTANTS
    if accountant.supports(tree):
        bound = accountant.compose(tree).epsilon(delta)
        # When everything is Gaussian only the exact accountant is asked; a reading from a loss
        # distribution may then be below it by the rounding of its convolutions.
        assert smallest.epsilon <= bound * (1 + 1e-9)
    if total_mu(tree) is not None:
        assert flatten(tree).kinds <= {Gaussian}
        assert smallest.accountant == "gdp"


@pytest.mark.parametrize("event", [Gaussian(0.5), Laplace(0.5)])
def test_numbers_that_no_float_holds_have_bounds(name, event):
    accountant = ACCOUNTANTS[name]()
    if not accountant.supports(event):
        pytest.skip("such events are refused")
    assert 0.0 <= accountant.compose(event).delta(epsilon=1e19) <= 1e-10
    absurd = accountant.compose(event, times=10**400)
    assert absurd.epsilon(delta=1e-6) == math.inf
    assert absurd.delta(epsilon=1.0) == 1.0
    assert absurd.delta(epsilon=1e19) == 1.0
