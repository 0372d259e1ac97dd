"""Moments, means and separations of the hard laws are what the lower bounds need."""

import math

import numpy as np
import pytest

from tailguard.checks import InputError
from tailguard.papers.fano import fano_bound, log_packing_size
from tailguard.papers.instances.hard_instances import (
    SignLaw,
    SpikeLaw,
    hard_means,
    hard_means_sampling,
    hard_scalar_mean,
    hard_sparse_means,
    linear_excess,
    pure_chance,
    squared_excess,
    zcdp_chance,
)
from tailguard.papers.instances.heavy_laws import StudentLaw
from tailguard.papers.instances.tsybakov import hard_tsybakov, hard_tsybakov_sampling


@pytest.mark.parametrize("n_features", [8, 16, 32, 64])
@pytest.mark.parametrize("order", [2.0, 3.0, 8.0])
@pytest.mark.parametrize("n_rows", [1, 100, 10**6])
def test_moments_norms_and_separations(n_features, order, n_rows):
    chance = zcdp_chance(n_rows, n_features, rho=0.5)
    laws = hard_means(n_features, 10, chance=chance, moment_order=order)
    norm = chance ** (1 - 1 / order) * math.sqrt(n_features / 2)
    for law in laws:
        assert law.raw_moment(order) == pytest.approx(1.0)
        assert law.central_moment(order) <= 1.0 + 1e-12
        assert np.linalg.norm(law.mean) == pytest.approx(norm)
    apart = [np.linalg.norm(a.mean - b.mean) for a in laws for b in laws if a is not b]
    assert min(apart) >= norm / 2 * (1 - 1e-12)


def test_the_corrected_chance_makes_the_bound_say_something():
    """With a quarter the factor of Fano's inequality is positive, with the papers' 1 it is not."""
    for n_features in (64, 128):
        size = log_packing_size(n_features)
        for factor, says in ((0.25, True), (1.0, False)):
            chance = zcdp_chance(10**4, n_features, rho=0.5, factor=factor)
            bound = fano_bound(
                separation=1.0, log_n_laws=size, n_rows=10**4, rho=0.5, total_variation=chance
            )
            assert (bound > 0) is says


def test_central_moment_agrees_with_the_law_written_out():
    law = SpikeLaw(point=np.array([5.0, 0.0]), chance=0.1)
    outcomes, chances = np.array([5.0, 0.0]), np.array([0.1, 0.9])
    for order in (1.5, 2.0, 4.0):
        written = (chances * np.abs(outcomes - 0.5) ** order).sum()
        assert law.central_moment(order) == pytest.approx(written)


def test_the_moment_along_a_word_is_far_above_that_of_its_coordinates():
    """Why bounds for moments of coordinates say nothing under moments in every direction."""
    law = hard_means(64, 2, chance=0.001, moment_order=2.0)[0]
    assert law.raw_moment(2.0) == pytest.approx(1.0)
    assert law.directional_moment(2.0) == pytest.approx(32.0)


@pytest.mark.parametrize(("order", "bound"), [(1.25, 3.0), (2.0, 0.1)])
def test_moment_bounds_set_the_units(order, bound):
    dense = hard_means(16, 3, chance=0.01, moment_order=order, moment_bound=bound)
    sparse = hard_sparse_means(50, 4, 3, chance=0.01, moment_order=order, moment_bound=bound)
    scalar = hard_scalar_mean(n_rows=50, moment_order=order, epsilon=0.1, moment_bound=bound)
    for law in (*dense, *sparse, scalar):
        assert law.raw_moment(order) == pytest.approx(bound)


def test_sparse_means_lie_apart():
    laws = hard_sparse_means(50, 4, 8, chance=0.01, moment_order=2.0)
    size = 10.0 * 0.01
    apart = [np.linalg.norm(a.mean - b.mean) for a in laws for b in laws if a is not b]
    assert min(apart) >= size * math.sqrt(2) * (1 - 1e-12)


def test_scalar_mean():
    law = hard_scalar_mean(n_rows=1000, moment_order=1.5, epsilon=2.0, moment_bound=3.0)
    assert law.chance == pytest.approx((0.5 / 1.5) / (10 * 2 * 1000))
    assert law.mean[0] == pytest.approx(3 ** (2 / 3) * law.chance ** (1 / 3))


def test_chances():
    assert zcdp_chance(1000, 64, rho=0.25) == pytest.approx(0.25 * 16 / 1000)
    assert pure_chance(1000, 64, epsilon=0.5, factor=0.1) == pytest.approx(0.1 * 128 / 1000)
    assert zcdp_chance(1, 64, rho=1e-9) == pure_chance(1, 64, epsilon=1e-9) == 1.0


def test_gaussian_means():
    laws = hard_means_sampling(16, 4, n_rows=1000)
    norms = [np.linalg.norm(law.mean) for law in laws]
    assert norms == pytest.approx([0.25 * math.sqrt(16 / 1000) * math.sqrt(0.5)] * 4)
    rows = laws[0].sample(20_000, seed=3)
    assert np.abs(rows.mean(axis=0) - laws[0].mean).max() < 5 / math.sqrt(20_000)
    assert rows.std() == pytest.approx(1.0, rel=0.01)


