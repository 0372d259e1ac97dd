"""Columns of files: what the header says is public, what the cells hold is not."""

import builtins
import csv
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tailguard as tg
from support.files import cells_in, names_in, numbers_in
from tailguard.checks import InputError
from tailguard.data.readers.csv import CsvTable
from tailguard.data.readers.opening import opened_path
from tailguard.data.readers.parquet import ParquetFiles

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
    assert names_in(csv_file) == ("age", "name", "cost")
    blank = [NAN, NAN]
    expected = [[7.5, 41], blank, [-1e3, NAN], blank, [NAN, 3], [6, 4], [np.inf, NAN]]
    np.testing.assert_array_equal(numbers_in(csv_file, ["cost", "age"]), expected)


def test_csv_texts_are_read(csv_file):
    names, ages = cells_in(csv_file, ["name", "age"])
    assert names == [" Ann", None, "Bob, Jr", None, None, "5", "inf"]
    assert ages == ["41", "x", None, None, "3", "4", "nan"]


def test_csv_bytes_that_are_no_text_concern_their_cell_only(tmp_path):
    place = tmp_path / "odd.csv"
    place.write_bytes(b"a,b\n\xff\xfe,1\n2,3\n\x00,4\n" + b"9" * 200_000 + b",5\n6,7\n")
    expected = [[NAN, 1], [2, 3], [NAN, 4], [np.inf, 5], [6, 7]]
    np.testing.assert_array_equal(numbers_in(place, ["a", "b"]), expected)


def test_parquet_columns_are_read(parquet_file):
    assert names_in(parquet_file) == ("age", "name", "cost", "none", "yes")
    expected = [[1, 41], [0, NAN]]
    matrix = numbers_in(parquet_file, ["yes", "age"])
    assert matrix.dtype == np.float64
    np.testing.assert_array_equal(matrix, expected)
    assert cells_in(parquet_file, ["name", "age"]) == [[b"Ann", None], [41, None]]


def test_text_of_parquet_is_read_as_that_of_csv_is(tmp_path):
    cells = ["1", " 2 ", "1e3", "-inf", "nan", "1_000", "0x10", "1,5", "", "\x00", "9" * 400]
    pq.write_table(pa.table({"a": cells}), tmp_path / "a.parquet")
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["a"], *([cell] for cell in cells)])
    read = [numbers_in(tmp_path / name, ["a"]) for name in ("a.csv", "a.parquet")]
    np.testing.assert_array_equal(*read)
    assert np.isfinite(read[0]).sum() == 4


def test_a_missing_file_is_refused(tmp_path):
    for read in (names_in, lambda place: numbers_in(place, ["a"])):
        for name in ("none.csv", "none.parquet", "."):
            with pytest.raises(InputError, match="must be a file"):
                read(tmp_path / name)


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
        numbers_in(place, ["a"])


def test_a_parquet_file_without_a_table_is_refused(tmp_path):
    place = tmp_path / "odd.parquet"
    place.write_bytes(b"not parquet")
    with pytest.raises(InputError, match="must be a Parquet file"):
        names_in(place)
    pq.write_table(pa.table({"a": pa.array([], pa.float64())}), place)
    with pytest.raises(InputError, match="must have at least 1 record; got 0"):
        numbers_in(place, ["a"])


def test_a_parquet_column_without_a_name_or_with_that_of_another_is_refused(tmp_path):
    place, values = tmp_path / "odd.parquet", [pa.array([1.0, 2.0])] * 2
    for names, words in [(["a", ""], "give column 2 a name"), (["a", "a"], "names that differ")]:
        pq.write_table(pa.Table.from_arrays(values, names=names), place)
        for read in (names_in, lambda place: numbers_in(place, ["a"])):
            with pytest.raises(InputError, match=words):
                read(place)


