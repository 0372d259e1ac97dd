"""The smoothed soft truncation against published tables, high precision and its own promises."""

import math

import mpmath
import numpy as np
import pytest

from tailguard.checks import InputError
from tailguard.queries.soft_truncation import (
    cubic_reach,
    expected_truncation,
    fast_form,
    fast_soft_truncation,
    soft_limit,
    soft_truncation,
)

ARGUMENTS = (0.1, 0.5, 1.0, math.sqrt(2), 2.0, 5.0, 100.0)
LOG_100 = math.log(100)
# Values by quadrature with 40 digits, then the limit.
TABLE = {
    1.0: (
        *(0.0993333333333333, 0.418529666344552, 0.564087272574384, 0.601104134378389),
        *(0.621625158869369, 0.640016476169192, 0.643636700622796, 0.643645825779912),
    ),
    LOG_100: (
        *(0.0997247597128575, 0.465595138305613, 0.741507934606196, 0.827322189084310),
        *(0.871853566573641, 0.906688596684722, 0.912741484377495, 0.912756353496949),
    ),
}
SPREADS = [
    (0.1, 0.05, 0.099708333333333333),
    (1.3, 0.4, 0.86975576564141292),
    (-2.0, 1.0, -0.85714813738755629),
    (10.0, 3.0, 0.94177052232492688),
]
SMOOTHINGS = (0.25, 0.5, 1.0, 2.0, LOG_100, 20.0, 100.0, 400.0)
HUGE = np.array([1e5, 1e6, 1e8, 1e100, 1e300, np.inf])
FAST_ERROR = {0.25: 1e-8, 400.0: 1e-6}


@pytest.mark.parametrize("smoothing", TABLE)
def test_psi_is_the_published_table_to_1e14(smoothing):
    *values, limit = TABLE[smoothing]
    found = soft_truncation(np.array(ARGUMENTS), smoothing)
    np.testing.assert_allclose(found, values, rtol=0, atol=1e-14)
    np.testing.assert_allclose(soft_truncation(-np.array(ARGUMENTS), smoothing), -found)
    assert abs(soft_limit(smoothing) - limit) <= 1e-14


@pytest.mark.parametrize(("center", "spread", "value"), SPREADS)
def test_the_closed_form_is_the_published_table(center, spread, value):
    assert abs(expected_truncation(center, spread) - value) <= 1e-14


@pytest.mark.parametrize("center", [-3.0, -0.5, 1.0, 3.0])
def test_without_spread_the_closed_form_is_the_truncation_itself(center):
    inside = np.clip(center, -math.sqrt(2), math.sqrt(2))
    assert abs(expected_truncation(center, 0.0) - (inside - inside**3 / 6)) <= 1e-15


@pytest.mark.parametrize("smoothing", [0.25, 3.0, 400.0])
@pytest.mark.parametrize("argument", [0.05, 0.7, 1.5, 3.9, 4.1, 50.0])
def test_psi_is_the_mean_that_it_is_defined_as(smoothing, argument):
    deviation = mpmath.mpf(1) / mpmath.sqrt(smoothing)

    def weighted(z):
        place = argument * (1 + deviation * z)
        inside = min(max(place, -mpmath.sqrt(2)), mpmath.sqrt(2))
        return (inside - inside**3 / 6) * mpmath.npdf(z)

    kinks = [(sign * mpmath.sqrt(2) / argument - 1) / deviation for sign in (-1, 1)]
    places = sorted({-12, 12, -1 / deviation, *kinks} | set(range(-11, 12)))
    truth = mpmath.quad(weighted, [place for place in places if -12 <= place <= 12])
    assert abs(soft_truncation(argument, smoothing) - float(truth)) <= 4e-14


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_psi_is_odd_increasing_and_never_above_its_limit(smoothing):
    grid = np.concatenate([np.linspace(0, 6, 4001), np.logspace(0.8, 300, 400)])
    for psi in (soft_truncation, fast_soft_truncation):
        found = psi(grid, smoothing)
        # Steps are flat where psi is: there it may wander by roundoff, or by the error of the fit.
        wander = 1e-13 if psi is soft_truncation else FAST_ERROR.get(smoothing, 2e-9)
        assert np.diff(found).min() >= -2 * wander
        np.testing.assert_array_equal(psi(-grid, smoothing), -found)
        for size in (HUGE, -HUGE, grid):
            assert np.abs(psi(size, smoothing)).max() <= soft_limit(smoothing)
        np.testing.assert_allclose(
            psi(HUGE, smoothing), soft_limit(smoothing), rtol=0, atol=wander + 1e-10
        )


def test_what_is_no_number_counts_as_zero():
    np.testing.assert_array_equal(soft_truncation([np.nan, -np.nan, 0.0], 1.0), np.zeros(3))


@pytest.mark.parametrize("smoothing", [*SMOOTHINGS, 1.7, 12.0, 12.5, 50.0])
def test_the_fast_form_errs_by_no_more_than_it_says(smoothing):
    grid = np.concatenate([np.linspace(0, 6, 20_001), np.logspace(0.7, 12, 2_000)])
    gap = np.abs(fast_soft_truncation(grid, smoothing) - soft_truncation(grid, smoothing))
    assert gap.max() <= FAST_ERROR.get(smoothing, 2e-9)
    near = grid[grid < cubic_reach(smoothing)]
    np.testing.assert_allclose(
        fast_soft_truncation(near, smoothing), soft_truncation(near, smoothing), rtol=4e-16
    )


@pytest.mark.parametrize("smoothing", [0.2, 401.0, np.nan, np.inf])
def test_the_fast_form_refuses_a_smoothing_that_it_does_not_fit(smoothing):
    with pytest.raises(InputError, match="smoothing must be"):
        fast_form(smoothing)


def test_the_numbers_of_the_fast_form_are_shared_and_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        fast_form(1.0)[:] = 0.0
