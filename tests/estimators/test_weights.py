"""Fits by sample weights: their optimum, what noise and sampling do to them, where they enter."""

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor

import tailguard as tg
from tailguard.gate.stage import WEIGHT
from tailguard.scaling.required_records import WEIGHS_LITTLE

N_ROWS, BOUND = 8_000, 4.0
BUDGET = {"epsilon": 4.0, "delta": 1e-6, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N_ROWS, 2))
# Half of the records, of which another line is true, weigh three times as much.
HEAVY = X[:, 0] > 0.0
W = np.minimum(RNG.exponential(size=N_ROWS) * np.where(HEAVY, 3.0, 1.0), BOUND)
SCORE = X @ [1.0, -0.5] + 0.5 * X[:, 0] ** 2
COSTS = SCORE + RNG.standard_normal(N_ROWS)
ILL = (SCORE + RNG.logistic(size=N_ROWS) > 0.5).astype(int)
COUNTS = RNG.poisson(np.exp(0.5 * SCORE - 0.5)).astype(float)
TABLE = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "cost": COSTS, "w": W})
MODELS = {
    "linear": (tg.LinearRegression, COSTS, LinearRegression()),
    "logistic": (tg.LogisticRegression, ILL, LogisticRegression(C=np.inf)),
    "poisson": (tg.PoissonRegression, COUNTS, PoissonRegressor(alpha=0.0, max_iter=1_000)),
}


def weights_of(model):
    return np.array([*np.ravel(model.coef_), *np.ravel(model.intercept_)])


def fitted(model=tg.LinearRegression, y=COSTS, weight=W, **options):
    return model(**{**BUDGET, "weight_bound": BOUND, **options}).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_comes_near_the_weighted_optimum_and_not_near_the_other(name):
    model, y, reference = MODELS[name]
    found = weights_of(fitted(model, y, epsilon=None, delta=None, guarantee=tg.GDP(20.0)))
    best, other = (weights_of(reference.fit(X, y, sample_weight=w)) for w in (W, None))
    assert np.abs(found - best).max() < 0.05
    assert np.abs(found - best).max() < 0.3 * np.abs(other - best).max()


@pytest.mark.parametrize("name", MODELS)
def test_equal_weights_are_none_whatever_the_bound_but_for_noise(name):
    """A bound eight times as large as need be leaves errors through sampling as they are."""
    model, y, _ = MODELS[name]
    options = {"epsilon": None, "delta": None, "guarantee": tg.GDP(20.0)}
    plain = model(guarantee=tg.GDP(20.0), random_state=0).fit(X, y)
    loose = fitted(model, y, np.full(N_ROWS, BOUND / 8.0), **options)
    # Runs of counts vary by .02 in one standard deviation, weighted ones, and others by .01.
    atol = 0.06 if name == "poisson" else 0.02
    np.testing.assert_allclose(weights_of(loose), weights_of(plain), atol=atol)
    if name != "poisson":  # whose standard errors vary more from run to run, weighted or not
        np.testing.assert_allclose(loose.coef_std_, plain.coef_std_, rtol=0.2)


def test_rows_of_no_weight_do_not_matter():
    """A quarter of the rows is nonsense and weighs nothing: the fit is that of the others."""
    junk, y = RNG.uniform(size=N_ROWS) < 0.25, COSTS.copy()
    y[junk] = 1e6
    found = fitted(y=y, weight=(~junk).astype(float), weight_bound=1.0)
    expected = LinearRegression().fit(X[~junk], COSTS[~junk])
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=0.1)


def test_weights_above_the_bound_are_cut_and_bad_ones_make_rows_void():
    found = fitted(weight=np.where(W > 1.0, 1e300, W), weight_bound=1.0)
    assert (
        weights_of(found).tolist()
        == weights_of(fitted(weight=np.minimum(W, 1.0), weight_bound=1.0)).tolist()
    )
    for bad in (np.nan, -1.0, np.inf):
        some = np.where(np.arange(N_ROWS) % 3 == 0, bad, W)
        y = np.where(np.arange(N_ROWS) % 3 == 0, np.nan, COSTS)
        assert weights_of(fitted(weight=some)).tolist() == weights_of(fitted(y=y)).tolist()


def test_the_plan_spends_what_it_says_and_the_certificate_tells_of_weights():
    found = fitted()
    stage = found.plan_.stage(WEIGHT)
    assert stage.mu == pytest.approx(0.1 * found.plan_.total_mu, rel=0.05)
    certificate = found.certificate_
    assert [r.name for r in certificate.releases].count("total weight of usable records") == 1
    assert certificate.total.epsilon <= 4.0
    assert "rows count by their weights; weights above 4 are cut" in found.notes_
    assert "weights above 4 are cut" in certificate.to_json()
    assert "weights above 4 are cut" in " ".join(str(found.summary()).splitlines())
    assert not any("weights" in note for note in tg.LinearRegression(**BUDGET).fit(X, COSTS).notes_)


def test_the_noise_that_is_stated_grows_as_weights_add_up_to_less():
    # With more, contributions are corrected: they carry their weight before they are cut.
    options = {"epsilon": None, "delta": None, "guarantee": tg.GDP(0.24)}
    y = SCORE + np.random.default_rng(0).standard_normal(N_ROWS)
    noise = [
        [
            fitted(y=y, weight=np.full(N_ROWS, part), weight_bound=1.0, random_state=s, **options)
            for s in range(8)
        ]
        for part in (1.0, 0.5)
    ]
    whole, half = (np.log([fit.coef_noise_std_ for fit in fits]).mean() for fits in noise)
    assert 1.25 < np.exp(half - whole) < 3.0


