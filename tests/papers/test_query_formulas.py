"""The papers' formulas for noise against the queries that add it."""

import math

import pytest

from tailguard.means.clamped import ClampedMean
from tailguard.means.soft import SoftMean
from tailguard.means.truncated import TruncatedMean
from tailguard.papers.common.groups import median_sensitivity
from tailguard.privacy.accounting.gaussian import mu_of
from tailguard.queries.units import Units


def raw(n_features):
    return Units.raw(n_features, intercept=False)


@pytest.mark.parametrize("n_groups", [1, 22, 23])
def test_noise_is_that_of_the_query(n_groups):
    clamped = ClampedMean(None, raw(10), 10.0, n_groups)
    noise = clamped.calibrate(10**5, 10, 1.0).noise_std
    move = median_sensitivity(value_range=60.0, n_rows=10**5, n_groups=n_groups)
    assert noise == pytest.approx(move * math.sqrt(10), rel=1e-6)
    noise = clamped.calibrate_pure(10**5, 10, 1.0).noise_std
    scale = (6 if n_groups % 2 else 3) * 10.0 * 10 / (10**5 // n_groups)
    assert noise == pytest.approx(scale * math.sqrt(2.0), rel=1e-6)
    truncated = TruncatedMean(None, raw(10), 10.0, n_groups)
    noise = truncated.calibrate(10**5, 10, mu_of(1.0, 1e-5)).noise_std
    move = median_sensitivity(value_range=20.0, n_rows=10**5, n_groups=n_groups)
    assert noise == pytest.approx(move * math.sqrt(10) / mu_of(1.0, 1e-5), rel=1e-6)


@pytest.mark.parametrize("smoothing", [0.5, 1.0, 4.6])
def test_noise_of_the_soft_mean(smoothing):
    calibration = SoftMean(None, raw(4), 10.0, smoothing).calibrate(10**4, 4, 1.0)
    limit = 2.0 * math.sqrt(2.0) / 3.0 * math.erf(math.sqrt(smoothing / 2.0))
    std = 2.0 * limit * 10.0 * math.sqrt(4) / 10**4
    assert calibration.noise_std == pytest.approx(std, rel=1e-6)


@pytest.mark.parametrize("n_groups", [1, 2, 3, 6, 7, 19, 20])
def test_the_sensitivity_of_a_median(n_groups):
    for query, value_range in (
        (ClampedMean(None, raw(1), 2.0, n_groups), 12.0),
        (TruncatedMean(None, raw(1), 2.0, n_groups), 4.0),
    ):
        move = median_sensitivity(value_range=value_range, n_rows=20, n_groups=n_groups)
        assert query.sensitivity(20, 1).ideal == pytest.approx(move, rel=1e-12)
