"""Numbers out of whatever holds them; refusals by schema only."""

import datetime
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from tailguard.checks import InputError
from tailguard.tables import column_names, to_matrix, to_vector

NAN = np.nan
VALUES = np.array([[1.0, 0.0], [NAN, 1.0]])
READABLE = {
    "list": [[1, 0.0], [NAN, 1]],
    "fortran": np.asfortranarray(VALUES),
    "strided": np.repeat(VALUES, 2, axis=1)[:, ::2],
    "big-endian": VALUES.astype(">f8"),
    "half": VALUES.astype(np.float16),
    "long": VALUES.astype(np.longdouble),
    "masked": np.ma.MaskedArray(np.nan_to_num(VALUES, nan=9.0), mask=np.isnan(VALUES)),
    "pandas": pd.DataFrame({"a": [1.0, None], "b": [False, True]}),
    "pandas-nullable": pd.DataFrame(
        {"a": pd.array([1, None], "Int64"), "b": pd.array([False, True], "boolean")}
    ),
    "pandas-arrow": pd.DataFrame(
        {"a": pd.array([1, None], "int32[pyarrow]"), "b": pd.array([0, 1], "double[pyarrow]")}
    ),
    "pandas-twins": pd.DataFrame(VALUES, columns=["a", "a"]),
    "polars": pl.DataFrame({"a": [1, None], "b": [False, True]}),
    "pyarrow": pa.table({"a": pa.array([1, None]), "b": [False, True]}),
    "pyarrow-batch": pa.record_batch({"a": pa.array([1, None]), "b": pa.array([False, True])}),
    "rows-of-arrays": [np.array([1.0, 0.0]), (None, "1")],
}


@pytest.mark.parametrize("kind", READABLE)
def test_a_matrix_is_read(kind):
    matrix = to_matrix(READABLE[kind])
    np.testing.assert_array_equal(matrix, VALUES)
    assert type(matrix) is np.ndarray
    assert matrix.dtype == np.dtype("=f8")
    assert matrix.flags.c_contiguous
    assert matrix.flags.aligned


ARROW_NAN = pa.array([1.5, None], pa.float32())
SINGLE = {
    "numpy": np.array([[1.5], [NAN]], np.float32),
    "big-endian": np.array([[1.5], [NAN]], ">f4"),
    "pandas": pd.DataFrame({"a": np.array([1.5, NAN], np.float32)}),
    "pandas-nullable": pd.DataFrame({"a": pd.array([1.5, None], "Float32")}),
    "pandas-arrow": pd.DataFrame({"a": pd.array([1.5, None], "float[pyarrow]")}),
    "polars": pl.DataFrame({"a": [1.5, None]}, schema={"a": pl.Float32}),
    "pyarrow": pa.table({"a": ARROW_NAN}),
}


@pytest.mark.parametrize("kind", SINGLE)
def test_float32_stays_float32(kind):
    matrix = to_matrix(SINGLE[kind])
    assert matrix.dtype == np.dtype("=f4")
    np.testing.assert_array_equal(matrix, [[1.5], [NAN]])


def test_one_wide_column_widens_all():
    frame = pd.DataFrame({"a": np.ones(2, np.float32), "b": np.ones(2)})
    assert to_matrix(frame).dtype == np.float64


