"""Means of secret random groups: the better of two proofs, and the proof itself on a small case."""

import math
from itertools import combinations

import numpy as np
import pytest

from tailguard.checks import InputError
from tailguard.privacy.accounting.gaussian import mu_of
from tailguard.privacy.accounting.total_cost import satisfies
from tailguard.privacy.amplification import grouped
from tailguard.privacy.amplification.grouped import grouped_shuffle
from tailguard.privacy.amplification.shuffling import shuffled_mu, shuffled_profile
from tailguard.privacy.events import Gaussian, Repeated, Shuffled
from tailguard.privacy.guarantees import ApproxDP


@pytest.mark.parametrize(
    ("epsilon", "groups", "ratios"),
    [
        (0.1, (20, 100, 1000), (4.5, 5.9, 7.9)),
        (0.5, (20, 100, 1000), (4.5, 8.1, 12.7)),
        (1.0, (20, 100, 200, 1000), (4.5, 10.0, 12.0, 17.3)),
    ],
)
def test_published_noise_over_that_of_clipping(epsilon, groups, ratios):
    # Averaged over k groups of n / k records, against one mean of all of them.
    for n_groups, ratio in zip(groups, ratios, strict=True):
        mu = shuffled_mu(epsilon, n_units=n_groups, delta=1e-6)
        assert math.sqrt(n_groups) * mu_of(epsilon, 1e-6) / mu == pytest.approx(ratio, abs=0.06)


@pytest.mark.long
def test_the_better_of_the_two_within_the_promise():
    for epsilon, n_groups, pays in ((0.5, 200, True), (2.0, 30, False), (8.0, 2, False)):
        promise = ApproxDP(epsilon, 1e-6)
        mu, shuffled = grouped_shuffle(promise, n_groups=n_groups)
        assert shuffled is pays
        of_group = shuffled_mu(epsilon, n_units=n_groups, delta=1e-6)
        assert mu == pytest.approx(max(mu_of(epsilon, 1e-6), of_group), rel=1e-4)
        assert satisfies(Shuffled(mu, n_groups) if pays else Gaussian(mu), promise)


@pytest.mark.long
def test_a_guess_that_costs_too_much_is_stepped_down_until_it_does_not(monkeypatch):
    promise = ApproxDP(0.5, 1e-6)
    exact, _ = grouped_shuffle(promise, n_groups=200)
    monkeypatch.setattr(grouped, "shuffled_mu", lambda *_, **__: 1.05 * exact)
    found, _ = grouped_shuffle(promise, n_groups=200)
    assert satisfies(Shuffled(found, 200), promise)
    assert 0.95 * exact <= found < 1.05 * exact


@pytest.mark.long
def test_repetitions():
    promise = ApproxDP(1.0, 1e-6)
    mu, shuffled = grouped_shuffle(promise, n_groups=500, times=5)
    assert shuffled
    assert satisfies(Repeated(Shuffled(mu, 500), 5), promise)
    assert not satisfies(Repeated(Shuffled(mu * 1.003, 500), 5), promise)
    assert mu > 1.5 * mu_of(1.0, 1e-6) / math.sqrt(5)


@pytest.mark.parametrize(
    ("n_groups", "times", "delta"), [(1, 1, 1e-6), (4, 3, 1e-6), (1000, 1, 1e-12)]
)
def test_parallel_where_the_shuffle_is_worth_nothing(n_groups, times, delta):
    mu, shuffled = grouped_shuffle(ApproxDP(1.0, delta), n_groups=n_groups, times=times)
    assert not shuffled
    assert mu == pytest.approx(mu_of(1.0, delta) / math.sqrt(times), rel=1e-8)


def test_every_partition_arises_equally_often():
    """Rivals first, then groups of the rest, then a bijection: n = 6, three groups of two."""
    counts = {}
    for rivals in combinations(range(1, 6), 2):
        united = (0, *rivals)
        rest = [record for record in range(6) if record not in united]
        for order in permuted(rest):
            for places in permuted(united):
                groups = tuple(tuple(sorted(pair)) for pair in zip(order, places, strict=True))
                counts[groups] = counts.get(groups, 0) + 1
    assert len(counts) == 90
    assert set(counts.values()) == {4}


def permuted(items):
    if not items:
        return [()]
    return [
        (item, *tail)
        for index, item in enumerate(items)
        for tail in permuted([*items[:index], *items[index + 1 :]])
    ]


@pytest.mark.parametrize("others", [(-1, -1, -1), (-1, 0, 1), (1, 1, -1), (1, 1, 1)])
def test_above_two_groups_of_two_by_quadrature(others):
    mu = 0.8  # of a group's mean: a record moves a sum by 2, noise has standard deviation 2 / mu
    noise = 2 / mu
    grid = np.linspace(-10, 10, 241) * noise / 1.5
    x, y = np.meshgrid(grid, grid)
    cell = (grid[1] - grid[0]) ** 2

    def density(own):
        records = (own, *others)
        total = np.zeros_like(x)
        for first in combinations(range(4), 2):
            one = sum(records[i] for i in first)
            two = sum(records) - one
            total += np.exp(-((x - one) ** 2 + (y - two) ** 2) / (2 * noise**2))
        return total / (6 * 2 * math.pi * noise**2)

    e = np.array([0.0, 0.1, 0.3, 0.6])
    truth = [np.maximum(density(1) - math.exp(at) * density(-1), 0).sum() * cell for at in e]
    assert np.all(truth <= shuffled_profile(mu, 2).delta(e) * (1 + 1e-3))


def test_bad_parameters_are_refused():
    for bad in ({"n_groups": 0}, {"n_groups": 5, "times": 0}):
        with pytest.raises(InputError):
            grouped_shuffle(ApproxDP(1.0, 1e-6), **bad)
