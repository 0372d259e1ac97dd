"""The model by which methods compare, against the recursions that it solves."""

import numpy as np
import pytest

from tailguard.papers.common.prediction import (
    accelerated_excess,
    descent_excess,
    localised_excess,
    released_excess,
)
from tailguard.papers.solvers.acceleration import accelerate, step_parameter
from tailguard.sets.whole_space import WholeSpace

N_RUNS = 20_000  # a spread of 1 percent of a mean square


def descended(curvature, distance, n_steps, step_size, noise, error, last, fades):
    """Excess of many descents on a line, whose gradients have a common error and fresh noise."""
    rng = np.random.default_rng(0)
    w, total = np.full(N_RUNS, distance), np.zeros(N_RUNS)
    for turn in range(1, n_steps + 1):
        step = min(step_size / turn ** (0.5 if fades else 0.0), 1.0 / curvature)
        w = w - step * (curvature * w + error + noise * rng.standard_normal(N_RUNS))
        total += w
    return curvature / 2.0 * np.mean((w if last else total / n_steps) ** 2)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("fades", [False, True])
@pytest.mark.parametrize("curvature", [0.3, 1.0, 4.0])
def test_descent_is_what_descents_do(curvature, fades, last):
    steps = {"n_steps": 12, "step_size": 0.4, "last": last, "fades": fades}
    for parts in ((2.0, 0.0, 0.0), (0.0, 0.0, 0.5), (0.0, 0.7, 0.0)):
        facts = dict(zip(("distance", "noise", "error"), parts, strict=True), **steps)
        predicted = descent_excess(curvature, **facts)
        assert predicted == pytest.approx(descended(curvature, **facts), rel=0.05)
    apart = (
        descent_excess(curvature, distance=d, noise=n, error=e, **steps)
        for d, n, e in ((2.0, 0.0, 0.0), (0.0, 0.7, 0.0), (0.0, 0.0, 0.5))
    )
    together = descent_excess(curvature, distance=2.0, noise=0.7, error=0.5, **steps)
    assert together == pytest.approx(sum(apart))


def test_accelerated_passes_are_what_passes_do():
    rng, curvature, smoothness, distance = np.random.default_rng(1), 0.5, 2.0, 3.0
    passes = ((5, 0.8), (9, 0.4))
    point = np.full(N_RUNS, distance)
    for n_steps, noise in passes:
        eta = step_parameter(
            n_steps, gradient_error=noise, smoothness=smoothness, diameter=2.0 * distance
        )

        def gradient(step, w, noise=noise):
            return curvature * w + noise * rng.standard_normal(N_RUNS)

        point = accelerate(gradient, n_steps, eta, start=point, constraint=WholeSpace())[-1]
    measured = curvature / 2.0 * np.mean(point**2)
    predicted = accelerated_excess(
        curvature, distance=distance, smoothness=smoothness, passes=passes
    )
    assert predicted == pytest.approx(measured, rel=0.05)


def test_localised_minimisers_are_what_penalties_do():
    rng, curvature, distance = np.random.default_rng(2), 0.5, 3.0
    pulls = ((0.2, 0.1, 0.3), (0.8, 0.05, 0.4), (3.2, 0.02, 0.5))
    point = np.full(N_RUNS, distance)
    for strength, noise, error in pulls:  # of strength / 2 |w - point|^2 + curvature / 2 w^2 + e w
        slope = error * rng.standard_normal(N_RUNS)
        point = (strength * point - slope) / (strength + curvature)
        point = point + noise * rng.standard_normal(N_RUNS)
    measured = curvature / 2.0 * np.mean(point**2)
    predicted = localised_excess(curvature, distance=distance, pulls=pulls)
    assert predicted == pytest.approx(measured, rel=0.05)
    assert released_excess(curvature, error=1.0) == curvature / 2.0


def test_no_spread_is_beyond_twice_the_distance():
    wild = localised_excess(1.0, distance=1.0, pulls=((1.0, 1e6, 0.0),))
    passes = accelerated_excess(1.0, distance=1.0, smoothness=1.0, passes=((3, 1e9),))
    assert wild == 2.0
    assert passes <= 2.0
