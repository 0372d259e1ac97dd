"""Where residuals are large is told right, and reaches the choice of clip levels."""

from dataclasses import replace

import numpy as np
import pytest

import tailguard as tg
from support.fits import plain_fit, reserved
from support.spy import run_over
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Problem
from tailguard.solvers.newton import solver, start
from tailguard.solvers.newton.schedule import ROW_NORM_BINS, Shares, stages_for
from tailguard.solvers.newton.solver import WhitenedNewton
from tailguard.solvers.newton.state import NewtonIterate


def skewed(rng, X):
    return rng.lognormal(size=len(X)) - np.exp(0.5)


def symmetric(rng, X):
    return rng.standard_normal(len(X))


def fit_spied(noise, *, name, n_rows, mu):
    """Fits of three columns as they are when a function of the module returns."""
    rng, fits = np.random.default_rng(0), []
    X = rng.standard_normal((n_rows, 3))
    y = 3.0 + X @ [0.0, 0.8, 0.0] + noise(rng, X)
    problem = Problem(tg.losses.Squared(), n_rows, 3, intercept=True)
    honest = getattr(start, name)

    def spied(session, fit):
        fit = honest(session, fit)
        slopes, mu, name = fit.clipping.slopes, session.rounds_mu(fit.phase), "rounds of phase 1"
        raised = session.stages[name].mu / session.plan.stage(name).mu
        numbers = mu, slopes.distribution.quantile(0.5), raised
        fits.append((fit.phase, *numbers))
        return fit

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(start, name, spied)
        *_, plan = run_over(WhitenedNewton(), problem, X, y, tg.GDP(mu), seed=0)
    return fits, plan


def test_clip_levels_are_chosen_for_what_the_rounds_will_get():
    fits, plan = fit_spied(symmetric, name="choose_clip_levels", n_rows=4_000, mu=1.0)
    (_, first, *_), *_, (_, last, *_, raised) = fits
    planned = np.sqrt(sum(plan.stage(f"rounds of phase {k}").total_mu ** 2 for k in (1, 2, 3, 4)))
    assert raised > 1.0
    assert first == pytest.approx(raised * planned)
    assert last == first


def test_one_look_before_any_round_is_read_about_its_middle():
    fits, plan = fit_spied(symmetric, name="release_residuals", n_rows=500, mu=0.25)
    assert plan.stage("slopes").times == len(fits) == 1
    assert fits[0][2] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("loss", [tg.losses.Squared(), tg.losses.Logistic()])
def test_whitening_is_told_whether_the_loss_bends(loss, monkeypatch):
    told, honest = [], start.whiten

    def spied(moments, level, *, curved):
        told.append(curved)
        return honest(moments, level, curved=curved)

    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 3))
    y = (rng.random(len(X)) < 0.5).astype(float)
    monkeypatch.setattr(start, "whiten", spied)
    run_over(WhitenedNewton(), Problem(loss, len(X), 3, intercept=True), X, y, tg.GDP(2.0), seed=0)
    logistic = isinstance(loss, tg.losses.Logistic)
    assert (len(told) > 1) == logistic  # curvature that does not vary is not released
    assert set(told) == {logistic}


@pytest.mark.parametrize(("mu", "released"), [(0.08, False), (1.0, True)])
def test_a_curvature_is_released_only_if_it_stands_out_of_its_noise(mu, released, monkeypatch):
    told, honest = [], start.whiten

    def spied(moments, level, *, curved):
        told.append(np.trace(moments) / len(moments) / level)
        return honest(moments, level, curved=curved)

    rng = np.random.default_rng(0)
    X = rng.standard_normal((8_000, 3))  # and rare events
    y = (rng.random(len(X)) < 1.0 / (1.0 + np.exp(5.0 - 2.0 * X[:, 0]))).astype(float)
    monkeypatch.setattr(start, "whiten", spied)
    problem = Problem(tg.losses.Logistic(), len(X), 3, intercept=True)
    run_over(WhitenedNewton(), problem, X, y, tg.GDP(mu), seed=0)
    _, *curvatures = told  # the first whitening is of second moments
    assert bool(curvatures) == released
    assert all(mean > 1.0 for mean in curvatures)


