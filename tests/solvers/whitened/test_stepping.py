"""Steps along the fit: longer or shorter where a likelihood bends otherwise there."""

import numpy as np
import pytest

import tailguard as tg
from tailguard.queries.units import Units
from tailguard.queries.view import View
from tailguard.solvers.base import Problem
from tailguard.solvers.whitened.fit import Fit
from tailguard.solvers.whitened.stages import Shares
from tailguard.solvers.whitened.stepping import BENDS, bend_along, slanted

WEIGHTS = np.array([0.9, -0.4, 0.2, 0.7])  # of three columns and the constant
ALONG = np.array([0.9, -0.4, 0.2, 0.0]) / np.linalg.norm([0.9, -0.4, 0.2])
ACROSS = np.array([0.4, 0.9, 0.0, 0.0])


def fit_of(loss, weights=WEIGHTS, *, bent=False):
    problem = Problem(loss, n_rows=1_000, n_features=3, intercept=True)
    view = View.plain(loss, Units.raw(3, intercept=True))
    fit = Fit(None, problem, Shares(), view, weights.copy(), np.zeros(4), effective=4.0)
    fit.bent = bent
    return fit


def test_a_logistic_loss_bends_less_along_a_fit_the_further_it_spreads():
    fit = fit_of(tg.losses.Logistic())
    bends = [bend_along(fit, spread) for spread in (0.01, 0.5, 1.0, 2.0, 4.0)]
    assert bends[0] == pytest.approx(1.0, abs=1e-3)
    assert (np.diff(bends) < 0.0).all()
    assert bend_along(fit, 100.0) == BENDS[0]


@pytest.mark.parametrize("spread", [0.1, 0.5, 1.0, 1.5])
def test_a_log_link_bends_more_by_the_squared_spread(spread):
    """E[exp(s z) z**2] = (1 + s**2) exp(s**2 / 2) for normal z."""
    fit = fit_of(tg.losses.Poisson())
    assert bend_along(fit, spread) == pytest.approx(1.0 + spread**2, rel=1e-4)
    assert bend_along(fit, 5.0) == BENDS[1]


@pytest.mark.parametrize("loss", [tg.losses.Logistic(), tg.losses.Poisson()])
def test_only_the_part_of_a_step_along_the_fit_changes(loss):
    fit = fit_of(loss)
    bend = bend_along(fit, np.linalg.norm(WEIGHTS[:3]))
    np.testing.assert_allclose(slanted(fit, 0.3 * ALONG), 0.3 * ALONG / bend)
    for other in (ACROSS, np.array([0.0, 0.0, 0.0, 1.0])):
        np.testing.assert_allclose(slanted(fit, other), other, atol=1e-12)
    step = np.array([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(
        slanted(fit, step), step + ALONG * (ALONG @ step) * (1.0 / bend - 1.0)
    )


def test_steps_stay_as_they_are_for_residuals_and_once_curvature_was_released():
    step = np.array([0.1, 0.2, 0.3, 0.4])
    for loss in (tg.losses.Squared(), tg.losses.Huber(1.345), tg.losses.Quantile(0.5)):
        assert (slanted(fit_of(loss), step) == step).all()
    for loss in (tg.losses.Logistic(), tg.losses.Poisson()):
        assert (slanted(fit_of(loss, bent=True), step) == step).all()
        assert (slanted(fit_of(loss, weights=np.array([0.0, 0.0, 0.0, 0.7])), step) == step).all()
