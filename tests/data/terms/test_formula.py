"""Formulas: formulaic's grammar, our terms; the numbers of its own where nothing is learned."""

import sys

import formulaic
import numpy as np
import pandas as pd
import pytest

import tailguard as tg
from tailguard.cli.app import run
from tailguard.data.design import design_matrix
from tailguard.data.terms.formula import LEARNED, with_formula

LEVELS = {"region": ["a", "b", "c"]}
FORMULAS = [
    "cost ~ age",
    "cost ~ age + C(region)",
    "cost ~ age*region",
    "cost ~ (age + income + region)**2",
    "cost ~ (age + income) ^ 5 + I(age**7)",
    "cost ~ log(income) + log1p(age) + I(age**2)",
    "cost ~ np.log(income) + {age**0.5} + age:log(income)",
    "cost ~ . - income",
    "cost ~ bs(age, knots=[30, 50], lower_bound=18, upper_bound=90)",
    "cost ~ bs(age, knots=[30], degree=1, lower_bound=18, upper_bound=90) + `odd name`",
    "cost ~ log1p(`odd name`) + `odd name`:C(region) + C(region)+ `odd name`",
    "age + C(region)",
]
BUDGET = {"epsilon": 8.0, "delta": 1e-6, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n_rows = 300
    frame = pd.DataFrame(
        {
            "age": rng.uniform(18, 90, n_rows),
            "income": rng.lognormal(3, 1, n_rows),
            "region": rng.choice(LEVELS["region"], n_rows),
            "odd name": rng.uniform(1, 2, n_rows),
        }
    )
    return frame.assign(cost=frame.age + rng.normal(0, 1, n_rows))


@pytest.mark.parametrize("formula", FORMULAS)
def test_columns_are_those_of_formulaic(formula, table):
    schema = with_formula(tg.Schema(categorical=LEVELS), formula, table.columns)
    ours = design_matrix(table, schema.settled(table.columns))
    right = formulaic.model_matrix(formula, table, context={"np": np, "log1p": np.log1p})
    theirs = np.asarray(getattr(right, "rhs", right), dtype=float)[:, 1:]
    other = [place for place, column in enumerate(ours.T) if not column.any()]
    names = schema.settled(table.columns).coefficient_names
    assert all("other" in names[place] for place in other)
    ours = np.delete(ours, other, axis=1)
    assert ours.shape == theirs.shape
    # The order of terms is a matter of taste: each column of one is a column of the other.
    ours, theirs = (each[:, np.lexsort(each.round(9))] for each in (ours, theirs))
    np.testing.assert_allclose(ours, theirs, atol=1e-9)
    assert schema.target == ("cost" if "~" in formula else None)


REFUSED = {
    "cost ~ scale(age)": "must not use scale, which would be learned from records",
    "cost ~ poly(age, 3)": "must not use poly, which would be learned",
    "cost ~ center(age)": "must not use center, which would be learned",
    "cost ~ bs(age, df=5)": "must not use bs, which would be learned from records: give it knots",
    "cost ~ bs(age, knots=[30])": "must not use bs",
    "cost ~ C(sex)": "must declare the levels of 'sex', which are never taken from records",
    "cost ~ C(region, contr.sum)": "formula must be made of",
    "cost ~ age + offset(log(income))": "declare it as offset=, or as exposure=",
    "cost ~ C(region, spans_intercept=False)": "give C(region) no argument except levels",
    "cost ~ C(region, levels=['a', 'b'])": "levels of 'region' must be declared once",
    "cost ~ age - 1": "to leave it out, set fit_intercept=False",
    "cost ~ 0 + age": "to leave it out, set fit_intercept=False",
    "log(cost) ~ age": "add a changed target to the table as a column of its own",
    "cost + income ~ age": "must have one unchanged column on its left",
    "cost | income ~ age": "must have one part on each side",
    "cost ~ 1": "must name at least one column on its right",
    "cost ~ ": "must name at least one column on its right",
    "cost ~ age +": "must be valid for formulaic",
    "cost ~ 'age'": "must be valid for formulaic",
    "cost ~ age.mean()": "formula must be made of columns",
    "cost ~ log(age + 1)": "terms must",
    "cost ~ C(sex, Treatment('m'))": "C(x, levels=[baseline, ...])",
    "cost ~ {age / income}": "formula must be made of columns",
    "cost ~ region + region:age": "terms must have 'age' beside",
    "cost ~ age**999999999": "must have powers of at most 5",
    "cost ~ (age + income)^(1 - 1 + 30)": "must have powers of at most 5",
    "cost ~ agee": "must have a column 'agee'",
}


@pytest.mark.parametrize("formula", REFUSED)
def test_what_is_learned_or_unknown_is_refused_in_one_sentence(formula, table):
    model = tg.LinearRegression(schema={"categorical": LEVELS}, **BUDGET)
    with pytest.raises(tg.InputError) as caught:
        model.fit(table, formula=formula)
    assert REFUSED[formula] in str(caught.value)


def test_all_columns_are_those_without_another_role():
    schema = tg.Schema(drop=["a"], row_id="b", person="c", max_rows=2, weight="d", weight_bound=1)
    assert with_formula(schema, "y ~ .", list("yabcdx")).terms == ("x",)


def test_a_formula_may_repeat_the_target_of_its_schema():
    schema = tg.Schema(target="cost")
    assert with_formula(schema, "cost ~ age", ["age", "cost"]) == with_formula(
        schema, "~ age", ["age", "cost"]
    )
    for text in ("cost ~ .", "~ ."):
        assert with_formula(schema, text, ["age", "cost"]).terms == ("age",)
    with pytest.raises(tg.InputError, match="target must be declared once"):
        with_formula(schema, "age ~ cost", ["age", "cost"])


def test_a_name_of_digits_is_no_power():
    assert with_formula(tg.Schema(), "y ~ `2020` + a**2", ["2020", "a"]).terms == ("2020", "a")


def test_every_name_that_learns_is_refused_by_name():
    for name in LEARNED:
        with pytest.raises(tg.InputError, match=f"must not use {name}, which would be learned"):
            with_formula(tg.Schema(), f"cost ~ {name}(age)", ["age", "cost"])


def test_without_formulaic_a_sentence_says_how_to_get_it(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "formulaic.errors", None)
    with pytest.raises(tg.InputError, match=r"pip install 'tailguard\[formula\]'"):
        tg.LinearRegression(**BUDGET).fit(table, formula="cost ~ age")


def test_a_fit_by_a_formula_is_that_by_its_schema(table, tmp_path):
    formula = "cost ~ age + C(region, levels=['a', 'b', 'c']) + log1p(income)"
    schema = tg.Schema(terms=["age", "region", "log1p(income)"], categorical=LEVELS, target="cost")
    model = tg.LinearRegression(**BUDGET).fit(table, formula=formula)
    expected = tg.LinearRegression(schema=schema, **BUDGET).fit(table)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.schema_ == expected.schema_
    with pytest.raises(tg.InputError, match="y must be None if target names a column"):
        tg.LinearRegression(**BUDGET).fit(table, table.cost, formula=formula)
    right = tg.LinearRegression(**BUDGET).fit(table, table.cost, formula="age + log1p(income)")
    assert right.schema_.terms == ("age", "log1p(income)")
    table.to_csv(tmp_path / "rows.csv", index=False)
    given = ["fit", tmp_path / "rows.csv", "--formula", formula, "--out", tmp_path / "model.json"]
    given += ["--epsilon", 8, "--delta", 1e-6, "--random-state", 0]
    assert run([*map(str, given)]) == 0
    loaded = tg.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))
