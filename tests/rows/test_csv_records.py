"""One record for each that was written, and whatever is wrong with a line stays in that line."""

import csv
import io
from random import Random

import pytest

from tailguard.rows.csv_records import csv_records
from tailguard.rows.files import column_names, read_columns

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


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_a_writer_wrote_is_read_back_whatever_its_cells_hold(end):
    random = Random(0)
    pieces = [piece for piece in PIECES if end == "\r\n" or "\r" not in piece]  # never quoted then
    for _ in range(400):
        width = random.randint(2, 4)
        rows = [
            ["".join(random.choices(pieces, k=random.randint(0, 4))) for _ in range(width)]
            for _ in range(6)
        ]
        rows.insert(0, [f"x{column}" for column in range(width)])
        assert parsed(written(rows, end)) == rows


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


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_the_header_does(tmp_path, end):
    file = tmp_path / "rows.csv"
    file.write_bytes(end.join(["x,y", "1,2", "3,4", ""]).encode())
    assert column_names(file) == ("x", "y")
    assert read_columns(file, ["y", "x"]).tolist() == [[2.0, 1.0], [4.0, 3.0]]


def test_another_line_break_inside_a_line_concerns_that_line(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_bytes(b"x,y\n1,2\r3,4\n5,6\n\r\n7,8\n")
    read = read_columns(file, ["x", "y"])
    assert read.shape == (4, 2)
    assert read[[1, 3]].tolist() == [[5.0, 6.0], [7.0, 8.0]]
