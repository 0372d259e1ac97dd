"""Logistic regression of more than two classes, at the public names and the command line."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression as SklearnLogistic

import tailguard as tg

LABELS = ("low", "mid", "high")
BUDGET = {"epsilon": 8.0, "delta": 1e-6, "random_state": 0}
N_ROWS = 3_000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    found = pd.DataFrame({"age": rng.normal(50, 10, N_ROWS), "dose": rng.exponential(size=N_ROWS)})
    scores = np.outer((found["age"] - 50.0) / 5.0, [-1.0, 0.0, 1.0])
    scores += np.outer(found["dose"], [0.0, 1.0, 0.0])
    found["state"] = np.array(LABELS)[(scores + rng.gumbel(size=scores.shape)).argmax(axis=1)]
    return found


@pytest.fixture(scope="module")
def model(table):
    return tg.LogisticRegression(classes=LABELS, **BUDGET).fit(table, target="state")


def features(table):
    return table[["age", "dose"]]


def test_probabilities_are_in_the_order_of_the_declared_classes(model, table):
    chances = model.predict_proba(features(table))
    assert chances.shape == (N_ROWS, 3)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert model.classes_.tolist() == list(LABELS)
    frequent = [(table["state"] == label).mean() for label in LABELS]
    np.testing.assert_allclose(chances.mean(axis=0), frequent, atol=0.02)
    np.testing.assert_array_equal(
        model.predict(features(table)), np.array(LABELS)[chances.argmax(axis=1)]
    )
    assert model.score(features(table), table["state"]) > 0.6
    scores = model.decision_function(features(table))
    np.testing.assert_allclose(scores.sum(axis=1), 0.0, atol=1e-9)


def test_another_order_of_classes_is_the_same_model(model, table):
    turned = tg.LogisticRegression(classes=LABELS[::-1], guarantee=tg.GDP(9.0), random_state=0)
    plain = tg.LogisticRegression(classes=LABELS, guarantee=tg.GDP(9.0), random_state=0)
    found, expected = (
        each.fit(table, target="state").predict_proba(features(table)) for each in (turned, plain)
    )
    np.testing.assert_allclose(found[:, ::-1], expected, atol=0.03)


def told_apart(coef, intercept):
    """Each class less the first: coefficients of all, then intercepts."""
    return np.append(coef[1:] - coef[0], intercept[1:] - intercept[0])


def test_a_class_has_a_row_of_coefficients_and_lines_of_the_summary_against_the_first(model):
    assert model.coef_.shape == (3, 2)
    assert model.coef_noise_std_.shape == model.coef_std_.shape == (2, 2)
    assert model.intercept_.shape == (3,)
    assert model.intercept_noise_std_.shape == model.intercept_std_.shape == (2,)
    names = [f"{label}: {column}" for label in LABELS[1:] for column in ("age", "dose")]
    names += [f"{label}: (intercept)" for label in LABELS[1:]]
    frame = model.coef_frame()
    assert frame.index.tolist() == names
    np.testing.assert_array_equal(frame["coefficient"], model.interval_center_)
    summary = model.summary()
    assert all(f"\n{name}" in summary for name in names)
    assert "low: age" not in summary
    assert "\neach class has its log-odds against the first one: low\n" in summary


def test_a_summary_names_a_first_class_that_is_a_number(table):
    model = tg.LogisticRegression(classes=(5, 6, 7), guarantee=tg.GDP(9.0), random_state=0)
    model.fit(features(table), np.arange(N_ROWS) % 3 + 5)
    assert "\neach class has its log-odds against the first one: 5\n" in model.summary()


def best(table):
    """The fit without privacy, less its first class."""
    found = SklearnLogistic(C=1e9, tol=1e-8, max_iter=1_000).fit(features(table), table["state"])
    order = [found.classes_.tolist().index(label) for label in LABELS]
    return told_apart(found.coef_[order], found.intercept_[order])


def test_intervals_tests_and_covariance_are_of_what_sets_a_class_apart(model, table):
    low, high = model.conf_int().T
    expected, std = best(table), np.append(model.coef_std_, model.intercept_std_)
    assert ((low < expected) & (expected < high)).all()
    np.testing.assert_allclose(high - low, 2.0 * 1.959964 * std, rtol=1e-6)
    np.testing.assert_allclose(np.sqrt(np.diag(model.covariance_)), std)
    assert model.reasons_ == ("",) * 6
    assert (np.append(model.coef_noise_std_, model.intercept_noise_std_) < std).all()
    assert model.wald_test()[0, 1] < 1e-6
    apart = model.wald_test({"high: age": 1.0, "mid: age": -1.0})
    assert apart.estimate[0] == pytest.approx(frame_value(model, "high: age", "mid: age"))
    variance = model.covariance_[[0, 0, 2], [0, 2, 2]] @ [1.0, -2.0, 1.0]
    assert apart.std[0] == pytest.approx(np.sqrt(variance))


def frame_value(model, *names):
    first, second = model.coef_frame()["coefficient"][list(names)]
    return first - second


def test_with_much_budget_intervals_are_those_without_privacy(table):
    rich = tg.LogisticRegression(classes=LABELS, guarantee=tg.GDP(50.0), random_state=0)
    rich.fit(table, target="state")
    X = np.column_stack([features(table), np.ones(N_ROWS)])
    coef = np.column_stack([rich.coef_, rich.intercept_])
    chances = np.exp(X @ coef.T)
    chances = (chances / chances.sum(axis=1, keepdims=True))[:, 1:]
    hessian = np.zeros((6, 6))
    for p, x in zip(chances, X, strict=True):
        hessian += np.kron(np.diag(p) - np.outer(p, p), np.outer(x, x))
    std = np.sqrt(np.diag(np.linalg.inv(hessian))).reshape(2, 3)
    found = np.column_stack([rich.coef_std_, rich.intercept_std_])
    np.testing.assert_allclose(found, std, rtol=0.08)
    off = (rich.interval_center_ - best(table)) / np.append(std[:, :-1], std[:, -1])
    assert np.abs(off).max() < 0.1


def test_intervals_are_withheld_with_a_reason_where_the_budget_is_too_small(table):
    model = tg.LogisticRegression(classes=LABELS, epsilon=1.0, delta=1e-6, random_state=0)
    model.fit(table, target="state")
    assert np.isnan(model.conf_int()).all()
    assert model.conf_int().shape == (6, 2)
    assert np.isnan(model.wald_test()).all()
    why = "no interval: the budget is too small to tell how far off coefficients may be"
    assert why in model.wald_test("mid: age").reason
    assert np.isnan(model.covariance_).all()
    assert model.reasons_ == (why,) * 6
    assert f"(a) {why}" in " ".join(model.summary().split())
    values = told_apart(model.coef_, model.intercept_)
    np.testing.assert_allclose(model.coef_frame()["coefficient"], values)
    assert "no intervals: the budget is too small" in model.plan_.explain()


def test_a_level_without_records_has_its_reason_in_every_class(table):
    schema = tg.Schema(features=["age", "sex"], categorical={"sex": ["f", "m"]}, target="state")
    told = table.assign(sex=np.where(table["dose"] > 0.7, "f", "m"))
    model = tg.LogisticRegression(classes=LABELS, schema=schema, **BUDGET).fit(told)
    names = model.coef_frame().index
    unseen = [name for name, why in zip(names, model.reasons_, strict=True) if "no records" in why]
    assert unseen == ["mid: sex=other", "high: sex=other"]
    assert sum("no records were counted with levels of sex" in note for note in model.notes_) == 1


def test_a_record_of_no_class_is_void(table):
    other, void = table.copy(), table.copy()
    other.loc[:9, "state"] = "gone"
    void.loc[:9, "age"] = np.nan
    fits = [
        tg.LogisticRegression(classes=LABELS, **BUDGET).fit(t, target="state")
        for t in (other, void)
    ]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)


def test_a_row_with_a_missing_cell_has_no_probability_and_the_first_class(model):
    rows = pd.DataFrame({"age": [np.nan, 90.0], "dose": [0.0, 0.0]})
    chances = model.predict_proba(rows)
    assert np.isnan(chances[0]).all()
    assert np.isfinite(chances[1]).all()
    assert model.predict(rows).tolist() == ["low", "high"]


def test_weights_count_as_repeated_rows(table):
    weight = np.where(table["age"] > 50, 1.0, 0.5)
    options = {"classes": LABELS, "guarantee": tg.GDP(20.0), "random_state": 0}
    weighed = tg.LogisticRegression(weight_bound=1.0, **options)
    weighed.fit(features(table), table["state"], sample_weight=weight)
    twice = table.loc[table.index.repeat(np.where(table["age"] > 50, 2, 1))]
    repeated = tg.LogisticRegression(**options).fit(features(twice), twice["state"])
    np.testing.assert_allclose(weighed.coef_, repeated.coef_, rtol=0.1, atol=0.03)
    off = weighed.interval_center_ - repeated.interval_center_
    std = np.append(weighed.coef_std_, weighed.intercept_std_)
    assert np.abs(off / std).max() < 0.5
    # Repeated rows are as many records as there are weights twice: sampling counts them apart.
    ratio = weighed.coef_std_ / repeated.coef_std_
    assert ((ratio > 1.05) & (ratio < 1.5)).all()


def test_each_person_counts_once_and_her_rows_may_lie_anywhere(tmp_path):
    """Persons of many rows have other classes, so that fits of rows and of persons aim apart."""
    rng = np.random.default_rng(2)
    counts = rng.integers(1, 7, N_ROWS)
    keys = np.repeat(np.arange(N_ROWS), counts)
    share, x = 1.0 / counts[keys], rng.standard_normal((len(keys), 1))
    scores = np.outer(x[:, 0] * np.where(counts[keys] > 3, -1.0, 1.0), [-1.0, 0.0, 1.0])
    state = np.array(LABELS)[(scores + rng.gumbel(size=scores.shape)).argmax(axis=1)]
    options = {"classes": LABELS, "guarantee": tg.GDP(20.0), "random_state": 0, "max_rows": 6}
    model = tg.LogisticRegression(**options).fit(x, state, person=keys)
    assert model.certificate_.unit.describe() == "one person (person), at most 6 rows"
    assert model.certificate_.n_rows == N_ROWS
    once, alike = (
        SklearnLogistic(C=np.inf).fit(x, state, sample_weight=weight) for weight in (share, None)
    )
    order = [once.classes_.tolist().index(label) for label in LABELS]
    aimed, other = (each.coef_[order, 0] - each.coef_[:, 0].mean() for each in (once, alike))
    assert np.abs(aimed - other).max() > 0.15
    np.testing.assert_allclose(model.coef_[:, 0], aimed, atol=0.05)
    low, high = model.conf_int()[:2].T
    apart = aimed[1:] - aimed[0]
    assert ((low < apart) & (apart < high)).all()
    assert (high - low < 0.5).all()
    path = tmp_path / "rows.parquet"
    rows = pd.DataFrame({"x": x[:, 0], "state": state, "key": keys})
    rows.sample(frac=1.0, random_state=1).to_parquet(path, row_group_size=1_000)
    named = tg.LogisticRegression(**options, person="key")
    of_file = named.fit(path, target="state", columns=["x"])
    assert of_file.coef_.tobytes() == model.coef_.tobytes()


def three(**options):
    return tg.LogisticRegression(classes=LABELS, **BUDGET | options)


ONES = np.ones(N_ROWS)
SEARCH = tg.PrivateSearch(
    tg.LogisticRegression(classes=LABELS), [{"alpha": 0.0}], epsilon=1.0, delta=1e-6
)
SPARSE = tg.SparseLogisticRegression(classes=LABELS, **BUDGET)
REFUSED = [
    (lambda m, X, y: m.predict_proba(X, interval="mean"), "interval must be None for more than"),
    (lambda m, X, y: three(alpha=1.0).fit(X, y), "alpha must be 0"),
    (lambda m, X, y: three().fit(X, y, offset=ONES), "offset must be None"),
    (lambda m, X, y: m.predict(X, offset=ONES), "offset must be None"),
    (lambda m, X, y: three(fit_intercept=False).fit(X, y), "fit_intercept=False must not be given"),
    (lambda m, X, y: SPARSE.fit(X, y), "classes must be two labels for a SparseLogistic"),
    (lambda m, X, y: SEARCH.fit(X, y), "estimator must be a model of one score"),
]


@pytest.mark.parametrize(("call", "sentence"), REFUSED)
def test_what_several_classes_do_not_have_is_refused_in_one_sentence(call, sentence, model, table):
    with pytest.raises(tg.InputError, match=sentence):
        call(model, features(table), table["state"])
