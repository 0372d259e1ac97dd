"""Robust descent without privacy, and DP-SGD: right recursions, honest flags, honest books."""

import numpy as np
import pytest

import tailguard as tg
from support.spy import GENEROUS, run_over
from tailguard.gate.plan import Problem
from tailguard.papers.baselines import (
    DpSgd,
    NonPrivateFit,
    robust_gradient_descent,
    sampled_noise_over_sensitivity,
)

N_ROWS = 1_200


def records(outliers=0, n_rows=N_ROWS):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n_rows, 2))
    y = X @ np.array([0.5, -0.3]) + 1.0 + 0.1 * rng.standard_normal(n_rows)
    y[:outliers] += 1e6
    return X, y


def test_without_outliers_it_is_nearly_least_squares():
    X, y = records()
    fit = robust_gradient_descent(tg.losses.Squared(), X, y, step_size=0.5, intercept=True)
    optimum = np.linalg.lstsq(np.column_stack([X, np.ones(N_ROWS)]), y, rcond=None)[0]
    np.testing.assert_allclose([*fit.coef, fit.intercept], optimum, atol=5e-3)
    assert fit.trace.shape == (100, 3)


def test_a_few_far_records_are_cut_where_a_bound_is_stated():
    options = {"moment_bound": 2.0, "intercept": True, "step_size": 0.3}
    clean = robust_gradient_descent(tg.losses.Squared(), *records(), **options)
    spoiled = robust_gradient_descent(tg.losses.Squared(), *records(outliers=3), **options)
    np.testing.assert_allclose(spoiled.coef, clean.coef, atol=0.15)
    plain = np.linalg.lstsq(records()[0], records(outliers=3)[1], rcond=None)[0]
    assert np.abs(plain - clean.coef).max() > 10.0


def test_the_stochastic_form_averages_over_batches_that_cover_the_records():
    X, y = records()
    options = {"n_steps": 60, "step_size": 1.0, "batch_rows": 100, "intercept": True}
    one, same, other = (
        robust_gradient_descent(tg.losses.Squared(), X, y, random_state=seed, **options)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.coef, same.coef)
    assert (one.coef != other.coef).any()
    np.testing.assert_allclose([*one.coef, one.intercept], one.trace.mean(axis=0))
    np.testing.assert_allclose(one.coef, [0.5, -0.3], atol=0.15)


def test_void_records_count_as_zero():
    X, y = records(n_rows=40)
    bad_X, bad_y = X.copy(), y.copy()
    bad_X[0], bad_y[1] = np.nan, np.inf
    zero_X, zero_y = X.copy(), y.copy()
    zero_X[:2], zero_y[:2] = 0.0, 0.0
    options = {"n_steps": 3, "moment_bound": 4.0}
    found, expected = (
        robust_gradient_descent(tg.losses.Squared(), *pair, **options).coef
        for pair in ((bad_X, bad_y), (zero_X, zero_y))
    )
    np.testing.assert_allclose(found, expected)


def test_it_is_flagged_and_says_so():
    assert NonPrivateFit.private is False
    baselines = tg.papers.baselines
    for each in (robust_gradient_descent, baselines.robust_mean, baselines):
        assert "NON-PRIVATE" in each.__doc__


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_steps": 0}, "n_steps must be"),
        ({"step_size": -1.0}, "step_size must be"),
        ({"batch_rows": N_ROWS + 1}, "batch_rows must be"),
        ({"failure_probability": 1.0}, "failure_probability must be"),
        ({"moment_bound": 0.0}, "moment_bound must be"),
        ({"constraint": 2.0}, "constraint must be a set of tg.sets"),
        ({"random_state": "x", "batch_rows": 10}, "random_state must be"),
    ],
)
def test_options_are_refused_in_one_sentence(options, sentence):
    with pytest.raises(tg.InputError, match=sentence):
        robust_gradient_descent(tg.losses.Squared(), *records(), **options)


def problem():
    return Problem(tg.losses.Squared(), N_ROWS, 2, constraint=tg.sets.L2Ball(2.0))


def dp_sgd(guarantee, *, seed=1, **options):
    solver = DpSgd(**{"clip_norm": 1e3, "batch_rows": 100, **options})
    found, gate, plan = run_over(solver, problem(), *records(), guarantee, seed=seed)
    return found, plan, gate.certificate(), gate.books


