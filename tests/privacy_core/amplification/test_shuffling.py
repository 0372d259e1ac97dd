"""Shuffles: the clones bound against enumeration and exact pairs, published noise, repetition."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq

from tailguard.checks import InputError
from tailguard.privacy.accounting.gaussian import epsilon_of, mu_of
from tailguard.privacy.accounting.pld import PldAccountant, profile_of
from tailguard.privacy.accounting.total_cost import Distance, epsilon_at_distance
from tailguard.privacy.amplification import shuffling
from tailguard.privacy.amplification.shuffling import (
    MARGIN,
    SPREAD,
    clones_delta,
    clones_epsilon,
    failure_variation,
    shuffled_epsilon,
    shuffled_mu,
    shuffled_profile,
    shuffled_pure_profile,
)
from tailguard.privacy.events import (
    Gaussian,
    Parallel,
    Repeated,
    Shuffled,
    ShuffledPure,
)


def delta_at(n_units, unit_epsilon, e):
    return float(clones_delta(n_units, unit_epsilon, np.asarray(e)))


def enumerated(n_units, unit_epsilon, epsilon):
    """The hockey stick of the pair of counts, unit by unit."""
    clone, own = math.exp(-unit_epsilon), 1 / (1 + math.exp(-unit_epsilon))

    def law(first):
        states = Counter({(1, 0): first, (0, 1): 1 - first})
        for _ in range(n_units - 1):
            spread = Counter()
            for (a, b), chance in states.items():
                spread[a, b] += chance * (1 - clone)
                spread[a + 1, b] += chance * clone / 2
                spread[a, b + 1] += chance * clone / 2
            states = spread
        return states

    one, other = law(own), law(1 - own)
    return sum(max(0.0, one[state] - math.exp(epsilon) * other[state]) for state in one)


@given(n_units=st.integers(1, 8), unit_epsilon=st.floats(0.01, 4), place=st.floats(0, 0.99))
def test_enumeration(n_units, unit_epsilon, place):
    e = place * unit_epsilon
    got = delta_at(n_units, unit_epsilon, e)
    assert got == pytest.approx(enumerated(n_units, unit_epsilon, e), rel=1e-10, abs=1e-15)


@pytest.mark.parametrize(
    ("n_units", "unit_epsilon", "epsilon"),
    [
        (20, 0.5, 0.4985),
        (50, 0.5, 0.3467),
        (100, 0.5, 0.2409),
        (200, 0.5, 0.1667),
        (1000, 0.5, 0.0705),
        (100, 1, 0.6437),
        (1000, 1, 0.1824),
        (10, 0.5, 0.5),
        (10, 1, 1.0),
    ],
)
def test_published_epsilons(n_units, unit_epsilon, epsilon):
    got = clones_epsilon(n_units, unit_epsilon, 1e-6)
    assert got == pytest.approx(epsilon, abs=5.1e-5)


@pytest.mark.parametrize("unit_epsilon", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("n_units", [1, 2, 5, 30])
def test_above_shuffled_randomised_response(n_units, unit_epsilon):
    """All other units hold 0; what leaves is how many answers are 1."""
    lie = 1 / (1 + math.exp(unit_epsilon))
    others = stats.binom.pmf(np.arange(n_units), n_units - 1, lie)
    zero = np.convolve(others, [1 - lie, lie])
    one = np.convolve(others, [lie, 1 - lie])
    for e in np.linspace(0, unit_epsilon, 7):
        bound = delta_at(n_units, unit_epsilon, e)
        for p, q in ((zero, one), (one, zero)):
            assert np.maximum(p - math.exp(e) * q, 0).sum() <= bound * (1 + 1e-9) + 1e-15


def test_large_numbers_of_units_are_grouped_on_the_safe_side(monkeypatch):
    e = np.array([0.0, 0.003, 0.006])
    coarse = clones_delta(200_000, 0.5, e)
    monkeypatch.setattr(shuffling, "MOST_GROUPS", 50_000)
    monkeypatch.setattr(shuffling, "_clone_counts", shuffling._clone_counts.__wrapped__)
    fine = clones_delta(200_000, 0.5, e)
    assert np.all(fine <= coarse * (1 + 1e-12))
    assert coarse == pytest.approx(fine, rel=1e-3)


def test_groups_reach_as_many_standard_deviations_as_they_say_and_no_farther():
    chance = math.exp(-0.5)
    others = stats.binom(199_999, chance)
    counts, chances, missed = shuffling._clone_counts(200_000, 0.5)
    reach = SPREAD * others.std() + MARGIN
    assert [counts[0], counts[-1]] == pytest.approx(
        [others.mean() - reach, others.mean() + reach], abs=1.0
    )
    assert chances.sum() + missed == pytest.approx(1.0, abs=1e-12)
    assert missed < 1e-30


def test_numbers_of_clones_that_no_group_holds_are_charged_in_full(monkeypatch):
    e = np.array([0.1, 0.3, 0.6])
    whole = clones_delta(500, 1.0, e)
    monkeypatch.setattr(shuffling, "SPREAD", 1.0)
    monkeypatch.setattr(shuffling, "MARGIN", 0.0)
    monkeypatch.setattr(shuffling, "_clone_counts", shuffling._clone_counts.__wrapped__)
    counts, _, _ = shuffling._clone_counts(500, 1.0)
    below = stats.binom.cdf(counts[0] - 1.0, 499, math.exp(-1.0))
    assert below > 0.1
    assert np.all(clones_delta(500, 1.0, e) >= np.maximum(whole, below))


def test_fewer_clones_hide_less():
    """Counts that share a group are treated as its smallest, so the bound must fall in them."""
    own, gamma = 1 / (1 + math.exp(-1.0)), math.exp(0.2)
    values = []
    for count in range(60):
        a = np.arange(count + 2)
        left, right = stats.binom.pmf(a - 1, count, 0.5), stats.binom.pmf(a, count, 0.5)
        p, q = own * left + (1 - own) * right, (1 - own) * left + own * right
        values.append(np.maximum(p - gamma * q, 0).sum())
    assert np.all(np.diff(values) <= 1e-15)


def test_monotone_and_at_most_a_unit():
    def delta(e, n=100, u=0.5):
        return delta_at(n, u, e)

    by_epsilon = [delta(e) for e in np.linspace(0, 0.5, 30)]
    by_units = [delta(0.1, n=n) for n in (1, 2, 3, 10, 50, 200)]
    by_unit = [delta(0.1, u=u) for u in (0.11, 0.2, 0.5, 1.0, 2.0)]
    assert by_epsilon == sorted(by_epsilon, reverse=True)
    assert delta(0.5) == delta(9.0) == 0.0
    assert by_units == sorted(by_units, reverse=True)
    assert by_unit == sorted(by_unit)
    alone = [delta(e, n=1) for e in np.linspace(0, 0.5, 30)]
    assert all(amplified <= single for amplified, single in zip(by_epsilon, alone, strict=True))
    for n_units in (1, 10, 1000):
        epsilons = [clones_epsilon(n_units, 0.5, d) for d in (1e-9, 1e-6, 1e-3, 0.2)]
        assert epsilons == sorted(epsilons, reverse=True)
        assert epsilons[0] <= 0.5


def test_epsilon_inverts_delta():
    e = clones_epsilon(500, 0.8, 1e-6)
    assert delta_at(500, 0.8, e) <= 1e-6 * (1 + 1e-11)
    assert delta_at(500, 0.8, e * (1 - 1e-6)) > 1e-6


@pytest.mark.parametrize("unit_epsilon", [1e-6, 40.0, 600.0])
def test_extreme_units(unit_epsilon):
    for n_units in (1, 10**9):
        got = clones_epsilon(n_units, unit_epsilon, 1e-6)
        assert 0.0 <= got <= unit_epsilon


@pytest.mark.parametrize("unit_epsilon", [500.0, 650.0, 717.0, 5_000.0])
def test_units_that_hide_nothing_cost_what_they_cost_alone(unit_epsilon):
    assert 0.99 * unit_epsilon <= clones_epsilon(297, unit_epsilon, 1e-6) <= unit_epsilon
    deltas = clones_delta(297, unit_epsilon, np.array([0.0, 400.0, 1_000.0, 10_000.0]))
    assert ((deltas >= 0.0) & (deltas <= 1.0)).all()
    assert (np.diff(deltas) <= 0.0).all()
    assert deltas[-1] == 0.0


def accounted(event, delta=1e-6):
    return PldAccountant().compose(event).epsilon(delta)


def half_and_half(epsilon, delta, n_units):
    """The published recipe: half of delta for failures, half for the clones, solved for mu."""
    allowed = delta / (2 * (math.exp(epsilon) + 1) * 1.5 * n_units)

    def excess(log_mu):
        unit = epsilon_of(math.exp(log_mu), allowed)
        return math.log(
            max(float(clones_delta(n_units, unit, np.asarray(epsilon))), 1e-300) / (delta / 2)
        )

    return math.exp(brentq(excess, math.log(1e-4), math.log(3.0)))


# n = 1e4, delta = n^-1.1, clip norm 1: noise of a batch mean for three numbers of batches.
BATCHES = (10, 50, 200)
NOISE = [
    (0.03, (0.157, 0.786, 3.14), (0.181, 0.501, 1.16), (0.425, 0.951, 1.90)),
    (0.1, (0.054, 0.271, 1.08), (0.069, 0.192, 0.462), (0.204, 0.457, 0.913)),
    (0.5, (0.0127, 0.0636, 0.255), (0.0167, 0.0613, 0.161), (0.095, 0.212, 0.424)),
    (1.0, (0.0068, 0.0341, 0.136), (0.0089, 0.0419, 0.113), (0.077, 0.172, 0.344)),
]


@pytest.mark.parametrize(("epsilon", "parallel", "batches", "records"), NOISE)
def test_published_noise(epsilon, parallel, batches, records):
    delta = 1e4**-1.1
    of_record = shuffled_mu(epsilon, n_units=10_000, delta=delta)
    for index, n_batches in enumerate(BATCHES):
        size = 10_000 // n_batches
        shift = 2 / size
        assert shift / mu_of(epsilon, delta) == pytest.approx(parallel[index], rel=8e-3)
        recipe = half_and_half(epsilon, delta, n_batches)
        assert shift / recipe == pytest.approx(batches[index], rel=8e-3)
        best = shuffled_mu(epsilon, n_units=n_batches, delta=delta)
        assert best == pytest.approx(max(recipe, mu_of(epsilon, delta)), rel=1e-5)
        noise = 2 / (math.sqrt(size) * of_record)
        assert noise == pytest.approx(records[index], rel=8e-3)


def pair_density(x, y, mu, own, others):
    """Two shuffled units: the record at ``own``, the other at ``others``, in units of mu / 2."""
    u, v = own * mu / 2, others * mu / 2
    straight = np.exp(-((x - u) ** 2 + (y - v) ** 2) / 2)
    swapped = np.exp(-((x - v) ** 2 + (y - u) ** 2) / 2)
    return (straight + swapped) / (4 * math.pi)


@pytest.mark.parametrize("mu", [0.2, 1.0])
def test_above_two_shuffled_units_by_quadrature(mu):
    grid = np.linspace(-8, 8, 241)
    x, y = np.meshgrid(grid, grid)
    cell = (grid[1] - grid[0]) ** 2
    e = np.array([0.0, 0.1, 0.5])
    bound = shuffled_profile(mu, 2).delta(e)
    for others in (-1.0, 0.0, 1.0):
        one, other = (pair_density(x, y, mu, own, others) for own in (1.0, -1.0))
        truth = [np.maximum(one - math.exp(at) * other, 0).sum() * cell for at in e]
        assert np.all(truth <= bound * (1 + 1e-3))


@pytest.mark.long
@pytest.mark.parametrize(("mu", "n_units"), [(0.1, 1000), (0.3, 100), (0.05, 10**5), (2.0, 10)])
def test_the_profile_is_at_least_as_sharp_as_the_recipe(mu, n_units):
    for delta in (1e-3, 1e-6, 1e-9):
        recipe = shuffled_epsilon(mu, n_units=n_units, delta=delta)
        got = accounted(Shuffled(mu, n_units), delta)
        assert 0.9 * recipe <= got <= recipe * (1 + 2e-5)


@pytest.mark.long
def test_never_above_a_unit_that_is_not_shuffled():
    for mu in (0.01, 0.3, 1.0, 5.0, 50.0):
        for n_units in (1, 2, 50, 10**4, 10**8):
            got = shuffled_epsilon(mu, n_units=n_units, delta=1e-6)
            assert 0.0 <= got <= epsilon_of(mu, 1e-6)
        alone = profile_of(Gaussian(mu))
        e = np.linspace(0, min(alone.end, 400.0), 3000)
        bound = shuffled_profile(mu, 50).delta(e)
        # Between nodes the bound is a chord, above a convex curve by a small part.
        assert np.all(bound <= alone.delta(e) * 1.25 + 1e-20)


def test_repetitions_that_gain_nothing_cost_as_if_not_shuffled():
    for mu, n_units in ((0.3, 9), (0.3, 1), (1.5, 20)):
        plain = epsilon_of(2 * mu, 1e-6)
        # Above by the chords between nodes at most.
        assert accounted(Repeated(Shuffled(mu, n_units), 4)) <= plain * (1 + 2e-4)


@pytest.mark.long
def test_fewer_units_cost_more():
    for costs in (
        [shuffled_epsilon(0.2, n_units=n, delta=1e-6) for n in (10**6, 10**4, 300, 50, 2, 1)],
        [accounted(Repeated(Shuffled(0.2, n), 5)) for n in (3000, 300, 30)],
    ):
        assert costs == sorted(costs)
        assert costs[0] < costs[-1]


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 3.0])
def test_mu_inverts_epsilon(epsilon):
    for n_units in (1, 30, 5000):
        mu = shuffled_mu(epsilon, n_units=n_units, delta=1e-6)
        assert mu >= mu_of(epsilon, 1e-6)
        assert shuffled_epsilon(mu, n_units=n_units, delta=1e-6) <= epsilon * (1 + 1e-11)
        assert shuffled_epsilon(mu * (1 + 3e-6), n_units=n_units, delta=1e-6) > epsilon


@pytest.mark.long
@pytest.mark.parametrize(("mu", "n_units", "times"), [(0.05, 200, 30)])
def test_the_event_is_sharper_than_any_single_pair(mu, n_units, times):
    got = accounted(Repeated(Shuffled(mu, n_units), times))
    for share in (1e-7, 1e-9, 1e-11):
        unit_delta = share / (times * n_units)
        unit = epsilon_of(mu, unit_delta)
        failures = Distance(variation=times * failure_variation(n_units, unit, unit_delta))
        pure = Repeated(ShuffledPure(unit, n_units), times)
        assert got < epsilon_at_distance(pure, 1e-6, failures).epsilon
    assert got < epsilon_of(mu * math.sqrt(times), 1e-6)


def test_a_fixed_partition_is_not_amplified():
    """Fixed groups that others cannot imitate: to claim the shuffle's epsilon would be wrong."""
    claimed = clones_epsilon(1000, 0.5, 5e-7)
    assert claimed == pytest.approx(0.0739, abs=5e-5)
    allowed = 1e-6 / (2 * (math.exp(claimed) + 1) * 1.5 * 1000)
    mu = mu_of(0.5, allowed)
    true = accounted(Parallel("groups", 0, Gaussian(mu)))
    assert true == pytest.approx(0.3488, abs=5e-5)
    assert true > 4 * claimed


def test_the_pure_profile_is_the_clones_bound():
    e = np.linspace(0, 0.8, 37)
    got = shuffled_pure_profile(0.8, 50).delta(e)
    exact = clones_delta(50, 0.8, e)
    assert np.all(got >= exact * (1 - 1e-12))
    assert got == pytest.approx(exact, rel=2e-3, abs=1e-20)


@pytest.mark.parametrize("bad", [{"mu": 0.0}, {"n_units": 0}, {"delta": 1.0}, {"mu": math.inf}])
def test_bad_parameters_are_refused(bad):
    parameters = {"mu": 0.1, "n_units": 10, "delta": 1e-6} | bad
    with pytest.raises(InputError):
        shuffled_epsilon(parameters.pop("mu"), **parameters)
