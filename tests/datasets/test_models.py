"""Each simulator's target follows the model it states, with the coefficients it states."""

import numpy as np
import pytest

from tailguard.checks import InputError
from tailguard.datasets import (
    heavy_tailed_linear,
    heavy_tailed_logistic,
    heavy_tailed_poisson,
    insurance_claims,
)


def score(data):
    return data.features @ data.coefficients + data.intercept


def test_insurance_errors_are_skewed_of_mean_zero_and_smaller_than_the_signal():
    claims = insurance_claims(50_000, seed=1)
    errors = claims.target - score(claims)
    assert abs(errors.mean()) < 15  # standard deviation 600: four standard errors are 11
    assert errors.std() == pytest.approx(600, rel=0.05)
    assert np.median(errors) < -50
    assert 1 - errors.var() / claims.target.var() == pytest.approx(0.77, abs=0.04)


def test_insurance_columns_of_wealth_move_together():
    claims = insurance_claims(50_000, seed=1)
    value, insured, distance = np.argsort(
        np.argsort(claims.features[:, [1, 2, 3]], axis=0), axis=0
    ).T
    assert np.corrcoef(value, insured)[0, 1] == pytest.approx(0.58, abs=0.02)
    assert abs(np.corrcoef(value, distance)[0, 1]) < 0.02


@pytest.mark.parametrize("noise", ["lognormal", "student", "normal"])
def test_linear_errors_have_the_stated_scale(noise):
    data = heavy_tailed_linear(50_000, 4, tail=4.5, noise=noise, noise_std=0.5, seed=2)
    errors = data.target - score(data)
    assert abs(errors.mean()) < 0.01
    assert errors.std() == pytest.approx(0.5, rel=0.08)


def test_lower_tail_means_more_extreme_columns():
    extremes = []
    for tail in (1.5, 3.0, 30.0):
        data = heavy_tailed_linear(20_000, 1, tail=tail, units=(1.0, 1.0), offset=0.0, seed=5)
        column = np.abs(data.features[:, 0])
        extremes.append(column.max() / np.median(column))
    assert extremes == sorted(extremes, reverse=True)
    assert extremes[0] > 10 * extremes[2]


def test_logistic_labels_follow_the_stated_chance():
    data = heavy_tailed_logistic(40_000, 4, seed=6)
    chance = 1 / (1 + np.exp(-score(data)))
    standard_error = np.sqrt((chance * (1 - chance)).sum()) / chance.size
    assert abs(data.target.mean() - chance.mean()) < 4 * standard_error
    sure = chance > 0.9
    assert data.target[sure].mean() == pytest.approx(chance[sure].mean(), abs=0.01)


def test_heavy_tailed_poisson_follow_exposure_times_rate():
    data = heavy_tailed_poisson(40_000, 4, seed=6)
    expected = data.exposure * np.exp(np.clip(score(data), -4, 4))
    assert abs(data.target.mean() - expected.mean()) < 4 * np.sqrt(expected.mean() / expected.size)
    long = data.exposure > 1.5
    assert data.target[long].mean() == pytest.approx(expected[long].mean(), rel=0.05)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("tail", 0.0),
        ("noise", "cauchy"),
        ("noise_std", -1.0),
        ("units", (0.0, 1.0)),
        ("units", 1.0),
        ("units", ()),
        ("offset", np.nan),
    ],
)
def test_bad_options_are_refused_by_name(option, value):
    with pytest.raises(InputError, match=option):
        heavy_tailed_linear(10, 2, **{option: value})
