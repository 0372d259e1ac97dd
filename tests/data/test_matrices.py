"""Numbers out of whatever holds them; refusals by type and shape only."""

import datetime
from collections import deque
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import tailguard as tg
from tailguard.checks import InputError
from tailguard.data.frames import column_names
from tailguard.data.matrices import to_matrix, to_vector

NAN = np.nan
VALUES = np.array([[1.0, 0.0], [NAN, 1.0]])
TENTHS = pd.ArrowDtype(pa.decimal128(9, 1))
READABLE = {
    "objects": np.array([[1, "0"], [None, True]], dtype=object),
    "text": np.array([["1", "false"], ["?", "TRUE"]]),
    "bytes": np.array([[b"1", b"0"], [b"\xff", b"1"]]),
    "complex": np.array([[1, 0], [1j, 1]]),
    "masked-integers": np.ma.MaskedArray([[1, 0], [7, 1]], mask=[[0, 0], [1, 0]]),
    "masked-objects": np.ma.MaskedArray([["1", 0], [7, 1]], mask=[[0, 0], [1, 0]], dtype=object),
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
    "pandas-objects": pd.DataFrame({"a": [1, "?"], "b": [Decimal(0), b"1"]}, dtype=object),
    "pandas-text": pd.DataFrame({"a": ["1", None], "b": pd.array(["0", "1"], "string[python]")}),
    "pandas-arrow-text": pd.DataFrame(
        {"a": pd.array(["1", "?"], "string[pyarrow]"), "b": pd.array([0, 1], TENTHS)}
    ),
    "polars-text": pl.DataFrame({"a": ["1", None], "b": [Decimal(0), Decimal(1)]}),
    "polars-objects": pl.DataFrame(
        [pl.Series("a", [1, {}], dtype=pl.Object), pl.Series("b", [b"0", b"1"])]
    ),
    "pyarrow-text": pa.table({"a": pa.array(["1", None], pa.large_string()), "b": ["0", "1"]}),
    "pyarrow-views": pa.table(
        {
            "a": pa.array(["1", None], pa.string_view()),
            "b": pa.array([b"0", b"1"], pa.binary_view()),
        }
    ),
    "pyarrow-odd": pa.table(
        {"a": pa.array([1, None], pa.decimal128(9, 2)), "b": pa.array([0, 1], pa.float16())}
    ),
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
def test_float32_stays_float32_in_arrays_alone(kind):
    """A table has a type for each column, which one cell may change."""
    matrix = to_matrix(SINGLE[kind])
    assert matrix.dtype == np.dtype("=f4" if kind in ("numpy", "big-endian") else "=f8")
    np.testing.assert_array_equal(matrix, [[1.5], [NAN]])


TINY = float(np.float32(1e-40))  # subnormal in single precision, and no such number in double
FRAMES = {
    "pandas": pd.DataFrame,
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "pyarrow": lambda columns: pa.table(
        {
            name: cells if len(set(map(type, cells))) < 2 else list(map(str, cells))
            for name, cells in columns.items()
        }
    ),
}


@pytest.mark.parametrize("beside", [[np.float32(2.0)] * 3, [2.0] * 3, [2, 3, 4], ["2", "a", None]])
@pytest.mark.parametrize("library", FRAMES)
def test_no_type_changes_how_a_small_number_is_read(library, beside):
    """As objects a column has the same numbers as before one of its cells was a word."""
    single = np.full(3, 1e-40, np.float32)
    table = FRAMES[library]({"a": single, "b": beside})
    np.testing.assert_array_equal(to_matrix(table)[:, 0], [TINY] * 3)
    if library == "pandas":
        table = table.astype({"a": object})
        table.loc[1, "a"] = "a bit"
        np.testing.assert_array_equal(to_matrix(table)[:, 0], [TINY, NAN, TINY])


@pytest.mark.parametrize("n_columns", [2, 9])
@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64(), pa.int8()])
def test_columns_of_arrow_in_chunks_are_read_with_their_nulls(kind, n_columns):
    columns = [
        pa.chunked_array([[n, None], [], [n + 1, n + 2]], kind).slice(1) for n in range(n_columns)
    ]
    matrix = to_matrix(pa.table(columns, names=[f"x{n}" for n in range(n_columns)]))
    assert matrix.dtype == np.float64
    expected = [[NAN] * n_columns, *(np.arange(n_columns) + more for more in (1.0, 2.0))]
    np.testing.assert_array_equal(matrix, expected)


