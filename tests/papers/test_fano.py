"""The lower bound with constants, against values computed independently, and its packings."""

import math

import pytest

from tailguard.checks import InputError
from tailguard.papers.fano import fano_bound, least_distance, log_packing_size, mean_lower_bound


@pytest.mark.parametrize(
    ("n_rows", "n_features", "order", "rho", "bound"),
    [
        (10**3, 64, 2.0, 0.5, 0.056868),
        (10**4, 64, 2.0, 0.5, 0.0179798),
        (10**5, 128, 2.0, 0.1, 0.0149403),
        (10**4, 64, 4.0, 0.5, 0.00238532),
        (10**4, 16, 2.0, 0.5, 0.00632316),
    ],
)
def test_mean_lower_bound_has_its_known_values(n_rows, n_features, order, rho, bound):
    found = mean_lower_bound(n_rows=n_rows, n_features=n_features, moment_order=order, rho=rho)
    assert found == pytest.approx(bound, rel=1e-5)


def test_the_best_chance_is_found():
    found = mean_lower_bound(n_rows=1000, n_features=64, moment_order=2.0, rho=0.5)
    chances = [10 ** (-4 + 4 * i / 4000) for i in range(4000)]
    grid = max(
        fano_bound(
            separation=math.sqrt(8 * chance),
            log_n_laws=log_packing_size(64),
            n_rows=1000,
            rho=0.5,
            total_variation=chance,
        )
        for chance in chances
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
