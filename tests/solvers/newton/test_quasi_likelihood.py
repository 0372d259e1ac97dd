"""Gamma and Tweedie losses, whose slopes are no plain residuals, by the default method."""

from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import TweedieRegressor

import tailguard as tg
from tailguard.queries.histograms import Bins
from tailguard.scaling.noisy_distribution import POINTS, NoisyDistribution
from tailguard.solvers.newton.clipping import SlopeDistribution
from tailguard.solvers.newton.covariance import solution
from tailguard.solvers.newton.schedule import HEADROOM
from tailguard.solvers.newton.start import curvature_weighting

N_ROWS = 20_000
SLOPES = np.array([0.5, -0.4, 0.2])
LARGE, BUDGET = {"guarantee": tg.GDP(20.0)}, {"epsilon": 1.0, "delta": 1e-6}
MODELS = {
    1.3: tg.TweedieRegression(power=1.3),
    1.7: tg.TweedieRegression(power=1.7),
    2.0: tg.GammaRegression(),
}
each_power = pytest.mark.parametrize("power", MODELS)


def model_of(power, seed=0, **more):
    return clone(MODELS[power]).set_params(random_state=seed, **more)


def records(power, seed=0, n_rows=N_ROWS, spread=1.0):
    """Bounded features, and targets of the Tweedie law with that power; lognormal ones for 2."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.5, 1.5, (n_rows, 3))
    mean = np.exp(0.3 + X @ SLOPES)
    if power == 2.0:
        return X, mean * np.exp(spread * rng.standard_normal(n_rows) - spread**2 / 2.0)
    claims = rng.poisson(mean ** (2.0 - power) / (2.0 - power))
    shape, scale = (2.0 - power) / (power - 1.0), (power - 1.0) * mean ** (power - 1.0)
    return X, rng.gamma(np.maximum(claims, 1) * shape, scale) * (claims > 0)


@cache
def large(power, unit=1.0):
    """A fit of the records with a large budget."""
    X, y = records(power)
    return model_of(power, **LARGE).fit(X, unit * y)


def optimum(power, X, y):
    return TweedieRegressor(power=power, alpha=0.0, link="log", max_iter=1000, tol=1e-8).fit(X, y)


def excess(power, model, X, y):
    """The loss above the optimum's, in parts of what that gains on a constant."""
    loss, best = model._loss(), optimum(power, X, y)
    scores = np.log(best.predict(X)), np.log(model.predict(X)), np.full(len(y), np.log(y.mean()))
    least, reached, constant = (float(loss.value(score, y).mean()) for score in scores)
    return (reached - least) / (constant - least)


@each_power
def test_a_large_budget_finds_the_optimum_of_scikit_learn(power):
    X, y = records(power)
    model, best = large(power), optimum(power, X, y)
    assert excess(power, model, X, y) < 0.01
    np.testing.assert_allclose(model.coef_, best.coef_, atol=0.02)
    np.testing.assert_allclose(model.intercept_, best.intercept_, atol=0.03)


@each_power
def test_heavy_tails_and_an_ordinary_budget_leave_most_of_the_gain(power):
    lost = [
        excess(power, model_of(power, seed, **BUDGET).fit(*records(power, seed)), *records(power))
        for seed in range(3)
    ]
    assert np.median(lost) < 0.05


@pytest.mark.parametrize("spread", [0.5, 1.2])
def test_the_constant_follows_the_mean_where_targets_are_skewed(spread):
    """Clipping takes from large targets alone: of lognormal ones the mean is far above the rest."""
    errors = []
    for seed in range(5):
        X, y = records(2.0, seed, spread=spread)
        errors.append(model_of(2.0, seed, **BUDGET).fit(X, y).intercept_ - 0.3)
    assert abs(np.mean(errors)) < 0.06


@pytest.mark.long
@each_power
def test_intervals_hold_the_truth(power):
    held, given = [], []
    for seed in range(16):
        model = model_of(power, seed, epsilon=2.0, delta=1e-6).fit(*records(power, seed))
        low, high = model.conf_int(0.95).T
        known = ~np.isnan(low)
        truth = np.append(SLOPES, 0.3)
        held += list((low <= truth)[known] & (truth <= high)[known])
        given += list(known)
    assert np.mean(given) > 0.8
    assert np.mean(held) > 0.9


@pytest.mark.parametrize(("power", "factor"), [(1.3, 1e-9), (1.7, 1e7), (2.0, 1e-9), (2.0, 1e7)])
def test_a_unit_of_the_target_moves_the_intercept_alone(power, factor):
    model, moved = large(power), large(power, factor)
    np.testing.assert_allclose(moved.coef_, model.coef_, atol=0.02)
    np.testing.assert_allclose(
        moved.intercept_ - model.intercept_, np.log(factor), atol=0.03, rtol=0.0
    )


