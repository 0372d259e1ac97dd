"""Fits with a log link whose records have exposures or weights."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import TweedieRegressor

import tailguard as tg
from tailguard.solvers.newton import start

RNG = np.random.default_rng(0)
N_ROWS = 20_000
EXPOSURES = {
    "a year": RNG.uniform(0.1, 1.0, N_ROWS),
    "four decades": 10.0 ** RNG.uniform(-4.0, 0.0, N_ROWS),
    "lognormal": np.exp(RNG.standard_normal(N_ROWS)),
    "two modes": np.where(RNG.random(N_ROWS) < 0.5, 1e-3, 1.0),
}
X = np.column_stack([RNG.standard_normal((N_ROWS, 3)), RNG.random(N_ROWS) < 0.3])
RATE = 0.5 * np.exp(X @ [0.3, -0.2, 0.1, 0.4])


def optimum(power, features, y, weight):
    best = TweedieRegressor(power=power, alpha=0.0, link="log", max_iter=1_000, tol=1e-8)
    return best.fit(features, y, sample_weight=weight).coef_


@pytest.mark.parametrize("kind", EXPOSURES)
def test_the_first_constant_is_that_of_the_mean_exposure(kind, monkeypatch):
    """Counted from the median, the mean of exposures over four decades was cut to a fifth of it."""
    exposure, fits = EXPOSURES[kind], []
    started = start._started_at_constant
    monkeypatch.setattr(
        start, "_started_at_constant", lambda *given: fits.append(started(*given)) or fits[-1]
    )
    y = RNG.poisson(exposure * RATE / exposure.mean())
    promise = {"guarantee": tg.GDP(2.0), "random_state": 0}
    tg.PoissonRegression(**promise).fit(X, y, exposure=exposure)
    (fit,) = fits
    units = fit.geometry.units
    assert units.offset_center == pytest.approx(np.log(exposure.mean()), abs=0.4)
    assert fit.geometry.mean_target * units.target_scale == pytest.approx(y.mean(), rel=0.15)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["a year", "four decades", "lognormal"])
def test_fits_by_exposure_come_near_to_the_optimum_and_intervals_hold_it(kind):
    """Uncorrected, counts over four decades lost as much as a constant does, and amounts .03."""
    exposure, held, excess = EXPOSURES[kind] / EXPOSURES[kind].mean(), [], []
    for seed in range(3):
        y = RNG.poisson(exposure * RATE)
        model = tg.PoissonRegression(epsilon=2.0, delta=1e-6, random_state=seed)
        model.fit(X, y, exposure=exposure)
        within = np.clip(X, *model.feature_bounds_.T)
        coef = optimum(1.0, within, y / exposure, exposure)
        low, high = model.conf_int()[:4].T
        held.append((low <= coef) & (coef <= high))
        rates = np.exp(within @ coef), np.exp(within @ model.coef_), np.ones(N_ROWS)
        best, own, constant = (
            np.mean(
                exposure * rate * y.sum() / (exposure @ rate) - y * np.log(rate / (exposure @ rate))
            )
            for rate in rates
        )
        excess.append((own - best) / (constant - best))
    assert np.mean(held) >= 0.9
    assert np.median(excess) < (0.4 if kind == "four decades" else 0.1)


@pytest.mark.long
@pytest.mark.parametrize("power", [1.0, 2.0])
@pytest.mark.parametrize("bound", [1.0, 8.0])
def test_weights_far_below_their_bound_leave_the_optimum_as_it_is(power, bound):
    """Uncorrected, slopes were off by .005 to .009 where weights are an eighth of their bound."""
    y = RNG.poisson(RATE) if power == 1.0 else np.maximum(RATE * RNG.gamma(1.5, 1.0, N_ROWS), 1e-9)
    weight = np.where(RNG.random(N_ROWS) < 0.5, 0.2, 1.0)
    model = (tg.PoissonRegression if power == 1.0 else tg.GammaRegression)(
        guarantee=tg.GDP(20.0), random_state=0, weight_bound=bound
    ).fit(X, y, sample_weight=weight)
    coef = optimum(power, np.clip(X, *model.feature_bounds_.T), y, weight)
    assert model.coef_ == pytest.approx(coef, abs=0.003)
    low, high = model.conf_int()[:4].T
    assert ((low <= coef) & (coef <= high)).all()


def test_a_correction_of_light_weights_is_dropped_and_a_note_says_so():
    """It is planned by the number of records, but their total weight is below 500 over mu."""
    y, told = RNG.poisson(RATE), []
    for bound in (50.0, 1.0):
        promise = {"epsilon": 1.0, "delta": 1e-6, "random_state": 0, "weight_bound": bound}
        model = tg.PoissonRegression(**promise).fit(X, y, sample_weight=np.ones(N_ROWS))
        assert "contribution rounds" in {stage.name for stage in model.plan_.stages}
        told.append(any(note.startswith("the total weight is small") for note in model.notes_))
        assert np.isfinite(model.conf_int()).any() == (bound == 1.0)
    assert told == [True, False]


@pytest.mark.parametrize("model", [tg.PoissonRegression, tg.GammaRegression, tg.TweedieRegression])
def test_a_tariff_of_levels_alone_has_exposures(model):
    """No column is measured but the exposure: the plan divided by their number."""
    table = pd.DataFrame({"use": np.where(X[:, 3] > 0.0, "work", "home"), "years": 1.0 + X[:, 3]})
    table["cost"] = table["years"] * RATE
    schema = {"categorical": {"use": ["home", "work"]}, "exposure": "years", "target": "cost"}
    fit = model(schema=schema, epsilon=2.0, delta=1e-6, random_state=0).fit(table)
    assert fit.coef_[0] == pytest.approx(0.4, abs=0.1)