DAY = datetime.date(2020, 1, 1)
TEXT = pd.array(["x"], "string[pyarrow]")
SPARSE = pd.arrays.SparseArray([1.0])
MASKED = np.ma.MaskedArray([[1, 2]], mask=[[0, 1]])
REFUSED = {
    "object": (np.array([[1.0, 2.0]], dtype=object), "X must hold .* got object"),
    "text": (np.array([["1", "2"]]), "X must hold .* got text\\.$"),
    "dates": (np.array([["2020-01-01"]], "M8[D]"), "X must hold .* got datetime64"),
    "complex": (np.ones((1, 2), complex), "Complex data not supported"),
    "sparse": (scipy.sparse.eye(2, format="csr"), "X must be dense"),
    "ragged": ([[1.0], [1.0, 2.0]], "rows of one length"),
    "memoryview": (memoryview(np.ones((2, 2))), "lists its entries; got memoryview"),
    "memoryviews": ([memoryview(np.ones((2, 2)))] * 2, "lists its entries; got memoryview"),
    "masked-integers": (MASKED, "masked array, must hold floats"),
    "pandas-object": (pd.DataFrame({"b": [2]}, dtype=object), "Column 'b' .* object"),
    "pandas-text": (pd.DataFrame({"b": ["x"]}), "Column 'b' of X must hold .* got str"),
    "pandas-category": (pd.DataFrame({"b": pd.Categorical([1])}), "Column 'b' .* got category"),
    "pandas-complex": (pd.DataFrame({"b": [1j]}), "Column 'b' .* got complex128"),
    "pandas-date": (pd.DataFrame({"b": pd.to_datetime([DAY])}), "Column 'b' .* got datetime64"),
    "pandas-sparse": (pd.DataFrame({"b": SPARSE}), "Column 'b' .* got Sparse"),
    "pandas-arrow-text": (pd.DataFrame({"b": TEXT}), "Column 'b' .* string"),
    "polars-text": (pl.DataFrame({"b": ["x"]}), "Column 'b' .* got String"),
    "polars-null": (pl.DataFrame({"b": [None]}), "Column 'b' .* got Null"),
    "polars-date": (pl.DataFrame({"b": [DAY]}), "Column 'b' .* got Date"),
    "polars-lazy": (pl.LazyFrame({"b": [1.0]}), "collect.. on it first; got LazyFrame"),
    "pyarrow-text": (pa.table({"b": ["x"]}), "Column 'b' .* got string"),
    "pyarrow-null": (pa.table({"b": [None]}), "Column 'b' .* got null"),
    "pandas-empty": (pd.DataFrame(index=[0, 1]), r"shape=\(2, 0\)"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_number_is_refused_by_one_sentence(kind):
    table, words = REFUSED[kind]
    with pytest.raises(InputError, match=words) as caught:
        to_matrix(table)
    assert caught.value.__suppress_context__ or caught.value.__cause__ is None
    assert "\n" not in str(caught.value)


def test_integers_beyond_float64_are_rounded_not_refused():
    large = 2**63 - 1
    for table in (
        np.array([[large]]),
        pd.DataFrame({"a": pd.array([large], "Int64")}),
        pl.DataFrame({"a": [large]}),
        pa.table({"a": [large]}),
    ):
        np.testing.assert_array_equal(to_matrix(table), [[2.0**63]])


VECTORS = {
    "list": [1, True],
    "array": np.array([1, 1]),
    "column": np.ones((2, 1)),
    "pandas": pd.Series([1, 1], dtype="Int32"),
    "pandas-frame": pd.DataFrame({"y": [1, 1]}),
    "polars": pl.Series([1, 1]),
    "pyarrow": pa.array([1, 1]),
    "pyarrow-chunks": pa.chunked_array([[1], [1]]),
}


@pytest.mark.parametrize("kind", VECTORS)
def test_a_vector_is_read(kind):
    vector = to_vector(VECTORS[kind])
    assert vector.dtype == np.float64
    np.testing.assert_array_equal(vector, [1.0, 1.0])


@pytest.mark.parametrize("wrong", [pd.DataFrame(VALUES), VALUES, 3.0, pl.Series(["a"])])
def test_what_is_no_vector_is_refused(wrong):
    with pytest.raises(InputError, match="y must"):
        to_vector(wrong)


def test_names_are_those_of_the_table():
    assert column_names(READABLE["pandas"]) == ("a", "b")
    assert column_names(READABLE["polars"]) == ("a", "b")
    assert column_names(READABLE["pyarrow"]) == ("a", "b")
    assert column_names(pd.DataFrame(VALUES)) is None
    assert column_names(VALUES) is None


class Evil:
    """A cell that goes as far as it can when it is converted."""

    def __float__(self):
        warnings.warn("a record is odd", stacklevel=1)
        raise SystemExit


ODD_CELLS = [
    None, 10**400, -(10**30), "abc", "x" * 32, "2.5", b"\xff", 1j, np.complex128(1j), [1.0], (1, 2),
    {}, np.ones(1), np.ma.masked, pd.NA, pd.NaT, DAY, Evil(), Decimal("sNaN"), np.float32(2.5),
    True, 2**63, np.longdouble("1e400"),
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD_CELLS, ids=lambda cell: type(cell).__name__)
def test_a_cell_of_a_list_concerns_itself_only(odd):
    matrix = to_matrix([[1, 0.5], [odd, 2], (3, 4)])
    assert matrix.dtype == np.float64
    np.testing.assert_array_equal(
        matrix[[0, 1, 2, 2], [0, 1, 0, 1]] + matrix[0, 1], [1.5, 2.5, 3.5, 4.5]
    )
    vector = to_vector((1, odd, 3.5))
    assert vector.dtype == np.float64
    np.testing.assert_array_equal(vector[::2], [1.0, 3.5])
    np.testing.assert_array_equal(vector[1], matrix[1, 0])


def test_what_is_no_number_is_nan_and_the_rest_is_what_float_says():
    numbers = {2: -1e30, 5: 2.5, 19: 2.5, 20: 1.0, 21: 2.0**63, 22: np.inf}
    expected = [numbers.get(place, NAN) for place in range(len(ODD_CELLS))]
    np.testing.assert_array_equal(to_vector([*ODD_CELLS, 0.0])[:-1], expected)


def test_an_interrupt_is_not_swallowed():
    class Interrupt:
        def __float__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        to_vector([Interrupt()])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([1.0, 2.0], r"got shape \(2,\)"),
        ([[1.0], 2.0], r"got shape \(2,\)"),
        ([[[1.0]], [[2.0]]], "got rows of sequences"),
        ([], r"got shape \(0,\)"),
        ([[], []], r"shape=\(2, 0\)"),
        ({"a": [1.0]}, "got dict"),
        (None, "got NoneType"),
        (pd.Series([1, None], dtype="Int64"), r"got shape \(2,\)"),
        (pd.array([1, 2], dtype="Int64"), r"got shape \(2,\)"),
    ],
)
def test_structure_is_what_may_be_refused(wrong, words):
    with pytest.raises(InputError, match=words):
        to_matrix(wrong)


@pytest.mark.parametrize("holder", [pd.Series, pd.Index, pd.array])
def test_columns_with_and_without_missing_values_are_read_alike(holder):
    for values in ([1, 2], [1, None]):
        expected = np.array(values, dtype=float)
        np.testing.assert_array_equal(to_vector(holder(values, dtype="Int64")), expected)
