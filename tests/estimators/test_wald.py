"""Intervals and tests of coefficients, and the table that shows them."""

from copy import copy
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, norm

import tailguard as tg
from tailguard.estimators.summary import (
    BULK,
    CORRECTED,
    HEADERS,
    coefficient_cells,
    table_lines,
)
from tailguard.gate.record_check import RESTS_ON
from tailguard.solvers.newton.outlook import ESTIMAND

N_ROWS = 20_000
TRUTH = np.array([0.0, 0.5, 0.0, -0.3])


def fitted(seed, *, rng=None, n_rows=N_ROWS, **options):
    """A fit of two columns that matter, two that do not, and one that is constant."""
    rng = np.random.default_rng(seed) if rng is None else rng
    X = np.column_stack([rng.standard_normal((n_rows, 4)), np.full(n_rows, 3.0)])
    y = 2.0 + X[:, :4] @ TRUTH + rng.standard_normal(n_rows)
    budget = {"epsilon": 1.0, "delta": 1e-6, "random_state": seed}
    return tg.LinearRegression(**budget, **options).fit(X, y)


@lru_cache
def fit_of(seed):
    """A fit that several tests look at."""
    return fitted(seed)


def test_a_test_says_what_its_interval_says_at_any_level():
    model = fit_of(0)
    z, p = model.wald_test().T
    for level in (0.5, 0.9, 0.99):
        low, high = model.conf_int(level).T
        known = ~np.isnan(low)
        outside = (low > 0.0) | (high < 0.0)
        np.testing.assert_array_equal(outside[known], (p < 1.0 - level)[known])
    np.testing.assert_allclose(p, 2.0 * norm.sf(np.abs(z)))
    np.testing.assert_allclose(z[:5], model.interval_center_[:5] / model.coef_std_)


@pytest.mark.long
def test_tests_of_true_zeros_have_about_the_size_that_they_say():
    """One in twenty is expected to be below five per cent: of 80 alone, and of 40 joint ones."""
    models = [fitted(seed, n_rows=10_000) for seed in range(40)]
    alone = np.concatenate([model.wald_test()[[0, 2], 1] for model in models])
    assert alone.size == 80
    assert (alone < 0.05).mean() <= 0.13
    assert 0.3 < np.median(alone) < 0.7
    joint = np.array([model.wald_test(["x0", "x2"]).p for model in models])
    assert (joint < 0.05).mean() <= 0.12
    assert 0.3 < np.median(joint) < 0.75


def test_what_was_not_estimated_says_so_and_has_neither_interval_nor_test():
    model = fit_of(1)
    assert np.isnan(model.wald_test()[4]).all()
    table = model.summary()
    (line,) = (line for line in table.splitlines() if line.startswith("x4 "))
    assert line.split() == ["x4", "not", "estimated", "(a)"]
    reason = "not estimated: the budget did not show its column"
    assert f"(a) {reason}, for x4" in table
    assert "not estimated: 1 of 6 coefficients" in model.explain()
    assert model.reasons_ == ("", "", "", "", reason, "")
    frame = model.coef_frame()
    assert frame.loc["x4", "coefficient":"p"].isna().all()
    assert frame.reason["x4"] == reason
    assert np.isfinite(model.predict(np.ones((1, 5)))).all()


