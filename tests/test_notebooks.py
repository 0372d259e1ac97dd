"""What a notebook shows says what the texts say, and escapes every word."""

import pickle
import re
from copy import deepcopy
from html import unescape

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context

import tailguard as tg
from tailguard.printable import html_list, html_table

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"a<b": RNG.standard_normal(5_000), "flat": 1.0})
TARGET = TABLE["a<b"] + RNG.standard_normal(5_000)


def words(html):
    """The text of a page, without its tags."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


@pytest.fixture(scope="module")
def model():
    return tg.LinearRegression(epsilon=2.0, delta=1e-6, random_state=0).fit(TABLE, TARGET)


def test_a_fitted_model_shows_its_summary(model):
    shown = model._repr_mimebundle_()
    assert shown["text/plain"] == repr(model)
    html = shown["text/html"]
    assert html == model._repr_html_()
    assert "a&lt;b" in html
    assert "a<b" not in html
    said = words(html)
    for line in model.summary().splitlines():
        if set(line) != {"="} and set(line) != {"-"}:
            assert all(part in said for part in line.split()), line


def test_a_summary_shows_the_table_of_its_model(model):
    summary = model.summary()
    assert summary._repr_html_() == model._repr_html_()
    for copied in (pickle.loads(pickle.dumps(summary)), deepcopy(summary)):
        assert copied == summary
        assert copied._repr_html_() == summary._repr_html_()


def test_a_joint_test_shows_its_contrasts_and_its_numbers(model):
    found = model.wald_test(["a<b", "(intercept)"])
    shown = words(found._repr_html_())
    for row in repr(found).splitlines()[4:]:
        assert " ".join(row.split()) in shown
    assert f"statistic {found.statistic:.4g} df 2 p <0.001" in shown
    missing = model.wald_test("flat")
    assert missing.reason in words(missing._repr_html_())


def test_a_model_that_is_not_fitted_shows_what_scikit_learn_does():
    shown = tg.LinearRegression(epsilon=1.0)._repr_mimebundle_()
    assert "epsilon" in words(shown["text/html"])
    assert "coef" not in words(shown["text/html"])
    with config_context(display="text"):
        assert set(tg.LinearRegression()._repr_mimebundle_()) == {"text/plain"}


def test_certificates_plans_and_advice_show_what_their_texts_say(model):
    certificate = words(model.certificate_._repr_html_())
    assert model.certificate_.guarantee.describe() in certificate
    assert certificate in words(model.certificate_.to_html())
    plan = words(model.plan_._repr_html_())
    assert all(f"{stage.name} {stage.purpose}" in plan for stage in model.plan_.stages)
    assert all(f"{name.replace('_', ' ')} " in plan for name in model.plan_.settings)
    advice = tg.plan("squared", n_rows=10_000, n_features=3, epsilon=1.0, delta=1e-6)
    shown = words(advice._repr_html_())
    for candidate in advice.candidates:
        assert f"{candidate.method} {candidate.predicted_error:.3g}" in shown
    assert all(note in shown for note in advice.notes)


def test_a_ledger_shows_its_cap_and_what_is_left(tmp_path):
    ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", epsilon=2.0, delta=1e-5)
    shown = words(ledger._repr_html_())
    assert ledger.cap.describe() in shown
    assert ledger.describe_left() in shown


def test_every_word_of_a_table_or_list_is_escaped():
    html = html_table([["<b>", "&"]], ["<i>", "\x1b[2J"]) + html_list(["<script>"])
    assert "<b>" not in html
    assert "<i>" not in html
    assert "<script>" not in html
    assert "\x1b" not in html
    assert words(html) == r"<i> \x1b[2J <b> & <script>"
    assert html_list([]) == ""


def test_every_table_scrolls_in_its_own_box(model, tmp_path):
    known = {"epsilon": 2.0, "delta": 1e-6}
    shown = [
        model,
        model.certificate_,
        model.plan_,
        model.wald_test("a<b"),
        tg.Schema(target="a"),
        tg.Ledger(tmp_path / "budget.sqlite", name="a", **known),
        tg.plan("squared", n_rows=10_000, n_features=3, **known),
        tg.mean(TABLE, **known, random_state=0),
        tg.describe(TABLE, **known, random_state=0),
    ]
    for result in shown:
        html = result._repr_html_()
        boxed = re.findall(r'<div style="overflow-x: auto" tabindex="0">\s*<table', html)
        assert len(boxed) == html.count("<table") > 0, type(result)
