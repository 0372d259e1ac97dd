"""Mistakes of habit: what people who come from other packages type, and the sentence that they get.

Every sentence names our own word. What cannot be seen without a look at records is not here.
"""

import warnings

import numpy as np
import pandas as pd
import pytest

import tailguard as tg
from tailguard.checks import ArgumentError

N_ROWS = 1_000
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N_ROWS, 2))
Y = X[:, 0] + RNG.standard_normal(N_ROWS)
TABLE = pd.DataFrame(X, columns=["age", "km"]).assign(cost=Y)
FEATURES = TABLE[["age", "km"]]
LABELS = np.where(Y > 0.0, "yes", "no")
BUDGET = {"epsilon": 1.0, "delta": 1e-6, "random_state": 0}


def linear(*args, **options):
    return tg.LinearRegression(*args, **BUDGET | options)


def logistic(**options):
    return tg.LogisticRegression(**BUDGET | options)


def fitted():
    return linear().fit(FEATURES, TABLE.cost)


PARAMETERS = {
    "eps": "the parameter is called epsilon",
    "epsilom": "the parameter is called epsilon",
    "budget": "the parameter is called epsilon",
    "rho": "the parameter is called guarantee",
    "seed": "the parameter is called random_state",
    "intercept": "the parameter is called fit_intercept",
    "accountant": "the parameter is called ledger",
    "imputer": "the parameter is called missing",
    "C": r"alpha=1 / \(C \* n_rows\)",
    "penalty": "give alpha for a ridge",
    "reg_lambda": "the parameter is called alpha",
    "l1_ratio": "n_nonzero",
    "quantile": r"QuantileRegression\(level=0.9\)",
    "n_jobs": "threads follow the environment variable NUMBA_NUM_THREADS",
    "max_iter": "steps follow from the budget",
    "learning_rate": "steps follow from the budget",
    "max_grad_norm": "levels follow from released histograms",
    "noise_multiplier": "noise follows from the budget",
    "bounds": "no bounds on the data are needed",
    "data_norm": "no bounds on the data are needed",
    "normalize": "columns are scaled privately by every fit",
    "categorical": r"schema=\{'categorical'",
    "family": "each loss has an estimator, as PoissonRegression",
    "class_weight": "classes count as they are in the table",
    "colour": "it takes epsilon, delta, guarantee",
}


@pytest.mark.parametrize(("name", "words"), PARAMETERS.items())
def test_an_unknown_parameter_names_ours(name, words):
    with pytest.raises(
        ArgumentError, match=f"LinearRegression must not be given {name}: .*{words}"
    ):
        linear(**{name: 1})


