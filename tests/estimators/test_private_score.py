"""Private scores: near those without noise, charged, and told apart by nothing but what is paid."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss, mean_squared_error, roc_auc_score

import tailguard as tg
from tailguard.estimators.registry import ESTIMATORS, estimator_called
from tailguard.summaries.scores.score import FAR_TARGETS, HIDDEN, area_under_curve

N_ROWS = 6_000
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N_ROWS, 2))
ETA = X @ [1.0, -0.5]
TARGETS = {
    "numbers": ETA + RNG.standard_t(3, N_ROWS),
    "labels": (ETA + RNG.logistic(size=N_ROWS) > 1.0).astype(float),
    "counts": RNG.poisson(np.exp(0.5 * ETA)).astype(float),
    "costs": np.exp(0.5 * ETA) * RNG.gamma(2.0, 0.5, N_ROWS),
    "three labels": np.digitize(ETA + RNG.logistic(size=N_ROWS), [-1.0, 1.0]).astype(float),
}
KIND = {"poisson": "counts", "gamma": "costs", "tweedie": "counts"}
KIND |= {"logistic": "labels", "sparse-logistic": "labels", "of three": "three labels"}
RICH = {"guarantee": tg.GDP(30.0), "random_state": 0}
FITTED = {}


def fitted(name):
    """The estimator of that name, fitted with little noise, and its targets."""
    if name not in FITTED:
        y = TARGETS[KIND.get(name, "numbers")]
        FITTED[name] = fresh(name).fit(X, y), y
    return FITTED[name]


def fresh(name, **options):
    """The estimator of that name, before a fit."""
    if name == "of three":
        return tg.LogisticRegression(classes=(0.0, 1.0, 2.0), **RICH | options)
    return estimator_called(name)(**RICH | options)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_is_scored_as_without_noise(name):
    model, y = fitted(name)
    found = model.private_score(X, y, **RICH)
    own = model.score(X, y)
    if KIND.get(name) == "labels":
        chance = model.predict_proba(X)[:, 1]
        own = 1.0 - log_loss(y, chance) / log_loss(y, np.full(N_ROWS, y.mean()))
        assert found.deviance.value == pytest.approx(log_loss(y, chance), abs=0.01)
        assert found.auc.value == pytest.approx(roc_auc_score(y, chance), abs=0.01)
        assert found.auc.low < found.auc.value < found.auc.high
    else:
        assert found.auc is None
    assert found.explained.value == pytest.approx(own, abs=0.02)
    assert found.explained.low < own < found.explained.high
    assert np.isnan(found.deviance.low) == (KIND.get(name) != "labels")
    assert name in KIND or found.deviance.value == pytest.approx(
        mean_squared_error(y, model.predict(X)), rel=0.05
    )


def test_intervals_are_wider_with_less_budget_and_fewer_rows():
    model, y = fitted("linear")
    widths = []
    for n_rows, mu in ((N_ROWS, 30.0), (1_500, 30.0), (N_ROWS, 0.5)):
        told = {"guarantee": tg.GDP(mu), "random_state": 0}
        found = model.private_score(X[:n_rows], y[:n_rows], **told).explained
        widths.append(found.high - found.low)
    assert widths[0] < min(widths[1:])


@pytest.mark.parametrize("name", ["logistic", "of three"])
def test_what_is_spent_is_certified_and_charged_to_the_ledger(name, tmp_path):
    model, y = fitted(name)
    told = {"epsilon": 1.0, "delta": 1e-6, "random_state": 0}
    found = model.private_score(X, y, **told)
    certificate = found.certificate
    assert certificate.spent.epsilon <= certificate.total.epsilon <= 1.0
    assert found.solved.plan.total_mu == pytest.approx(
        tg.ApproxDP(1.0, 1e-6).gaussian_mu(), rel=1e-2
    )
    ledger = tg.Ledger(tmp_path / "budget.sqlite", name="rows", epsilon=1.2, delta=1e-5)
    model.private_score(X, y, epsilon=1.0, delta=1e-6, ledger=ledger)
    with pytest.raises(tg.BudgetError):
        model.private_score(X, y, epsilon=1.0, delta=1e-6, ledger=ledger)


def test_pure_budgets_have_scores_too():
    model, y = fitted("linear")
    found = model.private_score(X, y, guarantee=tg.PureDP(10.0), random_state=0)
    assert found.explained.value == pytest.approx(model.score(X, y), abs=0.1)


def test_rows_that_cannot_be_used_count_nowhere():
    model, y = fitted("poisson")
    spoiled, targets = X.copy(), y.copy()
    spoiled[:500, 0], targets[500:1000], targets[1000:1500] = np.nan, -1.0, np.inf
    found = model.private_score(spoiled, targets, **RICH)
    assert found.explained.value == pytest.approx(model.score(X[1500:], y[1500:]), abs=0.02)
    assert "about 4,500 of 6,000 rows" in found.notes[-1]


def test_labels_of_any_kind_are_those_of_the_fit():
    words = np.where(TARGETS["labels"] > 0, "yes", "no")
    model = tg.LogisticRegression(**RICH, classes=("no", "yes")).fit(X, words)
    numbers, _ = fitted("logistic")
    expected = numbers.private_score(X, TARGETS["labels"], **RICH)
    found = model.private_score(X, words, **RICH)
    assert found.explained == expected.explained
    assert found.auc == expected.auc
    with pytest.raises(tg.InputError, match="unless classes are declared"):
        numbers.private_score(X, pd.Series(words, dtype="category"), **RICH)
    undeclared = numbers.private_score(X, words, **RICH)
    assert np.isnan(undeclared.explained.value)
    assert "too few rows can be used: targets must be of the kind" in undeclared.notes[-1]


@pytest.mark.parametrize("name", ["linear", "of three"])
def test_noise_that_hides_the_score_is_said(name):
    model, y = fitted(name)
    found = model.private_score(X[:200], y[:200], epsilon=0.05, delta=1e-6, random_state=0)
    assert np.isnan(found.explained.value)
    assert "too small to see how well the model predicts" in found.notes[-1]
    assert "too small" in repr(found)


def test_results_are_shown_by_measure():
    model, y = fitted("gamma")
    found = model.private_score(X, y, **RICH)
    frame = found.to_frame()
    assert frame.measure.tolist() == ["D2", "mean deviance"]
    assert frame.value.tolist() == [found.explained.value, found.deviance.value]
    page = found.report().to_html()
    assert "private score of GammaRegression" in page


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({}, "epsilon"),
        ({"epsilon": 1.0, "delta": 1e-6, "exposure": np.ones(N_ROWS)}, "exposure must be None"),
        ({"epsilon": 1.0, "delta": 1e-6, "y": "cost"}, "y must be a column"),
        ({"epsilon": 1.0, "delta": 1e-6, "y": None}, "requires y"),
        ({"epsilon": 1.0, "delta": 1e-6, "y": np.ones(3)}, "y must have"),
        ({"eps": 1.0}, "epsilon"),
    ],
)
def test_mistakes_are_one_sentence(told, words):
    model, y = fitted("linear")
    with pytest.raises((tg.InputError, TypeError), match=words):
        model.private_score(X, told.pop("y", y), **told)


def test_a_model_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        tg.LinearRegression().private_score(X, TARGETS["numbers"], epsilon=1.0, delta=1e-6)


def test_the_area_is_that_of_all_pairs_with_ties_by_half():
    zeros, ones = np.array([5.0, 3.0, 1.0]), np.array([1.0, 2.0, 6.0])
    labels = np.repeat([0, 0, 0, 1, 1, 1], [5, 3, 1, 1, 2, 6])
    scores = np.repeat([0, 1, 2, 0, 1, 2], [5, 3, 1, 1, 2, 6])
    area = area_under_curve(zeros, ones, 1e-9, (9.0, 9.0), 1e-9).value
    assert area == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)


def test_intervals_hold_what_many_rows_tell():
    """Of 30 tables at most 5 intervals may miss; of true ones of 95 % that fails once in 300."""
    model, _ = fitted("linear")
    many = np.random.default_rng(1)
    rows = many.standard_normal((200_000, 2))
    y = rows @ [1.0, -0.5] + many.standard_t(3, 200_000)
    truth = model.score(rows, y)
    missed = 0
    for number in range(30):
        part = slice(4_000 * number, 4_000 * (number + 1))
        told = {"epsilon": 1.0, "delta": 1e-6, "random_state": number}
        found = model.private_score(rows[part], y[part], **told).explained
        missed += not found.low <= truth <= found.high
    assert missed <= 5


def test_infinities_of_one_row_say_nothing():
    model = tg.PoissonRegression(extrapolate="linear", **RICH).fit(X, TARGETS["counts"])
    rows, offset = X.copy(), np.zeros(N_ROWS)
    rows[7], offset[7] = -1e308, -1.79e308
    model.private_score(rows, TARGETS["counts"], offset=offset, **RICH)
    rows[7], offset[7] = np.inf, -np.inf
    model.private_score(rows, TARGETS["counts"], offset=offset, **RICH)


def test_the_promise_of_a_score_rests_on_how_its_model_was_released():
    """So this is no assumption for accuracy, neither in the certificate nor in the report."""
    _, y = fitted("linear")
    released = "the model is public, or was released under a promise of its own"
    public = "the model is public: the run that fitted it is NOT PRIVATE and has no promise"
    for seed, condition in ((None, released), (0, public)):
        model = tg.LinearRegression(guarantee=tg.GDP(30.0), random_state=seed).fit(X, y)
        score = model.private_score(X, y, epsilon=1.0, delta=1e-6)
        certificate = score.certificate
        assert certificate.mode == "private"
        assert certificate.conditions == (condition,)
        assert not certificate.assumptions_for_accuracy
        assert f"private only if {condition}" in score.notes
        assert tg.Certificate.from_json(certificate.to_json()) == certificate
        for text in (str(certificate), certificate.to_html(), score.report().to_html()):
            rest = " ".join(text.split()).partition("The promise holds only if")[2]
            assert condition in rest[: len(condition) + 60]
        assert condition in score.report().to_nist()["definition"]


@pytest.mark.parametrize("name", ["linear", "of three"])
def test_a_checkpoint_is_of_the_same_model_which_a_file_may_hold(name, tmp_path):
    model, y = fitted(name)
    path, saved = tmp_path / "score.checkpoint", tmp_path / "model.json"
    first = model.private_score(X, y, checkpoint=path, **RICH)
    model.save(saved)
    for same in (model, tg.load(saved)):
        again = same.private_score(X, y, checkpoint=path, **RICH)
        assert (again.explained, again.accuracy) == (first.explained, first.accuracy)
    for change in ({"random_state": 1}, {"extrapolate": "linear"}):
        other = fresh(name, **change).fit(X, y)
        with pytest.raises(tg.InputError, match="checkpoint must be of the same run"):
            other.private_score(X, y, checkpoint=path, **RICH)


def test_the_target_of_the_fit_is_the_target_of_the_score():
    """A fit that takes the whole table is scored on the whole table."""
    table = pd.DataFrame(X, columns=["a", "b"]).assign(cost=TARGETS["numbers"])
    for model in (
        tg.LinearRegression(schema={"target": "cost"}, **RICH).fit(table),
        tg.LinearRegression(**RICH).fit(table, target="cost"),
    ):
        found = model.private_score(table, **RICH)
        assert found.explained == model.private_score(table, table["cost"], **RICH).explained
        with pytest.raises(tg.InputError, match="cost"):
            model.private_score(table[["a", "b"]], **RICH)
    bare = tg.LinearRegression(**RICH).fit(X, TARGETS["numbers"])
    with pytest.raises(tg.InputError, match="requires y to be passed"):
        bare.private_score(X, **RICH)


@pytest.mark.parametrize(("paid", "epsilon", "told"), [(0.05, 6.0, True), (0.02, 4.0, False)])
def test_hidden_targets_that_may_decide_what_is_explained_leave_no_interval(paid, epsilon, told):
    """Few targets are positive, and their squares are nearly the whole mean square."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(5_000, 1))
    y = np.where(rng.random(5_000) < paid, 2_000.0 * rng.lognormal(-0.5, 1.0, 5_000), 0.0)
    model = tg.LinearRegression(guarantee=tg.GDP(2.0), random_state=0).fit(X, y)
    found = model.private_score(X, y, epsilon=epsilon, delta=1e-6, random_state=0)
    assert np.isfinite(found.explained.value) == told
    assert np.isnan([found.explained.low, found.explained.high]).all()
    assert FAR_TARGETS in found.notes
    assert HIDDEN not in found.notes


def test_a_score_that_no_ledger_counts_says_so(tmp_path):
    y, price = TARGETS["numbers"], {"epsilon": 1.0, "delta": 1e-6}
    model = tg.LinearRegression(**price).fit(X, y)
    with pytest.warns(tg.BudgetWarning, match="no ledger counts this score"):
        model.private_score(X, y, **price)
    ledger = tg.Ledger(tmp_path / "budget.sqlite", name="a", epsilon=2.0, delta=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.private_score(X, y, ledger=ledger, **price)
        model.private_score(X, y, random_state=0, **price)


@pytest.mark.parametrize("more", [{}, {"sample_weight": "w", "weight_bound": 2.0}])
def test_the_path_of_a_file_is_refused_in_words_that_say_so(more):
    """With weights, and with a schema's target, it was refused as a table without names."""
    table = pd.DataFrame(X, columns=["a", "b"]).assign(cost=TARGETS["numbers"])
    model = tg.LinearRegression(schema={"target": "cost"}, **RICH).fit(table)
    for y in (None, TARGETS["numbers"]):
        with pytest.raises(tg.InputError, match=r"got the path of a file: .*'tailguard score'"):
            model.private_score("claims.parquet", y, **more, **RICH)
