"""Rivals that are told bounds: right answers without noise, and noise for a replaced record."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

import bench_rivals
from accuracy import peers, rivals, searched
from benchmarks.test_peers import Silence, sample
from tailguard import ApproxDP
from tailguard.privacy.selection import mu_of_a_try

MU = 0.7


class Recorder(Silence):
    """A generator without noise, which gives numbers of partitions."""

    def laplace(self, scale):
        self.scale = scale
        return 0.0


def boxed(kind="range", n_columns=3):
    X, y = sample(n_rows=2000, n_columns=n_columns)
    return rivals.Box(50.0 + 3.0 * X, 7.0 * y - 2.0, kind)


def slopes_of(box):
    X, y = box.clipped
    return np.linalg.lstsq(X - X.mean(axis=0), y, rcond=None)[0]


@pytest.mark.parametrize("kind", bench_rivals.KINDS)
def test_a_box_holds_its_columns_and_maps_back(kind):
    box = boxed(kind)
    low, high = box.sides
    assert np.abs(box.features).max() == pytest.approx(1.0)
    assert np.abs(box.target).max() == pytest.approx(1.0)
    assert np.allclose(box.features.mean(axis=0), 0.0, atol=1e-12)
    assert (low <= box.features.min(axis=0)).all()
    assert (box.features.max(axis=0) <= high).all()
    weights = np.linalg.lstsq(box.features, box.target, rcond=None)[0]
    coef, intercept = box.back(weights)
    assert coef == pytest.approx(slopes_of(box))
    X, y = box.clipped
    assert intercept == pytest.approx(y.mean() - X.mean(axis=0) @ coef)
    moved = np.abs(X - box.raw_features).max()
    assert moved == 0.0 if kind == "range" else moved > 0.0


def test_noisy_statistics_without_noise_are_least_squares_and_its_errors():
    box = boxed()
    X, y = box.features, box.target
    weights, covariance = rivals.noisy_statistics(
        X, y, 1e9, np.random.default_rng(0), row_bound=box.row_bound
    )
    assert box.slopes(weights) == pytest.approx(slopes_of(box), rel=1e-4)
    residual = y - X @ weights
    plain = residual @ residual / (len(y) - X.shape[1]) * np.linalg.inv(X.T @ X)
    assert covariance == pytest.approx(plain, rel=1e-4)


def test_noisy_statistics_state_their_noise():
    box = boxed()
    rng, told = np.random.default_rng(1), (box.features, box.target, 5.0)
    fits = [rivals.noisy_statistics(*told, rng, row_bound=2.0) for _ in range(2000)]
    weights, covariances = map(np.array, zip(*fits, strict=True))
    X, y = box.features, box.target
    still = rivals.noisy_statistics(X, y, 1e9, rng, row_bound=2.0)[1]
    stated = np.median(covariances, axis=0) - still
    assert np.diag(np.cov(weights.T)) == pytest.approx(np.diag(stated), rel=0.12)


def test_shares_of_statistics_and_of_bins_are_one_guarantee():
    for shares in (rivals.STATISTICS_SHARES, rivals.BIN_SHARES):
        assert np.linalg.norm(shares) == pytest.approx(1.0)


@pytest.mark.parametrize("alpha", [1.5, 4.0])
def test_no_pair_moves_a_sketch_further_than_charged_and_one_does(alpha):
    gamma, d = 12.0, 4

    def divergence(one, other):
        mixed = np.linalg.slogdet((1.0 - alpha) * one + alpha * other)[1]
        parts = [np.linalg.slogdet(each)[1] for each in (one, other)]
        spread = mixed - (1.0 - alpha) * parts[0] - alpha * parts[1]
        return -spread / (2.0 * (alpha - 1.0))

    charged = rivals.sketch_divergence(alpha, gamma)
    common = (gamma - 1.0) * np.eye(d)
    u, v = np.eye(d)[:2]
    pair = [common + np.outer(each, each) for each in (u, v)]
    assert divergence(*pair) == pytest.approx(charged)
    assert divergence(*pair[::-1]) == pytest.approx(charged)
    rng = np.random.default_rng(0)
    for _ in range(300):
        u, v = peers.clip_rows(rng.standard_normal((2, d)) * 2.0, 1.0)
        rest = common + np.diag(rng.exponential(size=d) * rng.integers(2, size=d))
        assert divergence(rest + np.outer(u, u), rest + np.outer(v, v)) <= charged * (1 + 1e-9)


def test_mixing_spends_its_promise():
    told = {"n_sketch": 60, "gradient_mu": 0.2, "delta": 1e-5}
    gamma = rivals.least_eigenvalue(epsilon=1.0, **told)
    assert rivals.mixing_epsilon(gamma, **told) == pytest.approx(1.0, rel=1e-6)
    assert rivals.mixing_epsilon(gamma * 0.9, **told) > 1.0
    # Where sketches cost nothing, the gradients' Gaussian noise remains.
    alone = rivals.mixing_epsilon(1e12, **told)
    assert alone == pytest.approx(0.2 * math.sqrt(2 * math.log(1e5)), rel=0.2)


def test_mixing_with_a_large_budget_reaches_least_squares():
    box = boxed()
    weights = rivals.hessian_mixing(
        box.features,
        box.target,
        1e3,
        1e6,
        1e-5,
        np.random.default_rng(0),
        row_bound=box.row_bound,
        n_rounds=60,
    )
    assert box.slopes(weights) == pytest.approx(slopes_of(box), rel=1e-3)


def test_a_partition_holds_every_record_once():
    box = boxed()
    bins = rivals.private_tree(box.features, box.sides, 0.5, np.random.default_rng(0))
    assert sorted(itertools.chain(*bins.rows)) == list(range(2000))
    for rows, low, high in zip(bins.rows, bins.low, bins.high, strict=True):
        inside = box.features[rows]
        assert ((low - 1e-12 <= inside) & (inside <= high + 1e-12)).all()
    assert len(bins.rows) > 3


def test_a_tree_is_noised_for_one_record_less_and_one_more():
    # Zhang, Xiao and Xie 2016, Theorem 3.1: 3 / epsilon for two children, of one record more.
    box, rng = boxed(), Recorder()
    rivals.private_tree(box.features, box.sides, 0.5, rng)
    assert rng.scale == pytest.approx(3.0 / (rivals.pure_epsilon(0.5) / 2.0))


def test_pure_privacy_is_that_of_a_gaussian():
    epsilon = rivals.pure_epsilon(0.3)
    assert math.exp(epsilon) == pytest.approx(norm.cdf(0.15) / norm.cdf(-0.15))


def test_a_pair_attains_what_sums_of_bins_are_charged():
    low, high = np.array([[-1.0, -1.0], [0.0, -1.0]]), np.array([[0.0, 1.0], [1.0, 1.0]])
    bins = rivals.Bins([np.arange(2), np.arange(2, 4)], low, high)
    corners = np.array([*itertools.product([0, 1], repeat=2)])
    records = [
        (part, low[part] + corner * (high - low)[part]) for part in (0, 1) for corner in corners
    ]
    moves = []
    for (part, one), (elsewhere, other) in itertools.product(records, repeat=2):
        sums = np.zeros((2, 2))
        sums[part] += one
        sums[elsewhere] -= other
        moves.append(np.linalg.norm(sums / bins.reach))
    assert max(moves) == pytest.approx(bins.moves)


def test_bins_without_noise_recover_exact_slopes_and_noise_is_as_charged():
    box = boxed()
    X = box.features
    y = X @ [0.2, -0.1, 0.3]
    bins = rivals.private_tree(X, box.sides, 0.5, Recorder())
    counts, sums, targets, std = rivals.bin_sums(X, y, bins, 1e9, Recorder())
    assert counts.sum() == len(X)
    assert sums.sum(axis=0) == pytest.approx(X.sum(axis=0), abs=1e-9)
    kept = counts >= rivals.LEAST_COUNT
    weights, covariance = rivals.corrected_fit(counts[kept], sums[kept], targets[kept], std[kept])
    assert weights == pytest.approx([0.2, -0.1, 0.3])
    assert np.abs(covariance).max() < 1e-12
    rng = np.random.default_rng(2)
    draws = [rivals.bin_sums(X, y, bins, MU, rng) for _ in range(400)]
    shares = MU * rivals.BIN_SHARES
    assert np.std([each[0] for each in draws], axis=0).mean() == pytest.approx(
        math.sqrt(2.0) / shares[1], rel=0.05
    )
    spread = np.std([each[1] for each in draws], axis=0) / (bins.reach * bins.moves)
    assert spread.mean() == pytest.approx(1.0 / shares[2], rel=0.05)
    assert np.std([each[2] for each in draws], axis=0).mean() == pytest.approx(
        2.0 / shares[3], rel=0.05
    )


def test_a_search_of_tries_spends_the_whole_promise_on_fits_and_scores():
    mu = searched.try_budget(1.0, 1e-5)
    assert mu == mu_of_a_try(ApproxDP(1.0, 1e-5), searched.TRIES)
    assert 0.4 * peers.budget(1.0, 1e-5) < mu < peers.budget(1.0, 1e-5)


def test_scores_are_noised_for_a_replaced_record_and_prefer_the_better_fit():
    box = boxed()
    form = searched.scaled(box.raw_features, box.raw_target, "squared")
    best = np.linalg.lstsq(form.features, form.target, rcond=None)[0]
    columns = np.column_stack([best, np.zeros_like(best)])
    still = searched.scores_of(form, "squared", columns, 1.0, Silence())
    assert still[0] < still[1]
    rng = np.random.default_rng(0)
    draws = np.array([searched.scores_of(form, "squared", columns, 1.0, rng) for _ in range(3000)])
    losses = (form.target - form.target.mean()) ** 2
    limit = np.quantile(losses, searched.SCORE_QUANTILE)
    assert draws.std(axis=0) == pytest.approx(2.0 * limit / len(losses), rel=0.05)


def test_a_search_with_a_large_budget_is_near_least_squares():
    box = boxed()
    form = searched.scaled(box.raw_features, box.raw_target, "squared")
    rng = np.random.default_rng(0)
    coef, _ = form.back(searched.search(form, "squared", 200.0, 1e-5, rng))
    assert coef == pytest.approx(slopes_of(box), rel=0.1)


def test_tables_favour_a_rival_in_its_bounds():
    rows = [
        {"table": "a", "loss": "squared", "epsilon": epsilon, "excess": {
            "tailguard | ": [0.1], "DP-GD, counted search | range": [0.5],
            "DP-GD, counted search | quantile": [0.05], "AdaSSP | range": [0.001],
            "IHM | range": [0.2], "BinAgg | range, theorem": [9.0],
            "BinAgg | range, package": [0.9], "dp-econometrics | range": [0.4]}}
        for epsilon in (1.0, 4.0)
    ]  # fmt: skip
    table = {row["rival"]: row for row in bench_rivals.risk_table(rows) if row["epsilon"] == 1.0}
    assert table["DP-GD, counted search"]["form"] == "quantile"
    assert table["DP-GD, counted search"]["ratio"][0] == pytest.approx(2.0)
    assert table["AdaSSP"]["ratio"][0] == pytest.approx(10.0)  # nothing counts below 1 %
    assert table["BinAgg"]["form"] == "range, package"
    assert (table["IHM"]["ahead"], table["IHM"]["behind"]) == (1, 0)