def test_contrasts_test_what_follows_from_the_covariance():
    model = fit_of(0)
    center, covariance = model.interval_center_, model.covariance_
    np.testing.assert_allclose(np.sqrt(np.diag(covariance))[:5], model.coef_std_)
    one = model.wald_test({"x1": 1.0, "x3": -2.0})
    weights = np.array([0.0, 1.0, 0.0, -2.0])
    std = np.sqrt(weights @ covariance[:4, :4] @ weights)
    assert one.estimate[0] == pytest.approx(weights @ center[:4])
    assert one.std[0] == pytest.approx(std)
    assert one.statistic == pytest.approx((one.estimate[0] / std) ** 2)
    assert one.p == pytest.approx(chi2.sf(one.statistic, 1))
    joint = model.wald_test(["x0", "x1", "(intercept)"])
    kept = [0, 1, 5]
    inverse = np.linalg.inv(covariance[np.ix_(kept, kept)])
    assert joint.statistic == pytest.approx(center[kept] @ inverse @ center[kept])
    assert (joint.df, joint.p) == (3, pytest.approx(chi2.sf(joint.statistic, 3)))
    rows = np.eye(6)[[0, 1, 5, 5]]  # one is there twice
    assert model.wald_test(rows).df == 3
    assert model.wald_test(rows).statistic == pytest.approx(joint.statistic)
    single = model.wald_test("x1")
    assert np.sqrt(single.statistic) == pytest.approx(abs(model.wald_test()[1, 0]))


def test_a_categorical_column_is_tested_by_its_estimated_levels():
    rng = np.random.default_rng(0)
    region = rng.choice(["a", "b", "c"], N_ROWS)
    table = pd.DataFrame({"age": rng.standard_normal(N_ROWS), "region": region})
    table["cost"] = table.age + rng.standard_normal(N_ROWS) + 0.5 * (region == "c")
    schema = {"categorical": {"region": ["a", "b", "c"]}, "target": "cost"}
    model = tg.LinearRegression(schema=schema, epsilon=2.0, delta=1e-6, random_state=0).fit(table)
    joint = model.wald_test("region")  # nobody has another level
    assert joint.df == 2
    assert joint.statistic == pytest.approx(model.wald_test(["region=b", "region=c"]).statistic)
    assert joint.p < 1e-6
    assert joint.names == ("region=b", "region=c")
    assert joint.notes == ("left out: region=other (not estimated: no records)",)
    assert model.wald_test(["age", "region=b"]).notes == ()
    lost = model.wald_test("region=other")
    assert lost.reason.startswith("region=other: not estimated: ")
    assert np.isnan([lost.p, lost.statistic, *lost.estimate]).all()
    assert repr(lost) == (f"Wald test that this is zero\nno test: {lost.reason}\nregion=other")


def test_a_joint_test_reads_as_a_table():
    found = fit_of(0).wald_test([{"x1": 1.0, "x3": -2.5}, {"x3": -1.0}, "x0"])
    title, numbers, header, rule, *rows = repr(found).splitlines()
    assert title == "Wald test that all of these are zero"
    assert numbers == f"statistic {found.statistic:.4g}   df 3   p <0.001"
    assert header.split() == ["estimate", "std", "err"]
    assert rule == "-" * len(header)
    assert [row.rsplit(maxsplit=2)[0] for row in rows] == ["x1 - 2.5 x3", "-x3", "x0"]
    for row, *released in zip(rows, found.estimate, found.std, strict=True):
        assert [float(cell) for cell in row.split()[-2:]] == pytest.approx(released, rel=5e-3)
    assert fit_of(0).wald_test(np.full((1, 6), 0.123)).names == ("(1)",)


@pytest.mark.long
def test_a_column_of_several_classes_is_tested_in_all_of_them():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"age": rng.standard_normal(N_ROWS), "kind": rng.choice(["a", "b"], N_ROWS)}
    )
    scores = np.column_stack([np.zeros(N_ROWS), table.age, 1.0 * (table.kind == "b")])
    table["label"] = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    schema = {"categorical": {"kind": ["a", "b"]}, "target": "label", "classes": [0, 1, 2]}
    promise = {"epsilon": 4.0, "delta": 1e-6, "random_state": 0}
    model = tg.LogisticRegression(schema=schema, **promise).fit(table)
    kinds, ages = model.wald_test("kind"), model.wald_test("age")
    assert (kinds.df, ages.df) == (2, 2)  # class 2 alone depends on the kind
    assert kinds.p < 1e-6
    assert kinds.statistic == model.wald_test(["1: kind=b", "2: kind=b"]).statistic
    assert ages.statistic == model.wald_test(["1: age", "2: age"]).statistic
    plain = tg.LogisticRegression(classes=(0, 1, 2), **promise).fit(table[["age"]], table.label)
    assert plain.wald_test("age").df == 2