@pytest.mark.long
@pytest.mark.parametrize("sampling", ["auto", "fresh", "partition"])
@pytest.mark.parametrize("clip_norm", [1.0, None])
def test_dp_sgd_spends_what_it_planned(sampling, clip_norm):
    guarantee = tg.ApproxDP(0.3, 1e-5)
    options = {"n_passes": 2, "clip_norm": clip_norm, "sampling": sampling}
    _, plan, certificate, books = dp_sgd(guarantee, **options)
    assert plan.solver == "dp-sgd"
    steps = books.releases if clip_norm else books.releases[1:]
    assert sum(release.times for release in steps if "gradient" in release.name) == 24
    assert certificate.spent.epsilon == pytest.approx(certificate.total.epsilon, rel=1e-6)
    assert 0.98 * 0.3 <= certificate.total.epsilon <= 0.3
    fresh = {release.mechanism for release in books.releases} >= {"sampled-gaussian"}
    assert fresh is (sampling != "partition")


def test_promises_without_a_price_for_samples_take_partitions():
    _, plan, _, books = dp_sgd(tg.GDP(0.5), n_passes=2, clip_norm=1.0)
    assert plan.total_mu == pytest.approx(0.5, rel=1e-6)
    assert sum(release.times for release in books.releases) == 24
    for guarantee in (tg.GDP(0.5), tg.ZCDP(0.1), tg.ApproxDP(1.0, 1e-11)):
        with pytest.raises(tg.InputError, match="schedule must not be 'sampled'"):
            dp_sgd(guarantee, sampling="fresh")


def descent_stage(guarantee, **options):
    return DpSgd(clip_norm=1.0, **options).plan(problem(), guarantee).stage("descent")


@pytest.mark.long
def test_what_needs_less_noise_is_chosen():
    usual, loud = tg.ApproxDP(1.0, 1e-5), tg.ApproxDP(20.0, 1e-5)
    options = {"batch_rows": 100, "n_passes": 3}
    auto, fresh, parted = (
        descent_stage(usual, **options, sampling=way) for way in ("auto", "fresh", "partition")
    )
    assert auto == fresh
    assert auto.mu > 1.5 * parted.mu
    assert auto.sampled == 100 / N_ROWS
    # In one pass at a large epsilon, a record that is drawn three times costs more than one.
    assert descent_stage(loud).sampled is None
    noise = sampled_noise_over_sensitivity(usual, n_rows=N_ROWS, batch_rows=100, n_steps=36)
    assert 1.0 / auto.mu == pytest.approx(noise, rel=2e-3)


@pytest.mark.long
def test_without_noise_and_clipping_fresh_samples_are_those_of_the_source():
    """A quiet source draws the first records, so that every step reads them."""
    options = {"step_size": 0.5, "decay": "root", "iterate": "last", "sampling": "fresh"}
    found, *_ = dp_sgd(tg.ApproxDP(20.0, 1e-5), seed=None, batch_rows=150, **options)
    X, y = (values[:150] for values in records())
    w = np.zeros(2)
    for turn in range(1, 9):
        w = w - 0.5 / np.sqrt(turn) * X.T @ (X @ w - y) / 150
    np.testing.assert_allclose(found.coef, w, atol=1e-6)


def test_without_noise_and_clipping_dp_sgd_is_descent_over_the_batches():
    """A quiet source leaves the order of records, so that the batches are known."""
    found, *_ = dp_sgd(GENEROUS, seed=None, step_size=0.5, decay="root", iterate="last")
    X, y = records()
    w = np.zeros(2)
    for turn, start in enumerate(range(0, N_ROWS, 100), start=1):
        rows = slice(start, start + 100)
        w = w - 0.5 / np.sqrt(turn) * X[rows].T @ (X[rows] @ w - y[rows]) / 100
    np.testing.assert_allclose(found.coef, w, atol=1e-9)


def test_dp_sgd_refuses_batches_that_are_too_large():
    with pytest.raises(tg.InputError, match="batch_rows must be at most n_rows = 1200"):
        DpSgd(clip_norm=1.0, batch_rows=2_000).plan(problem(), tg.GDP(1.0))


@pytest.mark.long
def test_fresh_samples_need_the_noise_of_the_literature():
    """Batches of 100 of 10 000, 500 steps: noise of one sensitivity costs 1.3836 at n^-1.1."""
    guarantee = tg.ApproxDP(1.3836, 1e4**-1.1)
    batches = {"n_rows": 10_000, "batch_rows": 100, "n_steps": 500}
    fixed = sampled_noise_over_sensitivity(guarantee, **batches)
    assert fixed == pytest.approx(1.0, rel=2e-3)
    poisson = sampled_noise_over_sensitivity(guarantee, **batches, scheme="poisson")
    assert poisson < fixed
