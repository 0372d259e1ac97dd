"""Declared labels become their places; everything else is void."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tailguard.checks import InputError
from tailguard.rows.labels import encode_labels

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
    "pandas-array": pd.array(WORDS, dtype="string"),
    "polars-category": pl.Series(WORDS, dtype=pl.Categorical),
    "polars-frame": pl.DataFrame({"y": WORDS}),
    "pyarrow-dictionary": pa.chunked_array([WORDS[:2], WORDS[2:]]).dictionary_encode(),
    "pyarrow-table": pa.table({"y": WORDS}),
    "frame": pd.DataFrame({"y": WORDS}),
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
    for labels in holders:
        np.testing.assert_array_equal(encode_labels(labels, classes), [1.0, 0.0, np.nan])


def test_cells_that_cannot_be_compared_are_undeclared():
    np.testing.assert_array_equal(encode_labels([[], "a", {}], ["a", "b"])[1:], [0.0, np.nan])


@pytest.mark.parametrize("classes", [[], ["a"], ["a", "a"]])
def test_fewer_than_two_classes_are_refused(classes):
    with pytest.raises(InputError, match="classes must be at least two different labels"):
        encode_labels(["a"], classes)


def test_a_matrix_of_labels_is_refused():
    with pytest.raises(InputError, match="y must be one column"):
        encode_labels(np.zeros((3, 2)), [0, 1])

    with pytest.raises(InputError, match="y must be one column"):
        encode_labels(pd.DataFrame({"a": [0], "b": [1]}), [0, 1])


def test_a_masked_label_is_missing_even_if_none_is_declared():
    masked = np.ma.MaskedArray([[0], [1], [1]], mask=[[0], [0], [1]])
    np.testing.assert_array_equal(encode_labels(masked, [0, 1]), [0.0, 1.0, np.nan])
    missing = np.ma.MaskedArray(["a", "a"], mask=[0, 1])
    np.testing.assert_array_equal(encode_labels(missing, ["a", None]), [0.0, np.nan])


class Evil:
    """A cell that goes as far as it can when it is compared."""

    def __eq__(self, other):
        raise SystemExit

    def __hash__(self):
        return hash("a")


def test_a_comparison_that_fails_is_undeclared():
    for labels in ([Evil(), "a"], np.array([Evil(), "a"], dtype=object)):
        np.testing.assert_array_equal(encode_labels(labels, ["a", "b"]), [np.nan, 0.0])


def arrow(value, kind):
    return pa.array([0, value], kind)


UNSAFE = {
    "date32": lambda value: arrow(value, pa.date32()),
    "timestamp": lambda value: arrow(value, pa.timestamp("ns")),
    "decimal128": lambda value: arrow(value, pa.decimal128(38, 2)),
    "binary": lambda value: pa.array([b"a", bytes(value % 7)]),
    "list": lambda value: pa.array([[value]]),
    "null": lambda _: pa.array([None, None]),
    "dictionary": lambda value: arrow(value, pa.date32()).dictionary_encode(),
    "Date": lambda value: pl.Series([0, value], dtype=pl.Int32).cast(pl.Date),
    "List": lambda value: pl.Series([[value]]),
    "datetime64": lambda value: np.array([0, value], "M8[D]"),
    "period": lambda value: pd.Series(pd.period_range("2020", periods=2, freq="D")),
}


@pytest.mark.parametrize("value", [1, 2**31 - 1])
@pytest.mark.parametrize("kind", UNSAFE)
def test_a_column_whose_cells_may_fail_to_convert_is_refused_by_its_type(kind, value):
    columns = [UNSAFE[kind](value)]
    if isinstance(columns[0], pa.Array):
        columns.append(pa.table({"y": columns[0]}))
    for column in columns:
        with pytest.raises(InputError) as caught:
            encode_labels(column, [0, 1])
        assert str(caught.value) == (
            f"y must hold text, integers, real numbers or booleans; got {kind}."
        )


@pytest.mark.parametrize("value", [1, 2**31 - 1])
def test_a_pandas_column_of_arrow_dates_is_refused_by_its_type(value):
    dates = pd.arrays.ArrowExtensionArray(arrow(value, pa.date32()))
    for column in (dates, pd.Series(dates), pd.Series(pd.Categorical([datetime.datetime.max]))):
        with pytest.raises(InputError, match=r"y must hold .*; got (date32|datetime64|object)\.$"):
            encode_labels(column, [0, 1])


def test_complex_labels_are_refused():
    with pytest.raises(InputError, match="Complex data not supported"):
        encode_labels(np.array([0, 1j]), [0, 1])
