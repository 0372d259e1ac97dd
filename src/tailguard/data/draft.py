"""What the types of a table say for the draft of a schema; no cell is read.

Types are public, also those of a file. The levels of a column of categories are among its values,
so no draft lists them.
"""

from collections.abc import Iterable
from typing import TypeAlias

from tailguard.data.columns import kind_if_read
from tailguard.data.frames import frame_column
from tailguard.data.table import Table
from tailguard.data.terms.dates import has_date_type

DATES = {"origin": "2000-01-01", "unit": "days"}
"""How a draft declares a column of dates: by constants, until the user chooses others."""

Typed: TypeAlias = tuple[dict[str, dict[str, str]], tuple[str, ...]]
"""The declarations of columns of dates, and the columns to leave out."""


def declared_by_types(table: Table, names: Iterable[str], *, keep_cells: bool) -> Typed:
    """Declare columns of dates, and leave out columns of other types that are no numbers.

    Every type that a column has in some part of the table counts. ``keep_cells`` keeps columns that
    are read cell by cell, such as text, among the features.
    """
    kept = {"numbers", "cells"} if keep_cells else {"numbers"}
    empty_frames, dates, left_out = [*table.without_rows()], {}, []
    for name in names:
        columns = [frame_column(empty, name) for empty in empty_frames]
        if any(map(has_date_type, columns)):
            dates[name] = DATES
        elif not {kind_if_read(column) for column in columns} <= kept:
            left_out.append(name)
    return dates, tuple(left_out)
