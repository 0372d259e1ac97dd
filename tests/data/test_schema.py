"""What may be declared, what is refused in one sentence, and what a table makes of a schema."""

import pickle
from copy import deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tailguard as tg
from tailguard.data.frames import column_names
from tailguard.data.schema import NOT_LOOKED_AT
from tailguard.data.table import FrameTable

FULL = tg.Schema(
    features=["age", "region", "power"],
    categorical={"region": ["north", "south"]},
    drop=["id"],
    missing={"age": 40},
    target="cost",
    exposure="years",
    classes=("no", "yes"),
)
REFUSED = {
    "features as text": ({"features": "age"}, "features must be a list"),
    "no features": ({"features": []}, "features must be a list"),
    "a feature twice": ({"features": ["a", "a"]}, "features must be a list of different names"),
    "a feature that is no name": ({"features": ["a", 3]}, "features must be a list"),
    "a blank name": ({"drop": [" "]}, "drop must be a list"),
    "target that is no name": ({"target": 3}, "target must be the name of a column"),
    "feature and dropped": ({"features": ["a"], "drop": ["a"]}, "drop must not be a column of fea"),
    "feature and target": ({"features": ["a"], "target": "a"}, "target must not be a column of f"),
    "target and exposure": ({"target": "a", "exposure": "a"}, "exposure must not be a column of t"),
    "levels of no feature": (
        {"features": ["a"], "categorical": {"b": ["x"]}},
        "categorical must name features; got 'b'",
    ),
    "levels of what is dropped": ({"drop": ["b"], "categorical": {"b": ["x"]}}, "categorical must"),
    "levels of the target": (
        {"target": "b", "categorical": {"b": ["x"]}},
        "got 'b', which is the target: declare its labels as classes, not as levels.",
    ),
    "levels as text": ({"categorical": {"b": "xy"}}, "levels of 'b' must be a list"),
    "levels as a list": ({"categorical": ["b"]}, "categorical must map"),
    "a constant for levels": (
        {"missing": {"b": 1}, "categorical": {"b": ["x"]}},
        "missing['b'] must be one of 'x', 'other'; got '1'",
    ),
    "a constant for the target": ({"target": "b", "missing": {"b": 1}}, "missing must name"),
    "a statistic": ({"missing": {"a": "mean"}}, "must be a finite number; got 'mean'"),
    "an infinite constant": ({"missing": {"a": np.inf}}, "must be a finite number"),
    "statistics": ({"missing": "mean"}, "missing must map names of columns to constants"),
    "one class": ({"classes": ["no"]}, "classes must be at least two different labels"),
    "a class twice": ({"classes": [0, False]}, "classes must be at least two different labels"),
    "classes without length": (
        {"classes": np.array(1.0)},
        "classes must be at least two different",
    ),
    "classes as text": ({"classes": "no"}, "classes must be at least two different labels"),
    "a class beyond floats": ({"classes": [10**400, 1]}, "classes must be at least two different"),
    "a level of 5000 digits": ({"categorical": {"a": [10**5000]}}, "numbers that Python prints"),
    "a class that is none": ({"classes": [None, 1]}, "classes must be at least two different"),
    "a weight without its bound": ({"weight": "w"}, "weight_bound must be"),
    "a bound without a weight": ({"weight_bound": 1.0}, "weight_bound must be"),
    "exposure and offset": (
        {"exposure": "years", "offset": "off"},
        "offset must not be declared beside an exposure",
    ),
    "coefficients of one name": (
        {"features": ["a=x", "a"], "categorical": {"a": ["w", "x"]}},
        "features must have distinct coefficient names",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_together_is_refused_in_one_sentence(case):
    declared, words = REFUSED[case]
    with pytest.raises(tg.InputError) as caught:
        tg.Schema(**declared)
    assert words in str(caught.value)


def test_it_names_coefficients():
    assert FULL.numeric == ("age", "power")
    assert FULL.coefficient_names == ("age", "region=south", "region=other", "power")
    assert pickle.loads(pickle.dumps(FULL)) == deepcopy(FULL) == FULL


def test_a_table_names_the_features_that_are_left():
    schema = tg.Schema(drop=["id"], target="cost", categorical={"region": ["north"]})
    columns = ["id", "age", "cost", "region", "day"]
    assert schema.undeclared(columns) == ("age", "day")
    settled = schema.settled(columns)
    assert settled.features == ("age", "region", "day")
    assert settled.settled(["day", "region", "age", "id"]) == settled
    assert settled.undeclared(columns) == ()


@pytest.mark.parametrize("given", [None, 3, "age", b"age", [1, 2], [["a"]], [None], np.ones(2)])
@pytest.mark.parametrize("schema", [tg.Schema(target="a"), tg.Schema(features=["a"])])
def test_columns_that_are_no_names_are_refused_whatever_is_declared(schema, given):
    for ask in (schema.settled, schema.undeclared):
        with pytest.raises(tg.InputError, match="columns must be a list of the names of a table's"):
            ask(given)
    assert schema.settled(np.array(["a", "b"])).features
    assert schema.settled(name for name in "ab").features


@pytest.mark.parametrize("form", [list, tuple, np.array, pd.Series, pl.Series])
def test_levels_and_classes_come_in_the_same_forms(form):
    schema = tg.Schema(categorical={"a": form([1, 2])}, classes=form([np.int64(1), np.int64(2)]))
    assert schema.categorical == {"a": ("1", "2")}
    assert schema.classes == (1, 2)
    assert {type(each) for each in schema.classes} == {int}
    assert tg.Schema(categorical={"a": [np.int64(1), np.int64(2)]}).categorical == {"a": ("1", "2")}


@pytest.mark.parametrize("form", [tuple, np.array, pd.Index, pd.Series, pl.Series])
def test_names_of_columns_come_in_the_same_forms(form):
    assert tg.Schema(drop=form(["id", "day"])) == tg.Schema(drop=["id", "day"])
    assert tg.Schema(features=form(["age"])) == tg.Schema(features=["age"])


def test_a_key_that_is_too_long_to_print_is_refused():
    with pytest.raises(tg.InputError, match="only; got int"):
        tg.Schema.of({10**5000: 1})


@pytest.mark.parametrize(
    "lacking", [{"features": ["b"]}, {"categorical": {"b": ["x"]}}, {"drop": ["b"]}]
)
def test_a_column_that_the_table_lacks_is_refused(lacking):
    said = r"X must have a column 'b'; its columns are 'a', 'two, or c'\."
    with pytest.raises(tg.InputError, match=said):
        tg.Schema(**lacking).settled(["a", "two, or c"])


@pytest.mark.parametrize(("n_columns", "end"), [(12, "'c11'"), (13, "'c11' and 1 more")])
def test_a_sentence_lists_twelve_columns_and_counts_the_others(n_columns, end):
    columns = [f"c{place}" for place in range(n_columns)]
    with pytest.raises(tg.InputError, match=f"its columns are 'c0', .*, 'c10', {end}\\."):
        tg.Schema(features=["x"]).settled(columns)


def test_a_table_without_a_feature_is_refused():
    with pytest.raises(tg.InputError, match="X must have a column that is a feature"):
        tg.Schema(target="a", drop=["b"]).settled(["a", "b"])


@pytest.mark.parametrize("name", ["features", "categorical", "drop", "missing", "classes"])
def test_nothing_is_declared_twice(name):
    with pytest.raises(tg.InputError, match=f"{name} must be declared once"):
        FULL.with_declared(**{name: getattr(FULL, name)})
    assert FULL.with_declared(**{name: None}) == FULL


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_of_a_table_in_memory_types_are_told_by_no_row(library):
    (empty,) = FrameTable(library({"a": [1.0, 2.0], "b": ["x", "y"]})).without_rows()
    assert (len(empty), column_names(empty)) == (0, ("a", "b"))


def test_what_other_levels_become_is_declared_once():
    schema = tg.Schema(categorical={"region": ["north", "south"]}).with_declared(other="void")
    assert schema.other == "void"
    with pytest.raises(tg.InputError, match="other must be declared once"):
        schema.with_declared(other="void")


def test_of_takes_a_schema_a_dict_or_a_path(tmp_path):
    FULL.save(tmp_path / "schema.json")
    content = FULL.to_dict()
    for given in (FULL, content, tmp_path / "schema.json", str(tmp_path / "schema.json")):
        assert tg.Schema.of(given) == FULL
    assert tg.Schema.of({"drop": ["id"]}) == tg.Schema(drop=["id"])
    with pytest.raises(tg.InputError, match=r"schema must be a tg.Schema, a dict, .* got list"):
        tg.Schema.of(["id"])


TYPED = pd.DataFrame(
    {"age": [41, 50], "region": ["n", "s"], "ok": [True, False], "cost": [1.0, 2.0]}
)
TYPED["day"] = pd.to_datetime(["2020-01-01", "2020-01-02"])


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "parquet"])
def test_a_draft_takes_numbers_by_their_types_and_leaves_the_rest_out(kind, tmp_path):
    table = pa.Table.from_pandas(TYPED, preserve_index=False)
    pq.write_table(table, tmp_path / "table.parquet")
    tables = {"pandas": TYPED, "polars": pl.from_arrow(table), "arrow": table}
    draft = tg.Schema.from_frame(tables.get(kind, tmp_path / "table.parquet"), target="cost")
    assert draft.features == ("age", "ok", "day")
    assert (draft.drop, draft.target) == (("region",), "cost")
    assert draft.dates == {"day": {"origin": "2000-01-01", "unit": "days"}}
    assert tg.Schema.from_json(draft.to_json()) == draft
    assert draft.describe().splitlines() == [
        "numbers: age, ok",
        "dates: day (days after 2000-01-01)",
        "left out: region",
        "target: cost",
        NOT_LOOKED_AT,
    ]


