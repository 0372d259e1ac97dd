"""What is believed of a correction: what was expected, or what noise cannot have made."""

import numpy as np
import pytest

from tailguard.solvers.whitened.calibration import _kept

STD, VARIANCE = 0.1, 0.01


def kept(total, expected, *, skewed=True):
    return _kept(np.array(total), VARIANCE, np.array(expected), skewed=skewed)


def test_corrections_in_expected_directions_are_kept_whatever_was_seen():
    for seen in (0.0, STD, 50.0 * STD):
        assert (kept([seen, seen], [30.0 * STD, 30.0 * STD]) > 0.99).all()
    assert kept([0.0], [STD]) == pytest.approx(0.5)


def test_unexpected_ones_are_dropped_below_two_deviations_and_kept_far_above():
    seen = STD * np.array([-1.99, -1.0, 0.0, 1.99, 2.01, 3.0, -30.0])
    shares = kept(seen, np.zeros(7))
    assert (shares[:4] == 0.0).all()
    assert (shares[4:] > 0.0).all()
    np.testing.assert_allclose(shares[5:], [5.0 / 6.0, 896.0 / 897.0])


def test_each_direction_is_judged_alone_where_residuals_are_skewed():
    shares = kept([9.0 * STD, 0.5 * STD, 0.5 * STD], [0.0, 0.0, 20.0 * STD])
    assert shares[0] > 0.95
    assert shares[1] == 0.0
    assert shares[2] > 0.95


def test_symmetric_residuals_expect_nothing_and_all_directions_are_judged_together():
    assert kept([STD, -STD], [9.0, 9.0], skewed=False) == 0.0
    assert kept([30.0 * STD, 0.0], [0.0, 0.0], skewed=False) == pytest.approx(1.0 - 6.0 / 900.0)


def test_in_unexpected_directions_noise_alone_moves_a_fit_by_less_than_noise():
    rng = np.random.default_rng(0)
    noise = STD * rng.standard_normal((4_000, 1))
    moved = np.array([kept(one, [0.0]) * one for one in noise])
    assert np.mean(moved**2) < 0.3 * VARIANCE
