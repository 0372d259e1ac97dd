"""The clipped mean: near an oracle's clip level, on tails of every kind."""

import math

import numpy as np
import pytest

import tailguard as tg

N_ROWS = 20_000


def draw(distribution, n_features, seed):
    rng, shape = np.random.default_rng(seed), (N_ROWS, n_features)
    if distribution == "student":
        return 3.0 + rng.standard_t(3, shape), 3.0
    if distribution == "pareto":
        return rng.pareto(3, shape), 0.5
    return rng.lognormal(size=shape), math.exp(0.5)


def clip_errors(X, truth, mu):
    """Mean squared errors of clips about zero with all of the budget, one for each clip level."""
    norms, d = np.linalg.norm(X, axis=1), X.shape[1]
    errors = []
    for radius in np.geomspace(1.0, 100.0, 20) * math.sqrt(d):
        shrunk = X * np.minimum(1.0, radius / norms)[:, None]
        bias = shrunk.mean(axis=0) - truth
        errors.append(bias @ bias + d * (2 * radius / (len(X) * mu)) ** 2)
    return np.array(errors)


@pytest.mark.parametrize("n_features", [1, 10, 50])
@pytest.mark.parametrize("distribution", ["student", "pareto", "lognormal"])
def test_it_is_near_the_best_clip_level_that_nobody_knows(distribution, n_features):
    mu, squares, oracle = 0.2, [], 0.0
    for seed in range(8 if n_features < 50 else 3):
        X, truth = draw(distribution, n_features, seed)
        result = tg.mean(X, guarantee=tg.GDP(mu), method="clipped", random_state=100 + seed)
        squares.append(((result.value - truth) ** 2).sum())
        oracle = oracle + clip_errors(X, truth, mu)
    assert np.mean(squares) < 1.5**2 * oracle.min() / len(squares)


def test_columns_of_any_size_get_noise_of_their_size():
    X = np.random.default_rng(4).standard_normal((N_ROWS, 3)) * [1e-9, 1.0, 1e9] + [1.0, 1e6, -1e9]
    result = tg.mean(X, guarantee=tg.GDP(0.5), method="clipped", random_state=0)
    assert (np.abs(result.value - X.mean(axis=0)) < 5 * result.noise_std).all()
    assert (result.noise_std < [1e-4, 100.0, 1e8]).all()


def test_a_norm_moment_sets_the_level_without_a_factor_for_the_columns():
    task = {"guarantee": tg.GDP(0.5), "method": "clipped", "random_state": 0}
    task["check_records"] = False  # so that the whole mu is for the mean
    X = np.random.default_rng(5).standard_normal((N_ROWS, 4))
    norm = tg.mean(X, moment=tg.Moment(2.0, 4.0, kind="norm"), **task)
    lines = tg.mean(X, moment=tg.Moment(2.0, 4.0, kind="directional"), **task)
    levels = [result.choice.plan.settings["clip norm"] for result in (norm, lines)]
    assert levels[0] == pytest.approx(math.sqrt(4.0 * N_ROWS * 0.5 / 2.0), rel=1e-6)
    assert levels[1] > levels[0]
