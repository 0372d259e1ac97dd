"""One record for each that was written, and whatever is wrong with a line stays in that line."""

import bz2
import csv
import gzip
import io
import lzma
from random import Random

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest

from support.files import cells_in, names_in, numbers_in
from tailguard.checks import InputError
from tailguard.data.readers.csv import CsvTable, csv_records

PIECES = ["", "a", "1.5", ",", '"', '""', '",', ',"', "\n", "\r", "\r\n", " ", "\0", "é", "\ufffd"]
# Whole lines that no writer wrote: lone quotation marks, too few and too many cells.
LINES = [
    *('"1,2', '1,"2', '1"', '"', '"""', '1,2"', '5" pipe,2', '"a"b,2', '1,"2""', "x" * 200_000),
    *("", "1", "1,2,3,4,5", ",,,,", '"1","2', "1\r2", "'1,2'", '"1,\x00', '\ufeff"', '1,"\r'),
]


def written(rows, end):
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator=end).writerows(rows)
    return file.getvalue()


def parsed(text):
    return list(csv_records(io.StringIO(text, newline="\n")))


PROPER = [["1", "2"], ["3", "4, 5"], ["6", '7"'], ["8", "9\n10"], ["11", ""], ['""', "x\ny"]]


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("place", range(len(PROPER) + 1))
def test_a_broken_line_concerns_its_own_record(line, place):
    lines = [written([row], "\n") for row in PROPER]
    lines.insert(place, line + "\n")
    rows = parsed("x,y\n" + "".join(lines))
    assert len(rows) == len(PROPER) + 2
    assert rows[1 : place + 1] + rows[place + 2 :] == PROPER


def test_a_whole_file_of_broken_lines_is_read_line_by_line():
    lines = ["x,y", *['1,"2'] * 1000]
    assert parsed("\n".join(lines)) == [["x", "y"], *[["1", "2\n"]] * 999, ["1", "2"]]


def test_broken_lines_that_are_together_as_a_writer_writes_them_are_one_record():
    """Nothing tells these files from those that a writer wrote."""
    assert parsed('x,y\n1,"2\n3,4\n5"\n6,7\n') == [["x", "y"], ["1", "2\n3,4\n5"], ["6", "7"]]
    # The second line lacks its end; the third begins a cell with a line break.
    assert parsed('x,y\n1,"2\n3,"\n4"\n') == [["x", "y"], ["1", "2\n3,"], ['4"']]


def test_lines_that_are_together_no_record_of_the_header_s_width_are_records_each():
    assert len(parsed('x,y,z\n1,"2\n3,4\n5"\n6,7\n')) == 5
    assert len(parsed('x,y\n1,"2\n3,4\n"5,6\n')) == 4


def test_another_line_break_inside_a_line_concerns_that_line(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_bytes(b"x,y\n1,2\r3,4\n5,6\n\r\n7,8\n")
    read = numbers_in(file, ["x", "y"])
    assert read.shape == (4, 2)
    assert read[[1, 3]].tolist() == [[5.0, 6.0], [7.0, 8.0]]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_a_file_has_the_records_that_the_standard_library_wrote(tmp_path, end, quoting):
    """Before Python 3.13 it puts no quotation marks around a line break of another kind."""
    file = tmp_path / "rows.csv"
    for rows in random_rows(count=150):
        if end == "\r":  # else the header may seem to end in both
            rows[1][0] = "x" + rows[1][0]
        with file.open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream, lineterminator=end, quoting=quoting).writerows(rows)
        assert read_back(file) == rows


@pytest.mark.parametrize("writer", ["pandas", "polars", "pyarrow"])
def test_a_file_has_the_records_that_a_table_had(tmp_path, writer):
    write = {
        "pandas": lambda table, file: pd.DataFrame(table).to_csv(file, index=False),
        "polars": lambda table, file: pl.DataFrame(table).write_csv(file),
        "pyarrow": lambda table, file: arrow_csv.write_csv(pa.table(table), str(file)),
    }[writer]
    file = tmp_path / "rows.csv"
    for header, *rows in random_rows(count=150):
        columns = zip(*rows, strict=True)
        write({name: list(cells) for name, cells in zip(header, columns, strict=True)}, file)
        assert read_back(file) == [header, *rows]


def random_rows(count):
    """Headers and records of cells that hold line breaks of every kind, quotes and commas."""
    random = Random(1)
    pieces = [*PIECES, "x", "\x0b", "\x0c", "\x1c", "\x85", "\u2028"]
    for _ in range(count):
        width, n_rows = random.randint(1, 3), random.randint(1, 6)
        yield [
            [f"x{column}" for column in range(width)],
            *(
                ["".join(random.choices(pieces, k=random.randint(0, 4))) for _ in range(width)]
                for _ in range(n_rows)
            ),
        ]


def read_back(file):
    names = list(names_in(file))
    columns = [[cell or "" for cell in cells] for cells in cells_in(file, names)]
    return [names, *(list(row) for row in zip(*columns, strict=True))]


COMPRESSED = {
    "gzip": (gzip.compress, "compressed by gzip"),
    "bzip2": (bz2.compress, "compressed by bzip2"),
    "xz": (lzma.compress, "compressed by xz"),
    "workbook": (lambda text: b"PK\x03\x04" + text, "save the sheet as CSV"),
    "old workbook": (lambda text: b"\xd0\xcf\x11\xe0" + text, "save the sheet as CSV"),
    "Parquet": (lambda text: b"PAR1\x15" + text, "name it \\*.parquet"),
}


@pytest.mark.parametrize(("pack", "words"), COMPRESSED.values(), ids=COMPRESSED)
def test_a_file_of_another_format_is_named_and_none_of_its_bytes_is_shown(pack, words, tmp_path):
    path = tmp_path / "claims.csv"
    path.write_bytes(pack(b"age,cost\n" + b"41,7.5\n" * 50))
    with pytest.raises(
        InputError, match=f"claims.csv must be a CSV file, as text; .*{words}"
    ) as no:
        CsvTable(path)
    assert str(no.value).isprintable()


@pytest.mark.parametrize("header", ["PAR1,b", "BZh,b", "PK,b"])
def test_headers_that_look_a_little_like_other_formats_are_read(header, tmp_path):
    path = tmp_path / "claims.csv"
    path.write_text(f"{header}\n1,2\n")
    assert list(CsvTable(path).names) == header.split(",")