def test_a_draft_reads_no_cell_and_keeps_what_was_declared():
    other = TYPED.assign(age=[-1, 10**9], region=["x", "y"], cost=[np.nan, np.inf])
    said = {"target": "cost", "categorical": {"region": ["n", "s"]}, "missing": {"age": 40}}
    draft = tg.Schema.from_frame(TYPED, **said)
    assert draft == tg.Schema.from_frame(other, **said) == tg.Schema.from_frame(TYPED[:0], **said)
    assert (draft.drop, [*draft.dates]) == ((), ["day"])
    text = draft.describe()
    assert "levels: region (n, s)" in text
    assert "constants for missing cells: age = 40" in text


def test_a_csv_file_has_no_types(tmp_path):
    (tmp_path / "table.csv").write_text("age,region\n41,north\n")
    assert tg.Schema.from_frame(tmp_path / "table.csv").features == ("age", "region")


@pytest.mark.parametrize("role", ["target", "exposure", "offset", "person"])
def test_a_draft_refuses_a_role_of_a_column_that_the_table_lacks(role):
    table = pd.DataFrame({"age": [1.0], "cost": [2.0]})
    more = {"max_rows": 3} if role == "person" else {}
    with pytest.raises(tg.InputError, match="have a column 'Cost'; its columns are 'age', 'cost'"):
        tg.Schema.from_frame(table, **{role: "Cost"}, **more)


