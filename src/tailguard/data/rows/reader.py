"""How a record of a table in batches is read: by its schema, and by no other record.

This is the worker function of every engine: frames in, blocks of numbers and whole-number sums out.
It holds public declarations alone, so it can be sent to wherever the records are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tailguard.array_types import IntArray
from tailguard.data.columns import identifiers_of, numbers_of
from tailguard.data.declarations import check_columns
from tailguard.data.design import (
    Offset,
    Weight,
    declared_columns,
    declared_offset,
    declared_weight,
    feature_marks,
    frame_matrix,
    offset_marks,
    offset_numbers,
    scored_numbers,
    takes_off,
    target_marks,
    target_numbers,
    voided,
    weight_marks,
    weight_parts,
)
from tailguard.data.frames import frame_column, rows_at
from tailguard.data.rows.base import BESIDE, Kernel, RecordBlock
from tailguard.data.rows.threads import limited_blas
from tailguard.data.schema import Schema
from tailguard.data.table import Run, Table
from tailguard.noise.keyed_hash import KeyedHash
from tailguard.noise.sources import Words

LARGEST_WORD = 2**64 - 1
# Binary digits of the values of identifiers by which these are counted: of a sample of a thousandth
# of the records, one and a half hundredths more are read than it has.
DIGITS = 16


@dataclass(frozen=True, eq=False)
class RecordReader:
    """Reads frames as blocks of records.

    Parameters
    ----------
    schema
        With its features named; it names the target and the offset, too.
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
    def has_offset(self) -> bool:
        """Whether an offset is left beside the target."""
        return declared_offset(self.schema) is not None and not takes_off(self.loss)

    @property
    def ids(self) -> list[str]:
        """The column of identifiers, if there is one that is read."""
        return [] if self.schema.row_id is None or self.numbered else [self.schema.row_id]

    @property
    def persons(self) -> list[str]:
        """The column of the keys of persons, if they are protected."""
        return [] if self.schema.person is None else [self.schema.person]

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        return [*self.numbers, *self.ids]

    def check(self, table: Table, n_rows: int) -> None:
        """Refuse a table that lacks a column, has one of a type that is refused, or fails.

        Where it is read for that, ``n_rows`` are at a time.
        """
        check_columns(self.names, table.names, table.where)
        for empties in (table.empties, partial(table.tried_out, self.names, n_rows)):
            for empty in empties():
                self._check_types(empty, table.where)

    def _check_types(self, empty: Any, where: str) -> None:
        schema = self.schema
        declared_columns(empty, schema, where)
        beside = (schema.exposure, schema.offset, schema.weight, schema.target)
        for name in (*schema.numeric, *beside):
            if name is None:
                continue
            column = frame_column(empty, name)
            if name == schema.target and self.classes is not None:
                target_numbers(column, None, self.classes, len(column))
            else:
                numbers_of(column, f"Column {name!r} of {where}")

    def block(self, run: Run) -> RecordBlock:
        """Return the records of a run."""
        frames, first = run
        with np.errstate(all="ignore"):
            blocks = [self._of_frame(frame) for frame in frames]
        return joined(blocks, None if self.alone else first)

    def marked(self, run: Run) -> RecordBlock:
        """Return marks of the cells of a run instead of its records."""
        frames, first = run
        return joined([self._marks_of(frame) for frame in frames], first)

    def identified(
        self, run: Run, hashed: KeyedHash, most: int = LARGEST_WORD
    ) -> tuple[RecordBlock, Words] | None:
        """Return the records of a run whose values are at most ``most``, and the values, if any."""
        frames, first = run
        chosen, values = [], []
        for frame in frames:
            found = self.hashes(([frame], first), hashed)
            places = np.flatnonzero(found <= np.uint64(most))
            first += len(frame)
            if places.size:
                chosen.append(frame if len(places) == len(frame) else rows_at(frame, places))
                values.append(found[places])
        return (self.block((chosen, 0)), np.concatenate(values)) if chosen else None

    def chosen(self, hashed: KeyedHash, most: int, frame: Any) -> Any:
        """Return the rows whose identifiers have a value of at most ``most``."""
        return rows_at(frame, np.flatnonzero(self.hashes(([frame], 0), hashed) <= np.uint64(most)))

    def hashes(self, run: Run, hashed: KeyedHash) -> Words:
        """Return the values of the identifiers of a run, or of the places of its rows."""
        frames, first = run
        if self.numbered:
            return hashed.of_places(first, sum(map(len, frames)))
        columns = (frame_column(frame, self.ids[0]) for frame in frames)
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

    def _of_frame(self, frame: Any) -> RecordBlock:
        column, offset, weight = self._beside(frame)
        features = frame_matrix(frame, self.schema)
        n_rows = len(features)
        target = None
        if column is not None:
            target = target_numbers(column, self.loss, self.classes, n_rows)
        added = None if offset is None else offset_numbers(offset, n_rows)
        parts = None if weight is None else weight_parts(weight, n_rows)
        target, parts = voided(target, parts)
        return RecordBlock(features, *scored_numbers(target, added, self.loss), parts)

    def _marks_of(self, frame: Any) -> RecordBlock:
        target, offset, weight = self._beside(frame)
        return RecordBlock(
            feature_marks(frame, self.schema),
            None if target is None else target_marks(target, self.loss, self.classes),
            None if offset is None else offset_marks(offset),
            None if weight is None else weight_marks(weight),
        )

    def _beside(self, frame: Any) -> tuple[Any, Offset | None, Weight | None]:
        """Return the target, the offset and the weight, where there are such."""
        target = self.schema.target
        offset, weight = declared_offset(self.schema), declared_weight(self.schema)
        return (
            None if target is None else frame_column(frame, target),
            None if offset is None else offset._replace(column=frame_column(frame, offset.name)),
            None if weight is None else weight._replace(column=frame_column(frame, weight.name)),
        )


def joined(blocks: Sequence[RecordBlock], first: int | None = 0) -> RecordBlock:
    """Return blocks that follow one another as one; a single one is not copied."""
    beside = {
        name: _one([block.vector(name) for block in blocks])
        for name in BESIDE
        if getattr(blocks[0], name) is not None
    }
    return RecordBlock(_one([block.features for block in blocks]), **beside, first=first)


def _one(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
