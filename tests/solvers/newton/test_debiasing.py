"""Debiasing: mean and fitted score take up what clipping took, and no more than noise allows."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import tailguard as tg
from support.fits import plain_fit, reserved
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Problem
from tailguard.scaling.noisy_distribution import NoisyDistribution
from tailguard.solvers.newton.allocation import shares_for
from tailguard.solvers.newton.clipping import Clipping, SlopeDistribution
from tailguard.solvers.newton.debiasing import ROW_LIMIT, debias, directions
from tailguard.solvers.newton.newton import NewtonIterate
from tailguard.solvers.newton.schedule import SLOPE_BINS, Shares, stages_for

N_ROWS = 20_000
TRUTH = np.array([0.5, 0.0, 1.0])
SHARES = Shares(debiasing=0.12)


def debiased(start, mu, *, seed=0, spread=0.8, noise=0.01, intercept=True, mean=0.0):
    """Debias a fit that stands at ``start``, of residuals that are skewed by ``spread``."""
    rng = np.random.default_rng(seed)
    X = mean + rng.standard_normal((N_ROWS, 2))
    residual = rng.standard_normal(N_ROWS)
    if spread:
        residual = rng.lognormal(0.0, spread, N_ROWS) - np.exp(spread**2 / 2.0)
    size = 2 + intercept
    rows = np.column_stack([X, np.ones(N_ROWS)])[:, :size]
    y = rows @ TRUTH[:size] + residual
    problem = Problem(tg.losses.Squared(), N_ROWS, 2, intercept)
    plan = Plan("example", problem, tg.GDP(mu), stages_for(problem, SHARES, mu))
    gate = Gate.over(X, y, guarantee=tg.GDP(mu), random_state=seed)
    fit = plain_fit(problem.loss, 2, weights=start, mean_row=rows.mean(axis=0), intercept=intercept)
    counts = np.bincount(SLOPE_BINS.index(rows @ start - y).astype(int), minlength=SLOPE_BINS.count)
    seen = NoisyDistribution.of(counts.astype(float), SLOPE_BINS, 5.0)
    slopes = SlopeDistribution(problem.loss, seen)
    fit = replace(
        fit,
        clipping=Clipping(fit.clipping.rows, slopes, ROW_LIMIT, 1.0, slopes.curvature(1.0)),
        noise=noise * np.eye(size),
        iterates=(NewtonIterate(start, start, noise, N_ROWS),),
    )
    return SimpleNamespace(before=fit, after=debias(reserved(plan, gate, SHARES), fit))


@pytest.mark.parametrize("off", [[0.0, 0.0, 0.4], [0.3, 0.0, 0.0], [-0.2, 0.0, 0.3]])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_wrong_along_mean_and_fitted_score_is_mended(off, seed):
    """One step goes no further than there, and most of the way: long rows count less."""
    done = debiased(TRUTH + off, 1.0, seed=seed)
    left = done.after.weights - TRUTH
    assert np.linalg.norm(left) < 0.5 * np.linalg.norm(off)
    assert np.dot(left, off) > -0.1 * np.dot(off, off)


def test_what_lies_across_both_stays():
    off = np.array([0.0, 0.3, 0.0])
    done = debiased(TRUTH + off, 1.0)
    basis = directions(done.before)
    moved = done.after.weights - done.before.weights
    np.testing.assert_allclose(moved, basis @ (basis.T @ moved), atol=1e-12)


def test_noise_alone_moves_symmetric_residuals_by_less_than_noise():
    """The release has ten times the noise of the rounds, and nothing leads to expect a move."""
    moved, stated = [], []
    for seed in range(60):
        done = debiased(TRUTH, 0.01, seed=seed, spread=0.0, noise=0.005)
        moved.append(done.after.weights[-1] - TRUTH[-1])
        stated.append(done.after.noise[-1])
    query_noise = 2.0 * ROW_LIMIT * 3.0 / (N_ROWS * 0.01 * SHARES.debiasing**0.5)
    assert query_noise > 0.1
    assert np.sqrt(np.mean(np.square(moved))) < 0.8 * query_noise


def test_noise_is_what_is_believed_of_the_release_and_what_is_kept_of_the_rounds():
    start = TRUTH + np.array([0.0, 0.0, 0.4])
    weak, strong = (debiased(start, 1.0, noise=size) for size in (0.01, 10.0))
    for done in (weak, strong):
        basis = directions(done.before)
        across = np.eye(3) - basis @ basis.T
        size = done.before.noise[0, 0]
        np.testing.assert_allclose(across @ done.after.noise[:, :3], size * across, atol=1e-9)
        along = np.linalg.norm(basis.T @ done.after.noise, axis=1)
        assert (along < max(1.2 * size, 0.06)).all()


def test_without_an_intercept_the_mean_row_stands_for_the_constant():
    done = debiased(np.array([0.3, 0.2]), 1.0, intercept=False, mean=0.6)
    first = directions(done.before)[:, 0]
    np.testing.assert_allclose(np.abs(first), np.sqrt([0.5, 0.5]), atol=0.02)


def test_where_a_table_has_many_columns_and_few_records_means_hold_in_spite_of_clipping():
    """Rounds clip low in so many directions: alone they miss a good part of a skewed mean."""
    errors = {True: [], False: []}
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((1_300, 22))
        y = rng.lognormal(0.0, 1.5, 1_300) + 0.5 * X[:, 0]
        usual = shares_for(Problem(tg.losses.Squared(), 1_300, 22, intercept=True), 0.36)
        for planned, found in errors.items():
            shares = usual if planned else replace(usual, debiasing=0.0)
            solver = tg.solvers.WhitenedNewton(shares=shares)
            model = tg.LinearRegression(guarantee=tg.GDP(0.36), solver=solver, random_state=seed)
            model.fit(X, y)
            found.append(abs(model.predict(X).mean() - y.mean()) / y.std())
    assert (np.array(errors[True]) < errors[False]).all()
    assert np.mean(errors[True]) < 0.75 * np.mean(errors[False])


@pytest.mark.parametrize(
    ("loss", "budget", "planned"),
    [
        (tg.losses.Squared(), 100.0, True),
        (tg.losses.Squared(), 1_900.0, True),
        (tg.losses.Squared(), 2_100.0, False),
        (tg.losses.LpLoss(4.0), 2_100.0, True),
        (tg.losses.Huber(1.345), 1_000.0, False),
        (tg.losses.Logistic(), 1_000.0, False),
        (tg.losses.Poisson(), 1_000.0, True),
        (tg.losses.Poisson(), 9_000.0, False),
    ],
)
def test_it_is_planned_where_clipping_biases_means_and_nothing_else_corrects_them(
    loss, budget, planned
):
    problem = Problem(loss, 10_000, 4, intercept=True)
    assert (shares_for(problem, budget / 10_000).debiasing > 0.0) == planned
    robust = shares_for(problem, budget / 10_000, robust=True)
    assert robust.debiasing == 0.0 or loss.link.curved