def test_a_draft_refuses_what_declares_nothing_or_has_no_names():
    with pytest.raises(tg.InputError, match="Schema must not be given category: "):
        tg.Schema.from_frame(TYPED, category={})
    with pytest.raises(tg.InputError, match="X must be a pandas, polars or pyarrow table"):
        tg.Schema.from_frame(np.ones((3, 2)))
    with pytest.raises(
        tg.InputError, match="can be a feature; the types of 'region' are not numbers: declare"
    ):
        tg.Schema.from_frame(TYPED[["region", "cost"]], target="cost")
    with pytest.raises(tg.InputError, match="is a feature; its columns are 'cost'"):
        tg.Schema.from_frame(TYPED[["cost"]], target="cost")


@pytest.mark.parametrize(
    "said",
    [
        {"missing": {"day": 5}},
        {"features": ["age", "day"]},
        {"terms": ["day", "log(age)"]},
        {"terms": ["day", "..."], "drop": ["region"]},
    ],
)
def test_a_date_that_another_declaration_names_is_drafted_as_one(said):
    draft = tg.Schema.from_frame(TYPED, target="cost", **said)
    assert draft.dates == {"day": {"origin": "2000-01-01", "unit": "days"}}


def test_a_column_that_a_declaration_names_is_not_left_out():
    assert tg.Schema.from_frame(TYPED, features=["age", "region"]).features == ("age", "region")


MANY = tg.Schema(features=[f"c{place}" for place in range(13)], target="<y>", offset="o")


def test_a_description_lists_every_column_and_renders_in_a_notebook():
    assert "c11, c12\n" in MANY.describe()
    shown = MANY._repr_html_()
    for text in ('<th scope="row">numbers</th><td>c0, c1,', "&lt;y&gt;", "exposure or offset"):
        assert text in shown
    assert "weight" not in shown


def test_a_schema_prints_what_is_declared_and_nothing_else():
    schema = tg.Schema(categorical={"region": ["n", "s"]}, target="cost")
    assert repr(schema) == "Schema(categorical={'region': ('n', 's')}, target='cost')"
    assert repr(tg.Schema()) == "Schema()"
    assert f"schema={schema!r}" in repr(tg.LinearRegression(schema=schema))


def test_a_column_may_have_the_name_of_a_default():
    schema = tg.Schema(target="level")
    assert repr(schema) == "Schema(target='level')"
    with pytest.raises(tg.InputError, match="target must be declared once"):
        schema.with_declared(target="cost")


def test_levels_that_spell_one_number_are_called_one_level():
    with pytest.raises(
        tg.InputError, match=r"one or more and different, .* as '7' and '07' are one level"
    ):
        tg.Schema(target="y", categorical={"region": ["7", "07"]})
    with pytest.raises(tg.InputError, match="one or more and different"):
        tg.Schema(target="y", categorical={"region": ["7", "7"]})
