"""The peers: noise as the exact conversion asks for it, and right answers without noise."""

import math

import numpy as np
import pytest

from accuracy import peers
from tailguard.privacy.accounting.gaussian import delta_of, epsilon_of

MU = 0.5


class Silence:
    """A generator whose noise is zero."""

    def standard_normal(self, shape=None):
        return np.zeros(shape) if shape is not None else 0.0


def sample(n_rows=400, n_columns=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns))
    return X, X @ np.arange(1.0, n_columns + 1) + rng.standard_normal(n_rows)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-5), (1.0, 1e-6), (4.0, 1e-6)])
def test_the_budget_is_spent_to_the_last_digit(epsilon, delta):
    mu = peers.budget(epsilon, delta)
    assert epsilon_of(mu, delta) == pytest.approx(epsilon, rel=1e-6)
    assert epsilon_of(mu, delta) <= epsilon
    assert delta_of(mu, epsilon) <= delta


@pytest.mark.parametrize(("neighbours", "moves"), [("replace-one", 2.0), ("add-remove", 1.0)])
@pytest.mark.parametrize("n_steps", [1, 4])
def test_steps_of_descent_together_cost_mu(neighbours, moves, n_steps):
    # Records of zeros have no gradient: what comes out is the sum of the noise of all steps.
    X, y, clip = np.zeros((10, 20_000)), np.zeros(10), 3.0
    rng = np.random.default_rng(1)
    weights, _ = peers.descents(
        X, y, "squared", MU, rng, n_steps=n_steps, clips=[clip], sizes=[1.0], neighbours=neighbours
    )
    one_step = weights.std() * 10 / math.sqrt(n_steps)
    spent = math.sqrt(n_steps) * moves * clip / one_step
    assert spent == pytest.approx(MU, rel=0.03)


def test_a_replaced_record_moves_sums_as_charged():
    rng = np.random.default_rng(2)
    ones = peers.clip_rows(10 * rng.standard_normal((200, 4)), 1.0)
    others = peers.clip_rows(10 * rng.standard_normal((200, 4)), 1.0)
    assert np.linalg.norm(ones - others, axis=1).max() <= peers.SUM_MOVES["replace-one"]
    outer = np.einsum("ij,ik->ijk", ones, ones) - np.einsum("ij,ik->ijk", others, others)
    sizes = np.linalg.norm(outer, axis=(1, 2))
    assert sizes.max() <= peers.GRAM_MOVES["replace-one"]
    e, f = np.eye(2)
    assert np.linalg.norm(np.outer(e, e) - np.outer(f, f)) == peers.GRAM_MOVES["replace-one"]
    assert np.linalg.norm(e - -e) == peers.SUM_MOVES["replace-one"]


def test_noise_of_a_gram_matrix_is_isotropic():
    rng = np.random.default_rng(3)
    draws = np.array([peers.symmetric_noise(3, 2.0, rng) for _ in range(5_000)])
    assert np.array_equal(draws, draws.transpose(0, 2, 1))
    assert draws[:, 1, 1].std() == pytest.approx(2.0, rel=0.05)
    assert draws[:, 0, 1].std() == pytest.approx(2.0 / math.sqrt(2.0), rel=0.05)


def test_descent_without_noise_finds_least_squares():
    X, y = sample()
    last, tail = peers.descents(
        X, y, "squared", math.inf, np.random.default_rng(0), n_steps=300, clips=[1e6], sizes=[0.5]
    )
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    assert last[:, 0] == pytest.approx(best, rel=1e-4)
    assert tail[:, 0] == pytest.approx(best, rel=1e-4)


def test_descent_starts_where_it_is_told():
    X, y = sample()
    told = {"n_steps": 1, "clips": [1e6], "sizes": [0.0], "start": [[1.0], [2.0], [3.0]]}
    last, _ = peers.descents(X, y, "squared", math.inf, np.random.default_rng(0), **told)
    assert last[:, 0].tolist() == [1.0, 2.0, 3.0]


def test_descent_clips_each_gradient():
    X, y = np.array([[3.0]]), np.array([-100.0])
    last, _ = peers.descents(
        X, y, "squared", math.inf, np.random.default_rng(0), n_steps=1, clips=[0.7], sizes=[1.0]
    )
    assert last[0, 0] == pytest.approx(-0.7)


def test_adassp_without_noise_is_ridge_regression():
    X, y = sample()
    mu, bound = 0.02, 4.0
    assert np.linalg.norm(X, axis=1).max() < 6.0
    X = peers.clip_rows(X, bound)
    share = mu / math.sqrt(3.0)
    gram = peers.ridged_gram(X, bound, share, Silence())
    ridge = gram[0, 0] - (X.T @ X)[0, 0]
    assert ridge > 0
    weights = peers.adassp(X, y, mu, Silence(), row_bound=bound, target_bound=1e6)
    assert weights == pytest.approx(np.linalg.solve(X.T @ X + ridge * np.eye(3), X.T @ y))


def test_adassp_with_a_large_budget_is_least_squares():
    X, y = sample()
    weights = peers.adassp(X, y, 1e9, np.random.default_rng(0), row_bound=6.0, target_bound=99.0)
    assert weights == pytest.approx(np.linalg.lstsq(X, y, rcond=None)[0], rel=1e-4)


def test_boosting_without_noise_reaches_least_squares_past_its_ridge():
    X, y = sample()
    options = {"row_bound": 6.0, "residual_bound": 1e6, "n_rounds": 200}
    weights = peers.boosted_adassp(X, y, 1.0, Silence(), **options)
    assert weights == pytest.approx(np.linalg.lstsq(X, y, rcond=None)[0], rel=1e-4)


def test_objective_perturbation_spends_epsilon():
    bound, epsilon, delta, share = 3.0, 1.5, 1e-5, 0.4
    ridge, std = peers.objective_perturbation_scale(bound, epsilon, delta, share)
    t, s = math.sqrt(2.0 * math.log(1.0 / delta)), std / bound
    assert math.log1p(bound**2 / (4.0 * ridge)) == pytest.approx(share * epsilon)
    assert 2.0 * t / s + 2.0 / s**2 == pytest.approx((1.0 - share) * epsilon)


def test_objective_perturbation_with_a_large_budget_is_the_maximum_likelihood():
    X, _ = sample(2000)
    y = (np.random.default_rng(5).random(2000) < 1 / (1 + np.exp(-X @ [1.0, -1.0, 0.5]))) * 1.0
    rng = np.random.default_rng(0)
    weights = peers.objective_perturbation(X, y, 500.0, 1e-5, rng, row_bound=6.0)
    slope = X.T @ (1 / (1 + np.exp(-X @ weights)) - y) / len(y)
    assert np.abs(slope).max() < 1e-3
