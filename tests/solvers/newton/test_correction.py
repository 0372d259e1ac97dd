"""The correction by contributions: where it goes, what it states, and what it leaves unstated."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import tailguard as tg
from support.whitened import example_fit, example_run
from tailguard.gate.plan import Problem
from tailguard.queries.histograms import Bins
from tailguard.scaling.columns import columns_of
from tailguard.scaling.noisy_distribution import NoisyDistribution
from tailguard.scaling.units import find_units
from tailguard.solvers.newton import allocation
from tailguard.solvers.newton.allocation import shares_for
from tailguard.solvers.newton.correction.correct import (
    Blend,
    TailBias,
    _blended,
    correct,
)
from tailguard.solvers.newton.correction.curvature import Curvature, Moments
from tailguard.solvers.newton.correction.estimate import Estimate
from tailguard.solvers.newton.correction.metric import Metric
from tailguard.solvers.newton.correction.rounds import run_rounds
from tailguard.solvers.newton.correction.tail import Tail
from tailguard.solvers.newton.schedule import CORRECTION_OF_LIKELIHOOD
from tailguard.solvers.newton.solver import WhitenedNewton, fits

N_ROWS = 20_000


def claims(seed=0, n_rows=N_ROWS):
    """Residuals that are skewed, heavy, and larger where a column is."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal((n_rows, 2)), rng.random(n_rows)])
    spread = 0.5 + X[:, 2]
    return X, X @ [1.0, -1.0, 2.0] + spread * (rng.lognormal(0.0, 0.8, n_rows) - np.exp(0.32))


def least_squares(model, X, y):
    """What intervals are about: slopes on features held within the released bounds."""
    low, high = model.feature_bounds_.T
    rows = np.column_stack([np.clip(X, low, high), np.ones(len(X))])
    return np.linalg.lstsq(rows, y, rcond=None)[0]


def fitted(X, y, seed, epsilon=4.0):
    return tg.LinearRegression(epsilon=epsilon, delta=1e-6, random_state=seed).fit(X, y)


def check_intervals(records, fitted, best, *, n_fits, least_given=0.95):
    """Check how many intervals of fits are given, and that they hold the best coefficients."""
    held, given = [], []
    for seed in range(n_fits):
        X, y = records(seed)
        model = fitted(X, y, seed)
        low, high = model.conf_int().T
        own = best(model, X, y)
        known = np.isfinite(low)
        given.append(known)
        held.append(((low <= own) & (own <= high))[known])
    assert np.mean(given) > least_given
    assert np.concatenate(held).mean() >= 0.93


@pytest.mark.long
def test_intervals_hold_the_slopes_that_least_squares_has_on_the_same_records():
    check_intervals(claims, fitted, least_squares, n_fits=10)


def test_rounds_alone_miss_what_the_correction_finds():
    """Of skewed residuals that grow with a column clipping takes a part of its slope."""
    X, y = claims(n_rows=40_000)
    guarantee, problem = tg.GDP(1.0), Problem(tg.losses.Squared(), 40_000, 3, intercept=True)
    shares = shares_for(problem, guarantee.mu)
    assert shares.correction > 0.0
    errors = []
    for correction in (shares.correction, 0.0):
        solver = WhitenedNewton(shares=replace(shares, correction=correction, debiasing=0.0))
        model = tg.LinearRegression(guarantee=guarantee, random_state=0, solver=solver).fit(X, y)
        errors.append(np.abs(model.coef_ - least_squares(model, X, y)[:-1]).max())
    assert errors[0] < 0.5 * errors[1]


@pytest.mark.long
def test_stated_noise_is_what_centres_of_intervals_vary_by():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N_ROWS, 3))
    y = X.sum(axis=1) + rng.standard_t(4, N_ROWS)
    models = [fitted(X, y, seed) for seed in range(24)]  # twice or half the noise is seen: 99.9 %
    varies = np.std([model.interval_center_[:3] for model in models], axis=0)
    stated = np.median([model.coef_noise_std_ for model in models], axis=0)
    assert 1 / 1.3 < np.median(varies / stated) < 1.3


def test_a_corrected_fit_spends_no_more_than_was_planned_and_is_the_same_again():
    X, y = claims(4)
    one, other = fitted(X, y, 5), fitted(X, y, 5)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.interval_center_, other.interval_center_)
    names = {release.stage for release in one.certificate_.releases}
    assert {"contribution rounds", "contribution moments again"} <= names


def test_contributions_that_lean_between_levels_are_taken_to_lean_beyond_them():
    above = np.array([0.5, 0.0])
    sure = TailBias(beyond=1.0, between=1.0, above=above, variance=1e-6, prior=0.1)
    along = sure.along(np.eye(2))
    assert along[0] == pytest.approx(4.0 * 0.25, rel=1e-3)
    assert along[1] < 0.02
    vague = replace(sure, variance=1e6)  # what noise hides leans as is expected, and no more
    assert vague.along(np.eye(2)) == pytest.approx([0.1, 0.1], rel=1e-3)


