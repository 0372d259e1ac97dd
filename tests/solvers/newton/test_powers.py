"""Intervals of powers of the residual above two: given where clipping leaves the optimum alone."""

from dataclasses import replace

import numpy as np
import pytest

import tailguard as tg
from support.fits import plain_fit
from tailguard.scaling.noisy_distribution import NoisyDistribution
from tailguard.solvers.newton import debiasing
from tailguard.solvers.newton.clipping import SlopeDistribution
from tailguard.solvers.newton.schedule import SLOPE_BINS

N_ROWS, LIMIT = 40_000, 20.0
RNG = np.random.default_rng(0)
RESIDUALS = {
    "normal": RNG.standard_normal(N_ROWS),
    "t3": RNG.standard_t(3.0, N_ROWS),
    "skewed": RNG.exponential(1.0, N_ROWS) - 1.0,
}
LOSSES = {"l4": tg.losses.LpLoss(4.0), "l3": tg.losses.LpLoss(3.0)}
OTHERS = (tg.losses.Squared(), tg.losses.LpLoss(2.0), tg.losses.Huber(1.0), tg.losses.Quantile(0.5))


def fit_of(loss, residuals, noise_std=3.0):
    """A fit of one column with these residuals, as a histogram shows them."""
    counts = np.bincount(SLOPE_BINS.index(residuals).astype(int), minlength=SLOPE_BINS.count)
    distribution = NoisyDistribution.of(counts.astype(float), SLOPE_BINS, noise_std)
    fit = plain_fit(loss, 1, bound=4.0)
    slopes = SlopeDistribution(loss, distribution)
    return replace(fit, clipping=replace(fit.clipping, slopes=slopes, slope_limit=LIMIT))


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_normal_residuals_have_intervals_and_skewed_ones_have_none(loss):
    assert debiasing.why_clipping_matters(fit_of(loss, RESIDUALS["normal"]), 0.02) is None
    assert (
        debiasing.why_clipping_matters(fit_of(loss, RESIDUALS["skewed"]), 0.02)
        == debiasing.MOVED_BY_CLIPPING
    )


def test_a_fit_that_follows_clipped_residuals_has_no_intervals():
    fit = fit_of(LOSSES["l4"], RESIDUALS["t3"])
    assert debiasing.why_clipping_matters(fit, 0.02) == debiasing.MOVED_BY_CLIPPING


def test_a_tail_that_noise_hides_gives_no_intervals():
    fit = fit_of(LOSSES["l4"], RESIDUALS["normal"])
    hidden = fit.clipping.slopes.distribution.hidden
    assert debiasing.why_clipping_matters(fit, 0.99 * hidden) == debiasing.HIDDEN_TAIL
    assert debiasing.why_clipping_matters(fit, 1.01 * hidden) is None


@pytest.mark.parametrize("loss", OTHERS, ids=lambda loss: type(loss).__name__)
def test_other_losses_are_not_judged(loss):
    fit = fit_of(loss, RESIDUALS["skewed"])
    assert debiasing.why_clipping_matters(fit, 0.0) is None
    assert not debiasing.uneven_power(fit, np.eye(2), 0.0)


@pytest.mark.parametrize(("noise_std", "uneven"), [(0.01, True), (1.0, False)])
def test_residuals_that_are_larger_in_some_rows_count_beyond_their_noise(noise_std, uneven):
    fit = fit_of(LOSSES["l4"], RESIDUALS["normal"])
    excess = np.diag([debiasing.UNEVEN_ROWS + 0.01, 0.0])
    assert debiasing.uneven_power(fit, excess, noise_std) == uneven
    assert not debiasing.uneven_power(fit, np.diag([debiasing.UNEVEN_ROWS - 0.01, 0.0]), noise_std)


def simulated(kind):
    """A table of two normal columns whose residuals are of that kind."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N_ROWS, 2))
    noise = rng.standard_normal(N_ROWS)
    residuals = {
        "normal": noise,
        "skewed": rng.exponential(1.0, N_ROWS),
        "t3": rng.standard_t(3.0, N_ROWS),
        "uneven": rng.uniform(-1.0, 1.0, N_ROWS) * (1.0 + 0.5 * (X[:, 0] > 0.5)),
    }
    return X, 2.0 + X @ [1.0, -0.5] + residuals[kind]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["normal", "skewed", "t3", "uneven"])
def test_intervals_of_l4_hold_or_a_reason_says_why_there_are_none(kind):
    X, y = simulated(kind)
    model = tg.LpRegression(p=4.0, epsilon=2.0, delta=1e-6, random_state=0).fit(X, y)
    low, high = np.asarray(model.conf_int()).T
    truth = np.array([1.0, -0.5, 2.0])
    if kind == "normal":
        assert ((low <= truth) & (high >= truth)).all()
        return
    assert np.isnan(low).all()
    assert [*model.coef_frame()["reason"]] == [f"no interval: {debiasing.MOVED_BY_CLIPPING}"] * 3
    assert any(debiasing.MOVED_BY_CLIPPING in note for note in model.notes_)
