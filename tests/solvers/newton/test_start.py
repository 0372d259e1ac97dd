"""The constant that a likelihood starts from, and ends at where nothing else can be seen."""

import numpy as np
import pytest
from scipy.special import logit

import tailguard as tg
from support.spy import run_over, spent_mu
from tailguard.gate.plan import Problem
from tailguard.solvers.newton import solver, start
from tailguard.solvers.newton.allocation import shares_for
from tailguard.solvers.newton.constant import fall_back_to_constant
from tailguard.solvers.newton.solver import WhitenedNewton

N_ROWS = 1_000


def drawn(loss, mean, rng):
    """Targets of that mean, whatever the row."""
    if isinstance(loss, tg.losses.Logistic):
        return (rng.random(N_ROWS) < mean).astype(float)
    return rng.poisson(mean, N_ROWS).astype(float)


def alone(loss, mean, mu, seed, *, exposed=False):
    """The constant before and after it was asked again, since no rows are seen; gate and plan."""
    rng, constants = np.random.default_rng(seed), []
    X, exposure = rng.standard_normal((N_ROWS, 3)), None
    y = drawn(loss, mean, rng)
    if exposed:
        exposure = rng.uniform(0.5, 1.5, N_ROWS)
        y = rng.poisson(mean * exposure).astype(float)

    def spied(session, fit):
        unit, before = np.log(fit.geometry.units.target_scale), fit
        fit = fall_back_to_constant(session, fit)
        constants.extend(one.weights[-1] + unit for one in (before, fit))
        assert (fit.weights[:-1] == 0.0).all()
        return fit

    problem = Problem(loss, N_ROWS, 3, intercept=True, has_offset=exposed)
    method = WhitenedNewton(shares=shares_for(problem, mu))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solver, "fall_back_to_constant", spied)
        patch.setattr(start, "release_row_norms", lambda session, fit: fit)
        _, gate, plan = run_over(method, problem, X, y, tg.GDP(mu), seed=seed, exposure=exposure)
    return constants, gate, plan


@pytest.mark.parametrize(("loss", "exposed"), [
    (tg.losses.Poisson(), False), (tg.losses.Poisson(), True), (tg.losses.Logistic(), False),
])  # fmt: skip
@pytest.mark.parametrize("mu", [0.02, 0.05])
def test_a_constant_alone_is_asked_again_with_all_that_is_left(loss, exposed, mu):
    constants, gate, plan = alone(loss, 0.3, mu, 0, exposed=exposed)
    assert len(constants) == 2
    assert spent_mu(gate.books) == pytest.approx(plan.total_mu, rel=1e-5)
    assert spent_mu(gate.books) <= plan.total_mu


@pytest.mark.parametrize(("loss", "mean", "mu"), [
    (tg.losses.Poisson(), 0.3, 0.1), (tg.losses.Poisson(), 1.0, 0.05),
    (tg.losses.Poisson(), 0.3, 0.02), (tg.losses.Logistic(), 0.2, 0.1),
])  # fmt: skip
def test_the_second_constant_is_nearer_to_the_truth_than_the_first(loss, mean, mu):
    truth = logit(mean) if isinstance(loss, tg.losses.Logistic) else np.log(mean)
    found = [alone(loss, mean, mu, seed)[0] for seed in range(30, 90)]
    constants = np.array([pair for pair in found if pair])
    first, second = np.median(np.abs(constants - truth), axis=0)
    assert len(constants) > 20
    assert second < 0.85 * first


UNSEEN = {"release_row_norms": lambda session, fit: fit, "start_phase": lambda *_: None}


def squared_without(part, seed=0, *, intercept=True):
    """The squared fit of skewed targets where a look is taken to show nothing; targets, gate."""
    rng, loss = np.random.default_rng(seed), tg.losses.Squared()
    X = 5.0 + rng.standard_normal((4_000, 3))
    y = 7.0 + 0.8 * X[:, 0] + rng.lognormal(size=len(X))
    problem = Problem(loss, *X.shape, intercept)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solver, part, UNSEEN[part])
        solution, gate, plan = run_over(WhitenedNewton(), problem, X, y, tg.GDP(1.0), seed=seed)
    assert spent_mu(gate.books) <= plan.total_mu * (1.0 + 1e-9)
    return solution, y, gate


