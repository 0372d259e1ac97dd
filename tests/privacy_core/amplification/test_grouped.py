"""Means of secret random groups: the best of three proofs, and the proof itself on a small case."""

import math
from itertools import combinations

import numpy as np
import pytest

from tailguard.checks import InputError
from tailguard.privacy.accounting.gaussian import mu_of
from tailguard.privacy.accounting.solve import satisfies
from tailguard.privacy.amplification import grouped
from tailguard.privacy.amplification.grouped import grouped_shuffle
from tailguard.privacy.amplification.shuffled import shuffled_mu, shuffled_profile
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


def test_a_guess_that_costs_too_much_is_stepped_down_until_it_does_not():
    promise = ApproxDP(0.5, 1e-6)
    exact = mu_of(0.5, 1e-6)
    found = grouped._stepped(Gaussian, promise, 1.001 * exact)
    assert satisfies(Gaussian(found), promise)
    assert 0.995 * exact <= found <= exact * (1.0 + 1e-9)


def test_the_best_of_the_three_within_the_promise():
    cases = ((0.5, 200, 50, "groups"), (2.0, 30, 1, "parallel"), (8.0, 2, 20_000, "parallel"))
    for epsilon, n_groups, group_size, proof in cases:
        promise = ApproxDP(epsilon, 1e-6)
        best = grouped_shuffle(promise, n_groups=n_groups, group_size=group_size)
        assert best.proof == proof
        of_record = shuffled_mu(epsilon, n_units=n_groups * group_size, delta=1e-6)
        of_group = shuffled_mu(epsilon, n_units=n_groups, delta=1e-6)
        three = (mu_of(epsilon, 1e-6), of_group, of_record / math.sqrt(group_size))
        assert best.mu == pytest.approx(max(three), rel=1e-4)
        assert satisfies(best.event, promise)


def test_repetitions():
    promise = ApproxDP(1.0, 1e-6)
    best = grouped_shuffle(promise, n_groups=500, group_size=4, times=5)
    assert best.proof == "groups"
    assert best.event == Repeated(Shuffled(best.mu, 500), 5)
    assert satisfies(best.event, promise)
    assert not satisfies(Repeated(Shuffled(best.mu * 1.003, 500), 5), promise)
    assert best.mu > 1.5 * mu_of(1.0, 1e-6) / math.sqrt(5)


@pytest.mark.parametrize(
    "case",
    [
        {"n_groups": 1, "group_size": 50},
        {"n_groups": 4, "group_size": 5, "times": 3},
        {"n_groups": 1000, "group_size": 5, "delta": 1e-12},
    ],
)
def test_parallel_where_the_shuffle_is_worth_nothing(case):
    promise = ApproxDP(1.0, case.pop("delta", 1e-6))
    best = grouped_shuffle(promise, **case)
    assert best.proof == "parallel"
    times = case.get("times", 1)
    assert best.mu == pytest.approx(mu_of(1.0, promise.delta) / math.sqrt(times), rel=1e-8)
    assert best.event == (Gaussian(best.mu) if times == 1 else Repeated(Gaussian(best.mu), times))


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
    # Four records, each with noise of its own: sqrt(2) times the mean's mu.
    assert np.all(truth <= shuffled_profile(mu * math.sqrt(2), 4).delta(e) * (1 + 1e-3))


def test_bad_parameters_are_refused():
    for bad in ({"n_groups": 0}, {"group_size": 0}, {"times": 0}):
        with pytest.raises(InputError):
            grouped_shuffle(ApproxDP(1.0, 1e-6), **({"n_groups": 5, "group_size": 5} | bad))
