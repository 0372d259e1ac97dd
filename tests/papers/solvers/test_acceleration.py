"""The accelerated recursion and the choice of its length."""

import math

import numpy as np

import tailguard as tg
from tailguard.papers.solvers.acceleration import (
    accelerate,
    best_step_count,
    clip_norm_for,
)
from tailguard.papers.solvers.gradient_facts import GradientFacts


def test_it_reaches_a_smooth_optimum_as_the_square_of_the_steps():
    curvature = np.array([1.0, 0.01])
    optimum = np.array([0.5, 0.5])

    def gap(n_steps):
        def slope(step, point):
            return curvature * (point - optimum)

        points = accelerate(slope, n_steps, 2.0, start=np.zeros(2), constraint=tg.sets.L2Ball(1.0))
        return curvature @ (points[-1] - optimum) ** 2 / 2

    for n_steps in (10, 100):
        assert gap(n_steps) <= 4.0 * 2.0 * 0.5 / (n_steps * (n_steps + 1))
    assert gap(100) <= gap(10) / 30


def test_points_stay_in_the_set_whatever_the_gradients():
    ball = tg.sets.L1Ball(1.0)
    rng = np.random.default_rng(0)
    points = accelerate(
        lambda step, point: 1e6 * rng.standard_normal(3),
        20,
        1.0,
        start=np.zeros(3),
        constraint=ball,
    )
    assert all(ball.contains(point) for point in points)


def facts(**changes):
    numbers = {"size": 4, "row_limit": 9.0, "scale": 1.0, "order": 2.0, "largest": math.inf}
    return GradientFacts(**{**numbers, **changes})


def test_the_chosen_number_of_steps_has_the_least_predicted_risk():
    n_rows, mu, smoothness, diameter, clip = 10_000, 0.3, 1.0, 2.0, 1.0

    def risk(n_steps):
        noise = 2.0 * clip * math.sqrt(4 * n_steps) / (n_rows * mu)
        return smoothness * (diameter / n_steps) ** 2 + diameter * noise

    numbers = {"smoothness": smoothness, "diameter": diameter, "clip_norm": clip}
    chosen = best_step_count(facts(), n_rows=n_rows, mu=mu, **numbers)
    assert risk(chosen) <= 1.02 * min(map(risk, range(1, 1000)))
    more = best_step_count(facts(), n_rows=100 * n_rows, mu=mu, **numbers)
    assert 1 < chosen < more
    assert best_step_count(facts(), n_rows=1, mu=mu, **numbers) == 1


def test_the_clip_level_balances_bias_and_noise():
    n_rows, n_steps, mu = 10_000, 20, 0.3

    def risk(clip):
        return 2.0 * clip * math.sqrt(4 * n_steps) / (n_rows * mu) + 1.0 / clip

    clip = clip_norm_for(facts(), n_rows, n_steps, mu)
    assert all(risk(clip) <= risk(clip * factor) for factor in (0.8, 0.95, 1.05, 1.25))
    assert clip_norm_for(facts(largest=0.7), n_rows, n_steps, mu) == 0.7