CALLS = {
    "parameters by place": (
        lambda: tg.LinearRegression(1.0, 1e-6),
        "LinearRegression must be given its parameters by name, such as epsilon=1.0",
    ),
    "quantile=": (
        lambda: tg.QuantileRegression(quantile=0.9),
        "QuantileRegression must not be given quantile: the parameter is called level",
    ),
    "C=": (lambda: logistic(C=1.0), r"give alpha=1 / \(C \* n_rows\)"),
    "alpha=": (
        lambda: tg.HuberRegression(alpha=1.0),
        "a ridge goes with linear, logistic, Poisson, Gamma and Tweedie models",
    ),
    "labels=": (lambda: logistic(labels=(0, 1)), "the parameter is called classes"),
    "k=": (lambda: tg.SparseLinearRegression(k=5), "the parameter is called n_nonzero"),
    "fit epochs": (lambda: linear().fit(X, Y, epochs=3), "steps follow from the budget"),
    "fit y_name": (
        lambda: linear().fit(TABLE, response="cost"),
        "fit must not be given response: .* target",
    ),
    "fit features": (
        lambda: linear().fit(TABLE, target="cost", features=["age"]),
        "is called columns",
    ),
    "return_std": (lambda: fitted().predict(FEATURES, return_std=True), "is called interval"),
    "conf_int alpha": (lambda: fitted().conf_int(alpha=0.05), "is called level"),
    "conf_int 95": (lambda: fitted().conf_int(95), "level must be .* between 0 and 1; got 95"),
    "mean axis": (
        lambda: tg.mean(X, axis=0, **BUDGET),
        "mean must not be given axis: columns are summarised separately",
    ),
    "an axis by place": (
        lambda: tg.mean(X, 0, **BUDGET),
        "mean must be given all but X by name, such as columns=; got 0 by position",
    ),
    "mean by": (
        lambda: tg.mean(TABLE, by="region", **BUDGET),
        "mean must not be given by: tg.describe and tg.quantile take groups",
    ),
    "mean weights": (
        lambda: tg.mean(X, weights=np.ones(N_ROWS), **BUDGET),
        "mean must not be given weights: the parameter is called sample_weight",
    ),
    "mean without a bound of weights": (
        lambda: tg.mean(X, sample_weight=np.ones(N_ROWS), **BUDGET),
        "weight_bound must be declared beside sample_weight=",
    ),
    "weights of another mean": (
        lambda: tg.mean(X, method="soft", sample_weight=Y, weight_bound=1.0, **BUDGET),
        "sample_weight must be None unless the method is 'clipped', with neither",
    ),
    "mean skipna": (lambda: tg.mean(X, skipna=True, **BUDGET), "empty cells count nothing"),
    "mean groupby by a method": (
        lambda: tg.mean(TABLE, groupby="region", method="soft", **BUDGET),
        "mean must not be given groupby: tg.describe and tg.quantile take groups",
    ),
    "summary 0.9": (
        lambda: fitted().summary(0.9),
        r"summary must not be given level: conf_int\(level=0.9\) has intervals",
    ),
    "summary 1": (lambda: fitted().summary(1), "summary must be given no arguments; got 1"),
    "a private score without y": (
        lambda: fitted().private_score(TABLE, epsilon=1.0, delta=1e-6),
        "y must be given to private_score; it is not",
    ),
    "predictions of a file": (
        lambda: fitted().predict("claims.csv"),
        "X must be a table or an array to predict from; got the path of a file: read it first",
    ),
    "a level by place": (
        lambda: fitted().predict(FEATURES, 0.9),
        "predict must be given all but X by name, such as exposure=; got 0.9",
    ),
    "mean eps": (lambda: tg.mean(X, eps=1.0, delta=1e-6), "mean must not be given eps: .* epsilon"),
    "plan n": (lambda: tg.plan("mean", n=9, d=2, epsilon=1.0, delta=1e-6), "is called n_rows"),
    "describe quantiles": (
        lambda: tg.describe(X, quantiles=[0.5], epsilon=1.0, delta=1e-6),
        "describe must not be given quantiles: the parameter is called q",
    ),
    "quantile percentiles": (
        lambda: tg.quantile(X, percentiles=[0.5], epsilon=1.0, delta=1e-6),
        "the parameter is called q",
    ),
    "describe groupby": (
        lambda: tg.describe(TABLE, groupby="region", epsilon=1.0, delta=1e-6),
        "the parameter is called by",
    ),
    "describe include": (
        lambda: tg.describe(TABLE, include="all", epsilon=1.0, delta=1e-6),
        "the parameter is called columns",
    ),
    "correlation by": (
        lambda: tg.correlation(TABLE, by="region", epsilon=1.0, delta=1e-6),
        "correlation must not be given by: tg.describe and tg.quantile take groups",
    ),
    "plan size": (
        lambda: tg.plan("mean", n_rows=99, epsilon=1.0, delta=1e-6),
        "n_features must be given",
    ),
    "audit sample_weight": (
        lambda: tg.audit(lambda seed: linear(), ((X, Y), (X, Y)), sample_weight=Y),
        "audit must not be given sample_weight: rows have equal weights there",
    ),
    "summary alpha": (lambda: fitted().summary(alpha=0.05), "summary must not be given alpha"),
    "load file": (lambda: tg.load(file="a.json"), "load must not be given file: .* called path"),
    "search seed": (lambda: tg.PrivateSearch(linear(), [{}], seed=0), "is called random_state"),
    "a radius": (lambda: tg.sets.L2Ball(radious=1.0), "L2Ball must not .* is called radius"),
    "simulated rows": (
        lambda: tg.datasets.insurance_claims(n=10),
        "insurance_claims must not be given n: the parameter is called n_rows",
    ),
    "minimize seed": (
        lambda: tg.minimize(tg.losses.Squared(), X, Y, seed=1),
        "is called random_state",
    ),
    "Schema category": (lambda: tg.Schema(category={}), "is called categorical"),
    "Schema as a dict": (
        lambda: linear(schema={"categories": {}}).fit(TABLE),
        "schema must declare features, categ",
    ),
    "Schema as a list": (lambda: linear(schema=["age"]).fit(TABLE), "schema must be a tg.Schema"),
    "Ledger eps": (
        lambda: tg.Ledger("budget.sqlite", "a", eps=1.0),
        "Ledger must not be given eps: .*epsilon",
    ),
    "ledger as a file": (
        lambda: tg.LinearRegression(epsilon=1.0, delta=1e-6, ledger="file").fit(X, Y),
        r"ledger must be a tg.Ledger, such as tg.Ledger\(path, name\); got 'file'",
    ),
    "no budget": (lambda: tg.LinearRegression().fit(X, Y), "pass epsilon= and delta="),
    "no delta": (lambda: tg.LinearRegression(epsilon=1.0).fit(X, Y), "delta is missing beside"),
    "epsilon as text": (lambda: linear(epsilon="1").fit(X, Y), "epsilon must be .*; got '1'"),
    "epsilon 0": (lambda: linear(epsilon=0).fit(X, Y), "epsilon must be a finite number above 0"),
    "epsilon 100": (lambda: linear(epsilon=100).fit(X, Y), "epsilon must be smaller for"),
    "delta 0": (lambda: linear(delta=0).fit(X, Y), "delta must be .* between 0 and 1; got 0"),
    "guarantee as a number": (
        lambda: tg.LinearRegression(guarantee=1.0).fit(X, Y),
        "guarantee must be an ApproxDP",
    ),
    "pure DP": (
        lambda: tg.LinearRegression(guarantee=tg.PureDP(1.0)).fit(X, Y),
        "pass ApproxDP, ZCDP or GDP",
    ),
    "y as a name": (lambda: linear().fit(TABLE, "cost"), r"fit\(X, target='cost'\)"),
    "a formula": (lambda: linear().fit("cost ~ age", TABLE), "formulas and names are not read"),
    "a formula as y": (
        lambda: linear().fit(TABLE, "cost ~ age"),
        "formulas and names are not read",
    ),
    "a column as the estimand": (
        lambda: linear(target="cost").fit(TABLE),
        r"column of X is named as in fit\(X, target='cost'",
    ),
    "an absent target": (
        lambda: linear().fit(TABLE, target="price"),
        "X must have a column 'price'",
    ),
    "target and y": (lambda: linear().fit(TABLE, Y, target="cost"), "y must be None where target"),
    "no y": (lambda: linear().fit(X), "A column of X is named as target"),
    "X and y swapped": (lambda: linear().fit(Y, X), "X must be a matrix of records by features"),
    "a single feature": (lambda: linear().fit(X[:, 0], Y), "a single feature is a matrix of one"),
    "a list of lists": (lambda: linear().fit(X.tolist(), Y), "X must be an array or a table"),
    "a short y": (lambda: linear().fit(X, Y[:9]), "y must have one entry per row of X; got 9"),
    "columns as a text": (
        lambda: linear().fit(TABLE, target="cost", columns="age"),
        r"columns must be a list .*'age'",
    ),
    "an absent file": (
        lambda: linear().fit("claims.csv", target="cost"),
        "claims.csv must be a file",
    ),
    "y as categories": (
        lambda: linear().fit(X, pd.Series(LABELS).astype("category")),
        "y must hold real numbers",
    ),
    "y as text": (lambda: linear().fit(X, LABELS), "declare its labels ..classes="),
    "y as dates": (
        lambda: linear().fit(X, pd.date_range("2020", periods=N_ROWS)),
        "no valid targets: give numb",
    ),
    "a column of dates": (
        lambda: linear().fit(FEATURES.assign(day=pd.date_range("2020", periods=N_ROWS)), Y),
        "Column 'day' holds about .* turn it into numbers, or drop it",
    ),
    "a column of text": (
        lambda: linear().fit(FEATURES.assign(region=["n", "s"] * 500), Y),
        "declare its levels",
    ),
    "negative counts": (
        lambda: tg.PoissonRegression(**BUDGET).fit(X, -np.abs(Y)),
        "give numbers that the model allow",
    ),
    "text labels": (lambda: logistic().fit(X, LABELS), "declare its labels ..classes="),
    "classes as a text": (
        lambda: logistic(classes="yes").fit(X, LABELS),
        "classes must be a sequen",
    ),
    "classes as a set": (
        lambda: logistic(classes={"a", "b"}).fit(X, LABELS),
        "classes must be a seq",
    ),
    "exposure of no log link": (
        lambda: linear().fit(X, Y, exposure=np.ones(N_ROWS)),
        "exposure must be None for a Linear",
    ),
    "a bound of weights beside them": (
        lambda: linear().fit(X, Y, sample_weight=np.ones(N_ROWS), weight_bound=1.0),
        r"fit must not be given weight_bound: .* LinearRegression\(weight_bound=2\)",
    ),
    "exposure in the schema of no log link": (
        lambda: linear(schema={"exposure": "km"}).fit(TABLE, target="cost"),
        "exposure must be left out of the schema of a LinearRegression, .* as offset, .* got 'km'",
    ),
    "missing as a word": (lambda: linear(missing="mean").fit(X, Y), "missing must map columns to"),
    "missing as a number": (
        lambda: linear(missing=0).fit(X, Y),
        "missing must be a dict from column",
    ),
    "another's solver": (
        lambda: logistic(solver="lbfgs").fit(X, LABELS),
        "solver must be one of 'au",
    ),
    "a generator": (
        lambda: linear(random_state=RNG).fit(X, Y),
        "random_state must be None for priv",
    ),
    "a level of 90": (
        lambda: tg.QuantileRegression(level=90, **BUDGET).fit(X, Y),
        "level must be .* got 90",
    ),
    "moment as a number": (
        lambda: tg.mean(X, epsilon=1.0, delta=1e-6, moment=4),
        "moment must be a tg.Moment or None",
    ),
    "another's mean": (
        lambda: tg.mean(X, epsilon=1.0, delta=1e-6, method="laplace"),
        "method must be one of 'auto'",
    ),
    "columns in another order": (
        lambda: fitted().predict(TABLE[["km", "age"]]),
        "must be in the same order as they were in",
    ),
    "columns too many": (
        lambda: fitted().predict(TABLE),
        "Feature names unseen at fit time:\n- cost",
    ),
    "columns too few": (lambda: fitted().predict(TABLE[["km"]]), "yet now missing:\n- age"),
    "one row as a vector": (
        lambda: fitted().predict(X[0]),
        "X must be a matrix of records by feat",
    ),
}


@pytest.mark.parametrize("mistake", CALLS)
def test_a_mistake_of_habit_names_our_word(mistake):
    call, words = CALLS[mistake]
    with pytest.raises(ValueError, match=words) as refused:
        call()
    sentence = str(refused.value)
    assert "np.float64" not in sentence
    assert "tailguard." not in sentence.replace("tailguard.PureDP", "").replace(
        "guarantee=tailg", ""
    )
    if isinstance(refused.value, tg.InputError):
        assert sentence.endswith(".")
        assert "\n" not in sentence


def test_there_are_more_than_sixty():
    assert len(PARAMETERS) + len(CALLS) >= 60


def test_other_labels_than_0_and_1_are_said_to_be_missing():
    model = logistic().fit(X, np.where(Y > 0.0, 1, -1))
    assert "classes assumed 0 and 1; other labels, such as -1, count as missing" in model.summary()


def test_a_huge_epsilon_is_warned_of():
    with pytest.warns(tg.BudgetWarning, match="epsilon should be about 1, and at most 20; got 21,"):
        linear(epsilon=21.0).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", tg.BudgetWarning)
        linear(epsilon=20.0).fit(X, Y)