def constant_by(weight):
    """A fit of so many columns that its budget buys a constant alone."""
    model = tg.LogisticRegression(epsilon=0.05, delta=1e-6, random_state=0, weight_bound=BOUND)
    with pytest.warns(tg.BudgetWarning):
        return model.fit(np.tile(X, (1, 150)), HEAVY.astype(int), sample_weight=weight)


def test_a_budget_for_a_constant_alone_serves_the_weighted_constant():
    found = constant_by(W)
    assert found.plan_.stages[-1].name == WEIGHT
    assert not found.coef_.any()
    share = np.average(HEAVY, weights=W)
    assert abs(1.0 / (1.0 + np.exp(-found.intercept_)) - share) < 0.12 < abs(share - 0.5)


def test_weights_that_noise_hides_leave_no_coefficient():
    found = fitted(weight=np.full(N_ROWS, 1e-9))
    assert np.isfinite(weights_of(found)).all()
    assert np.isnan(found.coef_noise_std_).all()


@pytest.mark.parametrize("model", [tg.LinearRegression, tg.LogisticRegression, "classes"])
def test_a_bound_far_above_the_weights_is_noted_by_the_released_total(model):
    y = COSTS if model is tg.LinearRegression else ILL
    if model == "classes":
        model, y = partial(tg.LogisticRegression, classes=(0, 1, 2)), ILL + HEAVY
    options = {"epsilon": None, "delta": None, "guarantee": tg.GDP(20.0)}
    loose, close = (
        fitted(model, y, weight_bound=bound, **options) for bound in (40.0 * BOUND, BOUND)
    )
    mean = np.mean(W) / (40.0 * BOUND)
    (note,) = (note for note in loose.notes_ if note.startswith(WEIGHS_LITTLE))
    times = float(re.search(r"about 1/(\d+) of weight_bound", note)[1])
    assert 1.0 / times == pytest.approx(mean, rel=0.2)
    assert note in " ".join(str(loose.summary()).split())
    assert not any(note.startswith(WEIGHS_LITTLE) for note in close.notes_)


def test_a_constant_alone_has_the_note_as_well():
    found = constant_by(np.full(N_ROWS, 0.02 * BOUND))
    assert not found.coef_.any()
    assert sum(note.startswith(WEIGHS_LITTLE) for note in found.notes_) == 1


@pytest.mark.long
def test_tables_files_schemas_and_rows_without_order_name_the_weight(tmp_path):
    expected = weights_of(fitted()).tolist()
    path = tmp_path / "rows.parquet"
    TABLE.to_parquet(path)
    schema = {"target": "cost", "weight": "w", "weight_bound": BOUND}
    for source in (TABLE, path):
        named = tg.LinearRegression(**BUDGET, weight_bound=BOUND)
        named = named.fit(source, target="cost", sample_weight="w")
        declared = tg.LinearRegression(schema=schema, **BUDGET).fit(source)
        assert weights_of(named).tolist() == weights_of(declared).tolist() == expected
    TABLE.assign(key=np.arange(N_ROWS)).to_parquet(path)
    shuffled = TABLE.assign(key=np.arange(N_ROWS)).sample(frac=1.0, random_state=1)
    found = [
        weights_of(tg.LinearRegression(schema=schema, **BUDGET).fit(s, row_id="key")).tolist()
        for s in (path, shuffled)
    ]
    assert found[0] == found[1]
    np.testing.assert_allclose(found[0], expected, atol=0.1)


def test_the_general_form_and_a_search_take_weights():
    given = {"sample_weight": W, "weight_bound": BOUND}
    solved = tg.minimize(tg.losses.Squared(), X, COSTS, intercept=True, **given, **BUDGET)
    assert [*solved.coef, solved.intercept] == weights_of(fitted()).tolist()
    model = tg.LinearRegression(weight_bound=BOUND)
    search = tg.PrivateSearch(model, [{}], n_tries=2, **BUDGET).fit(X, COSTS, sample_weight=W)
    best = weights_of(LinearRegression().fit(X, COSTS, sample_weight=W))
    np.testing.assert_allclose(weights_of(search.best_estimator_), best, atol=0.15)


def test_a_sample_of_many_rows_is_weighed_too():
    """Beyond 200 000 rows what steers reads a random tenth."""
    times = 30
    many, y, weight = np.tile(X, (times, 1)), np.tile(COSTS, times), np.tile(W, times)
    model = tg.LinearRegression(**BUDGET, weight_bound=BOUND).fit(many, y, sample_weight=weight)
    assert any(stage.block_map == "sample" for stage in model.plan_.stages)
    best = weights_of(LinearRegression().fit(X, COSTS, sample_weight=W))
    np.testing.assert_allclose(weights_of(model), best, atol=0.02)


REFUSED = [
    ({}, {"sample_weight": W}, "weight_bound must be declared beside sample_weight"),
    ({"weight_bound": 0.0}, {"sample_weight": W}, "weight_bound must be"),
    ({"weight_bound": np.inf}, {"sample_weight": W}, "weight_bound must be"),
    ({"weight_bound": 1.0}, {"sample_weight": W[:5]}, "sample_weight must have one entry per row"),
]


@pytest.mark.parametrize(("options", "given", "message"), REFUSED)
def test_what_does_not_fit_is_refused_in_a_sentence(options, given, message):
    with pytest.raises(tg.InputError, match=message):
        tg.LinearRegression(**BUDGET, **options).fit(X, COSTS, **given)


def test_a_column_of_words_for_weights_is_named_by_the_count_of_usable_rows():
    table = TABLE.assign(w="heavy")
    model = tg.LinearRegression(weight_bound=1.0, **BUDGET)
    with pytest.raises(
        tg.UnusableTableError, match=r"Weight 'w' holds .* cells that are no weights"
    ):
        model.fit(table, target="cost", sample_weight="w")
