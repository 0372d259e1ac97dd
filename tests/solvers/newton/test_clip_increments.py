"""Increments: their shares."""

import numpy as np
import pytest

from tailguard.solvers.newton.debiasing import joint_levels


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