@pytest.mark.parametrize(
    ("contrasts", "words"),
    [
        (
            "age",
            "contrasts must name coefficients; got 'age', and there are 'x0', 'x1', 'x2', 'x3'",
        ),
        ("x0 - x1", "A combination has weights by name, such as {'x0': 1, 'x1': -1}"),
        ({"x0": 0.0}, "contrasts must have a weight that is not zero in each of them"),
        ([], "contrasts must have a weight that is not zero in each of them"),
        (np.full((1, 6), np.nan), "contrasts must have finite weights"),
        ({"x0": "1"}, "contrasts\\['x0'\\] must be a finite number; got '1'"),
        (
            np.eye(3),
            "contrasts must be names .* an array with 6 columns; got shape",
        ),
        (3, "contrasts must be names of coefficients .* an array with 6 columns; got 3"),
        ([["x0"]], "contrasts must be names of coefficients"),
    ],
    ids=str,
)
def test_other_contrasts_are_refused(contrasts, words):
    with pytest.raises(tg.InputError, match=words):
        fit_of(0).wald_test(contrasts)


def test_every_number_of_a_summary_is_one_of_the_models():
    model = fit_of(0)
    text, frame = model.summary(), model.coef_frame()
    assert f"rows: {N_ROWS}   mode: {model.certificate_.mode}" in text.splitlines()
    assert "with epsilon = 1 and delta = 1e-06" in text
    assert RESTS_ON in text
    header = next(line.split() for line in text.splitlines() if "std err" in line)
    assert header == ["coef", "std", "err", "z", "P>|z|", "[0.025", "0.975]", "noise"]
    center, covariance = model.interval_center_, model.covariance_
    shown = 0
    for place, name in enumerate(frame.index):
        (line,) = (line for line in text.splitlines() if line.startswith(f"{name} "))
        if frame.reason[name]:
            assert line.split() == [name, "not", "estimated", "(a)"]
            continue
        coef, std = center[place], np.sqrt(covariance[place, place])
        p = 2.0 * norm.sf(abs(coef / std))
        low, high = coef - 1.959964 * std, coef + 1.959964 * std
        noise = [*model.coef_noise_std_, model.intercept_noise_std_][place]
        numbers, third_digit = line.split()[1:], 10.0 ** np.floor(np.log10(std) - 2.0)
        for cell, number in zip(
            np.array(numbers)[[0, 1, 4, 5]], [coef, std, low, high], strict=True
        ):
            assert float(cell) == pytest.approx(number, abs=0.51 * third_digit)
            assert len(cell.partition(".")[2]) == round(-np.log10(third_digit))
        assert numbers[2:4] == [f"{coef / std:.2f}", "<0.001" if p < 0.001 else f"{p:.3f}"]
        assert float(numbers[6]) == pytest.approx(noise, rel=0.006)
        shown += 1
    assert shown == 5


def test_models_say_what_they_aim_at_in_one_line():
    assert CORRECTED in fit_of(0).summary().splitlines()
    X = np.random.default_rng(0).standard_normal((5_000, 2))
    robust = tg.HuberRegression(epsilon=1.0, delta=1e-6, random_state=0).fit(X, X[:, 0])
    assert BULK in robust.summary().splitlines()


