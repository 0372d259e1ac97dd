"""What the page of public names says of arguments, methods and attributes is what the code has."""

import dataclasses
import inspect
import re

import numpy as np
import pytest

import tailguard as tg
from docs.test_public_names import PAGE, WING

SPAN = re.compile(r"`([^`]+)`")
CALL = re.compile(r"(\w+)\((.*)\)")
ARGUMENT = re.compile(r"(\w+)=")
ROWS = [
    (name, text)
    for name, text in re.findall(r"^\| `tg\.(\w+)` \|(.*)\|$", PAGE, re.MULTILINE)
    if name not in WING and not inspect.ismodule(getattr(tg, name))
]
SECTION = re.compile(r"^## (.+)\n(?P<body>(?:(?!^## ).*\n?)*)", re.MULTILINE)


def arguments_of(value):
    """The names that a call, a class or its fit take; what is passed to estimators, theirs."""
    value = tg.LinearRegression if value in (tg.Schema, tg.Ledger) else value
    calls = [value, getattr(value, "fit", None)] if inspect.isclass(value) else [value]
    return {name for call in calls if call for name in inspect.signature(call).parameters}


def has(value, name):
    """Whether objects of a class, or a call's answer, have an attribute of that name."""
    fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
    kept = re.search(rf"\b(self|fitted)\.{name}(: | = )", inspect.getsource(value)) is not None
    return hasattr(value, name) or name in {field.name for field in fields} or kept


def untrue(value, text):
    """The code spans of a text about a public name that the code does not bear out."""
    wrong = []
    for span in SPAN.findall(text):
        call, argument = CALL.fullmatch(span), ARGUMENT.match(span)
        if call:
            target = getattr(value, call[1], None) or getattr(tg, call[1], None)
            stated = {word.split("=")[0].strip() for word in call[2].split(",") if word.strip("* ")}
            if target is None or not stated <= arguments_of(target):
                wrong.append(span)
        elif argument and argument[1] not in arguments_of(value):
            wrong.append(span)
    return wrong


@pytest.mark.parametrize(("name", "text"), ROWS, ids=[name for name, _ in ROWS])
def test_what_a_row_says_of_calls_and_arguments_is_so(name, text):
    assert untrue(getattr(tg, name), text) == []


@pytest.mark.parametrize(
    ("name", "section"),
    [
        ("Schema", "Schema"),
        ("Ledger", "Budget"),
        ("ApproxDP", "Guarantees"),
        ("PureDP", "Guarantees"),
    ],
)
def test_the_methods_that_a_section_lists_exist(name, section):
    body = dict(SECTION.findall(PAGE))[section]
    listed = re.search(r"^(?:It|Each) has (.*?)(?:\n\n|\Z)", body, re.MULTILINE | re.DOTALL)[1]
    assert listed
    assert [
        each for each in SPAN.findall(listed) if not has(getattr(tg, name), each.split("(")[0])
    ] == []


@pytest.fixture(scope="module")
def fitted():
    X = np.random.default_rng(0).standard_normal((1000, 2))
    return tg.LinearRegression(guarantee=tg.GDP(9.0), random_state=0).fit(X, X[:, 0])


def after_fit(section):
    body = dict(SECTION.findall(PAGE))[section]
    return re.search(r"^After `fit`: (.*?)(?:\n\n|\Z)", body, re.MULTILINE | re.DOTALL)[1]


def test_what_estimators_have_after_a_fit(fitted):
    text = after_fit("Estimators").replace("`tailguard`", "").replace("`tg.load`", "")
    assert hasattr(tg.SparseLinearRegression, "support_")
    known = text.replace("`support_`", "")
    spans = [span.split("(")[0] for span in SPAN.findall(known) if re.match(r"\w+(\(|$)", span)]
    assert [span for span in spans if not hasattr(fitted, span)] == ["predict_proba"]
    assert hasattr(tg.LogisticRegression, "predict_proba")
    assert len(spans) > 20


def test_what_a_search_has_after_a_fit():
    spans = [span.split("(")[0] for span in SPAN.findall(after_fit("Search"))]
    assert [span for span in spans if not has(tg.PrivateSearch, span)] == []
    assert len(spans) > 8


def test_what_is_not_so_is_seen():
    assert untrue(tg.QuantileRegression, "`level=`, `fit(X, y, groups=...)`") == [
        "fit(X, y, groups=...)"
    ]
    assert untrue(tg.LpRegression, "`power=4`") == ["power=4"]
    assert untrue(tg.MeanResult, "`report(path, reason=...)`") == ["report(path, reason=...)"]
    assert not has(tg.Ledger, "refund_everything")