DAY = datetime.date(2020, 1, 1)
SPARSE = pd.arrays.SparseArray([1.0])
ENUM = pl.Series(["x"], dtype=pl.Enum(["x"]))


class Unwilling:
    """Something that says it is an array, and then is none."""

    def __array__(self, *_, **__):
        raise RuntimeError("what a record holds")


NO_WIDTH = "has no declared width, so pass a table with named columns or, .*, np.asarray\\(X\\)\\.$"
LEVELS = "declare its levels in a schema, or drop it\\.$"
NESTED = "give each of its entries a column\\.$"
REFUSED = {
    "memoryview": (memoryview(np.ones((2, 2))), f"a memoryview {NO_WIDTH}"),
    "dict": ({"a": [1.0]}, f"a dict {NO_WIDTH}"),
    "nothing": (None, f"a NoneType {NO_WIDTH}"),
    "unwilling": (Unwilling(), "np.asarray fails on this Unwilling\\.$"),
    "structures": (np.zeros((1, 2), "i4,i4"), f"X must hold .* got structures: {NESTED}"),
    "sparse": (scipy.sparse.eye(2, format="csr"), "X must be dense"),
    "pandas-category": (pd.DataFrame({"b": pd.Categorical([1])}), f"'b' .* category: {LEVELS}"),
    "pandas-sparse": (pd.DataFrame({"b": SPARSE}), "'b' .* got Sparse: make it dense first\\.$"),
    "pandas-levels": (pd.MultiIndex.from_tuples([(1, 2)]), f"got MultiIndex: {NESTED}"),
    "polars-enum": (pl.DataFrame({"b": ENUM}), f"'b' .* got Enum: {LEVELS}"),
    "polars-lazy": (pl.LazyFrame({"b": [1.0]}), "collect.. on it first; got LazyFrame"),
    "pyarrow-words": (
        pa.table({"b": pa.array(["x"]).dictionary_encode()}),
        f"dictionary: {LEVELS}",
    ),
    "pandas-empty": (pd.DataFrame(index=[0, 1]), r"shape=\(2, 0\)"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_number_is_refused_by_one_sentence(kind):
    table, words = REFUSED[kind]
    with pytest.raises(InputError, match=words) as caught:
        to_matrix(table)
    assert caught.value.__suppress_context__ or caught.value.__cause__ is None


OTHERS = {
    "numpy": np.array([["2020-01-01"], ["NaT"]], "M8[D]"),
    "pandas": pd.DataFrame({"b": pd.to_datetime([DAY, None])}),
    "pandas-zone": pd.DataFrame({"b": pd.to_datetime([DAY, None]).tz_localize("UTC")}),
    "pandas-period": pd.DataFrame({"b": pd.period_range("2020", periods=2, freq="D")}),
    "pandas-interval": pd.DataFrame({"b": pd.interval_range(0, 2)}),
    "pandas-arrow": pd.DataFrame({"b": pd.array([DAY, None], "date32[pyarrow]")}),
    "polars": pl.DataFrame({"b": [DAY, None]}),
    "polars-list": pl.DataFrame({"b": [[1], None]}),
    "pyarrow": pa.table({"b": [DAY, None]}),
    "pyarrow-far": pa.table({"b": pa.array([2**31 - 1, None], pa.int32()).cast(pa.date32())}),
    "pyarrow-struct": pa.table({"b": [{"c": 1}, None]}),
    "pyarrow-map": pa.table({"b": pa.array([[("c", 1)], None], pa.map_(pa.string(), pa.int8()))}),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_type_that_one_cell_may_have_made_is_no_number_and_not_refused(kind):
    np.testing.assert_array_equal(to_matrix(OTHERS[kind]), [[NAN], [NAN]])


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
    "list of one-number lists": [[1], (True,)],
    "deque": deque(["1", 1]),
    "memoryview": memoryview(np.ones(2)),
    "objects": np.array([1, "true"], dtype=object),
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


WRONG = [pd.DataFrame(VALUES), VALUES, 3.0, "12", {1: 2}, np.array(1.0), None]
WRONG += [memoryview(np.ones((2, 2))), scipy.sparse.eye(2, format="csr"), Unwilling()]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: type(wrong).__name__)
def test_what_is_no_vector_is_refused(wrong):
    with pytest.raises(InputError, match="y must") as caught:
        to_vector(wrong)
    assert "what a record holds" not in str(caught.value)


def test_arrow_text_that_is_no_text_is_missing():
    coded = pa.array([b"\xff", b"2"])
    words = pa.Array.from_buffers(pa.string(), 2, coded.buffers())
    np.testing.assert_array_equal(to_vector(words), [NAN, 2.0])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (np.array([1.0, 2.0]), r"got shape \(2,\)"),
        (np.array([[1.0], 2.0, None], dtype=object), r"got shape \(3,\)"),
        (np.array(1.0), r"got shape \(\)"),
        (np.zeros((2, 2, 2), dtype=object), r"got shape \(2, 2, 2\)"),
        (np.array([], dtype=object), r"got shape \(0,\)"),
        (np.empty((2, 0), dtype=object), r"shape=\(2, 0\)"),
        (pd.Series([1, None], dtype="Int64"), r"got shape \(2,\)"),
        (pd.array([1, 2], dtype="Int64"), r"got shape \(2,\)"),
    ],
)
def test_structure_is_what_may_be_refused(wrong, words):
    with pytest.raises(InputError, match=words):
        to_matrix(wrong)