def test_where_rows_are_not_seen_rounds_go_on_with_the_constant_alone():
    """They find the mean, which the target's centre, near the median, is not."""
    solution, y, _ = squared_without("release_row_norms")
    assert (solution.coef == 0.0).all()
    assert solution.intercept == pytest.approx(y.mean(), abs=0.2)
    assert abs(np.median(y) - y.mean()) > 0.3
    assert any("budget was too small to see the size of rows" in note for note in solution.notes)
    assert len(solution.trace) == sum(
        stage.times for stage in solution.plan.stages if stage.name.startswith("rounds")
    )
    assert (solution.trace[:, :-1] == 0.0).all()


@pytest.mark.parametrize("part", UNSEEN)
def test_nothing_is_fitted_where_nothing_is_seen_and_no_constant_is_wanted(part):
    solution, _, gate = squared_without(part, intercept=False)
    assert (solution.coef == 0.0).all()
    assert solution.intercept == 0.0
    assert len(solution.trace) == 0
    assert gate.books.releases[-1].name != "histogram of residuals"


def test_a_fit_that_took_no_round_is_the_centre_of_the_target():
    """Not the first fit, which second moments told alone."""
    solution, y, _ = squared_without("start_phase")
    assert (solution.coef == 0.0).all()
    assert solution.intercept == pytest.approx(np.median(y), abs=1.0)
    assert len(solution.trace) == 0


@pytest.mark.parametrize("level", [0.1, 0.9])
def test_where_no_residual_is_seen_a_quantile_is_asked_for_with_all_that_is_left(level):
    rng, mu = np.random.default_rng(0), 0.5
    X, y = rng.standard_normal((N_ROWS, 3)), 7.0 + rng.standard_normal(N_ROWS)
    problem = Problem(tg.losses.Quantile(level), N_ROWS, 3, intercept=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(start, "release_residuals", lambda session, fit: fit)
        solution, gate, _ = run_over(WhitenedNewton(), problem, X, y, tg.GDP(mu), seed=0)
    assert (solution.coef == 0.0).all()
    assert np.mean(y < solution.intercept) == pytest.approx(level, abs=0.06)
    assert spent_mu(gate.books) == pytest.approx(mu, rel=1e-6)
    assert spent_mu(gate.books) <= mu


def test_log_odds_without_an_intercept_are_corrected():
    """Their mean is not measured, and what stands in its place is no share of ones."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 3))
    y = (X @ [1.0, -0.5, 0.0] + rng.logistic(size=20_000) > 0.0).astype(int)
    model = tg.LogisticRegression(epsilon=1.0, delta=1e-6, fit_intercept=False, random_state=0)
    assert model.fit(X, y).coef_.ravel() == pytest.approx([1.0, -0.5, 0.0], abs=0.15)
    assert np.isfinite(model.conf_int()).all()


MODELS = {
    "odds": (tg.LogisticRegression, lambda n, rng: (rng.random(n) < 0.3).astype(int)),
    "counts": (tg.PoissonRegression, lambda n, rng: rng.poisson(2.0, n)),
    "amounts": (tg.GammaRegression, lambda n, rng: 5.0 * rng.gamma(2.0, 0.5, n)),
}


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_void_records_do_not_count_as_zeros_where_no_budget_counts_them(name, monkeypatch):
    """With 60 % of the records void, a constant of log-odds was -1.9 in place of -.85."""
    model, draw = MODELS[name]
    found, mean_target = [], start.mean_target

    def watched(session, units, *given):
        mean, exposure = mean_target(session, units, *given)
        found.append(mean * units.target_scale / exposure)
        return mean, exposure

    monkeypatch.setattr(start, "mean_target", watched)
    rng, means = np.random.default_rng(0), []
    for seed in range(12):
        X, y = rng.standard_normal((2_000, 3)), draw(2_000, rng)
        void = rng.random(2_000) < 0.6
        X[void, 0] = np.nan
        means.append(y[~void].mean())
        fitted = model(epsilon=0.4, delta=1e-6, random_state=seed).fit(X, y)
        assert any("usable records are not counted" in note for note in fitted.plan_.remarks)
    assert len(found) == len(means)
    assert np.mean(found) == pytest.approx(np.mean(means), rel=0.15)
