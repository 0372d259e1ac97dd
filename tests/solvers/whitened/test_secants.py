"""Steps grow shorter along directions that rise fast, and by nothing that noise can explain."""

from dataclasses import replace

import numpy as np
import pytest

from tailguard.solvers.whitened.clipping import Clip
from tailguard.solvers.whitened.secants import Score, Secants

CLIP, WHITENING = Clip(1.0, 1.0, 1.0, 0.1), np.eye(3)
RNG = np.random.default_rng(0)


def descend(curvature, *, noise_std, rounds=60, part=0.5):
    """Take damped steps to zero on a quadratic; return the distances on the way."""
    at, secants, distances = np.ones(3), None, []
    for _ in range(rounds):
        value = curvature @ at + noise_std * RNG.standard_normal(3)
        score = Score(WHITENING, CLIP, at, value, noise_std)
        secants = Secants.of(score) if secants is None else secants.after(score)
        at = at + part * secants.step()
        distances.append(float(np.linalg.norm(at)))
    return distances, secants


@pytest.mark.parametrize("steepest", [5.0, 40.0, 1e3])
def test_steps_that_would_swing_ever_further_arrive(steepest):
    rotation = np.linalg.qr(RNG.standard_normal((3, 3)))[0]
    curvature = rotation @ np.diag([1.0, 0.5, steepest]) @ rotation.T
    assert descend(curvature, noise_std=1e-3)[0][-1] < 0.1
    assert abs(1.0 - 0.5 * np.linalg.eigvalsh(curvature)[-1]) > 1.0  # what plain steps grow by


def test_noise_alone_changes_no_step():
    _, secants = descend(0.9 * np.eye(3), noise_std=0.3, rounds=200)
    np.testing.assert_array_equal(secants.matrix, np.eye(3))


def test_steps_are_only_ever_shortened():
    _, secants = descend(np.diag([0.01, 30.0, 2.0]), noise_std=1e-3)
    values = np.linalg.eigvalsh(secants.matrix)
    assert values[0] > 0.0
    assert values[-1] <= 1.0
    assert secants.matrix[0, 0] == pytest.approx(1.0, abs=1e-6)


def test_another_whitening_starts_anew_and_another_clip_compares_with_itself_alone():
    steep = Score(WHITENING, CLIP, np.ones(3), 9.0 * np.ones(3), 1e-3)
    back = replace(steep, at=-np.ones(3), value=-9.0 * np.ones(3))
    learnt = Secants.of(steep).after(back)
    assert learnt.matrix[0, 0] < 1.0
    moved = replace(steep, clip=replace(CLIP, slope_limit=2.0), at=np.zeros(3))
    np.testing.assert_array_equal(learnt.after(moved).matrix, learnt.matrix)
    np.testing.assert_array_equal(
        learnt.after(replace(steep, whitening=2.0 * np.eye(3))).matrix, np.eye(3)
    )


def test_a_score_that_did_not_move_teaches_nothing():
    score = Score(WHITENING, CLIP, np.ones(3), np.ones(3), 1e-3)
    again = Secants.of(score).after(replace(score, value=-np.ones(3)))
    np.testing.assert_array_equal(again.matrix, np.eye(3))
