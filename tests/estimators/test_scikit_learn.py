"""Estimators live in scikit-learn's world: clone, pickle, pipelines, names, tables."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import tailguard as tg
from support.registered import ESTIMATORS
from support.solvers import few_rounds
from support.targets import target_for
from tailguard.estimators.model_file import model_text
from tailguard.gate.engine import Solved

MODELS = [*ESTIMATORS.values()]
every_model = pytest.mark.parametrize("model", MODELS)
a_number_and_a_label = pytest.mark.parametrize(
    "model", [tg.LinearRegression, tg.LogisticRegression]
)
BUDGET = {"epsilon": 5.0, "delta": 1e-5}


def brief(model, **options):
    return few_rounds(model, **BUDGET, **options)


def data(model, n_rows=500):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 3))
    return X, target_for(model, X[:, 0], rng)


@every_model
def test_parameters_are_keyword_only_and_survive_a_clone(model):
    built = model(**BUDGET, fit_intercept=False)
    copied = clone(built)
    assert copied.get_params() == built.get_params()
    assert copied.set_params(epsilon=2.0).epsilon == 2.0
    with pytest.raises(TypeError):
        model(1.0)


STORED = {"coef_", "intercept_", "coef_noise_std_", "intercept_noise_std_"}
STORED |= {"coef_std_", "intercept_std_", "notes_", "schema_", "feature_bounds_"}
STORED |= {"score_bounds_", "interval_center_", "reasons_", "total_error_"}
STORED |= {"certificate_", "plan_", "n_features_in_", "feature_names_in_", "classes_"}
STORED |= {"_fits"}  # events of plans, for the warning of a second fit
# for covariance_ and predict(interval=)
STORED |= {"_covariance_root", "_residual_shares", "_residual_center"}


@every_model
def test_a_fitted_model_stores_the_documented_attributes_and_nothing_else(model):
    X, y = data(model)
    fitted = brief(model).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    assert set(vars(fitted)) - set(fitted.get_params()) <= STORED


@a_number_and_a_label
def test_every_kind_of_table_gives_the_same_coefficients_and_the_names(model):
    X, y = data(model)
    names = ["age", "cost", "visits"]
    frame = pd.DataFrame(X, columns=names)
    tables = [frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)]
    expected = brief(model, random_state=1).fit(X, y)
    for table in tables:
        fitted = brief(model, random_state=1).fit(table, y)
        np.testing.assert_array_equal(fitted.coef_, expected.coef_)
        np.testing.assert_array_equal(fitted.predict(table), expected.predict(X))
        assert "cost" in fitted.summary()
    assert fitted.n_features_in_ == 3
    fitted = brief(model).fit(frame, y)
    assert list(fitted.feature_names_in_) == names
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[names[::-1]])


@a_number_and_a_label
def test_it_works_at_the_end_of_a_pipeline_with_table_output(model):
    X, y = data(model)
    pipeline = make_pipeline(FunctionTransformer(np.log1p, inverse_func=np.expm1), brief(model))
    pipeline.set_output(transform="pandas")
    frame = pd.DataFrame(np.abs(X), columns=["a", "b", "c"])
    fitted = pipeline.fit(frame, y)
    assert fitted.predict(frame).shape == (500,)
    assert list(fitted[-1].feature_names_in_) == ["a", "b", "c"]


@a_number_and_a_label
def test_cross_validation_scores_it(model):
    X, y = data(model)
    scores = cross_val_score(brief(model), X, y, cv=3)
    assert np.isfinite(scores).all()


@every_model
def test_it_has_a_picture_and_a_kind(model):
    assert "epsilon" in brief(model)._repr_html_()
    assert is_classifier(model()) != is_regressor(model())


@every_model
def test_a_missing_promise_is_one_clear_sentence_at_fit(model):
    X, y = data(model)
    with pytest.raises(tg.InputError, match=r"epsilon.*delta|guarantee"):
        model().fit(X, y)
    with pytest.raises(tg.InputError, match="pure"):
        model(guarantee=tg.PureDP(1.0)).fit(X, y)
    with pytest.raises(tg.InputError, match="epsilon"):
        model(epsilon=-1.0, delta=1e-6).fit(X, y)


@every_model
def test_nothing_depends_on_what_the_records_hold(model, recwarn):
    """Adversarial records give the same charge and no warning; the one exception was released.

    Released evidence may skip a stage, so some releases may be missing; none is ever added, but for
    the one that says why a run stops.
    """
    X, y = data(model)
    expected = brief(model).fit(X, y).certificate_
    large = few_rounds(model, guarantee=tg.GDP(50.0)).fit(X, y)
    planned = {r.name for r in large.certificate_.releases}
    for spoiled in (np.nan, 1e308, 5e-324):
        bad_X, bad_y = X.copy(), y.astype(float)
        bad_X[:250], bad_y[200:] = spoiled, spoiled
        found = [brief(model, on_unusable="fit").fit(bad_X, bad_y).certificate_]
        try:
            found.append(brief(model).fit(bad_X, bad_y).certificate_)
        except tg.UnusableTableError as stopped:
            found.append(stopped.certificate)
        for certificate in found:
            assert {r.name for r in certificate.releases} <= planned | {"kinds of cells by column"}
            assert certificate.total.epsilon == pytest.approx(expected.total.epsilon, rel=1e-6)
    assert not recwarn.list


def test_a_row_with_a_missing_value_is_predicted_and_scored_as_the_first_class():
    X, y = data(tg.LogisticRegression)
    fitted = tg.LogisticRegression(**BUDGET, random_state=2).fit(X, y)
    missing = X.copy()
    missing[:, 0] = np.nan
    assert np.isnan(fitted.predict_proba(missing)).all()
    np.testing.assert_array_equal(fitted.predict(missing), fitted.classes_[0])
    assert fitted.score(missing, y) == pytest.approx(np.mean(y == fitted.classes_[0]))


@pytest.mark.parametrize("classes", [(0,), (0, 0), (0, 1, 1)])
def test_classes_must_be_different_labels(classes):
    X, y = data(tg.LogisticRegression)
    with pytest.raises(tg.InputError, match="classes must be different labels, two at least"):
        tg.LogisticRegression(**BUDGET, classes=classes).fit(X, y)


@pytest.mark.parametrize(
    "classes", [3, "01", {0, 1}, frozenset("ab"), iter((0, 1)), map(int, "01")]
)
def test_classes_have_an_order_and_can_be_read_twice(classes):
    """The order of a set of texts is another in every process, and with it the sign of a fit."""
    X, y = data(tg.LogisticRegression)
    model = tg.LogisticRegression(**BUDGET, classes=classes)
    sentence = r"classes must be a sequence of labels or None; got"
    with pytest.raises(tg.InputError, match=sentence):
        model.fit(X, y)
    with pytest.raises(tg.InputError, match=sentence):
        tg.minimize(tg.losses.Logistic(), X, y, **BUDGET, classes=classes)


def test_private_fits_differ_and_simulations_repeat():
    X, y = data(tg.LinearRegression)
    private = [tg.LinearRegression(**BUDGET).fit(X, y).coef_ for _ in range(2)]
    assert (private[0] != private[1]).any()
    simulated = [tg.LinearRegression(**BUDGET, random_state=9).fit(X, y).coef_ for _ in range(2)]
    np.testing.assert_array_equal(*simulated)


TABLE = pd.DataFrame(data(tg.LinearRegression)[0], columns=["a", "b", "c"])


def shown_by(model):
    """What a fitted model shows, stores and predicts."""
    return model.summary(), model_text(model), model.predict(TABLE).tolist()


def interrupted(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("late", [False, True], ids=["refused", "interrupted at its end"])
def test_a_fit_that_fails_leaves_the_model_as_it_was(tmp_path, monkeypatch, late):
    """Coefficients keep the names of their columns, and the certificate is that of their fit."""
    ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", guarantee=tg.GDP(3.0))
    table = TABLE.assign(y=TABLE["a"])
    model = few_rounds(tg.LinearRegression, guarantee=tg.GDP(2.5), ledger=ledger)
    before = shown_by(model.fit(table, target="y", columns=["a", "b", "c"]))
    if late:
        model.set_params(ledger=None)
        monkeypatch.setattr(Solved, "notes", property(interrupted))
    with pytest.raises(KeyboardInterrupt if late else tg.BudgetError):
        model.fit(table, target="y", columns=["c", "b", "a"])
    assert shown_by(model) == before


class WithLog(tg.LinearRegression):
    """A subclass whose pickle leaves an attribute out."""

    def __getstate__(self):
        return {name: value for name, value in super().__getstate__().items() if name != "log"}


def test_a_fit_keeps_the_attributes_that_a_pickle_leaves_out():
    model = few_rounds(WithLog, **BUDGET)
    model.log = []
    assert model.fit(TABLE, TABLE["a"]).log == []


def test_a_first_fit_that_fails_leaves_a_model_that_is_not_fitted(tmp_path):
    ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", guarantee=tg.GDP(1.0))
    model = tg.LinearRegression(guarantee=tg.GDP(2.5), ledger=ledger)
    with pytest.raises(tg.BudgetError):
        model.fit(TABLE, TABLE["a"])
    with pytest.raises(NotFittedError):
        model.summary()


def test_fits_of_clones_are_warned_of_together():
    X = np.random.default_rng(0).standard_normal((1_000, 1))
    model = tg.LinearRegression(epsilon=8.0, delta=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("error", tg.BudgetWarning)
        clone(model).fit(X, X[:, 0])
    with pytest.warns(tg.BudgetWarning, match="a second time, itself or as a clone"):
        clone(clone(model)).fit(X, X[:, 0])
    with pytest.warns(tg.BudgetWarning, match="a second time, itself or as a clone"):
        cross_val_score(tg.LinearRegression(epsilon=8.0, delta=1e-4), X, X[:, 0], cv=2)
