"""Terms: what they read as, what their columns hold, and that each follows from its own record."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import tailguard as tg
from support import hostile
from tailguard.data.design import design_matrix, feature_marks
from tailguard.data.terms.functions import FUNCTIONS
from tailguard.data.terms.term import Factor, term_of

AGE = np.array([-3.0, 0.0, 10.0, 10.5, 40.0, 55.0, 1e300, np.nan, np.inf, -np.inf])
KNOTS = (0.0, 10.0, 25.0, 40.0)
TEXTS = {
    " age ": "age",
    "log1p( income )": "log1p(income)",
    "cut(age,30,50.5)": "cut(age, 30, 50.5)",
    "spline(age, -1e3, 0.1, 20)": "spline(age, -1000, 0.1, 20)",
    "age : region": "age:region",
    "cost EUR": "cost EUR",
    "`cost (EUR)`": "`cost (EUR)`",
    "log(`cost (EUR)`):`a:b`": "log(`cost (EUR)`):`a:b`",
    "power(class_1, 0.5)": "power(class_1, 0.5)",
    "log(`class`)": "log(`class`)",
}
NO_TERMS = [
    *("", ":", "age:", "log()", "log(age", "age)", "center(age)", "log(age, 2)", "power(age)"),
    *("cut(age)", "cut(age, 2, 1)", "cut(age, 1, 1)", "linear(age, 1)", "spline(age, df=4)"),
    *("cut(age, inf)", "cut(age, 1e999)", "cut(age, 'a')", "log(1)", "log(log(age))", "`a", "``"),
    *("log(a b)", "I(age**2)", "age:age", "missing(age, 1)", "a.b(age)", "log(*age)"),
]


def columns_of(text, x, **more):
    """The columns of one term of a column x, unless more are given."""
    table = pd.DataFrame({"x": x, **more})
    return design_matrix(table, tg.Schema(terms=[text]).settled(table.columns))


@pytest.mark.parametrize("text", TEXTS)
def test_a_term_is_written_in_one_way_and_reads_as_itself(text):
    term = term_of(text)
    assert str(term) == TEXTS[text]
    assert term_of(str(term)) == term


def test_names_that_are_no_words_stand_between_backticks():
    assert term_of("log(`cost (EUR)`):`a:b`").columns == ("cost (EUR)", "a:b")
    assert term_of("cost EUR").columns == ("cost EUR",)
    assert term_of("`cost (EUR)`").names({}) == ("cost (EUR)",)
    assert term_of("`quoted_name_0`:log(`b c`)").columns == ("quoted_name_0", "b c")


@pytest.mark.parametrize("text", NO_TERMS)
def test_what_is_no_term_is_refused_in_one_sentence(text):
    with pytest.raises(tg.InputError, match=r"(terms|The term) must"):
        tg.Schema(terms=[text])


def test_functions_have_the_values_of_their_formulas():
    x = np.array([0.5, 1.0, 2.0, 30.0])
    np.testing.assert_allclose(columns_of("log(x)", x)[:, 0], [math.log(v) for v in x])
    np.testing.assert_allclose(columns_of("log1p(x)", x)[:, 0], [math.log1p(v) for v in x])
    np.testing.assert_allclose(columns_of("power(x, 2.5)", x)[:, 0], [v**2.5 for v in x])
    product = columns_of("x:power(y, 2)", x, y=[1.0, 2.0, 3.0, -1.0])
    np.testing.assert_allclose(product[:, 0], [0.5, 4.0, 18.0, 30.0])


def test_intervals_hold_their_upper_end_alone():
    found = columns_of("cut(x, 10, 40)", AGE)
    np.testing.assert_array_equal(found[:7], [[0, 0]] * 3 + [[1, 0]] * 2 + [[0, 1]] * 2)
    assert term_of("cut(x, 10, 40)").names({}) == ("x=(10, 40]", "x=(40, inf]")


def test_linear_splines_interpolate_between_knots():
    found = columns_of(f"linear(x, {', '.join(map(str, KNOTS))})", AGE)[:7]
    rng = np.random.default_rng(0)
    at_knots = np.append(0.0, rng.standard_normal(3))  # the first knot is what others compare with
    np.testing.assert_allclose(found @ at_knots[1:], np.interp(AGE[:7], KNOTS, at_knots))
    assert term_of("linear(x, 0, 10)").names({}) == ("x at 10",)


def cox_de_boor(x, t, place, degree):
    """A B-spline by its recursion; the last interval has its right end."""
    if degree == 0:
        last = x == t[-1] and t[place] < t[place + 1] == t[-1]
        return float(t[place] <= x < t[place + 1] or last)
    total = 0.0
    for first, sign in ((place, 1), (place + 1, -1)):
        width = t[first + degree] - t[first]
        if width > 0:
            part = (x - t[first]) / width if sign > 0 else (t[first + degree] - x) / width
            total += part * cox_de_boor(x, t, first, degree - 1)
    return total


def test_splines_follow_the_recursion_and_stay_at_their_ends():
    found = columns_of(f"spline(x, {', '.join(map(str, KNOTS))})", AGE)[:7]
    t = [KNOTS[0]] * 3 + [*KNOTS] + [KNOTS[-1]] * 3
    inside = np.clip(AGE[:7], KNOTS[0], KNOTS[-1])
    expected = [[cox_de_boor(x, t, place, 3) for place in range(1, 6)] for x in inside]
    np.testing.assert_allclose(found, expected, atol=1e-14)
    np.testing.assert_array_equal(found[0], found[1])  # below the first knot as at it
    np.testing.assert_array_equal(found[5], found[6])


@pytest.mark.parametrize(
    "text", ["cut(x, 10)", "linear(x, 0, 9)", "spline(x, 0, 9)", "power(x, 2)"]
)
def test_what_is_no_number_has_no_value(text):
    found = columns_of(text, AGE)
    np.testing.assert_array_equal(np.isfinite(found).all(axis=1), [True] * 6 + [text[0] != "p"] + [
        False
    ] * 3)  # fmt: skip


def test_gaps_are_told_before_constants_stand_for_them():
    schema = tg.Schema(
        terms=["x", "missing(x)", "region", "missing(region)"],
        missing={"x": 7, "region": "b"},
        categorical={"region": ["a", "b"]},
    )
    table = pd.DataFrame({"x": [1.0, None, np.inf], "region": ["a", "", None]})
    found = design_matrix(table, schema.settled(table.columns))
    np.testing.assert_array_equal(
        found, [[1, 0, 0, 0, 0], [7, 1, 1, 0, 1], [np.inf, np.nan, 1, 0, 1]]
    )


def test_products_with_levels_have_a_slope_for_each():
    schema = tg.Schema(terms=["x", "region", "x:region"], categorical={"region": ["a", "b", "c"]})
    table = pd.DataFrame({"x": [2.0, 3.0, 4.0], "region": ["b", "a", "z"]})
    settled = schema.settled(table.columns)
    assert settled.coefficient_names[4:] == ("x:region=b", "x:region=c", "x:region=other")
    found = design_matrix(table, settled)
    np.testing.assert_array_equal(found[:, 4:], [[2, 0, 0], [0, 0, 0], [0, 0, 4]])
    assert settled.level_columns == ((1, 2, 3),)
    assert settled.places_of_terms["x:region"] == (4, 5, 6)


def test_the_rest_are_all_columns_that_no_other_term_of_one_column_reads():
    columns = ["id", "age", "income", "region", "cost"]
    schema = tg.Schema(
        terms=["...", "log1p(income)", "age:region"],
        categorical={"region": ["a", "b"]}, drop=["id"], target="cost",
    )  # fmt: skip
    assert schema.undeclared(columns) == ()
    assert replace(schema, terms=["...", "log1p(income)"]).undeclared(columns) == ("age",)
    settled = schema.settled(columns)
    assert settled.features == ("age", "income", "region")
    assert settled.terms == ("age", "region", "log1p(income)", "age:region")
    assert settled.settled(columns) == settled == tg.Schema.from_json(settled.to_json())


def test_a_column_whose_gaps_alone_are_a_term_is_among_the_rest():
    terms = ["...", "missing(age)", "log(km)", "missing(km)"]
    schema = tg.Schema(terms=terms, missing={"age": 40, "km": 1})
    settled = schema.settled(["age", "km", "years"])
    assert settled.terms == ("age", "years", "missing(age)", "log(km)", "missing(km)")
    table = pd.DataFrame({"age": [30.0, None], "km": [1.0, 1.0], "years": [2.0, 3.0]})
    np.testing.assert_array_equal(
        design_matrix(table, settled), [[30, 2, 0, 0, 0], [40, 3, 1, 0, 0]]
    )


@pytest.mark.parametrize("terms", [["..."], ["x"], ["log(x)"], ["y", "x:y"]])
def test_a_column_beside_its_gaps_needs_a_constant_for_them(terms):
    """Without one its gaps make records void, and their indicator is zero in all others."""
    schema = tg.Schema(terms=[*terms, "missing(x)"], features=["x", "y"] if "y" in terms else None)
    columns = ["x", "y"]
    with pytest.raises(tg.InputError, match=r"missing must have a constant for 'x', which terms"):
        schema.settled(columns)
    filled = schema.with_declared(missing={"x": 1})
    assert filled.settled(columns).coefficient_names[-1] == "missing(x)"
    assert tg.Schema(terms=["y", "missing(x)"]).settled(columns).terms == ("y", "missing(x)")


REFUSED = {
    "a product whose baseline would have no slope": (
        {"terms": ["region", "x:region"]},
        "terms must have 'x' beside 'x:region', or its slope would be zero",
    ),
    "intervals likewise": ({"terms": ["x:cut(y, 3)"]}, "must have 'x' beside"),
    "a function of levels": ({"terms": ["log(region)"]}, "must not take log of a column of levels"),
    "a dropped column": (
        {"terms": ["x"], "drop": ["x"]},
        "terms must name features; got 'x', which is dropped",
    ),
    "the target": (
        {"terms": ["log(x)"], "target": "x"},
        "terms must name features; got 'x', which is the target",
    ),
    "no feature": ({"terms": ["x"], "features": ["y"]}, "terms must name features; got 'x'"),
    "a feature left out": ({"terms": ["x"], "features": ["x", "y"]}, "no term reads 'y'"),
    "one twice": ({"terms": ["log(x)", "log( x )"]}, "distinct coefficient names"),
    "none": ({"terms": []}, "terms must be a list"),
    "text": ({"terms": "x"}, "terms must be a list"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_terms_that_do_not_fit_together_are_refused(case):
    declared, words = REFUSED[case]
    declared = {"categorical": {"region": ["a", "b"]}} | declared
    if "region" not in str(declared.get("terms")):
        del declared["categorical"]
    with pytest.raises(tg.InputError, match=words):
        tg.Schema(**declared)


@pytest.mark.parametrize("function", ["spline", "linear"])
def test_a_function_that_holds_straight_lines_stands_for_its_column(function):
    levels = {"region": ["n", "s"]}
    schema = tg.Schema(terms=["region", f"{function}(x, 0, 1, 2)", "x:region"], categorical=levels)
    assert "x:region=s" in schema.settled(["x", "region"]).coefficient_names
    with pytest.raises(tg.InputError, match="terms must have 'x' beside"):
        tg.Schema(terms=["region", "log(x)", "x:region"], categorical=levels)


def test_levels_that_are_void_have_no_coefficient_and_no_row():
    levels = {"region": ["a", "b"], "sex": ["f", "m"]}
    table = pd.DataFrame({"region": ["a", "b", "z", None], "sex": ["f", "x", "m", "m"]})
    for other in ("void", {"region": "void"}):
        schema = tg.Schema(categorical=levels, other=other).settled(table.columns)
        found = design_matrix(table, schema)
        assert schema.coefficient_names[:2] == ("region=b", "sex=m")
        np.testing.assert_array_equal(np.isnan(found[:, 0]), [False, False, True, True])
        assert tg.Schema.from_json(schema.to_json()) == schema
        marks = feature_marks(table, schema)[:, 0]
        assert np.isfinite(marks[:2]).all()
        assert np.isinf(marks[2])
        assert np.isnan(marks[3])
    assert len(schema.coefficient_names) == 3
    assert np.isnan(design_matrix(table, schema)[:, 0]).tolist() == [False, False, True, True]


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"other": "none"}, "other must be one of 'level', 'void'"),
        ({"other": {"c": "void"}}, "other must be one of 'a'"),
        ({"other": {"a": "no"}}, r"other\['a'\] must be one of"),
        ({"other": "void"}, "other must be 'level' for a column of one level"),
        ({"missing": {"a": "y"}}, r"missing\['a'\] must be one of 'x', 'other'"),
    ],
)
def test_what_is_declared_of_other_levels_is_checked(declared, words):
    with pytest.raises(tg.InputError, match=words):
        tg.Schema(**{"categorical": {"a": ["x"]}} | declared)


def test_marks_say_where_a_term_has_no_value():
    table = pd.DataFrame({"x": [1.0, -2.0, None, np.inf]})
    marks = feature_marks(table, tg.Schema(terms=["x", "log1p(x)"]).settled(["x"]))[:, 0]
    assert np.isfinite(marks).tolist() == [True, False, False, False]
    assert np.isnan(marks).tolist() == [False, False, True, False]


def text_of(name):
    """A term of a function of the table."""
    function = FUNCTIONS[name]
    count = int(min(max(function.least, 3), function.most))
    return str(Factor("x", name, tuple(map(float, range(1, count + 1)))))


@pytest.mark.parametrize("constants", [{}, {"x": 1.0}])
def test_a_cell_of_any_kind_changes_no_other_record(constants):
    terms = [text_of(name) for name in FUNCTIONS if constants or name != "missing"]
    schema = tg.Schema(terms=terms, missing=constants).settled(["x"])
    plain = [0.5, "2", 3.25, None]
    cells = [case.cell for case in hostile.cells(200)] + [1e308, -1e308, 5e-324, 10**400, "1e400"]

    def found(first):
        table = pd.DataFrame({"x": pd.Series([first, *plain], dtype=object)})
        return design_matrix(table, schema)[1:]

    expected = found(1.0)
    for cell in cells:
        np.testing.assert_array_equal(found(cell), expected)


@pytest.mark.parametrize("text", ["power(x, -1)", "power(x, 0)", "power(x, 2)", "missing(x)"])
def test_an_infinite_cell_makes_its_record_void_whatever_the_function(text):
    found = columns_of(text, np.array([2.0, np.inf, -np.inf]))
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1:]).all()


def test_a_power_of_zero_does_not_stand_for_a_missing_cell():
    assert np.isnan(columns_of("power(x, 0)", np.array([np.nan]))).all()
