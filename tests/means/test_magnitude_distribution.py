"""Laws read off noisy histograms: tails follow the data, and noise alone never looks like one."""

import numpy as np
import pytest

from tailguard.means.magnitude_distribution import (
    assumed_entries,
    assumed_norms,
    cell_edges,
    released_distribution,
)


def histogram(values, noise_std, seed):
    edges = cell_edges(1)
    counts = np.bincount(np.searchsorted(edges, values), minlength=edges.size + 1)
    noise = noise_std * np.random.default_rng(seed).standard_normal(edges.size + 1)
    return edges, counts + noise


@pytest.mark.parametrize("index", [2.1, 3.0, 4.0])
def test_quantiles_within_and_beyond_what_is_seen(index):
    values = np.random.default_rng(1).pareto(index, 100_000)
    for seed in range(20):
        distribution = released_distribution(*histogram(values, 100.0, seed), 100.0)
        for above in (0.3, 0.03):
            truth = above ** (-1.0 / index) - 1.0
            assert 0.5 * truth < distribution.quantile(above) < 2.0 * truth
        truth = 0.001 ** (-1.0 / index) - 1.0  # as many as the noise of a cell
        assert 0.3 * truth < distribution.quantile(0.001) < 3.0 * truth


def test_the_excess_beyond_what_is_seen_is_that_of_the_tail():
    values = np.random.default_rng(1).pareto(1.5, 20_000)
    level = 60.0  # a few cells below it are seen, and none beyond
    found = [
        released_distribution(*histogram(values, 30.0, seed), 30.0).excess(level)
        for seed in range(40)
    ]
    truth = np.maximum(values - level, 0.0).mean()
    assert 0.3 * truth < np.median(found) < 2.0 * truth


def test_no_cell_beyond_has_more_than_noise_may_hide():
    edges, counts = histogram(np.full(10_000, 1.0), 1.0, 0)
    found = released_distribution(edges, counts, 1.0)
    assert found.survival[found.points > 2.0].max() <= 16.0 * 2.0 / 10_000.0


def test_noise_alone_is_no_law_and_adds_no_tail():
    empty = [released_distribution(*histogram(np.zeros(0), 1.0, seed), 1.0) for seed in range(100)]
    assert empty.count(None) == 100
    values = np.abs(np.random.default_rng(2).standard_normal(10_000))
    far = [
        released_distribution(*histogram(values, 50.0, seed), 50.0).quantile(0.005)
        for seed in range(100)
    ]
    assert max(far) < 8.0


@pytest.mark.parametrize("noise_std", [2.0, 20.0])
def test_light_tails_end_soon_after_what_is_seen(noise_std):
    """Far fewer than 1 % are beyond 14 of the norms of 100 normal numbers, which lie around 10."""
    rng = np.random.default_rng(4)
    norms = np.linalg.norm(rng.standard_normal((20_000, 100)), axis=1) / 10.0
    for seed in range(20):
        distribution = released_distribution(*histogram(norms, noise_std, seed), noise_std)
        assert distribution.quantile(0.02) < 1.5


def test_a_far_cluster_is_seen():
    values = np.concatenate([np.ones(9_000), np.full(1_000, 3e3)])
    distribution = released_distribution(*histogram(values, 20.0, 0), 20.0)
    assert 2e3 < distribution.quantile(0.01) < 2e4


def test_survival_never_rises_and_means_are_means():
    values = np.random.default_rng(3).standard_exponential(50_000)
    distribution = released_distribution(*histogram(values, 30.0, 1), 30.0)
    assert (np.diff(distribution.survival) <= 0).all()
    assert distribution.expected(lambda t: np.minimum(t, 3.0)) == pytest.approx(0.95, abs=0.05)
    assert distribution.expected(np.ones_like) == pytest.approx(1.0)


def test_all_magnitudes_below_the_first_edge():
    distribution = released_distribution(*histogram(np.zeros(10_000), 10.0, 0), 10.0)
    assert distribution.quantile(0.01) <= cell_edges(1)[0]


def test_assumed_laws_are_laws():
    for distribution in (assumed_entries(), assumed_norms(1), assumed_norms(100)):
        assert (np.diff(distribution.survival) <= 0).all()
        assert (
            distribution.quantile(0.5) < distribution.quantile(1e-3) < distribution.quantile(1e-6)
        )
    np.testing.assert_allclose(assumed_norms(1).survival, assumed_entries().survival)