@pytest.mark.parametrize(
    ("model", "title"),
    [
        (tg.QuantileRegression(level=0.9), "QuantileRegression(level=0.9)"),
        (tg.TweedieRegression(power=1.7), "TweedieRegression(power=1.7)"),
        (tg.HuberRegression(), "HuberRegression(threshold=1.345)"),
        (tg.LpRegression(), "LpRegression(p=4)"),
        (tg.SparseLinearRegression(n_nonzero=1), "SparseLinearRegression(n_nonzero=1)"),
        (tg.GammaRegression(), "GammaRegression"),
    ],
    ids=str,
)
def test_a_title_has_the_parameters_that_say_what_is_fitted(model, title, tmp_path):
    X = np.random.default_rng(0).standard_normal((1_000, 1))
    model.set_params(epsilon=1.0, delta=1e-6, random_state=0).fit(X, np.exp(X[:, 0]))
    assert model.summary().splitlines()[0] == title
    assert title in model._repr_html_()
    model.report(tmp_path / "report.html")
    assert title in (tmp_path / "report.html").read_text(encoding="utf-8")
    model.save(tmp_path / "model.json")
    assert tg.load(tmp_path / "model.json").summary().splitlines()[0] == title


@pytest.mark.parametrize("classes", [None, ("well", "ill")])
def test_a_summary_of_two_classes_says_whose_log_odds_they_are(classes, tmp_path):
    X = np.random.default_rng(0).standard_normal((1_000, 1))
    y = (X[:, 0] > 0.0).astype(int)
    labels = y if classes is None else np.array(classes)[y]
    model = tg.LogisticRegression(classes=classes, epsilon=1.0, delta=1e-6, random_state=0)
    first, second = classes or (0, 1)
    line = f"coefficients are of the log-odds of {second} against {first}"
    assert line in model.fit(X, labels).summary().splitlines()
    model.report(tmp_path / "report.html")
    assert line in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_an_interval_of_a_level_that_is_an_alpha_elsewhere_is_refused():
    model = fit_of(0)
    for call in (model.conf_int, model.coef_frame):
        with pytest.raises(tg.InputError, match=r"give 1 - alpha, such as 0\.95; got 0\.05"):
            call(0.05)
    assert np.isfinite(model.conf_int(0.5)).any()


def test_noise_is_hidden_where_no_interval_holds():
    X = np.random.default_rng(0).standard_normal((2_000, 2))
    y = X[:, 0] + np.random.default_rng(1).standard_normal(2_000)
    model = tg.HuberRegression(epsilon=1.0, delta=1e-6, random_state=0).fit(X, y)
    assert np.isnan(model.conf_int()).all()
    assert np.isfinite(model.coef_noise_std_).all()
    text = model.summary()
    assert "noise:" not in text
    assert " noise" not in next(line for line in text.splitlines() if "coef" in line)
    (line,) = (line for line in text.splitlines() if line.startswith("x0 "))
    assert line.split()[1:] == [f"{model.coef_[0]:.4f}", "no", "interval", "(a)"]
    assert "(a) no interval: the budget is too small" in text


def test_a_bare_summary_reads_as_it_prints():
    text = fit_of(0).summary()
    assert repr(text) == str(text)
    assert "\\n" not in repr(text)


@pytest.mark.parametrize("width", [80, 60, 30])
def test_a_table_that_is_too_wide_is_stacked_and_loses_nothing(width):
    model = fit_of(0)
    names = ["a_name_that_is_rather_long", "x1", "x2", "x3", "x4"]
    rows = coefficient_cells(model, names)
    lines = table_lines(rows, HEADERS, width)
    assert max(map(len, lines)) <= width
    words = " ".join(lines).split()
    for row in rows:
        assert row.name in words
        assert all(cell in words for cell in row.cells.values())
        if "[0.025" in row.cells:
            ends = f"{row.cells['[0.025']} to {row.cells['0.975]']}"
            assert f"[0.025, 0.975] {ends}" in " ".join(words)
    assert words.count("estimated") == 1


def test_a_frame_holds_what_intervals_lie_about():
    model = fit_of(2)
    frame = model.coef_frame(0.9)
    known = frame.reason == ""
    np.testing.assert_allclose(((frame.low + frame.high) / 2.0)[known], frame.coefficient[known])
    np.testing.assert_allclose(frame[["low", "high"]], model.conf_int(0.9))
    assert list(frame.index) == ["x0", "x1", "x2", "x3", "x4", "(intercept)"]


