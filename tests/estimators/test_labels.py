"""Labels at the public names: declared, or assumed and said so, or refused and nothing is spent."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

import tailguard as tg
from tailguard.privacy.books import MemoryBooks

MODELS = [tg.LogisticRegression, tg.SparseLogisticRegression]
BUDGET = {"epsilon": 5.0, "delta": 1e-5, "random_state": 0}
ASSUMED = "classes assumed 0 and 1; other labels, such as -1, count as missing"
every_model = pytest.mark.parametrize("model", MODELS)


def data(n_rows=400):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 2))
    return X, (X[:, 0] + rng.logistic(size=n_rows) > 0).astype(int)


@every_model
@pytest.mark.parametrize("kind", [int, bool, np.float32, "Int64"])
def test_without_classes_numbers_are_0_and_1_and_everything_says_so(model, kind):
    X, y = data()
    fitted = model(**BUDGET).fit(X, pd.Series(y).astype(kind))
    declared = model(classes=(0, 1), **BUDGET).fit(X, y)
    np.testing.assert_array_equal(fitted.coef_, declared.coef_)
    assert fitted.classes_.tolist() == [0, 1]
    assert fitted.get_params()["classes"] is None
    assert fitted.notes_ == (ASSUMED, *declared.notes_)
    assert ASSUMED in fitted.certificate_.assumptions_for_accuracy
    for page in (fitted.certificate_.to_text(), fitted.certificate_.to_html()):
        assert ASSUMED in " ".join(page.split())
    assert ASSUMED in fitted.summary().splitlines()
    assert f"  {ASSUMED}" in fitted.explain().splitlines()
    for said in (declared.summary(), declared.explain(), declared.certificate_.to_json()):
        assert "assumed 0 and 1" not in said


@every_model
def test_other_numbers_count_as_missing_where_nothing_is_declared(model):
    X, y = data()
    void = X.copy()
    void[y == 0] = np.nan
    other = model(**BUDGET).fit(X, np.where(y == 1, 1, -1))
    expected = model(**BUDGET).fit(void, y)
    np.testing.assert_array_equal(other.coef_, expected.coef_)


WORDS = {
    "numpy": np.asarray,
    "pandas": pd.Series,
    "pandas category": lambda words: pd.Series(words).astype("category"),
    "polars category": lambda words: pl.Series(words).cast(pl.Categorical),
    "pyarrow dictionary": lambda words: pa.array(words).dictionary_encode(),
}
CATEGORIES = ("pandas category", "polars category", "pyarrow dictionary")
REFUSED = [
    (None, CATEGORIES[0], "unless classes are declared"),
    (("no", 1), "numpy", "all text or all finite numbers"),
]


@pytest.mark.parametrize("kind", WORDS)
def test_words_are_taken_where_they_are_declared_and_missing_where_nothing_is(kind):
    X, y = data()
    words = WORDS[kind](np.array(["no", "yes"])[y])
    fitted = tg.LogisticRegression(classes=("no", "yes"), **BUDGET).fit(X, words)
    assert ASSUMED not in fitted.notes_
    assert set(fitted.predict(X)) == {"no", "yes"}
    assert clone(fitted).get_params() == fitted.get_params()
    if kind in CATEGORIES:
        with pytest.raises(tg.InputError, match=r"unless classes are declared, such as classes="):
            tg.LogisticRegression(**BUDGET).fit(X, words)
        return
    undeclared, void = (
        tg.LogisticRegression(on_unusable="fit", **BUDGET).fit(X, labels)
        for labels in (words, np.full(len(X), 7))
    )
    assert undeclared.coef_.tobytes() == void.coef_.tobytes()
    assert ASSUMED in undeclared.notes_


@every_model
@pytest.mark.parametrize(("classes", "kind", "sentence"), REFUSED)
def test_what_is_no_declaration_is_refused_before_anything_is_spent(model, classes, kind, sentence):
    X, y = data()
    books = MemoryBooks()
    unfitted = model(classes=classes, epsilon=5.0, delta=1e-5, ledger=books)
    with pytest.raises(tg.InputError, match=sentence):
        unfitted.fit(X, WORDS[kind](np.array(["no", "yes"])[y]))
    assert books.reserved == MemoryBooks().reserved
    assert not hasattr(unfitted, "classes_")


LABELLED = {
    "logistic": (tg.losses.Logistic(), {"constraint": tg.sets.L2Ball(2.0)}, ASSUMED),
    "default method": (tg.losses.Logistic(), {}, ASSUMED),
    "multinomial": (
        tg.losses.Multinomial(3),
        {"constraint": tg.sets.L2Ball(2.0), "solver": "noisy-gradient-descent"},
        "classes assumed 0 to 2; other labels, such as -1, count as missing",
    ),
}
each_loss = pytest.mark.parametrize("name", LABELLED)


@pytest.mark.long
@each_loss
def test_minimize_says_which_labels_it_assumes(name):
    X, y = data()
    loss, options, assumed = LABELLED[name]
    for labels in (y, np.where(y == 1, 1, -1)):
        solved = tg.minimize(loss, X, labels, **BUDGET, **options)
        assert solved.notes[0] == assumed
        assert assumed in solved.certificate.assumptions_for_accuracy
    declared = tg.minimize(loss, X, y, classes=(0, 1), **BUDGET, **options)
    assert assumed not in (*declared.notes, *declared.certificate.assumptions_for_accuracy)


@each_loss
def test_minimize_refuses_categories_without_classes(name):
    X, y = data()
    loss, options, _ = LABELLED[name]
    words = pd.Series(np.array(["no", "yes"])[y]).astype("category")
    with pytest.raises(tg.InputError, match=r"unless classes are declared, such as classes="):
        tg.minimize(loss, X, words, **BUDGET, **options)


def test_minimize_assumes_nothing_of_targets_that_are_no_labels():
    X, y = data()
    for loss in (tg.losses.Squared(), lambda w, x, t: (x @ w - t) * x):
        solved = tg.minimize(loss, X, list(y), constraint=tg.sets.L2Ball(2.0), **BUDGET)
        assert solved.notes == (*solved.record_notes, *solved.solution.notes)


@pytest.mark.parametrize("numbers", [[0, 1], [0.0, 1.0], [False, True]])
def test_a_parquet_target_is_read_by_the_rule_of_tables(tmp_path, numbers):
    X, y = data()
    place = tmp_path / "ill.parquet"
    table = pd.DataFrame({"a": X[:, 0], "ill": np.array(numbers)[y]})
    table.to_parquet(place)
    for classes in (("no", "yes"), (0, 1)):
        schema = tg.Schema(target="ill", classes=classes)
        fits = [
            tg.LogisticRegression(schema=schema, on_unusable="fit", **BUDGET).fit(each)
            for each in (str(place), table)
        ]
        np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
