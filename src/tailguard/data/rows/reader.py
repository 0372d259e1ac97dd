"""Read the records of a table in batches by its schema, each independently of the others.

Workers of every engine run this reader: it converts frames to blocks of numbers and to integer
sums. It holds public declarations only, so it can be sent to the workers.
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
    join_parts,
    marks_beside,
    takes_off,
    target_numbers,
)
from tailguard.data.frames import frame_column, rows_at
from tailguard.data.rows.arrays import numbers_beside
from tailguard.data.rows.base import BESIDE, Kernel, RecordBlock
from tailguard.data.rows.threads import limited_blas
from tailguard.data.schema import Schema
from tailguard.data.table import Run, Table
from tailguard.noise.keyed_hash import KeyedHash
from tailguard.noise.sources import Words

LARGEST_WORD = 2**64 - 1
# The histogram counts hashes of identifiers by this many leading bits. For a sample of 0.1 % of the
# records, about 1.5 % more records are read than the sample needs.
DIGITS = 16


@dataclass(frozen=True, eq=False)
class RecordReader:
    """Reads frames as blocks of records.

    Parameters
    ----------
    schema
        The schema with named features; it also names the target and the offset.
    loss
        Determines the valid targets; None if there is no loss.
    classes
        The labels of the target; None if targets are numbers.
    alone
        Whether records have no order, so each is rounded to the lattice separately.
    numbered
        Whether the numbers of rows replace identifiers, because identifiers are not unique.

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
        """The columns of a record."""
        return list(self.schema.read_columns)

    @property
    def has_offset(self) -> bool:
        """Whether there is an offset that is not subtracted from the target."""
        return declared_offset(self.schema) is not None and not takes_off(self.loss)

    @property
    def ids(self) -> list[str]:
        """The column of identifiers, if it is read."""
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
        """Refuse a table that lacks a column, has an unsuitable type, or cannot be read.

        If the check has to read the table, batches have ``n_rows`` rows.
        """
        check_columns(self.names, table.names, table.where)
        for frames in (table.without_rows, partial(table.try_reading, self.names, n_rows)):
            for empty in frames():
                self._check_types(empty, table.where)

    def _check_types(self, empty: Any, where: str) -> None:
        """Refuse unsuitable types of columns in a frame without rows."""
        schema = self.schema
        declared_columns(empty, schema, where)
        others = (schema.exposure, schema.offset, schema.weight, schema.target)
        for name in (*schema.numeric, *others):
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
        """Return the records with hashes up to ``most``, and these hashes; None if none has."""
        frames, first = run
        chosen_frames, values = [], []
        for frame in frames:
            hashes = self.hashes(([frame], first), hashed)
            places = np.flatnonzero(hashes <= np.uint64(most))
            first += len(frame)
            if places.size:
                chosen_frames.append(frame if len(places) == len(frame) else rows_at(frame, places))
                values.append(hashes[places])
        if not chosen_frames:
            return None
        return self.block((chosen_frames, 0)), np.concatenate(values)

    def chosen(self, hashed: KeyedHash, most: int, frame: Any) -> Any:
        """Return the rows whose identifiers have a hash of at most ``most``."""
        return rows_at(frame, np.flatnonzero(self.hashes(([frame], 0), hashed) <= np.uint64(most)))

    def hashes(self, run: Run, hashed: KeyedHash) -> Words:
        """Return the hashes of the identifiers of a run, or of its row numbers if ``numbered``."""
        frames, first = run
        if self.numbered:
            return hashed.of_places(first, sum(map(len, frames)))
        columns = (frame_column(frame, self.ids[0]) for frame in frames)
        return np.concatenate([hashed.of(identifiers_of(column)) for column in columns])

    def counted(self, hashed: KeyedHash, run: Run) -> IntArray:
        """Return a histogram of the hashes of a run by their leading bits."""
        places = self.hashes(run, hashed) >> np.uint64(64 - DIGITS)
        return np.bincount(places.astype(np.int64), minlength=2**DIGITS)

    def sum_of(self, kernel: Kernel, run: Run) -> IntArray:
        """Return the kernel's lattice sum over the records of a run; runs in any process."""
        block = self.marked(run) if kernel.reads_cells else self.block(run)
        with limited_blas:
            return kernel.sum_block(block)

    def _of_frame(self, frame: Any) -> RecordBlock:
        """Return the records of a frame."""
        features, beside = frame_matrix(frame, self.schema), self._beside(frame)
        return RecordBlock(
            features, *numbers_beside(*beside, self.loss, self.classes, len(features))
        )

    def _marks_of(self, frame: Any) -> RecordBlock:
        beside = marks_beside(*self._beside(frame), self.loss, self.classes)
        return RecordBlock(feature_marks(frame, self.schema), *beside)

    def _beside(self, frame: Any) -> tuple[Any, Offset | None, Weight | None]:
        """Return the target, the offset and the weight; None for those that are not declared."""
        target = self.schema.target
        offset, weight = declared_offset(self.schema), declared_weight(self.schema)
        return (
            None if target is None else frame_column(frame, target),
            None if offset is None else offset._replace(column=frame_column(frame, offset.name)),
            None if weight is None else weight._replace(column=frame_column(frame, weight.name)),
        )


def joined(blocks: Sequence[RecordBlock], first: int | None = 0) -> RecordBlock:
    """Join consecutive blocks; do not copy a single block."""
    vectors = {
        name: join_parts([block.vector(name) for block in blocks])
        for name in BESIDE
        if getattr(blocks[0], name) is not None
    }
    return RecordBlock(join_parts([block.features for block in blocks]), **vectors, first=first)
