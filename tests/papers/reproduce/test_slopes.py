"""Slopes on log-log plots: exact on powers, and honest about how sure they are."""

import math

import numpy as np
import pytest

from tailguard.checks import InputError
from tailguard.papers.reproduce.judges import fit_slope, slope_of

SIZES = (10, 30, 100, 1000)


def curve(sizes, errors):
    """Size -> seed -> error, from the errors of each seed."""
    return {
        size: dict(enumerate(at)) for size, at in zip(sizes, zip(*errors, strict=True), strict=True)
    }


@pytest.mark.parametrize("power", [-1.0, -0.5, 0.75])
def test_a_power_is_found_exactly(power):
    assert fit_slope(SIZES, [7.0 * size**power for size in SIZES]) == pytest.approx(power)


@pytest.mark.parametrize(("sizes", "errors"), [((5, 5), (1.0, 2.0)), ((1, 2), (1.0,))])
def test_a_slope_needs_two_sizes_and_as_many_errors(sizes, errors):
    with pytest.raises(InputError, match="errors must be as many as sizes"):
        fit_slope(sizes, errors)


def test_the_interval_is_that_of_student():
    errors = [[size**power for size in SIZES] for power in (-0.4, -0.5, -0.6)]
    found = slope_of(curve(SIZES, errors))
    half = 4.302652729696142 * 0.1 / math.sqrt(3.0)  # the 97.5 % point of t with 2 degrees
    assert (found.low, found.mean, found.high) == pytest.approx((-0.5 - half, -0.5, -0.5 + half))


def test_one_seed_says_nothing_about_spread():
    found = slope_of(curve([1, 10], [[1.0, 0.1]]))
    assert found.mean == pytest.approx(-1.0)
    assert (found.low, found.high) == (-math.inf, math.inf)


def test_the_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        noise = np.exp(0.3 * rng.standard_normal((6, len(SIZES))))
        found = slope_of(curve(SIZES, np.array(SIZES) ** -0.5 * noise))
        covered += found.low <= -0.5 <= found.high
    assert 0.92 <= covered / 400 <= 0.98
