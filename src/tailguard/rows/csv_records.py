"""The records of a CSV file: as many as its writer wrote, and each line's faults its own.

A CSV writer puts a cell that holds a comma, a quotation mark or a line break in quotation marks,
and doubles those inside it. A file written so is read exactly: one record for each that was
written, whatever its cells hold.

Other files have lone quotation marks, which most readers pair with the next one, however many
records lie between. Here a record goes on over several lines only where these lines are together
one record as a writer would write it, with as many cells as the header has. Otherwise every line
is a record, and what is wrong with a line concerns that line.
"""

import csv
from collections import deque
from collections.abc import Iterable, Iterator

__all__ = ["csv_records"]

QUOTE = '"'


def csv_records(lines: Iterable[str]) -> Iterator[list[str]]:
    r"""Yield the cells of each record, the header first; a blank line has one blank cell.

    Examples
    --------
    >>> list(csv_records(["x,y\n", '1,"a\n', 'b"\n', '2,"c\n', "3,d\n"]))
    [['x', 'y'], ['1', 'a\nb'], ['2', 'c\n'], ['3', 'd']]
    """
    waiting: deque[str] = deque()  # lines that were looked at, and belong to no record yet
    source = iter(lines)
    width: int | None = None
    while (first := _next(waiting, source)) is not None:
        together = [first]
        if _is_odd(first):
            # As a writer writes it, the record ends with the next line that is odd as well.
            while (following := _next(waiting, source)) is not None:
                together.append(following)
                if _is_odd(following):
                    break
        record = _one_record(together, width) if together[1:] else None
        if record is None:
            waiting.extendleft(reversed(together[1:]))
            record = _cells(first)
        width = len(record) if width is None else width
        yield record


def _next(waiting: deque[str], source: Iterator[str]) -> str | None:
    return waiting.popleft() if waiting else next(source, None)


def _is_odd(line: str) -> bool:
    """Whether a line opens quotation marks that it does not close, or closes such ones."""
    return line.count(QUOTE) % 2 == 1


def _cells(line: str) -> list[str]:
    """Split one line; one that cannot be split is blank."""
    if QUOTE not in line:
        return line.removesuffix("\n").removesuffix("\r").split(",")
    try:
        return next(csv.reader([line]), [""])
    except csv.Error:
        return [""]


def _one_record(lines: list[str], width: int | None) -> list[str] | None:
    """Return the cells of lines that are one record of strict CSV and of that width, else None."""
    reader = csv.reader(lines, strict=True)
    try:
        record = next(reader, [])
    except csv.Error:
        return None
    whole = reader.line_num == len(lines) and width in (None, len(record))
    return record if whole else None