def test_samples_follow_the_laws_and_their_seeds():
    spike = SpikeLaw(point=np.array([3.0, 0.0, -1.0]), chance=0.2)
    rows = spike.sample(20_000, seed=4)
    assert set(map(tuple, rows)) == {(0.0, 0.0, 0.0), (3.0, 0.0, -1.0)}
    assert np.abs(rows.mean(axis=0) - spike.mean).max() < 5 * 3 * math.sqrt(0.16 / 20_000)
    sign = SignLaw(word=np.array([1, -1], dtype=np.int8), size=2.0, bias=0.3)
    signs = sign.sample(20_000, seed=4)
    assert set(np.unique(signs)) == {-2.0, 2.0}
    assert np.abs(signs.mean(axis=0) - sign.mean).max() < 5 * 2 / math.sqrt(20_000)
    for law in (spike, sign):
        assert np.array_equal(law.sample(50, seed=1), law.sample(50, seed=1))
        assert not np.array_equal(law.sample(500, seed=1), law.sample(500, seed=2))
        with pytest.raises(InputError, match="n_rows"):
            law.sample(0)


def test_divergence_of_signs():
    law = SignLaw(word=np.ones(3, dtype=np.int8), size=1.0, bias=0.2)
    p, q = 0.6, 0.4
    assert law.divergence(3) == pytest.approx(3 * (p * math.log(p / q) + q * math.log(q / p)))


def test_excess_risks():
    law = hard_means(16, 2, chance=0.01, moment_order=2.0)[0]
    assert squared_excess(law, law.mean) == 0.0
    assert squared_excess(law, np.zeros(16)) == pytest.approx(np.sum(law.mean**2) / 2)
    length = np.linalg.norm(law.mean)
    assert linear_excess(law, law.mean / length) == pytest.approx(0.0, abs=1e-15)
    assert linear_excess(law, -law.mean / length) == pytest.approx(2 * length)
    with pytest.raises(InputError, match="point"):
        squared_excess(law, [0.0])


@pytest.mark.parametrize("chance", [0.0, -0.1, 1.1, math.nan])
def test_bad_chances_are_refused(chance):
    with pytest.raises(InputError, match="chance"):
        hard_means(16, 2, chance=chance, moment_order=2.0)
    with pytest.raises(InputError, match="chance"):
        hard_sparse_means(16, 2, 2, chance=chance, moment_order=2.0)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: zcdp_chance(10, 4, rho=0.0), "rho"),
        (lambda: pure_chance(10, 4, epsilon=-1.0), "epsilon"),
        (lambda: hard_scalar_mean(n_rows=9, moment_order=0.9, epsilon=1.0), "moment_order"),
    ],
)
def test_bad_arguments_are_refused_by_name(call, name):
    with pytest.raises(InputError, match=name):
        call()


@pytest.mark.parametrize("n_rows", [10**19, 10**400, 0, "x", None])
def test_numbers_of_records_that_no_array_has_are_refused(n_rows):
    spread = {"growth": 3.0, "moment_order": 2.0}
    for ask in (
        lambda: zcdp_chance(n_rows, 16, rho=1.0),
        lambda: pure_chance(n_rows, 16, epsilon=1.0),
        lambda: hard_means_sampling(16, 4, n_rows=n_rows),
        lambda: hard_scalar_mean(n_rows=n_rows, moment_order=2.0, epsilon=1.0),
        lambda: hard_tsybakov(16, 2, n_rows=n_rows, rho=0.5, **spread),
        lambda: hard_tsybakov_sampling(16, 2, n_rows=n_rows, growth=3.0),
        lambda: hard_means(16, 2, chance=0.1, moment_order=2.0)[0].sample(n_rows),
        lambda: StudentLaw(2.0).sample(n_rows, 2),
    ):
        with pytest.raises(InputError, match=r"n_rows.* must be .*; got"):
            ask()


@pytest.mark.parametrize("n_features", [10**19, 10**400, 0, "x", None])
def test_numbers_of_columns_that_no_array_has_are_refused(n_features):
    for ask in (
        lambda: hard_means(n_features, 2, chance=0.1, moment_order=2.0),
        lambda: hard_means_sampling(n_features, 4, n_rows=10),
        lambda: hard_sparse_means(n_features, 1, 2, chance=0.1, moment_order=2.0),
        lambda: hard_tsybakov(n_features, 2, n_rows=9, rho=0.5, growth=3.0, moment_order=2.0),
        lambda: hard_tsybakov_sampling(n_features, 2, n_rows=9, growth=3.0),
        lambda: StudentLaw(2.0).sample(10, n_features),
    ):
        with pytest.raises(InputError, match=r"n_features must be .*; got"):
            ask()
