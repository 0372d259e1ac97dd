"""What the cells of a table hold, as marks: a number that can be used, nothing, or anything else.

Marks are laid out as the records are that a table is read as, and each follows from its own cell
and from what is declared. They tell which column makes records void.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from tailguard.array_types import BoolArray, Features, FloatArray
from tailguard.data.design.columns import columns_of
from tailguard.data.design.indicators import indicators
from tailguard.data.schema.schema import Schema
from tailguard.data.tables import encode_labels, is_sparse, to_features, to_vector
from tailguard.data.tables.columns import cells_of, marks_of, numbers_of
from tailguard.data.tables.kinds import is_column, rows_of, table_columns
from tailguard.data.tables.matrices import one_column
from tailguard.data.tables.sparse_features import NUMBERS_AT_ONCE, SparseFeatures, dense_pieces

Role: TypeAlias = Literal["feature", "levels", "target", "exposure"]
"""What a column is read as: numbers, declared levels, the target or the exposure."""


class TableColumn(NamedTuple):
    """A column of a table: what it is read as, and its name, or its number where it has none.

    Examples
    --------
    >>> TableColumn("target", "cost").name
    'cost'
    """

    role: Role
    name: str | int


class Marks(NamedTuple):
    """Of each cell a finite number if it can be used, NaN if it is empty, and else infinity.

    Examples
    --------
    >>> Marks(np.zeros((2, 1)), np.array([1.0, np.inf])).offset is None
    True
    """

    features: Features
    target: FloatArray | None = None
    offset: FloatArray | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class TargetRule:
    """Which targets can be used: those that a loss allows, or that are among the classes.

    Examples
    --------
    >>> import tailguard as tg
    >>> TargetRule(loss=tg.losses.Poisson()).marks([2, None, -1, "three"])
    array([ 0., nan, inf, inf])
    >>> TargetRule(classes=("no", "yes")).marks(["yes", "", "perhaps"])
    array([ 0., nan, inf])
    """

    loss: Any = None
    classes: Sequence[Any] | None = None

    def marks(self, column: Any) -> FloatArray:
        """Return marks of a column of targets."""
        labels = self.classes is not None
        values = encode_labels(column, self.classes or ()) if labels else to_vector(column)
        usable = np.isfinite(values)
        if self.loss is not None:
            with np.errstate(all="ignore"):
                usable &= self.loss.valid_target(values)
        return _refined(_vector_marks(column, "y"), usable)


def named_marks(columns: Mapping[str, Any], schema: Schema, rule: TargetRule) -> Marks:
    """Return marks of the columns that a schema names, by their names.

    Examples
    --------
    >>> schema = Schema(features=["age", "region"], categorical={"region": ["north", "south"]})
    >>> columns = {"age": ["41", "old"], "region": ["moon", None]}
    >>> named_marks(columns, schema, TargetRule()).features
    array([[41.,  0.],
           [inf, nan]])
    """
    levels = schema.levels
    features = [
        _level_marks(columns[name], levels[name])
        if name in levels
        else _number_marks(columns[name], f"Column {name!r}", filled=name in schema.missing)
        for name in schema.features or ()
    ]
    target, exposure = schema.target, schema.exposure
    return Marks(
        np.stack(features, axis=1),
        None if target is None else rule.marks(columns[target]),
        None if exposure is None else _exposure_marks(columns[exposure]),
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Cells:
    """The cells of a table in memory, or of a CSV file, as they were given.

    Attributes
    ----------
    table
        A matrix, which may be sparse, a table, or a file.
    target, exposure
        A column each; None where there is none, or where the schema names it.
    schema
        The schema with its features named; None for a matrix.
    filled
        Of a matrix, the numbers of the columns with a constant for their missing cells.

    Examples
    --------
    >>> cells = Cells(table=np.array([["1", "?"], ["", "2"]]), target=[0.5, None])
    >>> marks, = cells.marks(TargetRule())
    >>> marks.features
    array([[ 1., inf],
           [nan,  2.]])
    >>> marks.target
    array([ 0., nan])
    """

    table: Any
    target: Any = None
    exposure: Any = None
    schema: Schema | None = None
    filled: Collection[int] = ()

    def marks(self, rule: TargetRule) -> Iterator[Marks]:
        """Yield marks of all records in order, some at a time."""
        target = None if self.target is None else rule.marks(self.target)
        offset = None if self.exposure is None else _exposure_marks(self.exposure)
        first = 0
        for piece in self._pieces(rule):
            rows = slice(first, first + len(piece.features))
            first = rows.stop
            yield Marks(
                piece.features,
                piece.target if target is None else target[rows],
                piece.offset if offset is None else offset[rows],
            )

    def _pieces(self, rule: TargetRule) -> Iterator[Marks]:
        """Yield marks of the table's own columns."""
        if self.schema is not None:
            names = self.schema.read_columns
            for columns in columns_of(self.table).pieces(names, _rows_at_once(len(names))):
                yield named_marks(columns, self.schema, rule)
        elif is_column(self.table):
            yield Marks(self._with_filled(marks_of(self.table, "X")[:, None], [self.table]))
        elif table_columns(self.table) is not None:
            yield from map(Marks, self._table_marks())
        else:
            for some in self._array_pieces():
                yield Marks(self._with_filled(marks_of(some, "X"), some.T))

    def _table_marks(self) -> Iterator[Features]:
        """Yield marks of all columns of a table, some records at a time."""
        n_rows, n_columns = self.table.shape
        length = _rows_at_once(n_columns)
        for first in range(0, n_rows, length):
            named = table_columns(rows_of(self.table, first, min(first + length, n_rows))) or ()
            columns = [column for _, column in named]
            marks = [marks_of(column, "X") for column in columns]
            yield self._with_filled(np.stack(marks, axis=1), columns)

    def _array_pieces(self) -> Iterator[Any]:
        """Yield an array of any type, or a sparse one as floats, some records at a time."""
        if is_sparse(self.table) or isinstance(self.table, SparseFeatures):
            yield from dense_pieces(to_features(self.table))
            return
        array = np.asanyarray(self.table)
        array = array[:, None] if array.ndim == 1 else array
        length = _rows_at_once(array.shape[1])
        for first in range(0, len(array), length):
            yield array[first : first + length]

    def _with_filled(self, marks: Features, columns: Sequence[Any]) -> Features:
        """Return marks in which whatever a constant stands for is a number."""
        if self.filled:
            marks = marks.copy()
        for place in self.filled:
            marks[:, place] = _number_marks(columns[place], "X", filled=True)
        return marks


