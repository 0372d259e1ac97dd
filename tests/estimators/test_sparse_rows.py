"""Sparse features at the public names: the bits of the dense array, and little memory."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import tailguard as tg
from support.problems import example_of
from support.registered import ESTIMATORS
from support.solvers import SOLVERS, few_rounds, make_solver
from support.targets import target_for
from tailguard.data.rows import arrays
from tailguard.means.choice import MEANS

N_ROWS = 1500
BUDGET = {"epsilon": 8.0, "delta": 1e-3, "random_state": 3}
MODELS = [*ESTIMATORS.values()]


def records(n_rows=N_ROWS, dtype=np.float64):
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((n_rows, 6), density=0.4, format="csr", rng=rng).astype(dtype)
    return X, X.toarray(), (X.sum(axis=1) + 0.3 * rng.standard_normal(n_rows)).astype(float)


def target(model, y):
    return target_for(model, y - y.mean(), np.random.default_rng(1))


@pytest.fixture(scope="module", params=MODELS)
def of_dense(request):
    """Each model, fitted on the dense array."""
    _, dense, y = records()
    return few_rounds(request.param, **BUDGET).fit(dense, target(request.param, y))


def test_every_model_fits_and_predicts_as_of_the_dense_array(of_dense):
    """Each of them of one format; tests/data/test_sparse.py has them all."""
    kinds = "csr_array", "csr_matrix", "csc_array", "coo_matrix"
    X, dense, y = records()
    given = getattr(scipy.sparse, kinds[MODELS.index(type(of_dense)) % 4])(X)
    of_sparse = clone(of_dense).fit(given, target(type(of_dense), y))
    of_sparse = pickle.loads(pickle.dumps(of_sparse))
    assert of_sparse.coef_.tobytes() == of_dense.coef_.tobytes()
    assert of_sparse.certificate_.to_json() == of_dense.certificate_.to_json()
    for name in ("predict", "decision_function", "predict_proba"):
        if hasattr(of_dense, name):
            said = [getattr(of_sparse, name)(given), getattr(of_dense, name)(dense)]
            assert said[0].tobytes() == said[1].tobytes()


@pytest.mark.long
@pytest.mark.parametrize("model", [tg.LinearRegression, tg.LogisticRegression])
def test_scores_and_searches_are_those_of_the_dense_array(model):
    X, dense, y = records()
    y = target(model, y)
    fitted = model(**BUDGET).fit(X, y)
    assert fitted.score(X, y) == fitted.score(dense, y)
    candidates = {"fit_intercept": [True, False]}
    told = {"n_tries": 2, **BUDGET}
    found = [
        tg.PrivateSearch(model(), candidates, **told).fit(each, y).predict(each).tobytes()
        for each in (X, dense)
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("method", [*MEANS, "auto"])
def test_every_mean_is_that_of_the_dense_array(method):
    X, dense, _ = records()
    found = [tg.mean(each, method=method, **BUDGET).value.tobytes() for each in (X, dense)]
    assert found[0] == found[1]


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_finds_what_it_finds_of_the_dense_array(solver):
    X, dense, y = records(n_rows=300)  # some take as many steps as there are records
    shown = example_of(solver)
    told = {"constraint": shown.constraint, "intercept": shown.intercept}
    told["solver"] = make_solver(solver)
    found = [
        tg.minimize(tg.losses.Squared(), each, y, **told, **BUDGET).coef.tobytes()
        for each in (X, dense)
    ]
    assert found[0] == found[1]


def test_missing_and_infinite_cells_are_those_of_the_dense_array():
    X, _, y = records()
    X.data[::50], X.data[7::50], X.data[11::50] = np.nan, np.inf, 0.0
    for missing in (None, {0: 0.5, 3: 1.0}):
        model = tg.LinearRegression(missing=missing, **BUDGET)
        of_sparse, of_dense = (clone(model).fit(each, y) for each in (X, X.toarray()))
        assert of_sparse.coef_.tobytes() == of_dense.coef_.tobytes()
        said = of_sparse.predict(X)
        np.testing.assert_array_equal(said, of_dense.predict(X.toarray()))
        assert np.isnan(said).any()


# Entries of one record: none, columns that are not there, a thousand in one cell, and no numbers.
REPLACEMENTS = {
    "nothing": ([], []),
    "no such column": ([2, 2**30, -5], [1.0, 1.0, 1.0]),
    "many": (np.arange(3000) % 6, np.ones(3000)),
    "huge": ([0, 0, 1], [1e308, 1e308, -np.inf]),
    "not a number": ([4], [np.nan]),
}


def with_record(X, columns, values):
    """The same matrix with other entries in its first record."""
    end = X.indptr[1]
    replaced = scipy.sparse.csr_array(X.shape)
    replaced.data = np.concatenate([values, X.data[end:]]).astype(float)
    replaced.indices = np.concatenate([columns, X.indices[end:]]).astype(np.int32)
    replaced.indptr = np.concatenate([[0], X.indptr[1:] - end + len(values)]).astype(np.int32)
    return replaced


def told_of(X, y):
    """What fits of the records are warned of and charged."""
    private = {"epsilon": 8.0, "delta": 1e-4}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        models = (tg.LinearRegression, tg.HuberRegression, tg.LogisticRegression)
        plans = [model(**private).fit(X, target(model, y)).plan_ for model in models]
        plans.append(tg.mean(X, **private).choice.plan)
    return plans, [str(each.message) for each in warned]


@pytest.fixture(scope="module")
def told():
    X, _, y = records()
    return told_of(X, y)


@pytest.mark.parametrize("kind", REPLACEMENTS)
def test_no_replaced_record_raises_or_changes_what_is_warned_of_and_charged(kind, told):
    X, _, y = records()
    assert told_of(with_record(X, *REPLACEMENTS[kind]), y) == told


def test_a_record_of_a_column_that_is_not_there_is_void():
    X, dense, y = records()
    dense[0] = np.nan
    replaced = with_record(X, *REPLACEMENTS["no such column"])
    found = [tg.LinearRegression(**BUDGET).fit(each, y).coef_ for each in (replaced, dense)]
    assert found[0].tobytes() == found[1].tobytes()


def peak_of_a_mean(n_rows, n_columns):
    """The most memory of one mean beyond its sparse table, and how large that were if dense."""
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((n_rows, n_columns), density=0.002, format="csr", rng=rng)
    tracemalloc.start()
    try:
        result = tg.mean(X, epsilon=1.0, delta=1e-6, method="clipped")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.value.shape == (n_columns,)
    return peak, 8 * n_rows * n_columns


@pytest.mark.filterwarnings("ignore::tailguard.BudgetWarning")
def test_memory_does_not_grow_with_the_number_of_rows(monkeypatch):
    monkeypatch.setenv("TAILGUARD_NUM_THREADS", "1")
    monkeypatch.setattr(arrays, "NUMBERS_AT_ONCE", 100_000)
    peak_of_a_mean(1_000, 100)  # compiles
    (few, _), (many, dense) = peak_of_a_mean(5_000, 100), peak_of_a_mean(20_000, 100)
    assert many < 1.2 * few + 1e6
    assert many < dense / 2


def test_indicators_of_declared_categories_are_fitted_as_they_come():
    rng = np.random.default_rng(1)
    words = rng.choice(["north", "south", "west"], (4000, 1))
    y = (words[:, 0] == "south") + 0.1 * rng.standard_normal(4000)
    encoder = OneHotEncoder(categories=[["north", "south", "west"]], handle_unknown="ignore")
    columns = ColumnTransformer([("where", encoder, [0])], sparse_threshold=1.0)
    model = tg.HuberRegression(epsilon=5.0, delta=1e-6, random_state=0)
    assert scipy.sparse.issparse(columns.fit_transform(words))
    fitted = make_pipeline(columns, model).fit(words, y)
    north, south, west = fitted.predict(np.array([["north"], ["south"], ["west"]]))
    assert south - max(north, west) > 0.5


def test_a_sparse_target_and_tables_that_name_columns_are_refused_in_one_sentence():
    X, dense, y = records()
    with pytest.raises(tg.InputError, match="y must be dense"):
        tg.LinearRegression(**BUDGET).fit(dense, scipy.sparse.coo_array(y))
    with pytest.raises(tg.InputError, match="table whose column names are text"):
        tg.LinearRegression(**BUDGET).fit(X, y, columns=["a"])
    fitted = tg.LinearRegression(**BUDGET).fit(X, y)
    with pytest.raises(ValueError, match="3 features, but LinearRegression is expecting 6"):
        fitted.predict(X[:, [0, 1, 2]])
