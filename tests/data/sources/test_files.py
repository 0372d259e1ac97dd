"""Columns of files: what the header says is public, what the cells hold is not."""

import builtins
import csv
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailguard.checks import InputError
from tailguard.data.sources.files import (
    FileColumns,
    _csv_rows,
    file_column_names,
    read_cells,
    read_columns,
)
from tailguard.data.sources.parquet_files import ParquetFiles
from tailguard.data.tables.kinds import OTHER_CELL

NAN = np.nan
CSV = """age,name,cost
41, Ann,7.5
x,,
,"Bob, Jr",-1e3

3
4,5,6,7
nan,inf,1e400
"""


@pytest.fixture
def csv_file(tmp_path):
    place = tmp_path / "people.csv"
    place.write_bytes(b"\xef\xbb\xbf" + CSV.encode())
    return place


@pytest.fixture
def parquet_file(tmp_path):
    place = tmp_path / "people.parquet"
    columns = {"age": [41, None], "name": ["Ann", None], "cost": [7.5, 2.0], "none": [None, None]}
    pq.write_table(pa.table(columns | {"yes": [True, False]}), place)
    return place


def test_csv_numbers_are_read_and_everything_else_is_nan(csv_file):
    assert file_column_names(csv_file) == ("age", "name", "cost")
    blank = [NAN, NAN]
    expected = [[7.5, 41], blank, [-1e3, NAN], blank, [NAN, 3], [6, 4], [np.inf, NAN]]
    np.testing.assert_array_equal(read_columns(csv_file, ["cost", "age"]), expected)
    assert read_columns(str(csv_file), []).shape == (7, 0)


def test_csv_texts_are_read(csv_file):
    names, ages = read_cells(csv_file, ["name", "age"])
    assert names == [" Ann", None, "Bob, Jr", None, None, "5", "inf"]
    assert ages == ["41", "x", None, None, "3", "4", "nan"]
    assert read_cells(csv_file, []) == []


def test_csv_bytes_that_are_no_text_concern_their_cell_only(tmp_path):
    place = tmp_path / "odd.csv"
    place.write_bytes(b"a,b\n\xff\xfe,1\n2,3\n\x00,4\n" + b"9" * 200_000 + b",5\n6,7\n")
    expected = [[NAN, 1], [2, 3], [NAN, 4], [np.inf, 5], [6, 7]]
    np.testing.assert_array_equal(read_columns(place, ["a", "b"]), expected)


def test_parquet_columns_are_read(parquet_file):
    assert file_column_names(parquet_file) == ("age", "name", "cost", "none", "yes")
    expected = [[1, 41], [0, NAN]]
    matrix = read_columns(parquet_file, ["yes", "age"])
    assert matrix.dtype == np.float64
    np.testing.assert_array_equal(matrix, expected)
    assert read_cells(parquet_file, ["name", "age"]) == [[b"Ann", None], [41, None]]
    assert read_columns(parquet_file, []).shape == (2, 0)


def test_a_parquet_column_of_a_dictionary_is_refused_as_numbers(tmp_path):
    place, kind = tmp_path / "odd.parquet", pa.array(["a", "b"]).dictionary_encode()
    pq.write_table(pa.table({"age": pa.array([1.0, 2.0]), "kind": kind}), place)
    with pytest.raises(InputError) as caught:
        read_columns(place, ["age", "kind"])
    assert str(caught.value).startswith(f"Column 'kind' of {place} must hold real numbers")
    assert "; got dictionary: declare its levels in a schema" in str(caught.value)


