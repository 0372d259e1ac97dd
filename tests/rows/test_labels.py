"""Declared labels become their places; everything else is void."""

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
    "frame": pd.DataFrame({"y": WORDS}),
}


@pytest.mark.parametrize("kind", HOLDERS)
def test_words(kind):
    places = encode_labels(HOLDERS[kind], ("no", "yes"))
    np.testing.assert_array_equal(places, [0.0, 1.0, np.nan, np.nan])


def test_numbers():
    classes = np.array([-1, 3])
    for labels in ([3, -1, 0], np.array([3.0, -1.0, np.nan]), pd.Series([3, -1, None])):
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