def fit_over(X, y, *, loss, shares=None, intercept=True, exposure=None, mu=20.0):
    """A fit that knows nothing yet, in raw units."""
    shares, exposed = shares or Shares(), exposure is not None
    problem = Problem(loss, *X.shape, intercept, has_offset=exposed)
    plan = Plan("example", problem, tg.GDP(mu), stages_for(problem, shares, mu))
    gate = Gate.over(X, y, guarantee=tg.GDP(mu), loss=loss, exposure=exposure, random_state=0)
    fit = plain_fit(loss, X.shape[1], intercept=intercept)
    return reserved(plan, gate, shares), fit


def looked_at_slopes(center, *, diagnostic_phases=(0,), intercept=True, mu=20.0):
    """A fit at zero that has looked at residuals about minus the centre."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2_000, 2)), center + rng.standard_normal(2_000)
    shares = Shares(diagnostic_phases=diagnostic_phases)
    session, fit = fit_over(
        X, y, loss=tg.losses.Squared(), shares=shares, intercept=intercept, mu=mu
    )
    fit = start.release_residuals(session, fit)
    assert fit.clipping.slopes.seen
    return session, fit


@pytest.mark.parametrize("center", [4.0, -6.0])
def test_one_look_starts_a_fit_amid_residuals_that_are_clearly_elsewhere(center):
    _, fit = looked_at_slopes(center)
    assert fit.weights[-1] == pytest.approx(center, abs=0.6)
    assert (fit.weights[:-1] == 0.0).all()
    assert fit.clipping.slopes.distribution.quantile(0.5) == pytest.approx(0.0, abs=1e-9)


def test_one_look_leaves_a_fit_where_residuals_are_about_it():
    _, fit = looked_at_slopes(0.4)
    assert (fit.weights == 0.0).all()
    assert fit.clipping.slopes.distribution.quantile(0.5) == pytest.approx(0.0, abs=1e-9)


def test_later_looks_move_no_fit():
    session, fit = looked_at_slopes(4.0)
    assert fit.constant_moved
    arrived = NewtonIterate(fit.weights, fit.weights, 0.1, 2_000)
    fit = replace(fit, iterates=(arrived,), weights=np.array([0.0, 0.0, 3.0]))
    session._spent = 0.0
    later = start.release_residuals(session, fit)
    assert later.weights[-1] == 3.0
    assert later.clipping.slopes.distribution.quantile(0.5) == pytest.approx(-1.0, abs=0.3)


def test_one_look_alone_moves_a_fit_and_only_one_with_a_constant():
    _, several = looked_at_slopes(5.0, diagnostic_phases=(0, 2, 3))
    assert (several.weights == 0.0).all()
    assert several.clipping.slopes.distribution.quantile(0.5) == pytest.approx(-5.0, abs=0.5)
    _, without = looked_at_slopes(5.0, intercept=False)
    assert (without.weights == 0.0).all()
    assert without.clipping.slopes.distribution.quantile(0.5) == pytest.approx(-5.0, abs=0.5)


def errors_off(scales, monkeypatch):
    """Mean squared errors, in variances of the target, where its place is that many scales off."""
    honest, errors = solver.find_units, []

    def off(session, problem, **more):
        units, known = honest(session, problem, **more)
        wrong = units.target_center - scales * units.target_scale
        return replace(units, target_center=wrong), known

    monkeypatch.setattr(solver, "find_units", off)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((2_000, 3))
        y = 30.0 + 0.8 * X[:, 0] + 0.6 * rng.standard_normal(len(X))
        model = tg.LinearRegression(guarantee=tg.GDP(0.045), random_state=seed).fit(X, y)
        errors.append(np.mean((y - model.predict(X)) ** 2) / y.var())
    return np.array(errors)


@pytest.mark.long
def test_a_target_whose_place_was_taken_wrong_is_found_nevertheless(monkeypatch):
    """Rounds alone do not go so far: most fits would end between zero and the target."""
    errors = errors_off(12.0, monkeypatch)
    assert np.mean(errors > 2.0) < 0.4
    assert np.median(errors) < 0.8


def weights_of_lengths(loss, *, exposed=False):
    """How rows are counted where their lengths are released, in order, in whole fits."""
    rng = np.random.default_rng(0)
    X, exposure = rng.standard_normal((20_000, 3)), None
    y = (rng.random(len(X)) < 0.5).astype(float)
    if exposed:
        exposure = rng.uniform(0.5, 1.5, len(X))
    problem = Problem(loss, *X.shape, intercept=True, has_offset=exposed)
    _, gate, _ = run_over(WhitenedNewton(), problem, X, y, tg.GDP(2.0), seed=0, exposure=exposure)
    lengths = [r for r in gate.books.releases if r.parameters.get("bins") == ROW_NORM_BINS.count]
    return [r.parameters["weights"] for r in lengths if r.name == "histogram of lengths"]


@pytest.mark.parametrize(("loss", "exposed", "first"), [
    (tg.losses.Poisson(), False, "one"), (tg.losses.Poisson(), True, "curvature"),
    (tg.losses.Logistic(), False, "curvature"),
])  # fmt: skip
def test_rows_count_in_full_at_the_first_constant_of_a_log_link(loss, exposed, first):
    norms, lengths, *later = weights_of_lengths(loss, exposed=exposed)
    assert (norms, lengths) == ("one", first)
    assert later
    assert set(later) == {"curvature"}


def looked_at_rows(*, intercept=True, exposed=False, arrived=False):
    """A Poisson fit at some weights that has looked at rows; means of counts are 0.3."""
    rng = np.random.default_rng(0)
    X, exposure = rng.standard_normal((4_000, 2)), np.ones(4_000) if exposed else None
    y = rng.poisson(0.3, len(X)).astype(float)
    session, fit = fit_over(X, y, loss=tg.losses.Poisson(), intercept=intercept, exposure=exposure)
    weights = np.append(np.zeros(fit.weights.size - 1), np.log(0.3))
    iterates = (NewtonIterate(weights, weights, 0.1, len(X)),) * arrived
    geometry = replace(fit.geometry, largest_curvature=4.0 * 0.3)
    fit = replace(fit, geometry=geometry, weights=weights, iterates=iterates)
    rows = start.release_row_norms(session, fit).clipping.rows
    assert rows.seen
    return rows


def test_the_curvature_of_a_row_at_a_constant_is_its_exponential():
    assert looked_at_rows().weight == pytest.approx(0.3)
    assert looked_at_rows().distribution.total == pytest.approx(4_000, rel=0.05)
    assert looked_at_rows(intercept=False).distribution.total < 2_000  # no constant: scores differ


@pytest.mark.parametrize("known", [{"arrived": True}, {"exposed": True}])
def test_rows_count_by_curvature_where_it_may_vary(known):
    """On average that is the same, here."""
    rows = looked_at_rows(**known)
    assert rows.distribution.total == pytest.approx(4_000 * 0.25, rel=0.1)
    assert rows.weight == pytest.approx(0.3, rel=0.1)


def test_weaker_weights_hide_no_lengths_of_rows_that_were_seen():
    """A log link weighs rows by their means, which leaves a quarter of the counts."""
    rng, n_rows, ends = np.random.default_rng(7), 1_000, []
    X = np.hstack([rng.random((n_rows, 10)) < 0.1, rng.standard_normal((n_rows, 10))])
    X[:, 10:] *= rng.lognormal(0.0, 0.7, (n_rows, 1))
    y = rng.poisson(4.0 * np.exp(0.3 * X[:, 10])).astype(float)
    honest = start.release_row_norms

    def spied(session, fit):
        fit = honest(session, fit)
        ends.append(fit.clipping.rows.distribution.edges[-1])
        return fit

    for seed in range(8):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(start, "release_row_norms", spied)
            problem = Problem(tg.losses.Poisson(), *X.shape, intercept=True)
            run_over(WhitenedNewton(), problem, X, y, tg.GDP(0.75), seed=seed)
    first, later = ends[::2], ends[1::2]
    assert len(first) == len(later) == 8
    assert np.all(np.greater_equal(later, first))
