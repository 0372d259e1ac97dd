"""Declared labels become their places, cell by cell; everything else is void."""

import datetime
from collections import deque
from decimal import Decimal
from io import StringIO

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tailguard.checks import InputError
from tailguard.data.columns import OTHER_CELL, cells_of
from tailguard.data.labels import check_plain_labels, encode_labels

WORDS = ["no", "yes", "??", None]
HOLDERS = {
    "list": WORDS,
    "objects": np.array(WORDS, dtype=object),
    "pandas": pd.Series(WORDS),
    "pandas-nullable": pd.Series(WORDS, dtype="string"),
    "pandas-category": pd.Series(WORDS, dtype="category"),
    "polars": pl.Series(WORDS),
    "pyarrow": pa.array(WORDS),
    "matrix": np.array(WORDS, dtype=object)[:, None],
    "masked": np.ma.MaskedArray(["no", "yes", "??", "no"], mask=[0, 0, 0, 1]),
    "pandas-objects": pd.Series(WORDS, dtype=object),
    "pandas-arrow": pd.Series(WORDS, dtype="string[pyarrow]"),
    "pandas-arrow-type": pd.Series(WORDS, dtype=pd.ArrowDtype(pa.large_string())),
    "pandas-index": pd.Index(WORDS, dtype=object),
    "polars-category": pl.Series(WORDS, dtype=pl.Categorical),
    "polars-frame": pl.DataFrame({"y": WORDS}),
    "pyarrow-dictionary": pa.chunked_array([WORDS[:2], WORDS[2:]]).dictionary_encode(),
    "pyarrow-table": pa.table({"y": WORDS}),
    "bytes": np.array([b"no", b"yes", b"??", b""]),
    "pyarrow-bytes": pa.array([b"no", b"yes", b"\xff", None]),
    "one-word lists": [["no"], ("yes",), ["no", "yes"], None],
    "range-like": deque(WORDS),
}


@pytest.mark.parametrize("kind", HOLDERS)
def test_words(kind):
    places = encode_labels(HOLDERS[kind], ("no", "yes"))
    np.testing.assert_array_equal(places, [0.0, 1.0, np.nan, np.nan])


def test_numbers():
    classes = np.array([-1, 3])
    holders = [[3, -1, 0], np.array([3.0, -1.0, np.nan]), pd.Series([3, -1, None])]
    holders += [pd.Series([3, -1, None], dtype=kind) for kind in ("Int64", "double[pyarrow]")]
    holders += [pl.Series([3, -1, None]), pa.array([3.0, -1.0, None])]
    holders.append(pd.Series([3, -1, None], dtype="category"))
    holders += [
        pa.array([3, -1, None]).dictionary_encode(),
        pa.array([3, -1, None], pa.decimal128(9)),
    ]
    holders += [pd.Series(["3", -1, "?"]), pd.Series(["3", "-1", "?"]), np.array(["3", "-1", ""])]
    holders += [pl.Series(["3", "-1", None]), pa.array(["3", "-1", "x"]), [["3"], -1.0, "yes"]]
    holders += [pd.Series(["3", -1, "x"], dtype="category")]  # one cell may have made it objects
    for labels in holders:
        np.testing.assert_array_equal(encode_labels(labels, classes), [1.0, 0.0, np.nan])


def test_booleans():
    for labels in (
        [True, 0, "True"],
        np.array([True, False, True]),
        pl.Series(["true", "false", "1"]),
    ):
        np.testing.assert_array_equal(encode_labels(labels, (False, True)), [1.0, 0.0, 1.0])


def test_nothing_at_all_is_no_label():
    for labels in (pa.nulls(2), pl.Series([None, None]), [None, None]):
        for classes in ((0, 1), ("no", "yes")):
            np.testing.assert_array_equal(encode_labels(labels, classes), [np.nan, np.nan])


@pytest.mark.parametrize("classes", [[], ["a"], ["a", "a"], ["a", b"a"], [1, 1.0], [True, 1]])
def test_fewer_than_two_classes_are_refused(classes):
    with pytest.raises(InputError, match="classes must be at least two different labels"):
        encode_labels(["a"], classes)


@pytest.mark.parametrize(
    "classes", [["a", 1], [1, "2"], ["a", None], [0, np.nan], [np.inf, 1], [(1, 2), 3], [1j, 2]]
)
def test_classes_are_all_text_or_all_numbers(classes):
    with pytest.raises(InputError, match="classes must be all text or all finite numbers"):
        encode_labels(["a"], classes)


def test_a_matrix_of_labels_is_refused():
    with pytest.raises(InputError, match="y must be a vector"):
        encode_labels(np.zeros((3, 2)), [0, 1])

    with pytest.raises(InputError, match="y must be one column"):
        encode_labels(pd.DataFrame({"a": [0], "b": [1]}), [0, 1])


class Evil:
    """A cell that goes as far as it can when it is compared."""

    def __eq__(self, other):
        raise SystemExit

    def __hash__(self):
        return hash("a")


def test_a_comparison_that_fails_is_undeclared():
    for labels in ([Evil(), "a"], [[], "a"], [{}, "a"], np.array([Evil(), "a"], dtype=object)):
        np.testing.assert_array_equal(encode_labels(labels, ["a", "b"]), [np.nan, 0.0])


def arrow(value, kind):
    return pa.array([0, value], kind)


