"""Where residuals are large is told right, and reaches the choice of clip levels."""

import numpy as np
import pytest

import tailguard as tg
from support.spy import spent_mu
from tailguard.gate import Gate
from tailguard.solvers.base import Problem
from tailguard.solvers.whitened import begin, looking
from tailguard.solvers.whitened_newton import WhitenedNewton

N_ROWS = 40_000


def gate_over(noise, n_rows, mu, *, constant=1.0):
    """A gate that has reserved what a fit of three columns costs, and the plan."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 3))
    y = constant + X @ [0.0, 0.8, 0.0] + noise(rng, X)
    problem, guarantee = Problem(tg.losses.Squared(), n_rows, 3, intercept=True), tg.GDP(mu)
    plan = WhitenedNewton().plan(problem, guarantee)
    gate = Gate.over(X, y, guarantee=guarantee, loss=problem.loss, random_state=0)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    return gate, plan


def seen(noise, n_rows=N_ROWS, mu=4.0):
    """The fit right after the release, the fit's books and plan."""
    gate, plan = gate_over(noise, n_rows, mu)
    fits = []
    with pytest.MonkeyPatch.context() as patch:
        honest = looking.look_at_leaning
        patch.setattr(looking, "look_at_leaning", lambda fit: (honest(fit), fits.append(fit)))
        WhitenedNewton().run(plan, gate)
    return fits, gate, plan


def mean_record(fit):
    """The mean of records counted by the sizes of their residuals, in the user's units."""
    mean, units = fit.inverse.T @ fit.leaning.mean, fit.view.units
    return mean[:3] * units.scale + units.center, mean[3]


def spreading(rng, X):
    return np.exp(0.4 * X[:, 0]) * rng.choice([-1.0, 1.0], len(X))


def test_the_leaning_lies_along_the_column_with_which_residuals_grow():
    """E[exp(0.4 x) x] over E[exp(0.4 x)] is 0.4; beside the constant, that is all."""
    (fit,), gate, plan = seen(spreading)
    columns, constant = mean_record(fit)
    np.testing.assert_allclose(columns, [0.4, 0.0, 0.0], atol=0.05)
    assert constant == pytest.approx(1.0, abs=0.03)
    # The fitted score is the second column alone, so that the first is a direction of its own.
    assert fit.calibration_basis().shape[1] == 3
    releases = [r for r in gate.books.releases if r.parameters.get("magnitudes")]
    assert [release.times for release in releases] == [1]
    assert spent_mu(gate.books) <= plan.total_mu * (1.0 + 1e-9)


def test_residuals_that_depend_on_no_row_lean_on_the_constant_alone():
    (fit,), *_ = seen(lambda rng, X: rng.standard_normal(len(X)))
    columns, constant = mean_record(fit)
    np.testing.assert_allclose(columns, 0.0, atol=0.03)
    assert constant == pytest.approx(1.0, abs=0.03)
    assert fit.leaning.expected_beside(fit.calibration_basis()) < 0.1


def skewed(rng, X):
    return rng.lognormal(size=len(X)) - np.exp(0.5)


def symmetric(rng, X):
    return rng.standard_normal(len(X))


@pytest.mark.parametrize(("noise", "spared"), [(symmetric, True), (skewed, False)])
def test_where_residuals_look_symmetric_their_correction_is_spared_for_the_rounds(noise, spared):
    """At budgets at which the noise is above what a symmetric-looking law may hide."""
    fits, gate, plan = seen(noise, n_rows=4_000, mu=1.0)
    assert bool(fits) is not spared
    scores = [r for r in gate.books.releases if r.kind == "ScoreLadder"]
    assert any(r.parameters["levels"] > 1 for r in scores) is not spared
    spent = spent_mu(gate.books)
    assert spent <= plan.total_mu * (1.0 + 1e-9)
    if spared:  # the last rounds share what is left
        last = scores[-1].sensitivity / scores[-1].noise_std
        assert last > 1.1 * plan.stage("rounds of phase 4").mu
        assert spent > 0.98 * plan.total_mu


