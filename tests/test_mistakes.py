"""Mistakes of habit: what people who come from other packages type, and the sentence that they get.

Every sentence names our own word. What cannot be seen without a look at records is not here.
"""

import re
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import tailguard as tg
from tailguard.checks import ArgumentError
from tailguard.lazy_names import ELSEWHERE

N_ROWS = 1_000
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N_ROWS, 2))
Y = X[:, 0] + RNG.standard_normal(N_ROWS)
TABLE = pd.DataFrame(X, columns=["age", "km"]).assign(cost=Y)
FEATURES = TABLE[["age", "km"]]
DAYS = pd.date_range("2020", periods=N_ROWS)
LABELS = np.where(Y > 0.0, "yes", "no")
BUDGET = {"epsilon": 1.0, "delta": 1e-6, "random_state": 0}


def linear(*args, **options):
    return tg.LinearRegression(*args, **BUDGET | options)


def logistic(**options):
    return tg.LogisticRegression(**BUDGET | options)


@cache
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


def test_an_interval_before_the_fit_says_that_there_is_none_yet():
    with pytest.raises(NotFittedError):
        linear().predict(X, interval="mean")


CALLS = [
    (lambda: tg.LinearRegression(1.0, 1e-6), "must be given all arguments by name, such as"),
    (lambda: tg.QuantileRegression(quantile=0.9), "is called level"),
    (lambda: logistic(C=1.0), r"give alpha=1 / \(C \* n_rows\)"),
    (lambda: tg.HuberRegression(alpha=1.0), "a ridge goes with linear, logistic"),
    (lambda: logistic(labels=(0, 1)), "the parameter is called classes"),
    (lambda: tg.SparseLinearRegression(k=5), "the parameter is called n_nonzero"),
    (lambda: linear().fit(X, Y, epochs=3), "steps follow from the budget"),
    (lambda: linear().fit(X, Y, groups=Y), "is called person"),
    (lambda: tg.LinearRegression().fit(X, Y, epsilon=1.0), r"constructor, LinearRegression\(eps"),
    (lambda: linear().fit(X, Y, max_rows=3), r"constructor, LinearRegression\(max_rows=...\)"),
    (lambda: tg.PrivateSearch(linear(), [{}]).fit(X, Y, epsilon=1.0), r"PrivateSearch\(epsilon="),
    (lambda: fitted().summary(alpha=0.1), "conf_int with level=0.9"),
    (lambda: fitted().conf_int(0.05), "give 1 - alpha, such as 0.95; got 0.05"),
    (lambda: fitted().predict(FEATURES, interval="mean", level=0.05), "give 1 - alpha"),
    (lambda: tg.histogram(X, range=(0, 1), epsilon=1.0, delta=1e-6), "is called edges"),
    (lambda: linear(cov_type="HC1"), "intervals are always robust"),
    (lambda: tg.Schema(categorical={"a": [False, True]}), "booleans are read as 0 and 1"),
    (lambda: linear().fit(TABLE, response="cost"), "fit must not be given response: .* target"),
    (lambda: linear().fit(TABLE, target="cost", features=["age"]), "is called columns"),
    (lambda: fitted().predict(FEATURES, return_std=True), "is called interval"),
    (lambda: fitted().conf_int(alpha=0.05), "is called level"),
    (lambda: fitted().conf_int(95), "level must be .* between 0 and 1; got 95"),
    (lambda: tg.mean(X, axis=0, **BUDGET), "columns are summarised separately"),
    (lambda: tg.mean(X, 0, **BUDGET), "all but 'X' by name, .* columns=; got 0 by"),
    (lambda: tg.mean(TABLE, by="region", **BUDGET), "by: tg.describe and tg.quantile take groups"),
    (lambda: tg.mean(X, weights=np.ones(N_ROWS), **BUDGET), "is called sample_weight"),
    (lambda: tg.mean(X, sample_weight=np.ones(N_ROWS), **BUDGET), "weight_bound must be decl"),
    (lambda: tg.mean(X, skipna=True, **BUDGET), "empty cells count nothing"),
    (lambda: tg.mean(TABLE, groupby="region", method="soft", **BUDGET), "groupby: tg.d"),
    (lambda: fitted().summary(0.9), r"level: conf_int\(level=0.9\) has intervals"),
    (lambda: fitted().summary(1), "summary must be given no arguments; got 1"),
    (lambda: fitted().private_score(TABLE, epsilon=1.0, delta=1e-6), "requires y to be passed"),
    (lambda: fitted().predict("claims.csv"), "X must be a table .* the path of a file"),
    (lambda: fitted().predict(FEATURES, 0.9), "all but 'X' by name, .* exposure=; got 0.9"),
    (lambda: tg.mean(X, eps=1.0, delta=1e-6), "mean must not be given eps: .* epsilon"),
    (lambda: tg.plan("mean", n=9, d=2, epsilon=1.0, delta=1e-6), "is called n_rows"),
    (lambda: tg.describe(X, quantiles=[0.5], epsilon=1.0, delta=1e-6), "is called q"),
    (lambda: tg.describe(TABLE, groupby="region", epsilon=1.0, delta=1e-6), "is called by"),
    (lambda: tg.quantile(X, groups=X, epsilon=1.0, delta=1e-6), "is called by"),
    (lambda: tg.quantile(X, panel=X, epsilon=1.0, delta=1e-6), "is called person"),
    (lambda: tg.describe(X, cluster=X, epsilon=1.0, delta=1e-6), "is called person"),
    (lambda: tg.describe(X, vcov="HC1", epsilon=1.0, delta=1e-6), "always robust, and cluster-"),
    (lambda: tg.correlation(TABLE, by="region", epsilon=1.0, delta=1e-6), "tg.describe and"),
    (lambda: tg.plan("mean", n_rows=99, epsilon=1.0, delta=1e-6), "n_features must be given"),
    (lambda: tg.audit(lambda seed: linear(), ((X, Y), (X, Y)), sample_weight=Y), "equal w"),
    (lambda: tg.load(file="a.json"), "load must not be given file: .* called path"),
    (lambda: tg.load("a.json"), "got 'a.json': there is no such file"),
    (lambda: tg.Schema(categorical={"a": []}), "'a' must be one or more and different"),
    (
        lambda: tg.describe(X, spend={"moments": -1}, **BUDGET),
        "spend must map .*: 'moments' must be",
    ),
    (
        lambda: tg.PrivateSearch(tg.LinearRegression(), {"alpha": []}, **BUDGET).fit(X, Y),
        "and not empty",
    ),
    (lambda: tg.histogram(X, edges=range(10**5), **BUDGET), "edges must be 1 to 10000"),
    (lambda: tg.PrivateSearch(linear(), [{}], seed=0), "is called random_state"),
    (lambda: tg.sets.L2Ball(radious=1.0), "L2Ball must not .* is called radius"),
    (lambda: tg.datasets.insurance_claims(n=10), "is called n_rows"),
    (lambda: tg.Schema(category={}), "is called categorical"),
    (
        lambda: linear(schema={"categories": {}}).fit(TABLE),
        "schema must declare 'features', 'categ",
    ),
    (lambda: tg.Ledger("budget.sqlite", "a", eps=1.0), "Ledger must not be given eps: .*epsilon"),
    (
        lambda: tg.LinearRegression(epsilon=1.0, delta=1e-6, ledger="file").fit(X, Y),
        r"ledger must be a tg.Ledger, such as tg.Ledger\(path, name\); got 'file'",
    ),
    (lambda: tg.LinearRegression(epsilon=1.0).fit(X, Y), "delta is missing beside"),
    (lambda: linear(epsilon="1").fit(X, Y), "epsilon must be .*; got '1'"),
    (lambda: linear(epsilon=100).fit(X, Y), "epsilon must be below"),
    (lambda: linear(delta=0).fit(X, Y), "delta must be .* between 0 and 1; got 0"),
    (lambda: tg.LinearRegression(guarantee=1.0).fit(X, Y), "guarantee must be an ApproxDP"),
    (lambda: linear().fit(TABLE, "cost"), r"fit\(X, target='cost'\)"),
    (lambda: linear().fit("cost ~ age", TABLE), "formulas and names are not read"),
    (lambda: linear().fit(TABLE, "cost ~ age"), "formulas and names are not read"),
    (lambda: linear(target="cost").fit(TABLE), r"column of X is named as in fit\(X, target='cost'"),
    (lambda: linear().fit(TABLE, Y, target="cost"), "y must be None if target"),
    (lambda: linear().fit(X), "Pass y, or the name of a column of X as target="),
    (lambda: linear().fit(Y, X), "X must be a matrix of records by features"),
    (lambda: linear().fit(X[:, 0], Y), "a single feature is a matrix of one"),
    (lambda: linear().fit(X.tolist(), Y), "X must be an array or a table"),
    (lambda: linear().fit(X, Y[:9]), "y must have one entry per row of X; got 9"),
    (lambda: linear().fit(TABLE, target="cost", columns="age"), r"columns must be a list .*'age'"),
    (lambda: linear().fit(TABLE, target="cost", columns={"age"}), "columns must be .* got set"),
    (lambda: tg.Schema.from_frame(TABLE, target="Cost"), "X must have a column 'Cost'; its col"),
    (lambda: linear().fit("claims.csv", target="cost"), "claims.csv must be a file"),
    (lambda: linear().fit(X, pd.Series(LABELS).astype("category")), "y must hold real numbers"),
    (lambda: linear().fit(X, LABELS), r"or fit labels by `LogisticRegression\(classes="),
    (lambda: linear(weight="w").fit(TABLE, target="cost"), "fit takes sample weights of rows"),
    (lambda: linear().fit(X, DAYS), "no valid targets: give numb"),
    (
        lambda: linear().fit(FEATURES.assign(day=DAYS), Y),
        "Column 'day' holds about .* turn it into numbers, or drop it",
    ),
    (lambda: linear().fit(FEATURES.assign(region=["n", "s"] * 500), Y), "declare its levels"),
    (lambda: tg.PoissonRegression(**BUDGET).fit(X, -np.abs(Y)), "give numbers that"),
    (lambda: logistic(classes=("Yes", "No")).fit(X, LABELS), "none of its labels: declare its lab"),
    (
        lambda: linear().fit(X, Y, sample_weight=np.ones(N_ROWS), weight_bound=1.0),
        r"fit must not be given weight_bound: .* LinearRegression\(weight_bound=2\)",
    ),
    (
        lambda: linear(schema={"exposure": "km"}).fit(TABLE, target="cost"),
        "exposure must be .* 'km'",
    ),
    (lambda: linear(missing="mean").fit(X, Y), "missing must map columns to"),
    (lambda: logistic(solver="lbfgs").fit(X, LABELS), "solver must be one of 'au"),
    (lambda: linear(random_state=RNG).fit(X, Y), "random_state must be None for priv"),
    (lambda: fitted().predict(TABLE[["km"]]), "yet now missing:\n- age"),
]


