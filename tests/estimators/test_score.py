"""Scores of fits: equal to scikit-learn's, and no sentence of theirs shows a label."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, d2_tweedie_score, r2_score

import tailguard as tg

N_ROWS = 400
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N_ROWS, 2))
LABELS = (X[:, 0] + RNG.standard_normal(N_ROWS) > 0).astype(int)
WORDS = np.where(LABELS, "yes", "no")
WEIGHTS = RNG.integers(0, 3, N_ROWS)
BUDGET = {"guarantee": tg.GDP(20.0), "random_state": 0}
MODELS = {
    "linear": tg.LinearRegression(**BUDGET).fit(X, LABELS),
    "poisson": tg.PoissonRegression(**BUDGET).fit(X, LABELS),
    "tweedie": tg.TweedieRegression(power=1.5, **BUDGET).fit(X, LABELS),
    "numbers": tg.LogisticRegression(**BUDGET).fit(X, LABELS),
    "words": tg.LogisticRegression(**BUDGET, classes=("no", "yes")).fit(X, WORDS),
    "sparse": tg.SparseLogisticRegression(**BUDGET, n_nonzero=1).fit(X, LABELS),
}
METRICS = {
    "linear": r2_score,
    "poisson": partial(d2_tweedie_score, power=1),
    "tweedie": partial(d2_tweedie_score, power=1.5),
}
SECRET, SECRET_NUMBER = "SECRET", 98_765
SECRETS = {
    "text": np.array([SECRET] * N_ROWS),
    "one text": np.array([SECRET, *LABELS[1:]], dtype=object),
    "a list": [SECRET, *LABELS[1:]],
    "bytes": np.array([SECRET.encode()] * N_ROWS),
    "a category": pd.Series([SECRET] * N_ROWS, dtype="category"),
    "arrow": pa.array([SECRET] * N_ROWS),
    "polars": pl.Series([SECRET] * N_ROWS),
    "one word": SECRET,
    "complex": LABELS + 1j * SECRET_NUMBER,
    "beyond floats": [SECRET_NUMBER * 10**400] * N_ROWS,
    "numbers": np.full(N_ROWS, SECRET_NUMBER),
    "below zero": np.full(N_ROWS, -float(SECRET_NUMBER)),
    "one missing": np.array([np.nan, *[SECRET_NUMBER] * (N_ROWS - 1)]),
    "one infinite": np.array([np.inf, *[SECRET_NUMBER] * (N_ROWS - 1)]),
    "too few": np.full(3, SECRET_NUMBER),
    "two columns": np.full((N_ROWS, 2), SECRET_NUMBER),
    "one number": SECRET_NUMBER,
    "nothing": None,
    "dates": np.full(N_ROWS, "2020-01-01", "M8[D]"),
    "ragged": [[SECRET_NUMBER], *LABELS[1:]],
}
every_model = pytest.mark.parametrize("name", MODELS)


def told(ask):
    """What is said by an error of ours, and by warnings."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            ask()
        except tg.InputError as error:
            return str(error)
    return " ".join(str(each.message) for each in caught)


@every_model
@pytest.mark.parametrize("case", SECRETS)
def test_no_label_is_shown(name, case):
    labels = SECRETS[case]
    said = told(lambda: MODELS[name].score(X, labels))
    said += told(lambda: MODELS[name].score(X, WORDS if name == "words" else LABELS, labels))
    assert SECRET not in said
    assert str(SECRET_NUMBER) not in said
    if case in {"too few", "two columns", "nothing", "one number"}:
        assert said.startswith("y must ")
        assert case == "nothing" or ".sample_weight must " in said


@every_model
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_it_is_what_scikit_learn_says_of_labels_without_fault(name, weights):
    model, labels = MODELS[name], WORDS if name == "words" else LABELS
    metric = METRICS.get(name, accuracy_score)
    expected = metric(labels, model.predict(X), sample_weight=weights)
    assert model.score(X, labels, weights) == pytest.approx(expected, rel=1e-12)
    if name != "words":
        assert model.score(X, pd.DataFrame({"y": labels}), weights) == pytest.approx(expected)


@pytest.mark.parametrize("labels", [np.full(N_ROWS, np.nan), np.full(N_ROWS, SECRET_NUMBER)])
def test_a_label_that_is_not_declared_was_not_predicted(labels):
    assert MODELS["numbers"].score(X, labels) == 0.0
    assert MODELS["words"].score(X, [SECRET] * N_ROWS) == 0.0


def test_counts_that_are_all_alike_have_no_deviance_to_explain():
    assert MODELS["poisson"].score(X, np.full(N_ROWS, 3)) == 0.0


def test_deviances_are_scored_of_targets_that_the_loss_understands():
    y = np.exp(X[:, 0])
    gamma = tg.GammaRegression(**BUDGET).fit(X, y)
    expected = d2_tweedie_score(y, gamma.predict(X), power=2)
    assert gamma.score(X, y) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(tg.InputError, match="y must be above 0 in every row"):
        gamma.score(X, LABELS)
    with pytest.raises(tg.InputError, match="y must be at least 0 in every row"):
        MODELS["tweedie"].score(X, -y)


@pytest.mark.parametrize("power", [0.0, 0.999, 2.001, np.nan, "1.5", None])
def test_a_power_of_the_mean_that_no_loss_has_is_refused(power):
    with pytest.raises(tg.InputError, match="power must be a number from 1 to 2"):
        tg.TweedieRegression(power=power, **BUDGET).fit(X, LABELS)


@pytest.mark.parametrize("power", [1.0, 2.0, 1.0 + 1e-9, np.inf, None])
def test_a_tweedie_loss_says_which_losses_have_the_ends_of_its_powers(power):
    with pytest.raises(tg.InputError, match="power must be "):
        tg.losses.Tweedie(power)


@pytest.mark.parametrize("name", ["linear", "poisson"])
def test_rows_without_a_prediction_have_no_score(name):
    missing = X.copy()
    missing[0, 0] = np.nan
    with pytest.raises(tg.InputError, match="X must give a finite prediction in every row"):
        MODELS[name].score(missing, LABELS)
    weights = np.arange(N_ROWS) > 0
    assert np.isfinite(MODELS[name].score(missing, LABELS, weights))


@every_model
@pytest.mark.parametrize("weights", [np.zeros(N_ROWS), -np.ones(N_ROWS), np.full(N_ROWS, np.nan)])
def test_weights_that_weigh_nothing_are_refused(name, weights):
    labels = WORDS if name == "words" else LABELS
    with pytest.raises(tg.InputError, match="sample_weight must be finite numbers of at least 0"):
        MODELS[name].score(X, labels, weights)


def test_a_model_without_a_fit_has_no_score():
    with pytest.raises(NotFittedError):
        tg.LinearRegression(**BUDGET).score(X, LABELS)
