"""Minimisers over a set, against what is known of them."""

import numpy as np
import pytest

import tailguard as tg
from tailguard.papers.reproduce.tasks.optimum import Objective, minimise_over


def test_the_optimum_over_a_ball_is_that_of_the_normal_equations_or_on_its_edge():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 4)) * [1.0, 2.0, 5.0, 0.3]
    y = X @ [0.1, -0.1, 0.05, 0.2] + rng.standard_normal(400)
    objective = Objective.of_records(tg.losses.Squared(), X, y, 0.1)
    inside = np.linalg.solve(X.T @ X / 400 + 0.1 * np.eye(4), X.T @ y / 400)
    found = minimise_over(objective, tg.sets.L2Ball(10.0), 4)
    np.testing.assert_allclose(found, inside, atol=1e-7)
    radius = np.linalg.norm(inside) / 2
    edge = minimise_over(objective, tg.sets.L2Ball(radius), 4)
    slope = objective.gradient(edge)
    assert np.linalg.norm(edge) == pytest.approx(radius)
    assert slope @ edge == pytest.approx(-np.linalg.norm(slope) * radius, rel=1e-6)


def test_the_optimum_over_an_l1_ball_satisfies_its_optimality_condition():
    rng = np.random.default_rng(1)
    X = (rng.random((500, 12)) < 0.3).astype(float)
    y = np.sign(X[:, 0] - X[:, 1] + 0.3 * rng.standard_normal(500))
    objective = Objective.of_records(tg.losses.LpLoss(4), X, y, 0.0)
    found = minimise_over(objective, tg.sets.L1Ball(1.0), 12)
    slope = objective.gradient(found)
    assert slope @ found - (-np.abs(slope).max()) <= 1e-6  # the gap of Frank and Wolfe