@pytest.mark.parametrize(("call", "words"), CALLS)
def test_a_mistake_of_habit_names_our_word(call, words):
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


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("params", "coef_frame()"),
        ("pvalues", "coef_frame()"),
        ("cov_params", "covariance_"),
        ("rsquared", "private_score(X, y)"),
        ("get_prediction", "predict(X, interval='mean')"),
        ("f_test", "wald_test(contrasts)"),
    ],
)
def test_an_attribute_of_other_packages_models_names_ours(name, ours):
    with pytest.raises(AttributeError, match=f"no attribute '{name}': see {re.escape(ours)}$"):
        getattr(fitted(), name)
    assert not hasattr(fitted(), name)
    assert hasattr(fitted(), ours.partition("(")[0])


def test_a_property_tells_which_attribute_it_lacks():
    with pytest.raises(AttributeError, match="no attribute 'coef_'"):
        _ = tg.SparseLinearRegression(n_nonzero=1, **BUDGET).support_


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("OLS", "LinearRegression"),
        ("median", "quantile"),
        ("total", "mean"),
        ("GLM", "PoissonRegression, Gamma.*"),
    ],
)
def test_a_name_of_other_packages_names_ours(name, ours):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}': see {ours}$"):
        getattr(tg, name)


def test_every_name_of_other_packages_leads_to_a_public_one():
    for ours, words in ELSEWHERE.items():
        assert ours in tg.__all__
        assert not {*words.split()} & {*tg.__all__}


def test_other_labels_than_0_and_1_are_said_to_be_missing():
    model = logistic().fit(X, np.where(Y > 0.0, 1, -1))
    assert "classes assumed 0 and 1; other labels, such as -1, count as missing" in model.summary()


def test_a_huge_epsilon_is_warned_of():
    with pytest.warns(tg.BudgetWarning, match="epsilon should be about 1, and at most 20; got 21,"):
        linear(epsilon=21.0).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", tg.BudgetWarning)
        linear(epsilon=20.0).fit(X, Y)