@pytest.mark.parametrize(
    ("power", "intercept"), [(1.3, True), (1.7, False), (2.0, True), (2.0, False)]
)
def test_an_exposure_multiplies_what_is_expected(power, intercept):
    X, y = records(power, spread=0.5)
    X = X if intercept else np.column_stack([X, np.ones(len(X))])
    exposure = np.random.default_rng(1).uniform(0.2, 3.0, len(y))
    if power < 2.0:  # the law of a target is one of its mean: draw it anew
        _, y = records(power, seed=5)
        exposure = np.full(len(y), 2.0)
    model = model_of(power, fit_intercept=intercept, **LARGE).fit(
        X, exposure * y, exposure=exposure
    )
    rate = model.predict(X)
    np.testing.assert_allclose(rate.sum(), y.sum(), rtol=0.05)
    np.testing.assert_allclose(model.predict(X, exposure=exposure), exposure * rate, rtol=1e-9)


@pytest.mark.long
def test_the_ends_of_the_powers_are_the_models_of_their_own_names():
    X, y = records(1.3)
    for power, kind in ((1.0, tg.PoissonRegression), (2.0, tg.GammaRegression)):
        same = tg.TweedieRegression(power=power, random_state=0, **BUDGET).fit(X, y + 1e-9)
        own = kind(random_state=0, **BUDGET).fit(X, y + 1e-9)
        np.testing.assert_array_equal(same.coef_, own.coef_)


@pytest.mark.parametrize("limit", [0.3, 1.0, 4.0, 30.0])
@pytest.mark.parametrize("power", [1.0, 1.5, 2.0])
def test_what_clipped_slopes_still_rise_by_is_told_by_slopes_alone(limit, power):
    """Large targets have most of the curvature and are clipped first."""
    rng = np.random.default_rng(0)
    loss = {1.0: tg.losses.Poisson(), 1.5: tg.losses.Tweedie(), 2.0: tg.losses.Gamma()}[power]
    y = np.exp(rng.standard_normal(200_000) - 0.5)
    bins = Bins("signed", -30.0, 3.0, 180)
    slopes = loss.slope(0.0, y)
    counts = np.bincount(bins.index(slopes), minlength=bins.count).astype(float)
    told = SlopeDistribution(None, NoisyDistribution.of(counts, bins, 1e-6), fall=power - 1.0)
    step = 1e-4
    rise = np.clip(loss.slope(step, y), -limit, limit) - np.clip(
        loss.slope(-step, y), -limit, limit
    )
    assert told.curvature(limit) == pytest.approx(rise.mean() / (2.0 * step), abs=0.06)


def test_zeros_make_records_of_a_gamma_model_void_and_not_of_a_tweedie_model():
    X, y = records(2.0)
    some = np.where(np.arange(len(y)) % 4 == 0, 0.0, y)
    gamma = model_of(2.0, **LARGE).fit(X, some)
    np.testing.assert_allclose(gamma.predict(X).mean(), y.mean(), rtol=0.1)
    tweedie = model_of(1.7, **LARGE).fit(X, some)
    np.testing.assert_allclose(tweedie.predict(X).mean(), some.mean(), rtol=0.1)


def test_no_prediction_lies_far_beyond_the_targets():
    X, y = records(2.0, n_rows=3000)
    model = model_of(2.0, epsilon=0.3, delta=1e-4).fit(X, y)
    assert np.log(y.mean()) < model.score_bounds_[1] < np.log(1e3 * y.max())
    assert model.predict(np.full((1, 3), 1e9))[0] <= np.exp(model.score_bounds_[1]) * (1.0 + 1e-9)


@pytest.mark.parametrize("power", [1.0, *MODELS])
def test_a_fit_knows_mean_targets_and_expected_curvatures(power, monkeypatch):
    """The slopes of none but a Poisson loss tell them as plain residuals do."""
    reached = []

    def spied(session, fit):
        reached.append((session, fit))
        return solution(session, fit)

    monkeypatch.setattr("tailguard.solvers.newton.solver.solution", spied)
    X, y = records(power if power > 1.0 else 1.3)
    tg.TweedieRegression(power=power, random_state=0, **LARGE).fit(X, y)
    session, fit = reached[0]
    geometry, scale = fit.geometry, fit.geometry.units.target_scale
    clipped = np.minimum(y, HEADROOM * scale).mean()
    assert geometry.mean_target * scale == pytest.approx(clipped, rel=0.05)
    largest = (HEADROOM * geometry.mean_target) ** (2.0 - power)
    assert geometry.largest_curvature == pytest.approx(largest, rel=1e-9)
    expected = (np.exp(X @ SLOPES + 0.3) / scale) ** (2.0 - power)
    assert fit.clipping.rows.weight == pytest.approx(expected.mean(), rel=0.1)
    fall = (power - 1.0) / expected.mean()
    assert fit.clipping.slopes.fall == pytest.approx(fall, rel=0.1, abs=1e-12)
    kind = curvature_weighting(session, fit).kind
    assert kind == ("curvature" if power == 1.0 else "expected-curvature")