MAYBE_NUMBERS = {
    "text": pa.array(["1.5", "two", None]),
    "large text": pa.array(["1.5", "two", None], pa.large_string()),
    "decimals": pa.array([Decimal("1.50"), None, None]),
}
OTHERS = {
    "timestamp": pa.array([0, 1, 2], pa.timestamp("ns")),
    "date32": pa.array([0, 2**31 - 1, None], pa.date32()),
    "list": pa.array([[1.0], None, []]),
    "struct": pa.array([{"a": 1.0}, None, None]),
    "nulls": pa.nulls(3),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_cells_of_a_parquet_type_that_is_no_number_are_missing(tmp_path, kind):
    """The only cell of a column that is not empty may have made the type."""
    place = tmp_path / "odd.parquet"
    pq.write_table(pa.table({"a": OTHERS[kind]}), place)
    FileColumns(place).check_types(["a"])
    np.testing.assert_array_equal(read_columns(place, ["a"]), [[NAN]] * 3)


@pytest.mark.parametrize("kind", MAYBE_NUMBERS)
def test_a_parquet_type_that_one_cell_may_have_made_is_read_cell_by_cell(tmp_path, kind):
    """A writer that infers types writes numbers as text if one cell of the column is no number."""
    place, column = tmp_path / "odd.parquet", MAYBE_NUMBERS[kind]
    pq.write_table(pa.table({"a": column}), place)
    np.testing.assert_array_equal(read_columns(place, ["a"]), [[1.5], [NAN], [NAN]])


def test_booleans_are_ones_and_zeros_in_every_file(tmp_path):
    table = pd.DataFrame({"a": [True, False, True]})
    table.to_csv(tmp_path / "a.csv", index=False)
    table.to_parquet(tmp_path / "a.parquet")
    table.astype(str).to_parquet(tmp_path / "text.parquet")
    for name in ("a.csv", "a.parquet", "text.parquet"):
        np.testing.assert_array_equal(read_columns(tmp_path / name, ["a"]), [[1], [0], [1]])


def test_text_of_parquet_is_read_as_that_of_csv_is(tmp_path):
    cells = ["1", " 2 ", "1e3", "-inf", "nan", "1_000", "0x10", "1,5", "", "\x00", "9" * 400]
    pq.write_table(pa.table({"a": cells}), tmp_path / "a.parquet")
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["a"], *([cell] for cell in cells)])
    read = [read_columns(tmp_path / name, ["a"]) for name in ("a.csv", "a.parquet")]
    np.testing.assert_array_equal(*read)
    assert np.isfinite(read[0]).sum() == 4


def test_a_missing_file_is_refused(tmp_path):
    for read in (file_column_names, lambda place: read_columns(place, ["a"])):
        for name in ("none.csv", "none.parquet", "."):
            with pytest.raises(InputError, match="must be a file"):
                read(tmp_path / name)


@pytest.mark.parametrize("read", [read_columns, read_cells])
def test_an_unknown_column_is_refused(csv_file, parquet_file, read):
    for place in (csv_file, parquet_file):
        with pytest.raises(InputError, match="must have a column 'height'; its columns are"):
            read(place, ["height"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must start with a line of column names"),
        ("a,b\n", "must have records below its header"),
        ("a,a\n1,2\n", "column names that differ"),
        (",a\n0,1\n", "give column 1 a name or leave it out"),
        ("a,b, \n0,1,\n", "give column 3 a name or leave it out"),
        ("\n1\n", "must start with a line of column names"),
    ],
)
def test_a_csv_file_without_a_table_is_refused(tmp_path, text, words):
    place = tmp_path / "odd.csv"
    place.write_text(text)
    with pytest.raises(InputError, match=words):
        read_columns(place, ["a"])


def test_a_parquet_file_without_a_table_is_refused(tmp_path):
    place = tmp_path / "odd.parquet"
    place.write_bytes(b"not parquet")
    with pytest.raises(InputError, match="must be a Parquet file"):
        file_column_names(place)
    pq.write_table(pa.table({"a": pa.array([], pa.float64())}), place)
    with pytest.raises(InputError, match="must have records"):
        read_columns(place, ["a"])


def test_a_parquet_column_without_a_name_or_with_that_of_another_is_refused(tmp_path):
    place, values = tmp_path / "odd.parquet", [pa.array([1.0, 2.0])] * 2
    for names, words in [(["a", ""], "give column 2 a name"), (["a", "a"], "names that differ")]:
        pq.write_table(pa.Table.from_arrays(values, names=names), place)
        for read in (file_column_names, lambda place: read_columns(place, ["a"])):
            with pytest.raises(InputError, match=words):
                read(place)


def test_the_index_that_pandas_writes_is_refused(tmp_path):
    place = tmp_path / "odd.csv"
    pd.DataFrame({"a": [1.0, 2.0]}).to_csv(place)
    with pytest.raises(
        InputError, match=r"odd.csv must .*; give column 1 a name or leave it out.$"
    ):
        file_column_names(place)


