"""The table of slopes agrees with the slopes of the bounds that it sums up."""

import math

import pytest

from tailguard.checks import InputError
from tailguard.papers import kamath2022, zhao2024
from tailguard.papers.common import groups
from tailguard.papers.kamath2022 import parameters as clamped
from tailguard.papers.rates import MEAN_RATES
from tailguard.papers.tao2022 import parameters as tao2022
from tailguard.papers.wang2020 import parameters as wang2020
from tailguard.papers.zhao2024 import parameters as clipped
from tailguard.privacy.accounting.gaussian import mu_of

RHO, MU = 1e-6, math.sqrt(2e-6)  # so small that privacy dominates


def clamped_error(n, d):
    return kamath2022.mean_bound(n_rows=n, n_features=d, moment_order=3.0, rho=RHO)


def clamped_noise(n, d):
    facts = {"n_rows": n, "n_features": d, "rho": RHO}
    threshold = clamped.mean_threshold(moment_order=3.0, **facts)
    move = groups.median_sensitivity(value_range=6.0 * threshold, n_rows=n, n_groups=20)
    return math.sqrt(d) * move * math.sqrt(d / (2.0 * RHO))


def pure_error(n, d):
    return kamath2022.mean_bound_pure(n_rows=n, n_features=d, moment_order=3.0, epsilon=MU)


def truncated_noise(n, d):
    facts = {"n_rows": n, "n_features": d, "epsilon": 0.5}
    threshold = tao2022.strongly_convex_threshold(moment_order=1.5, n_steps=1, **facts)
    move = groups.median_sensitivity(value_range=2.0 * threshold, n_rows=n, n_groups=20)
    return math.sqrt(d) * move * math.sqrt(d) / mu_of(0.5, 1e-6)


def soft_noise(n, d, scale_of):
    scale = scale_of(n, d)
    move = wang2020.sensitivity(n_rows=n, n_features=d, scale=scale, smoothing=4.6)
    return math.sqrt(d) * move / MU


def printed_scale(n, d):
    del d
    return wang2020.printed_scale(n_rows=n, moment_bound=1.0, failure_probability=0.01)


def aware_scale(n, d):
    return wang2020.noise_aware_scale(
        n_rows=n, n_features=d, n_steps=1, moment_bound=1.0, failure_probability=0.01, mu=MU
    )


def clipped_error(n, d):
    norm = clipped.mean_clip_norm(n_rows=n, n_features=d, moment_order=3.0, rho=RHO)
    noise = clipped.clipped_noise_std(n_rows=n, clip_norm=norm, rho=RHO)
    facts = {"n_rows": n, "n_features": d, "moment_order": 3.0, "clip_norm": norm}
    return zhao2024.clipped_mean_error(noise_std=noise, **facts)


def iterative_error(n, d):
    norm = clipped.iterative_clip_norm(
        n_rows=n, n_features=d, moment_order=3.0, epsilon=math.sqrt(RHO)
    )
    facts = {"n_rows": n, "n_features": d, "n_groups": 50, "clip_norm": norm}
    return zhao2024.iterative_radius(rho=RHO, scale=1.0, **facts)


@pytest.mark.parametrize(
    ("method", "order", "error"),
    [
        ("clamped", 3.0, clamped_error),
        ("clamped", 3.0, clamped_noise),
        ("clamped-pure", 3.0, pure_error),
        ("truncated", 1.5, truncated_noise),
        ("soft", 2.0, lambda n, d: soft_noise(n, d, aware_scale)),
        ("soft-printed", 2.0, lambda n, d: soft_noise(n, d, printed_scale)),
        ("clipped", 3.0, clipped_error),
        ("iterative", 3.0, iterative_error),
    ],
)
def test_slopes_are_those_of_the_bounds(method, order, error):
    n, d, step = 10**8, 2**10, 4
    rows = math.log(error(step * n, d) / error(n, d)) / math.log(step)
    features = math.log(error(n, step * d) / error(n, d)) / math.log(step)
    rate = MEAN_RATES[method]
    assert rate.slope_in_rows(order) == pytest.approx(rows, abs=0.02)
    assert rate.slope_in_features(order) == pytest.approx(features, abs=0.02)


@pytest.mark.parametrize("method", MEAN_RATES)
def test_every_row_of_the_table_is_plausible(method):
    rate = MEAN_RATES[method]
    order = rate.maximum_order or 2.0
    assert rate.method == method
    assert -1 < rate.slope_in_rows(order) < 0 < rate.slope_in_features(order) <= 1
    with pytest.raises(InputError, match="moment_order"):
        rate.slope_in_rows(1.0)
