"""Draft a schema from the names and types of a table's columns; no cell is read.

A draft follows the types that a file or a frame states. If a reader infers types from cells, a type
may reveal something about a cell. The levels of a column of categories are among its values, so no
draft lists them.
"""

from dataclasses import replace
from typing import Any

from tailguard.checks import InputError
from tailguard.data.columns import kind_if_read
from tailguard.data.declarations import check_columns, listing
from tailguard.data.frames import frame_column
from tailguard.data.table import Table
from tailguard.data.terms.dates import has_date_type

DATES = {"origin": "2000-01-01", "unit": "days"}
"""How a draft declares a column of dates: by constants, until the user chooses others."""


def drafted(declared: Any, table: Table, *, keep_cells: bool) -> Any:
    """Return the settled schema of a table, with declarations that follow from column types.

    Features of a date type are declared as dates. Columns of other types that are not numbers are
    left out, unless a declaration names them. If the parts of a table give a column several types,
    all of them count. ``keep_cells`` keeps columns that are read cell by cell, such as text.
    """
    kept = {"numbers", "cells"} if keep_cells else {"numbers"}
    settled = declared.settled(table.names, table.where)
    roles = (settled.target, settled.exposure, settled.offset, settled.weight, settled.person)
    check_columns(filter(None, roles), table.names, table.where)
    undeclared = declared.undeclared(table.names)
    empty_frames, dates, left_out = [*table.without_rows()], {}, []
    for name in settled.numeric:
        columns = [frame_column(empty, name) for empty in empty_frames]
        if any(map(has_date_type, columns)):
            dates[name] = DATES
        elif name in undeclared and not {kind_if_read(column) for column in columns} <= kept:
            left_out.append(name)
    if left_out and {*left_out} == {*(settled.features or ())}:
        raise InputError(
            f"{table.where} must have a column that can be a feature; the types of "
            f"{listing(left_out, repr)} are not numbers: declare levels or dates."
        )
    draft = replace(declared, dates={**declared.dates, **dates}, drop=(*declared.drop, *left_out))
    return draft.settled(table.names, table.where)
