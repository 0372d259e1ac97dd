r"""The records of a CSV file: as many as its writer wrote, and each line's faults its own.

A CSV writer puts a cell that holds a comma, a quotation mark or a line break in quotation marks,
and doubles those inside it. A file written so is read exactly: one record for each that was
written, whatever its cells hold.

Other files have lone quotation marks, which most readers pair with the next one, however many
records lie between. Here a record goes on over several lines only where these lines are together
one record as a writer would write it, with as many cells as the header has. Otherwise every line
is a record, and what is wrong with a line concerns that line.

Lines end as the header does. Where they end in ``\n`` alone, a ``\r`` is part of a cell, which some
writers put in no quotation marks, and the other way round. The reader of the standard library takes
either for the end of a line, so it never sees those that are part of a cell.
"""

import csv
from collections import deque
from collections.abc import Iterable, Iterator

QUOTE = '"'
# Stands for a line break that is part of a cell; half of a surrogate pair is in no decoded file.
HIDDEN = "\ud80d"


def csv_records(lines: Iterable[str], end: str = "\n") -> Iterator[list[str]]:
    r"""Yield the cells of each record, the header first; a blank line has one blank cell.

    Every line ends in ``end``, ``\n`` or ``\r``, and has it nowhere else.

    Examples
    --------
    >>> list(csv_records(["x,y\n", '1,"a\n', 'b"\n', '2,"c\n', "3,d\n"]))
    [['x', 'y'], ['1', 'a\nb'], ['2', 'c\n'], ['3', 'd']]
    """
    other = "\r" if end == "\n" else "\n"
    waiting: deque[str] = deque()  # lines that were looked at, and belong to no record yet
    source = (line.replace(other, HIDDEN) for line in lines)
    tail = HIDDEN + "\n"  # of lines that end in both, if the header does
    width: int | None = None
    while (first := _next(waiting, source)) is not None:
        together = [first]
        if _is_odd(first):
            # As a writer writes it, the record ends with the next line that is odd as well.
            while (following := _next(waiting, source)) is not None:
                together.append(following)
                if _is_odd(following):
                    break
        record = _one_record(together, width, tail) if together[1:] else None
        if record is None:
            waiting.extendleft(reversed(together[1:]))
            together = [first]
            record = _cells(_with_one_end(first, tail), end)
        if width is None:
            width, tail = len(record), tail if together[-1].endswith(tail) else end
        yield [cell.replace(HIDDEN, other) for cell in record]


def _next(waiting: deque[str], source: Iterator[str]) -> str | None:
    return waiting.popleft() if waiting else next(source, None)


def _is_odd(line: str) -> bool:
    """Whether a line opens quotation marks that it does not close, or closes such ones."""
    return line.count(QUOTE) % 2 == 1


def _with_one_end(line: str, tail: str) -> str:
    """Return a line that ends in one character where all end in two."""
    return line.removesuffix(tail) + tail[-1] if line.endswith(tail) else line


def _cells(line: str, end: str) -> list[str]:
    """Split one line; one that cannot be split is blank."""
    if QUOTE not in line:
        return line.removesuffix(end).split(",")
    try:
        return next(csv.reader([line]), [""])
    except csv.Error:
        return [""]


def _one_record(lines: list[str], width: int | None, tail: str) -> list[str] | None:
    """Return the cells of lines that are one record of strict CSV and of that width, else None."""
    reader = csv.reader([*lines[:-1], _with_one_end(lines[-1], tail)], strict=True)
    try:
        record = next(reader, [])
    except csv.Error:
        return None
    whole = reader.line_num == len(lines) and width in (None, len(record))
    return record if whole else None
