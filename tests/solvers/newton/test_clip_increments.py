"""Increments: their shares, and the bias that they show."""

import numpy as np
import pytest

from tailguard.solvers.newton.debiasing import (
    joint_levels,
    sure_squared_biases,
)


@pytest.mark.parametrize("top", [0.0, 0.5, 1.0, 1.2, float("nan")])
def test_no_level_above_the_first_means_no_increment_at_all(top):
    """An increment of width zero would carry no noise: it must not be computed."""
    assert joint_levels(1.0, top, 4) == ((1.0,), (1.0,))


def test_widths_are_positive_and_shares_have_norm_one():
    levels, shares = joint_levels(0.3, 100.0, 4)
    assert (np.diff(levels) > 0).all()
    assert np.linalg.norm(shares) == pytest.approx(1.0)


def test_the_sum_of_all_increments_is_as_noisy_as_the_top_level_alone():
    levels, shares = joint_levels(1.0, 9.0, 4)
    widths = np.diff([0.0, *levels])
    assert ((widths / shares) ** 2).sum() == pytest.approx(levels[-1] ** 2)


def test_noise_shows_no_bias_and_a_real_one_is_shown_with_its_size():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((4, 10))
    assert sure_squared_biases(noise, np.ones(4)) == [0.0] * 5
    biased = noise + 100.0
    assert sure_squared_biases(biased, np.ones(4))[0] == pytest.approx(10 * 400.0**2, rel=0.05)


def test_what_noise_may_well_have_made_is_no_bias():
    """Squares of two standard normals add up to 2, with a deviation of 2: six more are 14."""
    assert sure_squared_biases(np.full((1, 2), 2.5), np.ones(1))[0] == 0.0
    assert sure_squared_biases(np.full((1, 2), 3.0), np.ones(1))[0] == pytest.approx(4.0)