OTHERS = {
    "date32": lambda value: arrow(value, pa.date32()),
    "timestamp": lambda value: arrow(value, pa.timestamp("ns")),
    "list": lambda value: pa.array([[value], None]),
    "dictionary": lambda value: arrow(value, pa.date32()).dictionary_encode(),
    "Date": lambda value: pl.Series([0, value], dtype=pl.Int32).cast(pl.Date),
    "List": lambda value: pl.Series([[value], None]),
    "datetime64": lambda value: np.array([0, value], "M8[D]"),
    "moments": lambda value: pd.Series(np.array([0, value], "M8[ns]")),
    "NaT": lambda value: pd.Series([pd.NaT, value]) if value == 1 else pd.Series([pd.NaT, pd.NaT]),
    "lengths of time": lambda value: pd.Series(np.array([0, value], "m8[ns]")),
    "period": lambda value: pd.Series(pd.period_range("2020", periods=2, freq="D")),
    "arrow in pandas": lambda value: pd.Series(
        pd.arrays.ArrowExtensionArray(arrow(value, pa.date32()))
    ),
    "category": lambda value: pd.Series(pd.Categorical([datetime.datetime.max, None])),
}


@pytest.mark.parametrize("value", [1, 2**31 - 1])
@pytest.mark.parametrize("kind", OTHERS)
def test_cells_of_a_type_that_is_no_label_are_missing(kind, value):
    """One cell that is such may have made the type, and to convert these may fail."""
    columns = [OTHERS[kind](value)]
    if isinstance(columns[0], pa.Array):
        columns.append(pa.table({"y": columns[0]}))
    for column in columns:
        for classes in ([0, 2], ["a", "b"]):
            np.testing.assert_array_equal(encode_labels(column, classes), [np.nan, np.nan])


def test_cells_of_other_types_are_there_or_missing():
    for kind in ("date32", "dictionary", "Date", "datetime64", "moments", "arrow in pandas"):
        assert cells_of(OTHERS[kind](1)) == [OTHER_CELL, OTHER_CELL], kind
    for kind in ("list", "List", "category"):
        assert cells_of(OTHERS[kind](1)) == [OTHER_CELL, None], kind
    assert cells_of(np.array(["NaT", "2026-01-01"], "M8[D]")) == [None, OTHER_CELL]


NUMBERS = {
    "int64": np.array([0, 1]),
    "float64": pd.Series([0.0, 1.0]),
    "bool": pd.DataFrame({"y": [False, True]}),
    "boolean": pd.Series([False, True], dtype="boolean"),
    "Int64": pl.Series([0, 1]),
    "Decimal": pl.Series([Decimal(0), Decimal(1)]),
    "double": pa.array([0.0, 1.0]),
}
TEXT = {
    "list": ["0", "1"],
    "text": np.array(["0", "1"]),
    "object": np.array(["0", "1"], dtype=object),
    "str": pd.Series(["0", "1"]),
    "string": pa.array(["0", "1"]),
    "String": pl.Series(["0", "1"]),
}
CATEGORIES = {
    "category": pd.Series([0, 1], dtype="category"),
    "category ": pd.Series(["0", "1"], dtype="category"),
    "category  ": pd.Series([0, "1"], dtype="category"),
    "dictionary": pa.array([0, 1]).dictionary_encode(),
    "dictionary ": pa.array(["0", "1"]).dictionary_encode(),
    "Categorical": pl.Series(["0", "1"], dtype=pl.Categorical),
    "Enum": pl.Series(["0", "1"], dtype=pl.Enum(["0", "1"])),
}


@pytest.mark.parametrize("kind", [*NUMBERS, *TEXT, *CATEGORIES])
def test_no_type_of_a_column_contradicts_the_classes(kind):
    """One label that is no number makes text of a column of numbers, and of its categories."""
    column = (NUMBERS | TEXT | CATEGORIES)[kind]
    np.testing.assert_array_equal(encode_labels(column, (0, 1)), [0.0, 1.0])
    np.testing.assert_array_equal(encode_labels(column, ("0", "1")), [0.0, 1.0])
    np.testing.assert_array_equal(encode_labels(column, ("no", "yes")), [np.nan, np.nan])


CODES = {
    "integers": [1, 2, 2, 1],
    "floats": [1.0, 2.0, 2.0, np.nan],
    "text": ["1", "2", "2", "01"],
    "booleans": [True, False, False, True],
}
READERS = {
    "numpy": np.array,
    "pandas": pd.Series,
    "polars": lambda cells: pl.Series(cells, strict=False),
    "csv": lambda cells: pd.read_csv(
        StringIO("\n".join(["y", *map(str, cells)])),
        skip_blank_lines=False,
    )["y"],
}


@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize("reader", READERS)
def test_a_rare_word_changes_no_other_label(reader, codes):
    """Beside it a reader makes text of codes; without it they are numbers."""
    classes = ("False", "True", "B") if codes == "booleans" else ("1", "2", "B")
    cells = CODES[codes]
    with_word, without = (
        encode_labels(READERS[reader]([*cells, last]), classes) for last in ("B", cells[0])
    )
    np.testing.assert_array_equal(with_word[:4], without[:4])
    assert with_word[4] == 2.0
    assert np.isfinite(without[[0, 1, 2, 4]]).all()


def test_words_that_spell_one_number_are_one_class():
    for classes in (("1", "1.0"), ("01", "1"), ("true", "1", "no")):
        with pytest.raises(InputError, match="two that spell one number are not"):
            encode_labels(["1"], classes)


@pytest.mark.parametrize("kind", [*NUMBERS, *TEXT])
def test_labels_need_no_classes_whatever_the_type_of_their_column(kind):
    check_plain_labels((NUMBERS | TEXT)[kind])


@pytest.mark.parametrize("kind", CATEGORIES)
def test_categories_need_classes(kind):
    with pytest.raises(InputError, match=r"such as classes=\('no', 'yes'\)") as refused:
        check_plain_labels(CATEGORIES[kind])
    assert str(refused.value).endswith(f"; got {kind.strip()}.")
