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
from tailguard.solvers.newton.clipping import Clipping, SlopeDistribution, top_level
from tailguard.solvers.newton.debiasing import ROW_LIMIT, debias, directions
from tailguard.solvers.newton.newton import NewtonIterate
from tailguard.solvers.newton.schedule import SLOPE_BINS, Shares, stages_for

N_ROWS = 20_000
TRUTH = np.array([0.5, 0.0, 1.0])
SHARES = Shares(debiasing=0.12)


def debiased(start, mu, *, seed=0, spread=0.8, noise=0.01, intercept=True, mean=0.0, answered=None):
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
    session = reserved(plan, gate, SHARES)
    session.ask = answered or session.ask
    return SimpleNamespace(before=fit, after=debias(session, fit), session=session)


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


@pytest.mark.parametrize("spread", [0.0, 0.8])
@pytest.mark.parametrize("size", [0.3, 30.0])
def test_what_is_believed_and_the_noise_that_it_leaves_follow_the_rule_of_bayes(spread, size):
    gradient, own, mu = np.zeros(2), 0.005, 0.05

    def answered(query, _, stage):
        std = query.noise_std(N_ROWS, 2, stage.mu)[0]
        gradient[:] = size * std * np.array([1.0, -2.0])
        asked.append((std, query.levels[0]))
        return gradient[None, :]

    asked = []
    done = debiased(TRUTH, mu, spread=spread, noise=own, answered=answered)
    ((std, level),) = asked
    slopes, expected = done.before.clipping.slopes, np.array([1.0, 1.0 / 3.0])
    assert level == top_level(slopes, ROW_LIMIT, 2, N_ROWS, mu * SHARES.debiasing**0.5) > 1.0
    prior = own**2 + (expected * slopes.missed(1.0)) ** 2
    prior = np.maximum(prior, gradient**2 - std**2)
    part, basis = prior / (prior + std**2), directions(done.before)
    np.testing.assert_allclose(done.after.weights, TRUTH - basis @ (part * gradient))
    variances = ((1.0 - part) * own) ** 2 + (part * std) ** 2
    variances += (part * expected * slopes.missed(level)) ** 2
    found = basis.T @ done.after.noise
    np.testing.assert_allclose(found @ found.T, np.diag(variances), atol=1e-12)


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
        (tg.losses.Poisson(), 230.0, False),
        (tg.losses.Poisson(), 240.0, True),
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


@pytest.mark.parametrize(
    ("n_rows", "told", "width"), [(3_000, "the mean was", 1), (12_000, "mean and fitted score", 2)]
)
def test_counts_without_a_curvature_are_debiased_along_the_constant_alone(n_rows, told, width):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, 3))
    y = rng.poisson(np.exp(0.3 * X[:, 0] + 0.5))
    model = tg.PoissonRegression(guarantee=tg.GDP(0.1), random_state=0).fit(X, y)
    (note,) = [note for note in model.notes_ if "debiased" in note]
    assert note.startswith(told)
    (released,) = [r for r in model.certificate_.releases if r.stage == "debiasing"]
    assert released.parameters["coordinates"] == width
