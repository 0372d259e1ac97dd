"""Pages for everybody: names for all that can be used, headings in order, colours that stand apart.

What axe-core calls critical or serious, as far as it follows from a page's text and style alone.
"""

import re
from itertools import pairwise

import numpy as np
import pytest

import tailguard as tg
from support.pages import Page
from tailguard.report.page import asset
from tailguard.report.plan_page import plan_page

ENOUGH = 4.5  # contrast of text, by WCAG 2.2, 1.4.3 (AA)
KNOWN = {"epsilon": 4.0, "delta": 1e-6, "random_state": 0}


AXES = {"n_features": [2], "n_rows": [1000, 10_000], "epsilon": [1.0]}
GRID = {
    "task": "mean",
    "guarantee": {"kind": "approx", "delta": 1e-6},
    "axes": AXES,
    "start": dict.fromkeys(AXES, 0),
    "unit": "your units",
    "methods": ["tg.mean"],
    "cells": [[[None], [[0.1, 0, False]]]],
}


@pytest.fixture(scope="module", params=["fit", "describe", "plan"])
def text(request):
    """A page of coefficients, one of tables, and one of sliders."""
    X = np.random.default_rng(0).gamma(4.0, 3.0, (2000, 2))
    if request.param == "plan":
        return plan_page(GRID)
    if request.param == "fit":
        return tg.LinearRegression(**KNOWN).fit(X, X[:, 0]).report().to_html()
    return tg.describe(X, **KNOWN).report().to_html()


def luminance(colour):
    """Relative luminance of #rgb or #rrggbb, as WCAG defines it."""
    digits = "".join(2 * digit for digit in colour[1:]) if len(colour) == 4 else colour[1:]
    parts = [int(digits[place : place + 2], 16) / 255.0 for place in (0, 2, 4)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(one, other):
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


def palettes(style):
    """The colours of each form of a page: light, dark and printed."""
    return [
        dict(re.findall(r"--(\w+): (#\w+);", body))
        for body in re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    ]


def test_text_stands_apart_from_its_ground_in_light_dark_and_print():
    forms = palettes(asset("report.css"))
    assert len(forms) == 3
    for form in forms:
        for ink in ("ink", "quiet", "mark", "good", "bad"):
            for ground in ("paper", "panel"):
                assert contrast(form[ink], form[ground]) >= ENOUGH, (ink, ground)


def test_a_faint_colour_is_seen():
    assert contrast("#fff", "#000") == pytest.approx(21.0)
    assert contrast("#777", "#fff") < ENOUGH < contrast("#767676", "#ffffff")


@pytest.mark.long
def test_headings_go_down_one_step_at_a_time(text):
    levels = [int(tag[1]) for tag, _ in Page(text).elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_everything_has_a_name_and_its_own_id(text):
    page = Page(text)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len({*ids})
    labelled = {label["for"] for label in page.all("label")}
    assert all(each["id"] in labelled for each in page.all("input"))
    assert len(page.all("table")) == len(page.all("caption"))
    assert all(head.get("scope") in {"row", "col"} for head in page.all("th"))
    assert all(all(rows[0]) for rows in page.tables.values()), "a heading without a word"
    assert all(picture.get("aria-hidden") == "true" for picture in page.all("svg"))
    focused = [each for _, each in page.elements if each.get("tabindex") == "0"]
    assert all(each.get("aria-label") for each in focused)
    assert {each.get("tabindex", "0") for _, each in page.elements} == {"0"}


def test_language_title_and_landmarks_are_there_and_a_reader_may_enlarge(text):
    page = Page(text)
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("main")) == len(page.all("header")) == len(page.all("title")) == 1
    [view] = [each["content"] for each in page.all("meta") if each.get("name") == "viewport"]
    assert "user-scalable" not in view
    assert "maximum-scale" not in view


def test_what_has_the_focus_is_outlined():
    style = asset("report.css")
    for what in (".scroll", "a", ".slider input"):
        assert re.search(re.escape(what) + r":focus-visible[^{]*\{[^}]*outline: 3px", style)
    assert "outline: none" not in style
