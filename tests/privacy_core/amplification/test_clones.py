"""The clones bound against enumeration, published values and a mechanism that it must dominate."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tailguard.privacy.amplification import shuffling
from tailguard.privacy.amplification.shuffling import (
    MARGIN,
    SPREAD,
    clones_delta,
    clones_epsilon,
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
    ("n_units", "unit_epsilon", "epsilon", "delta", "digits"),
    [
        (3, 1, 0.3, 0.24570293472, 1e-11),
        (8, 0.7, 0.2, 0.06467183199, 2e-10),
        (100, 0.5, 0.2, 1.35302e-5, 5e-6),
        (50, 1, 0.5, 1.115249e-3, 5e-7),
        (1000, 1, 0.1, 3.52766e-4, 2e-6),
    ],
)
def test_published_deltas(n_units, unit_epsilon, epsilon, delta, digits):
    got = delta_at(n_units, unit_epsilon, epsilon)
    assert got == pytest.approx(delta, rel=digits)


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


@pytest.mark.parametrize(("n_units", "unit_epsilon"), [(1000, 0.5), (10_000, 1.0), (10**6, 1.0)])
def test_the_closed_form_is_several_times_looser(n_units, unit_epsilon):
    # Feldman, McMillan and Talwar 2021, Theorem 3.1.
    grown = math.exp(unit_epsilon)
    inner = 8 * math.sqrt(grown * math.log(4e6) / n_units) + 8 * grown / n_units
    closed = math.log1p(math.tanh(unit_epsilon / 2) * inner)
    got = clones_epsilon(n_units, unit_epsilon, 1e-6)
    assert 2.5 * got <= closed <= 6 * got


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