def test_without_pyarrow_the_extra_is_named(parquet_file, monkeypatch):
    real_import = builtins.__import__

    def refuse(name, *arguments, **options):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real_import(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(InputError, match=r"tailguard\[parquet\]"):
        file_column_names(parquet_file)


def test_a_blank_line_is_a_record_of_missing_cells(tmp_path):
    place = tmp_path / "records.csv"
    place.write_text("a,b\n1,2\n\n3,4\n")
    read = read_columns(place, ["a", "b"])
    np.testing.assert_array_equal(read, [[1, 2], [np.nan, np.nan], [3, 4]])


def test_a_cell_of_any_length_stays_one_cell_of_one_record(tmp_path):
    place = tmp_path / "long.csv"
    limit = csv.field_size_limit()
    cell = "z" * 70_000 + "\n1,2\n" + "z" * 70_000
    place.write_text(f'a,b\n1,2\n"{cell}",3\n4,5\n')
    read = read_columns(place, ["a", "b"])
    np.testing.assert_array_equal(read, [[1, 2], [NAN, 3], [4, 5]])
    assert read_cells(place, ["a"]) == [["1", cell, "4"]]
    assert csv.field_size_limit() == limit


def test_the_limit_of_csv_comes_back_when_the_last_reader_is_gone(tmp_path):
    place = tmp_path / "short.csv"
    place.write_text("a\n1\n2\n")
    limit = csv.field_size_limit()
    first, second = _csv_rows(place, ["a"]), _csv_rows(place, ["a"])
    assert next(first) == next(second) == ["1"]
    first.close()
    assert csv.field_size_limit() > limit
    second.close()
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_of_too_few_records_is_refused_by_their_number(tmp_path, kind):
    place = tmp_path / f"rows.{kind}"
    if kind == "csv":
        place.write_text('a,b\n1,"2\n3"\n\n')
    else:
        pq.write_table(pa.table({"a": [1, None], "b": ["2\n3", None]}), place)
    FileColumns(place).check_rows(2)
    with pytest.raises(InputError, match="must have at least 3 records; got 2"):
        FileColumns(place).check_rows(3)


def test_types_are_checked_without_reading_a_cell(tmp_path, monkeypatch):
    place = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"a": [1.0], "day": pa.array(["may"]).dictionary_encode()}), place)
    monkeypatch.setattr(pq.ParquetFile, "read", None)
    FileColumns(place).check_types(["a"])
    with pytest.raises(InputError, match=r"Column 'day' .*; got dictionary: "):
        FileColumns(place).check_types(["a", "day"])


TEXT_LIKE = {
    "text": (pa.array(["x", None]), [b"x", None]),
    "large text": (pa.array(["x", None], pa.large_string()), [b"x", None]),
    "dictionary": (pa.array(["x", None]).dictionary_encode(), [b"x", None]),
    "integers": (pa.array([1, None], pa.uint8()), [1, None]),
    "floats": (pa.array([1.0, None]), [1.0, None]),
    "booleans": (pa.array([True, None]), [True, None]),
    "nulls": (pa.nulls(2), [None, None]),
}


@pytest.mark.parametrize("kind", TEXT_LIKE)
def test_parquet_columns_of_labels_are_read(tmp_path, kind):
    column, expected = TEXT_LIKE[kind]
    pq.write_table(pa.table({"a": column}), tmp_path / "labels.parquet")
    assert read_cells(tmp_path / "labels.parquet", ["a"]) == [expected]


@pytest.mark.parametrize("value", [1, 2**31 - 1])
def test_a_parquet_column_that_may_not_become_text_is_never_turned_into_it(tmp_path, value):
    place = tmp_path / "odd.parquet"
    columns = {
        "date32": pa.array([None, value], pa.date32()),
        "timestamp": pa.array([None, value], pa.timestamp("ns")),
        "list": pa.array([None, [1]]),
    }
    pq.write_table(pa.table(columns), place)
    assert read_cells(place, list(columns)) == [[None, OTHER_CELL]] * 3


def test_parquet_text_that_cannot_be_decoded_concerns_its_cell_only(tmp_path):
    offsets = pa.py_buffer(np.array([0, 1, 2], np.int32).tobytes())
    broken = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"a\xff")])
    for column in (broken, broken.dictionary_encode()):
        pq.write_table(pa.table({"a": column}), tmp_path / "odd.parquet")
        assert read_cells(tmp_path / "odd.parquet", ["a"]) == [[b"a", b"a\xff"[1:]]]


def test_a_file_that_may_not_be_read_is_refused_with_the_reason(csv_file, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    for ask in (file_column_names, lambda path: read_columns(path, ["age"])):
        with pytest.raises(InputError, match=r"must be a file that can be read; it is not: Permis"):
            ask(csv_file)


def test_a_folder_that_cannot_be_listed_is_refused_with_the_reason(tmp_path, monkeypatch):
    def vanish(*_):
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr("pathlib.Path.rglob", vanish)
    with pytest.raises(InputError, match="must be a folder that can be listed; it is not: No such"):
        ParquetFiles(tmp_path)