def test_names_of_rows_are_no_methods_of_a_column():
    column = pd.Series([1.0, 2.0], index=["collect", "tocsr"])
    np.testing.assert_array_equal(to_vector(column), [1.0, 2.0])


@pytest.mark.parametrize(
    "call",
    [
        lambda X: tg.LinearRegression(epsilon=5.0, delta=1e-3).fit(X, np.zeros(100)),
        lambda X: tg.mean(X, epsilon=5.0, delta=1e-3),
        lambda X: tg.minimize(tg.losses.Squared(), X, np.zeros(100), epsilon=5.0, delta=1e-3),
    ],
    ids=["fit", "mean", "minimize"],
)
def test_column_names_of_mixed_types_are_refused_in_one_sentence(call):
    mixed = pd.DataFrame(np.zeros((100, 2)), columns=["a", 1])
    with pytest.raises(InputError, match=r"column names that are all text, .* got text and int: "):
        call(mixed)
    assert column_names(mixed.rename(columns=str)) == ("a", "1")
    assert column_names(pd.DataFrame(np.zeros((100, 2)))) is None


def test_a_category_is_refused_alike_whatever_its_levels_are():
    """A level is a cell: no method of it is run, and it is not made UTF-8."""
    sentences = set()
    for level in ("north", "\ud83d"):
        levels = pd.Index(np.array([level, "south"], object), dtype=object)
        region = pd.Categorical.from_codes([0, 1, 1], levels)
        with pytest.raises(InputError) as refused:
            to_matrix(pd.DataFrame({"age": [1.0, 2.0, 3.0], "region": region}), "X")
        sentences.add(str(refused.value))
    assert len(sentences) == 1
