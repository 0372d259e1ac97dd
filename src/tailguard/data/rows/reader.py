"""How a record of a table in batches is read: by its schema, and by no other record.

This is the worker function of every engine: tables in, blocks of numbers and whole-number sums out.
It holds public declarations alone, so it can be sent to wherever the records are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tailguard.array_types import IntArray
from tailguard.data.design.cells import TargetRule, named_marks
from tailguard.data.design.columns import BatchedTable, TableColumns
from tailguard.data.design.matrix import design_matrix
from tailguard.data.design.runs import Run
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.base import Kernel, RecordBlock
from tailguard.data.rows.threads import limited_blas
from tailguard.data.schema.declared import check_columns
from tailguard.data.schema.schema import Schema
from tailguard.data.tables import encode_labels
from tailguard.data.tables.columns import numbers_of
from tailguard.data.tables.identifiers import identifiers_of
from tailguard.data.tables.kinds import rows_at
from tailguard.noise.keyed_hash import KeyedHash
from tailguard.noise.sources import Words

LARGEST_WORD = 2**64 - 1
# Binary digits of the values of identifiers by which these are counted: of a sample of a thousandth
# of the records, one and a half hundredths more are read than it has.
DIGITS = 16


@dataclass(frozen=True, eq=False)
class RecordReader:
    """Reads tables as blocks of records.

    Parameters
    ----------
    schema
        With its features named; it names the target and the exposure, too.
    loss
        Says which targets are valid; None where there is none.
    classes
        The labels of the target; None where targets are numbers.
    alone
        Whether records have no order, so that each is rounded to the lattice by itself.
    numbered
        Whether places in the table stand for identifiers, since these do not tell all rows apart.

    Examples
    --------
    >>> import pyarrow as pa
    >>> reader = RecordReader(Schema(features=["age"], target="cost"))
    >>> reader.block(([pa.table({"age": [41, None], "cost": [7.5, 3.0]})], 0)).features
    array([[41.],
           [nan]])
    """

    schema: Schema
    loss: Any = None
    classes: Any = None
    alone: bool = False
    numbered: bool = False

    @property
    def numbers(self) -> list[str]:
        """The columns that a record is made of."""
        return list(self.schema.read_columns)

    @property
    def ids(self) -> list[str]:
        """The column of identifiers, if there is one that is read."""
        return [] if self.schema.row_id is None or self.numbered else [self.schema.row_id]

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        return [*self.numbers, *self.ids]

    def check(self, table: BatchedTable, n_rows: int) -> None:
        """Refuse a table that lacks a column, has one of a type that is refused, or fails.

        Where it is read for that, ``n_rows`` are at a time.
        """
        check_columns(self.names, table.names, table.where)
        for empties in (table.empties, partial(table.tried_out, self.names, n_rows)):
            for empty in empties():
                self._check_types(TableColumns(empty, table.where))

    def _check_types(self, columns: TableColumns) -> None:
        schema, where = self.schema, columns.where
        columns.cells(list(schema.levels))
        for name in [*schema.numeric, *([] if schema.exposure is None else [schema.exposure])]:
            numbers_of(columns.target(name, None), f"Column {name!r} of {where}")
        if schema.target is not None and self.classes is not None:
            encode_labels(columns.target(schema.target, self.classes), self.classes)
        elif schema.target is not None:
            numbers_of(columns.target(schema.target, None), f"Column {schema.target!r} of {where}")

    def block(self, run: Run) -> RecordBlock:
        """Return the records of a run."""
        tables, first = run
        with np.errstate(all="ignore"):
            block = joined([self._of_table(table) for table in tables], first)
        return replace(block, first=None) if self.alone else block

    def marked(self, run: Run) -> RecordBlock:
        """Return marks of the cells of a run in the place of its records."""
        tables, first = run
        rule = TargetRule(loss=self.loss, classes=self.classes)
        names = self.schema.read_columns
        pieces = (each for t in tables for each in TableColumns(t).pieces(names, len(t)))
        blocks = [RecordBlock(*named_marks(columns, self.schema, rule)) for columns in pieces]
        return joined(blocks, first)

    def identified(
        self, run: Run, hashed: KeyedHash, most: int = LARGEST_WORD
    ) -> tuple[RecordBlock, Words] | None:
        """Return the records of a run whose values are at most ``most``, and the values, if any."""
        tables, first = run
        chosen, values = [], []
        for table in tables:
            found = self.hashes(([table], first), hashed)
            places = np.flatnonzero(found <= np.uint64(most))
            first += len(table)
            if places.size:
                chosen.append(table if len(places) == len(table) else rows_at(table, places))
                values.append(found[places])
        return (self.block((chosen, 0)), np.concatenate(values)) if chosen else None

    def chosen(self, hashed: KeyedHash, most: int, table: Any) -> Any:
        """Return the rows whose identifiers have a value of at most ``most``."""
        return rows_at(table, np.flatnonzero(self.hashes(([table], 0), hashed) <= np.uint64(most)))

    def hashes(self, run: Run, hashed: KeyedHash) -> Words:
        """Return the values of the identifiers of a run, or of the places of its rows."""
        tables, first = run
        if self.numbered:
            return hashed.of_places(first, sum(map(len, tables)))
        columns = (TableColumns(table).target(self.ids[0], None) for table in tables)
        return np.concatenate([hashed.of(identifiers_of(column)) for column in columns])

    def counted(self, hashed: KeyedHash, run: Run) -> IntArray:
        """Count the values of a run by their first digits."""
        places = self.hashes(run, hashed) >> np.uint64(64 - DIGITS)
        return np.bincount(places.astype(np.int64), minlength=2**DIGITS)

    def sum_of(self, kernel: Kernel, run: Run) -> IntArray:
        """Return the kernel's lattice sum over the records of a run, in whatever process."""
        block = self.marked(run) if kernel.reads_cells else self.block(run)
        with limited_blas:
            return kernel.sum_block(block)

    def _of_table(self, table: Any) -> RecordBlock:
        columns, schema = TableColumns(table), self.schema
        target, exposure = schema.target, schema.exposure
        return make_rows(
            design_matrix(columns, schema),
            None if target is None else columns.target(target, self.classes),
            exposure=None if exposure is None else columns.numbers([exposure])[:, 0],
            loss=self.loss,
            classes=self.classes,
            missing=schema.constants,
        ).block()


def joined(blocks: Sequence[RecordBlock], first: int = 0) -> RecordBlock:
    """Return blocks that follow one another as one.

    Examples
    --------
    >>> joined([RecordBlock(np.zeros((2, 1))), RecordBlock(np.ones((1, 1)))], first=1024).n_rows
    3
    """
    features = _one([block.features for block in blocks])
    target, offset = (
        None if getattr(blocks[0], name) is None else _one([block.vector(name) for block in blocks])
        for name in ("target", "offset")
    )
    return RecordBlock(features, target, offset, first)


def _one(parts: list[Any]) -> Any:
    """Return arrays that follow one another as one; a single one is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