def _rows_at_once(n_columns: int) -> int:
    return max(1, NUMBERS_AT_ONCE // max(1, n_columns))


def _number_marks(column: Any, where: str, *, filled: bool) -> FloatArray:
    """Return marks of a column of numbers; a constant stands for all cells that are none."""
    marks = marks_of(column, where)
    return _refined(marks, ~np.isinf(numbers_of(column, where))) if filled else marks


def _level_marks(column: Any, levels: Sequence[str]) -> FloatArray:
    """Return marks of a column of levels: what has none shares one, so text is never amiss."""
    usable = ~np.isnan(indicators(cells_of(column), levels)[:, 0])
    return _refined(marks_of(column, "X"), usable)


def _exposure_marks(column: Any) -> FloatArray:
    """Return marks of exposures, which must be above zero."""
    with np.errstate(all="ignore"):
        usable = np.isfinite(np.log(to_vector(column, "exposure")))
    return _refined(_vector_marks(column, "exposure"), usable)


def _vector_marks(column: Any, name: str) -> FloatArray:
    where, cells = one_column(column, name)
    return marks_of(cells, where)


def _refined(marks: FloatArray, usable: BoolArray) -> FloatArray:
    """Return marks with zero for what is usable; what is not, and not empty, is anything else."""
    return np.where(usable, 0.0, np.where(np.isnan(marks), np.nan, np.inf))
