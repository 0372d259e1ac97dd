"""Averages and the predicted noise of the descent loop."""

import numpy as np
import pytest

from tailguard.solvers.descent import Schedule, averaging_weights, predicted_noise_std


@pytest.mark.parametrize("iterate", ["last", "average", "tail"])
def test_averaging_weights_sum_to_one(iterate):
    for n_steps in (1, 2, 7, 100):
        weights = averaging_weights(Schedule(n_steps, 0.1, iterate))
        assert weights.sum() == pytest.approx(1.0)
        assert weights[-1] > 0


@pytest.mark.parametrize("iterate", ["last", "average", "tail"])
@pytest.mark.parametrize("curvature", [0.0, 0.3, 1.0])
def test_the_predicted_noise_is_that_of_a_simulated_quadratic(iterate, curvature):
    schedule = Schedule(n_steps=30, step_size=0.4, iterate=iterate)
    rng = np.random.default_rng(7)
    point, points = np.zeros(40_000), []
    for _ in range(schedule.n_steps):
        point = point - schedule.step_size * (curvature * point + 2.0 * rng.standard_normal(40_000))
        points.append(point)
    answer = averaging_weights(schedule) @ np.array(points)
    assert predicted_noise_std(schedule, 2.0, curvature) == pytest.approx(answer.std(), rel=0.02)
