"""The inputs of a fit: a matrix, a table with a schema, or a table in batches."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tailguard.array_types import Features
from tailguard.checks import InputError, check_choice
from tailguard.data.columns import identifiers_of
from tailguard.data.declarations import check_columns, names, selected, undeclared_note
from tailguard.data.design import (
    Marks,
    Offset,
    Role,
    TableColumn,
    Weight,
    feature_marks,
    marks_beside,
    number_marks,
    offset_given,
    read_columns,
    target_numbers,
    weight_given,
    weight_of_score,
    weight_parts,
    with_offset,
)
from tailguard.data.frames import (
    column_names,
    frame_column,
    frame_columns,
    is_column,
    rows_of,
    series_name,
)
from tailguard.data.labels import scored_cells
from tailguard.data.matrices import NUMBERS_AT_ONCE, SparseFeatures, dense_pieces, features_of
from tailguard.data.missing import missing_constants
from tailguard.data.readers.opening import opened
from tailguard.data.rows.keys import PersonKeys, PersonRule, Persons
from tailguard.data.schema import Schema
from tailguard.data.table import Table, as_table
from tailguard.data.terms.formula import with_formula
from tailguard.privacy.unit import ROWS, Unit


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Records, and the public facts about them.

    Attributes
    ----------
    records
        A matrix of features, which may be sparse, or a table in batches.
    y
        A column, or None; always None for a table in batches.
    offset, weight
        The offset of scores and the weight of rows, or None.
    n_rows, n_features
        Public numbers.
    schema
        The schema with its features named; None for a matrix.
    missing
        Column number -> the constant for missing cells of a matrix. A schema has its own constants.
    targets
        The target as columns, for checks of its type; those of a table in batches are empty.
    names
        Names of the features, if they have names.
    row_ids
        The identifiers of the rows, if a column has them; None for a table in batches.
    order
        ``"any"`` if the user states that the order of rows means nothing.
    source
        The user's data in memory; marks are computed from their cells.
    undeclared
        Columns that are read as numbers without a declaration.
    is_vector
        Whether X was a single vector, which may have a name.
    target_name, target_role
        The name of the target's column, or of the argument that holds the target; and whether it
        has numbers (``"target"``) or ``"labels"``.
    persons
        The person of each row, if persons are protected.
    unit
        The unit of protection.

    Examples
    --------
    >>> import pandas as pd
    >>> inputs = read_inputs(pd.DataFrame({"age": [41, 50], "cost": [7.5, 3.0]}), target="cost")
    >>> inputs.n_features, inputs.schema.features
    (1, ('age',))
    """

    records: Any
    n_rows: int
    n_features: int
    y: Any = None
    offset: Offset | None = None
    weight: Weight | None = None
    schema: Schema | None = None
    missing: Mapping[int, float] | None = None
    targets: tuple[Any, ...] = ()
    names: tuple[str, ...] | None = None
    row_ids: Any = None
    order: str = "file"
    source: Any = None
    undeclared: tuple[str, ...] = ()
    is_vector: bool = False
    target_name: str = "y"
    target_role: Role = "target"
    persons: Persons | PersonKeys | None = None
    unit: Unit = ROWS

    @property
    def n_records(self) -> int:
        """The public number of records: of persons if they are protected, otherwise of rows."""
        return self.n_rows if self.persons is None else self.persons.count

    @property
    def max_rows(self) -> int | None:
        """The most rows of one person that are used; None if each row is a record."""
        return None if self.persons is None else self.unit.max_rows

    @property
    def has_weights(self) -> bool:
        """Whether records have weights; if so, the total weight must be released."""
        return self.weight is not None or self.unit.weight == "row"

    def assumptions(self, *, by_cell: bool = False, bound: float | None = None) -> tuple[str, ...]:
        """Return notes on undeclared columns, on the protected unit, and on weights."""
        undeclared, weight = self.undeclared, self.weight
        notes = [undeclared_note(undeclared, by_cell=by_cell)] if undeclared else []
        notes += () if self.unit is ROWS else self.unit.notes
        if weight is not None:
            notes.append(f"rows count by their weights; weights above {weight.bound:g} are cut")
        elif bound is not None:
            notes.append("no weights were used: weight_bound= is given, but no sample_weight=")
        return tuple(notes)

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """The columns of a record, in the order of its marks."""
        if self.schema is None:
            names = self.names or range(self.n_features)
            columns = [TableColumn("feature", name) for name in names]
        else:
            roles: dict[str, Role] = dict.fromkeys(self.schema.categorical, "levels")
            roles |= dict.fromkeys(self.schema.dates, "date")
            features = self.schema.features or ()
            columns = [TableColumn(roles.get(name, "feature"), name) for name in features]
        columns += [TableColumn(self.target_role, self.target_name)] * bool(self.targets)
        if self.offset is not None:
            columns.append(TableColumn(self.offset.role, self.offset.name))
        if self.weight is not None:
            columns.append(TableColumn("weight", self.weight.name))
        return tuple(columns)

    def marks(self, loss: Any = None, classes: Sequence[Any] | None = None) -> Iterator[Marks]:
        """Yield marks of all records in memory, in order, a few records at a time."""
        columns = marks_beside(self.y, self.offset, self.weight, loss, classes)
        first = 0
        for features in self._feature_marks():
            rows = slice(first, first + len(features))
            first = rows.stop
            yield (features, *(None if column is None else column[rows] for column in columns))

    def _feature_marks(self) -> Iterator[Features]:
        length = max(1, NUMBERS_AT_ONCE // max(1, self.n_features))
        if self.schema is not None:
            for frame in as_table(self.source).batches(self.schema.features or (), length):
                yield feature_marks(frame, self.schema)
            return
        filled = self.missing or ()
        for columns in self._column_pieces(length):
            marks = [
                number_marks(column, "X", filled=place in filled)
                for place, column in enumerate(columns)
            ]
            yield np.stack(marks, axis=1)

    def _column_pieces(self, length: int) -> Iterator[Any]:
        """Yield the columns of a matrix or a frame unchanged, ``length`` rows at a time."""
        source = self.source
        if is_column(source):
            yield [source]
        elif isinstance(self.records, SparseFeatures):
            yield from (piece.T for piece in dense_pieces(self.records))
        elif frame_columns(source) is None:
            array = source if isinstance(source, np.ma.MaskedArray) else np.asarray(source)
            array = array[:, None] if array.ndim == 1 else array
            yield from (array[k : k + length].T for k in range(0, self.n_rows, length))
        else:
            for first in range(0, self.n_rows, length):
                rows = rows_of(source, first, min(first + length, self.n_rows))
                yield [column for _, column in frame_columns(rows) or ()]


def read_inputs(
    X: Any,
    y: Any = None,
    *,
    schema: Schema | None = None,
    missing: Any = None,
    target: str | None = None,
    columns: Any = None,
    formula: str | None = None,
    row_id: str | None = None,
    order: str = "file",
    exposure: Any = None,
    offset: Any = None,
    sample_weight: Any = None,
    weight_bound: float | None = None,
    persons: Mapping[str, Any] | None = None,
    features_only: bool = False,
) -> Inputs:
    """Read a user's arguments; the only cells read of a table in batches are keys of persons.

    ``target``, ``columns`` and ``row_id`` name columns. If ``exposure``, ``offset`` or
    ``sample_weight`` is text, it also names a column. The schema may name these columns instead.
    ``formula`` declares target and terms. ``missing`` declares constants if there is no schema.
    ``persons`` holds the arguments of ``PersonRule.of``; without it, a schema that names persons is
    refused. With ``features_only`` the schema's target is not read, and X may be one vector.

    Examples
    --------
    >>> read_inputs(np.zeros((5, 2)), np.zeros(5)).n_features
    2
    """
    check_choice("order", order, ("file", "any"))
    X = X if isinstance(X, np.ndarray) else opened(X)
    columns = names("columns", columns, optional=True)
    offset = offset_given(exposure, offset)
    rule = PersonRule.declared(persons, schema)
    weight = weight_given(sample_weight, weight_bound)
    rule.check_axes(X, y=y, offset=offset, weight=weight, may_be_vector=features_only)
    named: dict[str, Any] = {}
    if offset is not None and isinstance(offset.column, str):
        named[offset.role] = offset.column
    if rule.column is not None:
        named |= {"person": rule.column, "max_rows": rule.unit.max_rows}
    if weight is not None and isinstance(weight.column, str):
        named |= {"weight": weight.column, "weight_bound": weight.bound}
    beside = {"y": y, "offset": offset, "weight": weight, "persons": rule}
    nothing_named = target is None and columns is None and row_id is None and not named
    if schema is None and formula is None and nothing_named and not isinstance(X, Table):
        return _of_matrix(X, missing, order, may_be_vector=features_only, **beside)
    more: dict[str, Any] = {"target": target, "features": columns, "row_id": row_id}
    # Estimators pass the schema's declarations as arguments too; these are not declared again.
    more |= {name: given for name, given in named.items() if getattr(schema, name, None) != given}
    table = as_table(X)
    declared = Schema(missing=missing or {}) if schema is None else schema
    if schema is not None and columns is not None:
        declared = selected(schema, columns, table.names, table.where)
    declared, schema_target = declared.with_declared(**more), declared.target
    if formula is not None:
        declared = with_formula(declared, formula, table.names)
    if y is not None and (target is not None or declared.target != schema_target):
        raise InputError("y must be None if target names a column; got both.")
    settled = declared.settled(table.names, table.where)
    if features_only:  # columns are kept as they are
        settled = replace(settled, target=None, terms=None, other="level")
    read_table = _of_batches if table.streamed else _of_table
    inputs = read_table(table, settled, **beside)
    undeclared = declared.undeclared(table.names) if schema is None else ()
    return replace(inputs, source=X, order=order, undeclared=undeclared)


def scored_inputs(
    X: Any,
    y: Any,
    score_of: Any,
    fitted: Unit,
    *,
    exposure: Any,
    offset: Any,
    weighed: tuple[Any, float | None],
    schema: Schema | None,
    loss: Any,
    labels: Sequence[Any] | None,
    **persons: Any,
) -> Inputs:
    """Return scores and targets as two columns; by default with offset and weights of the fit."""
    weight = weight_of_score(X, *weighed, schema)
    beside = {"y": y, "exposure": exposure, "offset": offset, "weight": weight}
    rule = PersonRule.of_score(fitted, X, beside, **persons)
    score = score_of(X)
    read_persons = rule.read(None, len(score), **beside)  # a later error would reveal the number
    if weight is not None:
        weight_parts(weight, len(score))  # refuses other lengths
    score = with_offset(score, X, exposure, offset, schema)
    cells = scored_cells(score, target_numbers(y, loss, labels, len(score)))
    inputs = read_inputs(cells, features_only=True)
    return replace(inputs, weight=weight, persons=read_persons, unit=rule.unit)


def _of_matrix(
    X: Any, missing: Any, order: str, *, may_be_vector: bool, persons: PersonRule, **beside: Any
) -> Inputs:
    features, is_vector = features_of(X, may_be_vector=may_be_vector)
    names = None if type(X) is np.ndarray else column_names(X)
    constants = {} if missing is None else missing_constants(missing, features.shape[1], names)
    return Inputs(
        records=features,
        n_rows=len(features),
        n_features=features.shape[1],
        persons=persons.read(None, len(features), **beside),
        unit=persons.unit,
        **beside,
        missing=constants,
        names=(series,) if (series := series_name(X)) else names,
        targets=() if beside["y"] is None else (beside["y"],),
        order=order,
        source=X,
        undeclared=tuple(name for place, name in enumerate(names or ()) if place not in constants),
        is_vector=is_vector,
    )


def _of_table(
    table: Table,
    schema: Schema,
    *,
    y: Any,
    offset: Offset | None,
    weight: Weight | None,
    persons: PersonRule,
) -> Inputs:
    """Return the inputs for a table in memory; y, offset and weight may be arrays beside it."""
    target = schema.target if y is None else None
    offset_name = offset.column if offset is not None and isinstance(offset.column, str) else None
    weight_name = weight.column if weight is not None and isinstance(weight.column, str) else None
    others = (target, offset_name, weight_name, schema.row_id, schema.person)
    features, columns = read_columns(table, schema, *filter(None, others))
    y = y if target is None else columns[target]
    if offset is not None and offset_name is not None:
        offset = Offset(offset.role, offset_name, columns[offset_name])
    if weight is not None and weight_name is not None:
        weight = Weight(weight_name, weight.bound, columns[weight_name])
    ids = None if schema.row_id is None else identifiers_of(columns[schema.row_id])
    keys, beside = columns.get(persons.column or ""), {"y": y, "offset": offset, "weight": weight}
    return _by_schema(
        schema,
        records=features,
        n_rows=len(features),
        **beside,
        row_ids=ids,
        persons=persons.read(keys, len(features), **beside),
        unit=persons.unit,
        targets=() if y is None else (y,),
        target_name=target or "y",
    )


def _of_batches(
    table: Table,
    schema: Schema,
    *,
    y: Any,
    offset: Offset | None,
    weight: Weight | None,
    persons: PersonRule,
) -> Inputs:
    """Return the inputs for a table in batches, which has all columns itself."""
    columns = {"y": y}
    columns |= {} if offset is None else {offset.role: offset.column}
    columns |= {} if weight is None else {"sample_weight": weight.column}
    for name, column in columns.items():
        if column is not None and (name == "y" or not isinstance(column, str)):
            raise InputError(
                f"{name} must be a column of {table.where}, which is read in batches: give its "
                f"name, as {'target' if name == 'y' else name}='...'."
            )
    offset = None if offset is None else Offset(offset.role, offset.column)
    weight = None if weight is None else Weight(weight.column, weight.bound)
    others = (schema.target, offset and offset.name, weight and weight.name, schema.row_id)
    check_columns(filter(None, others), table.names, table.where)
    # Columns that this fit does not read must not make records void.
    unread: dict[str, Any] = dict.fromkeys({"exposure", "offset"} - {offset and offset.role})
    unread |= {} if weight else {"weight": None, "weight_bound": None}
    target = schema.target
    targets = [frame_column(each, target) for each in table.without_rows()] if target else []
    return _by_schema(
        replace(schema, **unread),
        records=table,
        n_rows=table.n_rows,
        persons=persons.counted(table),
        unit=persons.unit,
        targets=tuple(targets),
        target_name=target or "y",
        offset=offset,
        weight=weight,
    )


def _by_schema(schema: Schema, **attributes: Any) -> Inputs:
    names = schema.coefficient_names
    return Inputs(schema=schema, n_features=len(names), names=names, **attributes)