def fit_spied(noise, *, name, n_rows, mu):
    """Fits as they are when a function of the module returns."""
    gate, plan = gate_over(noise, n_rows, mu, constant=3.0)
    fits = []
    honest = getattr(looking, name)

    def spied(fit):
        answer = honest(fit)
        numbers = fit.rounds_mu(), fit.spared, fit.slopes.law.quantile(0.5), fit.slopes.center
        fits.append((fit.phase, *numbers))
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(looking, name, spied)
        WhitenedNewton().run(plan, gate)
    return fits, plan


def test_clip_levels_are_chosen_for_what_the_rounds_will_get():
    fits, plan = fit_spied(symmetric, name="choose", n_rows=4_000, mu=1.0)
    (_, usual, none, *_), (*_,), (*_, last) = fits[0], fits[1], fits
    spared = [plan.stage(name).mu for name in ("leaning", "calibration", "calibration curvature")]
    assert none == ()
    assert last[2]
    assert last[1] == pytest.approx(np.sqrt(usual**2 + np.sum(np.square(spared))))


def test_a_spared_correction_comes_back_where_the_last_look_is_skewed(monkeypatch):
    verdicts = iter([False, True])
    told = property(lambda slopes: next(verdicts, True))
    monkeypatch.setattr(looking.SlopeLaw, "skewed", told)
    fits, gate, plan = seen(symmetric, n_rows=4_000, mu=1.0)
    assert len(fits) == 1
    assert fits[0].phase == looking.LEANING_PHASE + 1
    assert fits[0].spared == ()
    assert spent_mu(gate.books) <= plan.total_mu * (1.0 + 1e-9)


def test_one_look_before_any_round_is_read_about_its_middle():
    fits, plan = fit_spied(symmetric, name="look_at_slopes", n_rows=1_000, mu=0.25)
    assert plan.stage("slopes").times == len(fits) == 1
    assert fits[0][3] == pytest.approx(0.0, abs=1e-9)


def test_later_looks_know_their_middle():
    fits, _ = fit_spied(skewed, name="look_at_slopes", n_rows=4_000, mu=1.0)
    assert len(fits) > 1
    assert all(center == pytest.approx(middle) for *_, middle, center in fits)
    assert any(abs(center) > 0.05 for *_, center in fits)


@pytest.mark.parametrize("loss", [tg.losses.Squared(), tg.losses.Logistic()])
def test_whitening_is_told_whether_the_loss_bends(loss, monkeypatch):
    told, honest = [], looking.whiten

    def spied(moments, level, *, curved):
        told.append(curved)
        return honest(moments, level, curved=curved)

    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 3))
    y = (rng.random(len(X)) < 0.5).astype(float)
    problem, guarantee = Problem(loss, len(X), 3, intercept=True), tg.GDP(2.0)
    plan = WhitenedNewton().plan(problem, guarantee)
    gate = Gate.over(X, y, guarantee=guarantee, loss=loss, random_state=0)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    for module in (looking, begin):
        monkeypatch.setattr(module, "whiten", spied)
    WhitenedNewton().run(plan, gate)
    assert len(told) > 1
    assert set(told) == {isinstance(loss, tg.losses.Logistic)}


def test_a_correction_is_spared_where_the_last_look_alone_is_symmetric(monkeypatch):
    """What the leaning cost is gone by then; the rest goes to the rounds."""
    verdicts = iter([True, True, False])  # at the decision, at its clip levels, at the next one
    told = property(lambda slopes: next(verdicts, False))
    monkeypatch.setattr(looking.SlopeLaw, "skewed", told)
    fits, gate, plan = seen(symmetric, n_rows=4_000, mu=1.0)
    assert len(fits) == 1
    assert fits[0].spared == ("calibration", "calibration curvature")
    assert 0.98 * plan.total_mu < spent_mu(gate.books) <= plan.total_mu * (1.0 + 1e-9)
