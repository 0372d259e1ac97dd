"""The lower bound with constants, against values computed independently, and its packings."""

import math
from functools import partial

import pytest

from tailguard.checks import InputError
from tailguard.papers.fano import (
    fano_bound,
    fano_bound_pure,
    least_distance,
    log_packing_size,
    mean_lower_bound,
    mean_lower_bound_pure,
)


@pytest.mark.parametrize(
    ("n_rows", "n_features", "order", "rho", "apart"),
    [
        (10**3, 64, 2.0, 0.5, 8),
        (10**5, 128, 2.0, 0.1, 16),
        (10**4, 64, 4.0, 0.5, 8),
        (10**4, 16, 2.0, 0.5, 2),
    ],
)
def test_the_best_chance_is_found(n_rows, n_features, order, rho, apart):
    """Of words that differ in so many places."""
    sizes = {"n_rows": n_rows, "rho": rho}
    found = mean_lower_bound(n_features=n_features, moment_order=order, **sizes)
    known = {"log_n_laws": log_packing_size(n_features), **sizes}
    chances = [10 ** (-5 + i / 1000) for i in range(5000)]
    grid = max(
        fano_bound(separation=math.sqrt(apart) * p ** (1 - 1 / order), total_variation=p, **known)
        for p in chances
    )
    assert grid <= found <= grid * (1 + 1e-5)


@pytest.mark.parametrize(
    ("n_features", "size"), [(8, math.log(70)), (16, 9.4627), (64, 25.024), (128, 45.560)]
)
def test_packings_have_their_known_sizes(n_features, size):
    assert log_packing_size(n_features) == pytest.approx(size, rel=1e-4)


@pytest.mark.parametrize(("n_features", "distance"), [(1, 2), (16, 2), (17, 3), (64, 8)])
def test_least_distance(n_features, distance):
    assert least_distance(n_features) == distance


def test_factors_of_the_noise_condition_instance():
    """At the printed chance the bound is empty, at a tenth of it the factor is 0.31."""
    laws = {"separation": 2.0, "log_n_laws": 5 * math.log(2), "n_rows": 10**5, "rho": 0.5}
    chance = math.sqrt(100 / 0.5) / 1e5
    assert fano_bound(total_variation=chance, **laws) == 0.0
    assert fano_bound(total_variation=0.1 * chance, **laws) == pytest.approx(0.31, abs=0.005)


def test_the_divergence_of_all_records_counts():
    laws = {"separation": 2.0, "log_n_laws": 10.0, "total_variation": 1.0, "rho": 1.0}
    bound = fano_bound(n_rows=100, divergence=0.02, **laws)
    assert bound == pytest.approx(1 - (2 + math.log(2)) / 10)


def test_a_squared_error_costs_a_quarter():
    laws = {"separation": 1.0, "log_n_laws": 25.0, "total_variation": 0.002, "n_rows": 1000}
    once, squared = (fano_bound(rho=0.5, power=power, **laws) for power in (1.0, 2.0))
    assert squared == pytest.approx(once / 2)


def test_too_few_words_prove_nothing():
    assert mean_lower_bound(n_rows=100, n_features=1, moment_order=2.0, rho=1.0) == 0.0


def test_bad_arguments_are_refused():
    with pytest.raises(InputError, match="moment_order"):
        mean_lower_bound(n_rows=100, n_features=8, moment_order=1.5, rho=1.0)
    with pytest.raises(InputError, match="rho"):
        mean_lower_bound(n_rows=100, n_features=8, moment_order=2.0, rho=0.0)


def test_no_pure_algorithm_on_two_points_beats_the_pure_bound():
    """Randomised response over M words, one record: the best of all epsilon-DP algorithms."""
    for n_words in (2, 10, 1000):
        for epsilon in (0.1, 1.0, 5.0):
            wrong = 1.0 - math.exp(epsilon) / (math.exp(epsilon) + n_words - 1)
            laws = {"separation": 2.0, "log_n_laws": math.log(n_words), "total_variation": 1.0}
            bound = fano_bound_pure(n_rows=1, epsilon=epsilon, **laws)
            assert 0.0 < bound <= wrong


def test_the_pure_bound_is_the_largest_over_its_free_number():
    laws = {"separation": 1.0, "log_n_laws": 25.0, "total_variation": 0.002}
    found = fano_bound_pure(n_rows=1000, epsilon=0.5, **laws)
    others = math.exp(25.0) - 1.0
    grid = []
    for i in range(1, 4000):
        c = 1.0 + i / 40.0
        x = others * math.exp(-c * 0.5 * 1000 * 0.002)
        grid.append(0.5 * (1.0 - 1.0 / c) * x / (1.0 + x))
    assert max(grid) <= found <= max(grid) * (1 + 1e-5)
    close = {**laws, "divergence": 1e-9}
    assert fano_bound_pure(n_rows=1000, epsilon=50.0, **close) == pytest.approx(
        0.5 * (1 - (1e-6 + math.log(2)) / 25.0)
    )


@pytest.mark.parametrize("order", [2.0, 4.0])
def test_pure_bounds_fall_with_records_as_the_rate_says(order):
    known = {"n_features": 64, "moment_order": order}
    few, many = (
        mean_lower_bound_pure(n_rows=n_rows, epsilon=0.5, **known) for n_rows in (10**4, 10**6)
    )
    assert math.log(few / many) / math.log(100) == pytest.approx(1 - 1 / order, abs=0.01)
    assert mean_lower_bound_pure(n_rows=10**4, epsilon=0.5, n_features=2, moment_order=order) == 0.0


@pytest.mark.parametrize("divergence", [None, "b", -1.0, [1.0]])
def test_a_divergence_that_is_no_cost_is_refused(divergence):
    laws = {"separation": 1.0, "log_n_laws": 25.0, "total_variation": 0.002, "n_rows": 1000}
    for bound in (partial(fano_bound, rho=0.5), partial(fano_bound_pure, epsilon=0.5)):
        with pytest.raises(InputError, match="divergence must be a number of at least 0"):
            bound(**laws, divergence=divergence)