def test_a_frame_of_a_solver_without_variances_has_neither_intervals_nor_reasons():
    X = np.random.default_rng(0).standard_normal((500, 2))
    model = tg.SparseLinearRegression(n_nonzero=1, epsilon=1.0, delta=1e-6, random_state=0)
    frame = model.fit(X, X[:, 0]).coef_frame()
    assert frame[["std", "low", "high", "z", "p"]].isna().all(axis=None)
    assert np.isfinite(frame.coefficient).all()
    assert (frame.reason == "").all()


@pytest.mark.parametrize("scale", [1e-9, 1e12])
def test_a_table_is_no_wider_than_a_screen(scale):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N_ROWS, 3)) * scale
    y = -1e5 * X[:, 0] / scale + rng.standard_normal(N_ROWS)
    model = tg.LinearRegression(epsilon=1.0, delta=1e-6, random_state=0).fit(X, y)
    lines = model.summary().splitlines()
    assert max(map(len, lines)) <= 100
    assert coefficient_cells(model)[0].cells["P>|z|"] == "<0.001"


def test_a_solver_that_pays_for_no_variance_has_no_tests():
    X = np.random.default_rng(0).standard_normal((500, 3))
    model = tg.SparseLinearRegression(n_nonzero=1, epsilon=1.0, delta=1e-6, random_state=0)
    with pytest.raises(tg.InputError, match="confidence intervals and tests"):
        model.fit(X, X[:, 0]).wald_test()
    assert " z " not in model.summary()


@pytest.mark.parametrize(("n_rows", "said"), [(20_000, [ESTIMAND]), (1_200, [])])
def test_a_certificate_says_in_one_sentence_of_what_intervals_are(n_rows, said):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 2))
    y = X[:, 0] + rng.standard_normal(n_rows)
    certificate = tg.LinearRegression(guarantee=tg.GDP(1.0), random_state=0).fit(X, y).certificate_
    aims = [each for each in certificate.assumptions_for_accuracy if "without privacy" in each]
    assert aims == said
    for page in (certificate.to_text(), certificate.to_html()):
        assert all(aim in " ".join(page.split()) for aim in said)


def test_a_feature_with_the_name_of_the_constant_is_refused():
    X = np.random.default_rng(0).standard_normal((2_000, 2))
    table = pd.DataFrame({"(intercept)": X[:, 0], "b": X[:, 1]})
    price = {"epsilon": 1.0, "delta": 1e-6, "random_state": 0}
    with pytest.raises(
        tg.InputError, match=r"no feature called '\(intercept\)', which names the con"
    ):
        tg.LinearRegression(**price).fit(table, X[:, 0])
    model = tg.LinearRegression(fit_intercept=False, **price).fit(table, X[:, 0])
    assert model.coef_frame().index.tolist() == ["(intercept)", "b"]


def test_rounding_errors_of_a_zero_are_shown_as_zero():
    model = copy(fit_of(0))
    model.interval_center_ = np.array([-5.55e-19, 0.5, 1e-5, -0.3, 0.0, 2.0])
    first, _, small, *_ = coefficient_cells(model)
    assert (float(first.cells["coef"]), first.cells["z"]) == (0.0, "0.00")
    assert "-" not in first.cells["coef"]
    assert float(small.cells["coef"]) == pytest.approx(1e-5, abs=1e-5)


def test_contrasts_may_be_rows_of_numbers():
    model, rows = fit_of(0), [[0, 1, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0]]
    assert model.wald_test(rows).statistic == model.wald_test(np.array(rows)).statistic
    for wrong in ([[0, 1]], [[0, 1], [1]], [["a", "b"]], []):
        with pytest.raises(tg.InputError, match="contrasts must"):
            model.wald_test(wrong)
