"""The choice of fit: a fit that is mostly noise gives way to its constant, a good one stays."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import tailguard as tg
from support.fits import plain_fit
from tailguard.gate.plan import Problem
from tailguard.losses.registry import make_loss
from tailguard.solvers.newton.allocation import REGIMES, shares_for
from tailguard.solvers.newton.choices import choose_fit
from tailguard.solvers.newton.solver import WhitenedNewton
from tailguard.solvers.newton.state import NewtonIterate

FIT_CHOICE = "choice of fit"
KEPT = tuple(
    f"{what} was kept: a comparison of losses found {than} better"
    for what, than in (("half of each coefficient", "that"), ("no coefficient", "the constant"))
)
N_ROWS = 2_000
GUARANTEE = tg.GDP(0.2)


def notes(model, y, seed):
    """What a fit of five columns says, and its coefficients."""
    X = np.random.default_rng(1).standard_normal((N_ROWS, 5))
    fitted = model(guarantee=GUARANTEE, random_state=seed).fit(X, y(X))
    return fitted.notes_, fitted.coef_


def kept(found):
    return [note for note in found if note in KEPT]


@pytest.mark.long
@pytest.mark.parametrize(
    ("model", "noise"),
    [
        (tg.LinearRegression, lambda rng: rng.standard_t(2.5, N_ROWS)),
        (tg.PoissonRegression, lambda rng: rng.poisson(3.0, N_ROWS)),
    ],
)
def test_where_there_is_nothing_to_fit_most_fits_are_cut_short(model, noise):
    rng = np.random.default_rng(2)
    y = noise(rng)
    found = [kept(notes(model, lambda X: y, seed)[0]) for seed in range(12)]
    assert sum(map(bool, found)) >= 5


def test_a_clear_signal_is_kept_whole():
    def y(X):
        return 3.0 * X[:, 0] + np.random.default_rng(3).standard_normal(N_ROWS)

    for seed in range(3):
        found, coef = notes(tg.LinearRegression, y, seed)
        assert not kept(found)
        assert coef[0] > 1.5


def test_a_fit_that_shrank_to_its_constant_has_no_coefficients():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        found, coef = notes(
            tg.LinearRegression, lambda X, rng=rng: rng.standard_normal(N_ROWS), seed
        )
        if KEPT[1] in found:
            np.testing.assert_allclose(coef, 0.0, atol=1e-12)
            return
    raise AssertionError("no fit was cut to its constant")


@pytest.mark.parametrize("name", ["squared", "huber", "logistic", "poisson"])
def test_few_records_choose_and_many_do_not(name):
    regime = REGIMES["choice of fit"]
    for part, few in ((0.99, True), (1.01, False)):
        problem = Problem(make_loss(name), 10_000, 2, intercept=True)
        mu = part * regime.below["fixed"] / problem.n_rows
        plan = WhitenedNewton().plan(problem, tg.GDP(mu))
        names = {stage.name for stage in plan.stages}
        assert (FIT_CHOICE in names) == few
        assert (shares_for(problem, mu).fit_choice == regime.shares["fit_choice"]) == few


def test_without_an_intercept_there_is_no_constant_to_choose():
    problem = Problem(tg.losses.Squared(), 10_000, 2)
    names = {stage.name for stage in WhitenedNewton().plan(problem, tg.GDP(0.04)).stages}
    assert FIT_CHOICE not in names


@pytest.mark.parametrize("loss", [tg.losses.Squared(), tg.losses.Logistic()])
def test_half_a_fit_has_half_the_noise_but_for_a_constant_of_residuals_which_stays(loss):
    session = SimpleNamespace(
        loss=loss, stages={"choice of fit": None}, ask=lambda *_: np.array([-1.0, 0.0])
    )
    start = NewtonIterate(np.zeros(3), np.ones(3), 0.1, 1_000)
    fit = replace(plain_fit(loss, 2, weights=np.ones(3)), noise=np.eye(3), iterates=(start,))
    found = choose_fit(session, fit)
    constant = 0.5 if loss.link.curved else 1.0
    np.testing.assert_allclose(found.weights, [0.5, 0.5, constant])
    np.testing.assert_allclose(found.noise, np.diag([0.5, 0.5, constant]))
