"""The ablation of Kamath's Remark 5.3: what is run is what the remark says."""

import math

import pytest

from tailguard.papers.reproduce.experiments.thresholds import (
    CHOSEN,
    MOST_STEPS,
    NAIVE,
    RHO,
    theorem_with,
)


@pytest.mark.parametrize("n", [300, 1000, 3000])
def test_thresholds_and_steps_are_those_of_the_text(n):
    """T = (sqrt(rho) n)^((2k-2)/(2k-1)), tau = (sqrt(rho) n / sqrt(T))^(1/k), k = 2, d = 1."""
    reach = math.sqrt(RHO) * n
    steps = min(MOST_STEPS, round(reach ** (2 / 3)))
    chosen, naive = (theorem_with(curve, n).solver for curve in (CHOSEN, NAIVE))
    assert naive.n_steps == steps
    assert naive.oracle.parameters["threshold"] == pytest.approx((reach / steps**0.5) ** 0.5)
    assert chosen.oracle.parameters["threshold"] == pytest.approx((reach / 2.0) ** 0.5)
    assert chosen.oracle.parameters["n_groups"] == naive.oracle.parameters["n_groups"]


def test_noise_follows_the_threshold():
    chosen, naive = (theorem_with(curve, 3000) for curve in (CHOSEN, NAIVE))
    assert chosen.solver.n_steps == naive.solver.n_steps == MOST_STEPS
    levels = [theorem.solver.oracle.parameters["threshold"] for theorem in (chosen, naive)]
    assert naive.noise_std / chosen.noise_std == pytest.approx(levels[1] / levels[0])