def codes(seed):
    """Amounts of a few units, and 99 where somebody wrote a code."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.5, 1.5, (N_ROWS, 3))
    y = np.ceil(np.exp(X @ SLOPES) * rng.gamma(2.0, 0.5, N_ROWS))
    return X, np.where(rng.random(N_ROWS) < 0.01, 99.0, y)


def test_targets_that_early_rounds_counted_are_not_forgotten():
    """A histogram may show them once and not again, when scores have spread."""
    lost = []
    for seed in range(4):
        X, y = codes(seed)
        model = model_of(2.0, seed, epsilon=4.0, delta=1e-6).fit(X, y)
        lost.append(np.log(model.predict(X).sum() / y.sum()))
    assert np.max(np.abs(lost)) < 0.1


def rare_amounts(seed, n_rows=4000):
    """Zeros, and lognormal amounts of which hardly one lies in a bin that stands out of noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.5, 1.5, (n_rows, 3))
    amounts = np.exp(rng.standard_normal(n_rows) - 0.5) * (rng.random(n_rows) < 0.3) / 0.3
    return X, np.exp(X @ SLOPES) * amounts


def test_targets_that_no_histogram_shows_are_not_clipped_away():
    """What is seen of slopes does not average zero: the rest is beyond, and is worth its noise."""
    lost, levels = [], []
    for seed in range(5):
        X, y = rare_amounts(seed)
        model = tg.TweedieRegression(power=1.5, random_state=seed, **BUDGET).fit(X, y)
        lost.append(excess(1.5, model, X, y))
        levels.append(np.log(model.predict(X).sum() / y.sum()))
    assert np.median(lost) < 1.0  # a constant
    assert max(lost) < 2.0
    assert np.mean(np.abs(levels)) < 0.6


@pytest.mark.parametrize("reach", [0.0, 0.5, 6.0])
def test_what_lies_beyond_all_that_is_seen_balances_it(reach):
    edges = np.linspace(-0.8, 1.2, 41)
    points = np.repeat(edges[:-1], POINTS) + np.tile((np.arange(POINTS) + 0.5) * 0.05 / POINTS, 40)
    whole = NoisyDistribution(points, np.full(points.size, 1.0 / points.size), 1.0, 99.0, edges)
    slopes = SlopeDistribution(None, whole, fall=0.5, reach=reach)
    hidden = 0.2 if reach > 1.2 else 0.0
    assert slopes.unseen == pytest.approx(-hidden)
    assert slopes.limits.max() == pytest.approx(reach if hidden else points.max())
    for limit in (0.7, 1.2):
        kept = np.clip(points, -limit, limit)
        assert slopes.bias(limit) == pytest.approx((points - kept).mean() - hidden)
    if hidden:
        assert slopes.bias(reach) == pytest.approx(0.0)
        assert slopes.variance(reach) == pytest.approx((points**2).mean() + reach * hidden)
        assert slopes.curvature(reach) == pytest.approx(1.0)  # slopes average zero


def test_amounts_whose_scale_is_hidden_at_first_still_have_a_constant_of_their_size():
    """With these seeds the planned histogram shows no scale in most fits."""
    X, y = records(2.0, n_rows=480)
    found = 0
    for seed in range(6):
        model = model_of(2.0, seed, epsilon=0.3, delta=1e-6).fit(X, 1e6 * y)
        found += "scale of the target at first" in " ".join(model.notes_)
        assert 0.1 < model.predict(X).mean() / (1e6 * y.mean()) < 10.0
    assert found >= 3


def test_a_constant_of_hidden_amounts_counts_their_exposures():
    """Without the scale of exposures that was measured, totals were 24 to 73 times too large."""
    X, y = records(2.0, n_rows=480)
    exposure, found = 365.0 * np.random.default_rng(0).uniform(0.8, 1.2, 480), 0
    for seed in range(6):
        model = model_of(2.0, seed, epsilon=0.3, delta=1e-6).fit(X, 1e6 * y, exposure=exposure)
        found += "scale of the target at first" in " ".join(model.notes_)
        assert 0.1 < model.predict(X, exposure=exposure).mean() / (1e6 * y.mean()) < 10.0
    assert found >= 3


def test_a_constant_that_is_a_guess_says_so():
    X, y = records(2.0, n_rows=600)
    model = model_of(2.0, epsilon=0.3, delta=1e-6, check_records=False).fit(X, np.nan * y)
    assert "no better than a guess" in " ".join(model.notes_)
    assert np.isfinite(model.predict(X)).all()


def test_a_fit_whose_slopes_noise_hid_says_that_it_is_a_constant():
    constants = 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((2_400, 12))
        y = rng.gamma(1.0, 1.0, 2_400) + 1e-9
        model = tg.GammaRegression(epsilon=1.0, delta=1e-6, random_state=seed).fit(X, y)
        constant = bool(np.abs(model.coef_).max() < 1e-9)
        assert any("every slope" in note for note in model.notes_) == constant
        constants += constant
    assert 0 < constants < 24
