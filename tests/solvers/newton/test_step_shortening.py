"""Steps grow shorter along directions that rise fast, and by nothing that noise can explain."""

from dataclasses import replace

import numpy as np
import pytest

import tailguard as tg
from support.fits import plain_fit
from support.whitened import example_fit
from tailguard.solvers.newton.newton import step
from tailguard.solvers.newton.start import start_phase
from tailguard.solvers.newton.whitening import StepShortening, Whitening

RNG = np.random.default_rng(0)


def descend(curvature, *, noise_std, rounds=60):
    """Take half Newton steps to zero on a quadratic; return where they end, and the matrix."""
    at, shortening = np.ones(3), StepShortening(np.eye(3))
    for _ in range(rounds):
        value = curvature @ at + noise_std * RNG.standard_normal(3)
        shortening = shortening.after(at, value, noise_std)
        at = at - 0.5 * shortening.matrix @ value
    return at, shortening.matrix


@pytest.mark.parametrize("steepest", [5.0, 40.0, 1e3])
def test_steps_that_would_swing_ever_further_arrive(steepest):
    rotation = np.linalg.qr(RNG.standard_normal((3, 3)))[0]
    curvature = rotation @ np.diag([1.0, 0.5, steepest]) @ rotation.T
    at, _ = descend(curvature, noise_std=1e-3)
    assert np.linalg.norm(at) < 0.1
    assert abs(1.0 - 0.5 * np.linalg.eigvalsh(curvature)[-1]) > 1.0  # what plain steps grow by


def test_a_rise_that_half_steps_bear_changes_none():
    """Half a step goes all the way where a gradient rises twice as fast as is expected."""
    _, matrix = descend(1.95 * np.eye(3), noise_std=1e-6)
    np.testing.assert_array_equal(matrix, np.eye(3))
    _, matrix = descend(2.2 * np.eye(3), noise_std=1e-6)
    assert np.linalg.eigvalsh(matrix)[0] < 0.6


def test_noise_alone_seldom_changes_a_step():
    """In 58 of 1 000 such runs; in all of 300 where two standard deviations are significant."""
    matrices = [descend(0.9 * np.eye(3), noise_std=0.3, rounds=200)[1] for _ in range(40)]
    assert sum(not np.array_equal(matrix, np.eye(3)) for matrix in matrices) <= 8


def test_steps_are_only_ever_shortened_and_next_to_not_where_gradients_hardly_rise():
    """Noise turns the steep direction: of 3 000 runs one shortened the flat one by 0.003."""
    for _ in range(20):
        _, matrix = descend(np.diag([0.01, 30.0, 2.0]), noise_std=1e-3)
        values = np.linalg.eigvalsh(matrix)
        assert 0.0 < values[0] < 0.1
        assert values[-1] <= 1.0 + 1e-12  # the eigenvalues are rounded
        assert 0.99 < matrix[0, 0] <= 1.0 + 1e-12


def test_a_score_of_other_clip_levels_is_compared_with_none_before_it():
    at, steep = np.ones(3), 9.0 * np.ones(3)
    learnt = StepShortening(np.eye(3)).after(at, steep, 1e-3).after(-at, -steep, 1e-3)
    assert learnt.matrix[0, 0] < 1.0
    later = replace(learnt, last=None).after(0.0 * at, steep, 1e-3)
    np.testing.assert_array_equal(later.matrix, learnt.matrix)


def test_a_phase_forgets_the_last_score_and_another_whitening_all_of_them():
    session, fit = example_fit(tg.losses.Squared(), phase=0)
    fit = step(session, fit)
    learnt = StepShortening(0.5 * np.eye(3), fit.shortening.last)
    assert learnt.last is not None
    started = start_phase(session, replace(fit, shortening=learnt), phase=1)
    assert started.shortening.last is None
    np.testing.assert_array_equal(started.shortening.matrix, learnt.matrix)
    fit = replace(plain_fit(tg.losses.Squared(), 2), shortening=learnt)
    moved = fit.through(Whitening(2.0 * np.eye(3), 3.0, np.zeros(3), np.ones(3) > 0, np.ones(3)))
    assert moved.shortening.last is None
    np.testing.assert_array_equal(moved.shortening.matrix, np.eye(3))


def test_a_score_that_did_not_move_teaches_nothing():
    at = np.ones(3)
    again = StepShortening(np.eye(3)).after(at, at, 1e-3).after(at, -at, 1e-3)
    np.testing.assert_array_equal(again.matrix, np.eye(3))