def test_a_damaged_page_of_a_parquet_file_is_refused_without_the_words_of_its_library(tmp_path):
    place = tmp_path / "people.parquet"
    table = pa.table({"age": np.arange(4000.0)})
    pq.write_table(table, place, compression="none", use_dictionary=False)
    content = bytearray(place.read_bytes())
    content[4:40] = b"\xff" * 36  # the header of the first page
    place.write_bytes(content)
    with pytest.raises(InputError) as refused:
        list(ParquetFiles(place).batches(["age"], 1000))
    assert str(refused.value) == f"{place} must be readable to its end; reading it failed."
    assert refused.value.__context__ is None


def test_without_pyarrow_the_extra_is_named(parquet_file, monkeypatch):
    real_import = builtins.__import__

    def refuse(name, *arguments, **options):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real_import(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(InputError, match=r"tailguard\[parquet\]"):
        names_in(parquet_file)


def test_a_cell_of_any_length_stays_one_cell_of_one_record(tmp_path):
    place = tmp_path / "long.csv"
    limit = csv.field_size_limit()
    cell = "z" * 70_000 + "\n1,2\n" + "z" * 70_000
    place.write_text(f'a,b\n1,2\n"{cell}",3\n4,5\n')
    read = numbers_in(place, ["a", "b"])
    np.testing.assert_array_equal(read, [[1, 2], [NAN, 3], [4, 5]])
    assert cells_in(place, ["a"]) == [["1", cell, "4"]]
    assert csv.field_size_limit() == limit


def test_the_limit_of_csv_comes_back_when_the_last_reader_is_gone(tmp_path):
    place = tmp_path / "short.csv"
    place.write_text("a\n1\n2\n")
    limit = csv.field_size_limit()
    first, second = (CsvTable(place).batches(["a"], 1) for _ in range(2))
    assert next(first) == next(second) == {"a": ["1"]}
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
    opened_path(place).check_rows(2)
    with pytest.raises(InputError, match="must have at least 3 records; got 2"):
        opened_path(place).check_rows(3)


def test_types_are_checked_without_reading_a_cell(tmp_path, monkeypatch):
    place = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"a": [1.0], "day": pa.array(["may"]).dictionary_encode()}), place)
    monkeypatch.setattr(pq.ParquetFile, "read", None)
    ParquetFiles(place).check_types(["a"])
    with pytest.raises(InputError, match=r"Column 'day' .*; got dictionary: "):
        ParquetFiles(place).check_types(["a", "day"])


def test_a_file_that_may_not_be_read_is_refused_with_the_reason(csv_file, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    for ask in (names_in, lambda path: numbers_in(path, ["age"])):
        with pytest.raises(InputError, match=r"must be a file that can be read; it is not: Permis"):
            ask(csv_file)


def test_a_folder_that_cannot_be_listed_is_refused_with_the_reason(tmp_path, monkeypatch):
    def vanish(*_):
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr("pathlib.Path.rglob", vanish)
    with pytest.raises(InputError, match="must be a folder that can be listed; it is not: No such"):
        ParquetFiles(tmp_path)


@pytest.mark.long
def test_the_text_of_a_csv_file_is_held_a_piece_at_a_time(tmp_path):
    place, names = tmp_path / "long.csv", [f"x{j}" for j in range(5)]
    place.write_text("\n".join([",".join(names), *["0.123456789,1.5,2.5,3.5,4.5"] * 60_000]))
    tracemalloc.start()
    read = numbers_in(place, names)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert read.shape == (60_000, 5)
    assert peak < 6 * read.nbytes  # all of its text is ten times as large


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le"])
def test_a_header_in_another_encoding_is_refused_whatever_columns_are_used(tmp_path, encoding):
    place = tmp_path / "people.csv"
    place.write_bytes("Größe,cost\n1,2\n".encode(encoding))
    with pytest.raises(tg.InputError, match=r"must be UTF-8; its header is not: save the file as"):
        tg.mean(place, columns=["cost"], epsilon=1.0, delta=1e-6)
