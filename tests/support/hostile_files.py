"""Adversarial cells and lines of files, and files that contain them."""

import csv
import io

import numpy as np
import pyarrow as pa
from pyarrow import parquet

# Text that is not a finite number; lone surrogates become bytes that are not valid text.
NO_NUMBERS = (
    *("", " ", "words", "None", "NULL", "NA", "nan", "-nan", "inf", "-Infinity", "1e400"),
    *("9" * 400, "-" + "9" * 5000, "1,5", "1.5.2", "0x1F", "1/3", "1+2j", "--1", "1e", "e1", "$5"),
    *("2024-01-31", "31.01.2024", "12:30", '"', '""', '"""', '1"', '"1', '5" pipe', "'1'", '","'),
    *("line\nbreak", "\n", "\r\n", "\r", '"\n', '\n"', ",", ",,,", "\0", "1\0", "\udcff\udcfe"),
    *(
        "1\udc80",
        "\ufeff1",
        "\u2028",
        "\u0661 \u0662",
        "½",
        "∞",
        "z" * 200_000,
        '"' * 1001,
        "=1+1",
        "#REF!",
    ),
)
NUMBERS = (
    *(str(2**64), str(-(2**63) - 1), "1e308", "-1e308", "5e-324", "1e-320", "0", "-0.0", "7.50"),
    *(" 3 ", "1_000", "+4", ".5", "5.", "1E5", "\u0663", "0" * 300 + "1", "0." + "0" * 400 + "1"),
)
# Malformed CSV lines; their cells are void.
LINES = (
    *("", ",", '"', '"""', '"40', '40,"', '40,"north', '"40,north', ",,,,,,,,", "40", "words"),
    *('4"0,no"rth', '"40"x,"north"y', "\0", "40\r50", "'", "\udcff,\udcfe", "z" * 200_000, '""",'),
)


def csv_bytes(header, rows, lines=None):
    """A CSV file; ``lines`` maps row numbers to lines that replace these rows."""
    texts = []
    for place, row in enumerate([header, *rows]):
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerow(row)
        texts.append((lines or {}).get(place - 1, file.getvalue().removesuffix("\n")))
    return "".join(text + "\n" for text in texts).encode("utf-8", "surrogateescape")


def text_array(cells):
    """A pyarrow column of text whose bytes may be invalid; None is a missing cell."""
    coded = [b"" if cell is None else cell.encode("utf-8", "surrogateescape") for cell in cells]
    ends = np.cumsum([0, *map(len, coded)]).astype(np.int32)
    known = np.packbits([cell is not None for cell in cells], bitorder="little")
    buffers = [pa.py_buffer(known.tobytes()), pa.py_buffer(ends.tobytes())]
    return pa.Array.from_buffers(pa.string(), len(cells), [*buffers, pa.py_buffer(b"".join(coded))])


def write_parquet(path, header, rows):
    """A Parquet file of text, as a type-inferring writer makes it if one cell is not a number."""
    columns = [text_array(cells) for cells in zip(*rows, strict=True)]
    parquet.write_table(pa.Table.from_arrays(columns, names=list(header)), path)