def test_what_was_planned_without_a_correction_stays_as_it_is():
    session = example_run(tg.losses.Squared())
    *_, fit = fits(session, *find_units(session, columns_of(session.problem)))
    assert fit.estimate.settled
    assert not fit.estimate.unresolved.any()
    assert correct(example_run(tg.losses.LpLoss(4.0)), fit) is fit


@pytest.mark.parametrize(("edge", "floor"), [(0.0, 0.1), (0.5, 0.175), (1.0, 0.35), (9.0, 0.35)])
def test_eigenvalues_are_raised_to_a_part_of_the_noise_and_to_a_tenth_at_least(edge, floor):
    moments = SimpleNamespace(edge=edge)
    assert Curvature(np.eye(2), moments, np.zeros((2, 2))).floor == pytest.approx(floor)


def test_a_typical_direction_has_half_of_the_second_moments_beyond_the_cut():
    """Lengths tell how much that is, so that it counts in curvatures and in variances."""
    counts = np.array([0.0, 800.0, 0.0, 200.0])
    lengths = NoisyDistribution.of(counts, Bins("linear", 0.0, 1.0, 4), noise_std=1e-9)
    cut = Moments(np.diag([1.0, 2.0]), 0.0, 2.0, lengths)
    beyond = lengths.mean(np.maximum(lengths.points**2 - 4.0, 0.0)) / 2.0
    assert beyond > 0.5
    curvature = Curvature(np.eye(2), cut, np.zeros((2, 2)))
    expected = np.diag([1.0, 2.0]) + 0.5 * beyond * np.eye(2)
    np.testing.assert_allclose(curvature.matrix, expected)
    np.testing.assert_allclose(curvature.inverse, np.linalg.inv(expected))
    tail = Tail(lengths, np.zeros(1), np.zeros(1))
    metric = Metric(np.eye(2), np.eye(2), cut, tail)
    np.testing.assert_allclose(metric.covariance(), expected, rtol=1e-6)


