"""No bounds, no tuning: raw units from 1e-6 to 1e6, offsets of 50 sd, log-normal noise.

The noise is the real one (``random_state=None``), so every run differs; the margins are wide enough
for that. "Explains most": at least four fifths of what a fit without privacy explains.
"""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression as PlainLogistic
from sklearn.linear_model import PoissonRegressor

import tailguard as tg

N_ROWS = 100_000
SIZES = np.array([1e-6, 1e-3, 1.0, 1e3, 1e6])
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
MOST = 0.8


def design(seed):
    """Five columns, of which two are skewed, in units from 1e-6 to 1e6 and 50 sd from zero."""
    rng = np.random.default_rng(seed)
    plain = rng.standard_normal((N_ROWS, 5))
    plain[:, 3:] = (np.exp(0.8 * plain[:, 3:]) - 1.0) / 1.5
    return rng, plain, SIZES * (plain + 50.0)


def explained(target, prediction):
    return 1.0 - np.mean((target - prediction) ** 2) / np.var(target)


def least_squares(X, y):
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    A = np.column_stack([standard, np.ones(len(X))])
    return A @ np.linalg.lstsq(A, y, rcond=None)[0]


MODELS = (tg.LinearRegression, tg.HuberRegression, tg.QuantileRegression)
SIZED = [
    pytest.param(model, size, marks=() if (place + (size > 1.0)) % 2 else pytest.mark.audit)
    for place, model in enumerate(MODELS)
    for size in (1e-6, 1e6)
]


@pytest.mark.parametrize(("model", "size"), SIZED)
def test_regressions_explain_most_of_what_a_fit_without_privacy_explains(model, size):
    rng, plain, X = design(0)
    signal = plain @ np.array([1.0, -0.7, 0.5, 0.8, -0.4])
    noise = rng.lognormal(size=N_ROWS) - np.exp(0.5)
    y = size * (50.0 + signal + 0.5 * noise)
    fitted = model(**BUDGET).fit(X, y)
    assert explained(y, fitted.predict(X)) >= MOST * explained(y, least_squares(X, y))
    assert fitted.certificate_.mode == "private"


@pytest.mark.parametrize("size", [1e-6, pytest.param(1e6, marks=pytest.mark.audit)])
def test_fourth_powers_come_out_smaller_than_those_of_least_squares(size):
    """The optimum of the fourth power is far from least squares on skewed noise."""
    rng, plain, X = design(0)
    signal = plain @ np.array([1.0, -0.7, 0.5, 0.8, -0.4])
    y = size * (50.0 + signal + 0.5 * (rng.lognormal(size=N_ROWS) - np.exp(0.5)))
    fits = [tg.LpRegression(**BUDGET | {"random_state": seed}).fit(X, y) for seed in range(5)]
    ours = np.median([np.mean((y - fit.predict(X)) ** 4) for fit in fits])
    assert ours <= 0.97 * np.mean((y - least_squares(X, y)) ** 4)


def test_logistic_explains_most_of_the_deviance():
    rng, plain, X = design(1)
    y = (rng.random(N_ROWS) < expit(0.3 + plain @ [1.0, -0.7, 0.5, 0.8, -0.4])).astype(int)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    reference = PlainLogistic(C=1e6).fit(standard, y).predict_proba(standard)[:, 1]
    fitted = tg.LogisticRegression(**BUDGET).fit(X, y).predict_proba(X)[:, 1]

    def gain(p):
        p = np.clip(p, 1e-9, 1 - 1e-9)
        base = y.mean()
        entropy = -(base * np.log(base) + (1 - base) * np.log(1 - base))
        return entropy + np.mean(y * np.log(p) + (1 - y) * np.log1p(-p))

    assert gain(fitted) >= MOST * gain(reference)


@pytest.mark.parametrize("base_rate", [0.1, 30.0])
def test_poisson_explains_most_of_the_deviance_with_exposure(base_rate):
    rng, plain, X = design(2)
    exposure = rng.uniform(0.1, 1.0, N_ROWS)
    rate = base_rate * np.exp(plain @ [0.4, -0.3, 0.2, 0.2, -0.2])
    y = rng.poisson(exposure * rate)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    reference = PoissonRegressor(alpha=0.0, max_iter=300)
    reference.fit(standard, y / exposure, sample_weight=exposure)
    expected = exposure * reference.predict(standard)
    fitted = tg.PoissonRegression(**BUDGET).fit(X, y, exposure=exposure)

    def gain(mean):
        null = exposure * y.sum() / exposure.sum()
        return np.mean(y * np.log(mean / null) - (mean - null))

    assert gain(fitted.predict(X, exposure=exposure)) >= MOST * gain(expected)


def test_the_quantile_level_is_met():
    rng, plain, X = design(3)
    y = plain[:, 0] + rng.lognormal(size=N_ROWS)
    fitted = tg.QuantileRegression(level=0.9, **BUDGET).fit(X, y)
    assert np.mean(y <= fitted.predict(X)) == pytest.approx(0.9, abs=0.03)


@pytest.mark.long
def test_the_predicted_privacy_noise_is_of_the_right_size():
    _, _, X = design(4)
    X, y = X[:10_000], X[:10_000, 0] * 1e6
    fits = [tg.LinearRegression(**BUDGET, random_state=s).fit(X, y) for s in range(8)]
    seen = np.nanstd([fit.coef_frame()["coefficient"][:-1] for fit in fits], axis=0)
    predicted = np.nanmean([fit.coef_noise_std_ for fit in fits], axis=0)
    assert np.mean(np.isnan([fit.coef_noise_std_ for fit in fits])) < 0.05  # not estimated
    assert ((seen / predicted > 0.3) & (seen / predicted < 3.0)).all()


@pytest.mark.parametrize("n_rows", [300, 1_000, 5_000])
@pytest.mark.parametrize("share_of_ones", [None, 0.5, 0.1])
@pytest.mark.parametrize("seeds", [range(5), pytest.param(range(5, 60), marks=pytest.mark.audit)])
def test_too_few_rows_give_plain_and_never_absurd_coefficients(n_rows, share_of_ones, seeds):
    """Where scales cannot be told, columns are read in public units; no search goes astray."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n_rows, 5))
        if share_of_ones:
            X[:, 0] = rng.random(n_rows) < share_of_ones
        fitted = tg.LinearRegression(**BUDGET, random_state=seed).fit(X, X.sum(axis=1))
        assert np.abs(fitted.coef_).max() < 1e3