def likelihoods(kind, seed, n_rows=N_ROWS):
    """Outcomes of a score that is not linear, or counts that vary by more than their mean."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal((n_rows, 3)), rng.lognormal(0.0, 0.8, n_rows)])
    score = X @ [0.5, -0.3, 0.0, 0.2]
    if kind == "outcomes":
        chances = 0.05 + 0.9 / (1.0 + np.exp(-3.0 * np.tanh(score) + 1.0))
        return X, (rng.random(n_rows) < chances).astype(int)
    return X, rng.poisson(np.exp(np.minimum(score, 1.5)) * rng.gamma(0.7, 1.0 / 0.7, n_rows))


def likeliest(model, X, y):
    """What intervals are about: the best coefficients of features within the released bounds."""
    low, high = model.feature_bounds_.T
    rows = np.column_stack([np.clip(X, low, high), np.ones(len(X))])
    loss, weights = model.plan_.problem.loss, np.append(model.coef_, model.intercept_)
    for _ in range(20):
        curvature = (rows.T * loss.expected_curvature(rows @ weights)) @ rows
        weights = weights - np.linalg.solve(curvature, rows.T @ loss.slope(rows @ weights, y))
    return weights


def fitted_likelihood(kind, X, y, seed, **how):
    if kind == "outcomes":
        model = tg.LogisticRegression(delta=1e-6, random_state=seed, classes=(0, 1), **how)
    else:
        model = tg.PoissonRegression(delta=1e-6, random_state=seed, **how)
    return model.fit(X, y)


# In small tables, from n * mu of about 1,000 on, noise hides the curvature of the rounds.
@pytest.mark.parametrize(
    ("kind", "n_rows", "epsilon", "least_given"),
    [
        pytest.param("outcomes", N_ROWS, 2.0, 0.95, marks=pytest.mark.long),
        pytest.param("counts", N_ROWS, 2.0, 0.95, marks=pytest.mark.long),
        ("counts", 4_000, 1.5, 0.9),
    ],
)
def test_intervals_hold_the_best_coefficients_of_a_likelihood_that_is_wrong(
    kind, n_rows, epsilon, least_given
):
    records = partial(likelihoods, kind, n_rows=n_rows)
    fit = partial(fitted_likelihood, kind, epsilon=epsilon)
    check_intervals(records, fit, likeliest, n_fits=8, least_given=least_given)


def test_the_curvature_of_a_likelihood_is_released_again_where_early_rounds_lead():
    X, y = likelihoods("outcomes", 0)
    model = fitted_likelihood("outcomes", X, y, 0, epsilon=2.0)
    names = [release.stage for release in model.certificate_.releases]
    first, again = names.index("curvature of rows"), names.index("curvature of rows again")
    early = names.index("early contribution rounds")
    assert first < early < again < names.index("contribution rounds")
    assert "contribution moments" not in names


def test_contributions_of_rare_events_are_not_corrected_and_rounds_get_their_budget():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N_ROWS, 20))
    y = rng.poisson(0.008 * np.exp(0.3 * X[:, 0]))
    model = fitted_likelihood("counts", X, y, 0, epsilon=4.0)
    assert "contribution rounds" in {stage.name for stage in model.plan_.stages}
    released = model.certificate_.releases
    assert not {r.stage for r in released} & {*CORRECTION_OF_LIKELIHOOD}
    assert any("events are rare: the rounds got" in note for note in model.notes_)
    planned = model.plan_.stage("rounds of phase 3")
    last = [r.sensitivity / r.noise_std for r in released if r.stage == planned.name]
    assert min(last) > 1.7 * planned.mu


def test_early_rounds_that_read_a_sample_count_how_far_off_its_optimum_is(monkeypatch):
    monkeypatch.setattr(allocation, "SMALLEST_SAMPLE", 20_000)
    noises = []

    def watched(*arguments):
        rounds = run_rounds(*arguments)
        noises.append(rounds.noise)
        return rounds

    monkeypatch.setattr("tailguard.solvers.newton.correction.correct.run_rounds", watched)
    n_rows = 100_000
    X, y = likelihoods("outcomes", 5, n_rows)
    model = fitted_likelihood("outcomes", X, y, 0, epsilon=4.0)
    apart = np.sqrt(1.0 / model.plan_.settings["sampled_records"] - 1.0 / n_rows)
    assert noises[0] > apart > 2.0 * noises[1]


def told_rounds(gradients, sampled=1.0):
    """Rounds that are told these gradients of a fit of unit curvature, and their session."""
    session, fit = example_fit(tg.losses.Squared(), phase=0)
    alike, answers = np.eye(fit.geometry.width), iter(gradients)
    tail = SimpleNamespace(levels=lambda: np.array([4.0]), beyond=lambda level: 0.0)
    metric = SimpleNamespace(matrix=alike, last=alike, scale=1.0, tail=tail)
    curvature = SimpleNamespace(
        inverse=alike, resolved_directions=alike, ridge=0.0 * alike, lost=lambda: 0.0,
        second=SimpleNamespace(noise_std=0.0),
    )  # fmt: skip
    told = SimpleNamespace(
        loss=session.loss, problem=session.problem, shares=session.shares, stages=session.stages,
        n_rows=lambda stage: sampled * session.n_rows(stage),
        noise_of=lambda query, stage: session.noise_of(query, stage) / sampled,
        ask=lambda *_: np.tile(next(answers) / 3.0, (3, 1)),
    )  # fmt: skip
    stage = replace(session.stages["contribution rounds"], times=len(gradients))
    return told, fit, run_rounds(told, fit, curvature, metric, stage)


def test_the_first_of_few_rounds_may_be_far_from_the_end():
    far, near = np.ones(3), np.zeros(3)
    assert told_rounds([far, near, near])[2].last_ratio == 0.0
    assert told_rounds([near, near, far])[2].last_ratio > 0.0
    assert told_rounds([far])[2].last_ratio > 0.0


def test_rows_are_cut_where_noise_and_what_is_lost_are_both_small(monkeypatch):
    seen = []

    def watched(session, fit, curvature, metric, stage):
        seen.append((curvature.second, curvature.lost(), metric.moments.edge))
        return run_rounds(session, fit, curvature, metric, stage)

    monkeypatch.setattr("tailguard.solvers.newton.correction.correct.run_rounds", watched)
    rng = np.random.default_rng(4)
    X = rng.standard_t(4.0, (N_ROWS, 12))
    fitted(X, X.sum(axis=1) + rng.standard_t(4.0, N_ROWS), 0, epsilon=2.0)
    rows, lost, edge_of_contributions = seen[0]
    assert rows.edge < 0.3
    assert lost < 0.1
    assert edge_of_contributions > 0.25  # these are cut as far out as noise allows


@pytest.mark.parametrize(("lost", "settled"), [(1.9, True), (2.1, False)])
def test_rounds_settle_only_where_rows_were_not_cut_too_low(lost, settled):
    _, _, rounds = told_rounds([np.zeros(3)] * 3)
    cut = SimpleNamespace(lost=lambda: lost)
    assert replace(rounds, curvature=cut).settled is settled


def two_fits(moved, others=1.0, before=1.0):
    """A fit of unit curvature, and rounds that corrected it by so much, with known errors."""
    width, alike = len(moved), np.eye(len(moved))
    geometry = SimpleNamespace(matrix=alike, inverse=alike)
    curvature = SimpleNamespace(root=alike, inflation=1.0)
    start = np.ones(width)
    rounds = SimpleNamespace(
        curvature=curvature, gain=alike, inverse=alike, remaining=0.0, start=start,
        mean=start + moved, noise=np.sqrt(others / 2.0),
    )  # fmt: skip
    estimate = Estimate(
        weights=rounds.mean, noise=rounds.noise * alike, covariance=0.25 * alike,
        bias=np.sqrt(others / 2.0) * alike, unresolved=np.zeros(width, dtype=bool), settled=True,
        step=np.zeros(width), from_curvature=np.zeros(width), mean_curvature=1.0,
    )  # fmt: skip
    return SimpleNamespace(geometry=geometry, noise=np.sqrt(before) * alike), rounds, estimate


def test_intervals_lie_between_rounds_and_correction_and_are_the_longer_the_farther_these_are():
    stds = []
    for distance in (0.0, 1.0, 3.0, 30.0):
        fit, rounds, estimate = two_fits(distance * np.ones(8))
        blend = Blend.cautious(fit, rounds, estimate)
        between = blend.estimate(fit, estimate)
        part = (blend.weights - 1.0) / max(distance, 1e-9)
        assert part.min() >= 0.0
        assert part.max() <= 1.0
        assert np.diag(between.noise @ between.noise.T).max() < np.diag(between.whole()).min()
        stds.append(np.sqrt(np.diag(between.whole())).mean())
    assert (np.diff(stds) >= 0.0).all()
    assert stds[0] < stds[2]
    # Far apart, the fit counts for nothing: what is left is what the corrected weights have.
    assert stds[-1] == pytest.approx(np.sqrt(np.diag(estimate.whole())).mean(), rel=0.01)


def test_errors_of_a_blend_are_those_of_two_estimates_whose_distance_is_no_more_than_noise():
    """With as large errors on either side and without caution it has half of their variance."""
    fit, rounds, estimate = two_fits(np.zeros(8))
    plain = Blend._of(fit, rounds, 0.5 * np.eye(8))
    np.testing.assert_allclose(plain.gained, 0.5 * np.eye(8))
    np.testing.assert_allclose(plain.noise @ plain.noise.T, (0.25 + 0.125) * np.eye(8))
    whole = plain.estimate(fit, estimate).whole()
    np.testing.assert_allclose(whole, (0.25 + 0.5) * np.eye(8))


@pytest.mark.parametrize(
    ("loss", "bias"),
    [
        (tg.losses.Poisson(), 0.25),
        (tg.losses.Logistic(), 0.25),
        (tg.losses.Squared(), 0.0),
        (tg.losses.Gamma(), 0.0),
    ],
)
def test_predictions_count_the_noise_of_corrected_weights_and_of_likelihoods_their_bias(loss, bias):
    fit, rounds, _ = two_fits(np.zeros(8), others=1.0)
    fit.geometry.loss = loss
    tail = SimpleNamespace(along=lambda directions: np.full(len(directions), 0.25), beyond=2.0)
    blend = Blend.typical(fit, rounds, tail)
    errors = 0.5 + bias * 2.0**2  # and those of the fit are one
    np.testing.assert_allclose(blend.gained, errors**2 / (1.0 + errors) * np.eye(8))


def test_a_distance_counts_two_standard_deviations_more_where_intervals_rest_on_it():
    expected = 2.0 * 8  # of squared distances, of which each has twice the square for a variance
    more = 2.0 * np.sqrt(2.0 * 8 * 2.0**2)
    fit, rounds, estimate = two_fits(np.sqrt(expected / 8) * np.ones(8))
    cautious = Blend.cautious(fit, rounds, estimate)
    prior = 1.0 + more / 8
    np.testing.assert_allclose(cautious.gained, np.eye(8) / (1.0 + prior))


@pytest.mark.parametrize("settled", [True, False])
def test_predictions_stay_where_the_rounds_did_not_settle(settled, monkeypatch):
    fit = example_fit(tg.losses.Poisson(), phase=0)[1]
    whitened, noise = np.arange(1.0, fit.geometry.width + 1.0), 3.0 * np.eye(fit.geometry.width)
    rounds = SimpleNamespace(settled=settled)
    monkeypatch.setattr(Blend, "typical", lambda *_: SimpleNamespace(weights=whitened, noise=noise))
    found = _blended(fit, rounds, None)
    if settled:
        np.testing.assert_allclose(found.weights, fit.geometry.matrix @ whitened)
        assert found.noise is noise
    else:
        assert found is fit
