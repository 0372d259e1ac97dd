"""What a user gave to be read: a matrix, a table by its schema, or a table in batches."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tailguard.checks import InputError, check_choice
from tailguard.data.design.cells import Cells, TableColumn
from tailguard.data.design.columns import BatchedTable, TableColumns, columns_of
from tailguard.data.design.matrix import design_matrix
from tailguard.data.missing import Fill
from tailguard.data.schema.declared import check_columns, undeclared_note
from tailguard.data.schema.schema import Schema
from tailguard.data.sources.opening import has_columns, opened
from tailguard.data.tables import column_names, to_features
from tailguard.data.tables.identifiers import identifiers_of


@dataclass(frozen=True, kw_only=True)
class Given:
    """Records, and what is public of them.

    Attributes
    ----------
    records
        A matrix of features, which may be sparse, or a table in batches.
    y, exposure
        A column each or None; of a table in batches, None.
    n_rows, n_features
        Public numbers.
    schema
        The schema with its features named; None for a matrix.
    missing
        Constants for missing cells, by the number of the column.
    targets
        The target as a column of every type that it has, which for a table in batches is empty.
    names
        Names of the features, where they have names.
    row_ids
        The identifiers of the rows, where a column was named; of a table in batches, None.
    order
        ``"any"`` where the order of rows says nothing, as it was stated.
    cells
        The cells that records in memory are read from; None for a table in batches.
    undeclared
        Columns that are read as numbers although no schema says so.

    Examples
    --------
    >>> import pandas as pd
    >>> found = given(pd.DataFrame({"age": [41, 50], "cost": [7.5, 3.0]}), target="cost")
    >>> found.n_features, found.schema.features
    (1, ('age',))
    """

    records: Any
    n_rows: int
    n_features: int
    y: Any = None
    exposure: Any = None
    schema: Schema | None = None
    missing: Mapping[int, float] | None = None
    targets: tuple[Any, ...] = ()
    names: tuple[str, ...] | None = None
    row_ids: Any = None
    order: str = "file"
    cells: Cells | None = None
    undeclared: tuple[str, ...] = ()

    def without_target(self) -> "Given":
        """Return the same records without a target, for what reads none."""
        cells, schema = self.cells, self.schema
        if schema is not None:
            schema = replace(schema, target=None)
        if cells is not None and cells.schema is not None:
            cells = replace(cells, target=None, schema=replace(cells.schema, target=None))
        return replace(self, y=None, targets=(), schema=schema, cells=cells)

    @property
    def assumed(self) -> tuple[str, ...]:
        """What is said where columns are read as numbers although no schema says so."""
        return (undeclared_note(self.undeclared),) if self.undeclared else ()

    def columns(self, *, has_target: bool, has_exposure: bool) -> tuple[TableColumn, ...]:
        """Return the columns that a record is made of, in the order in which cells are marked."""
        schema = self.schema if self.cells is None else self.cells.schema
        names = self.names or range(self.n_features)
        found = [TableColumn("feature", name) for name in names]
        target, exposure = "y", "exposure"
        if schema is not None:
            levels, features = schema.levels, schema.features or ()
            found = [TableColumn("levels" if x in levels else "feature", x) for x in features]
            target, exposure = schema.target or target, schema.exposure or exposure
        found += [TableColumn("target", target)] * has_target
        return (*found, *[TableColumn("exposure", exposure)] * has_exposure)


ORDERS = ("file", "any")
"""What may be said of the order of rows."""


def given(
    X: Any,
    y: Any = None,
    *,
    schema: Schema | None = None,
    missing: Any = None,
    target: str | None = None,
    columns: Any = None,
    row_id: str | None = None,
    order: str = "file",
    exposure: Any = None,
    classes: Any = None,
) -> Given:
    """Say what was given; of a table in batches, nothing but its head is read.

    ``target``, ``columns``, ``row_id`` and an ``exposure`` of text name columns, as the schema may
    do instead. ``order`` says whether that of the rows may change.
    ``missing`` declares constants, and ``classes`` the labels, where there is no schema.

    Examples
    --------
    >>> import numpy as np
    >>> given(np.zeros((5, 2)), np.zeros(5)).n_features
    2
    """
    check_choice("order", order, ORDERS)
    told = {"target": target, "features": columns, "row_id": row_id}
    found = _given(opened(X), y, schema, missing, told, exposure, classes)
    return replace(found, order=order)


def _given(
    X: Any,
    y: Any,
    schema: Schema | None,
    missing: Any,
    told: Mapping[str, Any],
    exposure: Any,
    classes: Any,
) -> Given:
    named = exposure if isinstance(exposure, str) else None
    said = {**told, "exposure": named}
    if schema is not None and named == schema.exposure:
        said["exposure"] = None
    by_name = any(name is not None for name in said.values())
    if schema is None and not by_name and not has_columns(X):
        return _of_matrix(X, y, missing=missing, exposure=exposure)
    declared = Schema(missing=missing or {}) if schema is None else schema
    declared = declared.with_declared(**said)
    if y is not None and told["target"] is not None:
        raise InputError("y must be None where target names its column; got both.")
    if isinstance(X, BatchedTable):
        found = _of_batches(X, declared, y=y, exposure=exposure)
    else:
        found = _of_table(X, declared, y=y, exposure=exposure, classes=classes)
    if schema is not None:
        return found
    names = X.names if isinstance(X, BatchedTable) else columns_of(X).names
    return replace(found, undeclared=declared.undeclared(names))


def _of_matrix(X: Any, y: Any, *, missing: Any, exposure: Any) -> Given:
    features = to_features(X)
    n_rows, n_features = features.shape
    names = column_names(X)
    constants = Fill.of(missing, n_features, names).constants
    return Given(
        records=features,
        n_rows=n_rows,
        n_features=n_features,
        y=y,
        exposure=exposure,
        missing=constants,
        names=names,
        targets=() if y is None else (y,),
        cells=Cells(table=X, target=y, exposure=exposure, filled=constants.keys()),
        undeclared=tuple(n for place, n in enumerate(names or ()) if place not in constants),
    )


def _of_table(X: Any, schema: Schema, *, y: Any, exposure: Any, classes: Any) -> Given:
    columns = columns_of(X)
    schema = schema.settled(columns.names, columns.where)
    named = replace(
        schema,
        target=schema.target if y is None else None,
        exposure=exposure if isinstance(exposure, str) else None,
    )
    cells = Cells(table=X, target=y, exposure=None if named.exposure else exposure, schema=named)
    if y is None and schema.target is not None:
        y = columns.target(schema.target, schema.classes or classes)
    if isinstance(exposure, str):
        exposure = columns.numbers([exposure])[:, 0]
    features = design_matrix(columns, schema)
    row_id = schema.row_id
    return Given(
        row_ids=None if row_id is None else identifiers_of(columns.target(row_id, ("text",))),
        records=features,
        n_rows=len(features),
        n_features=features.shape[1],
        y=y,
        exposure=exposure,
        schema=schema,
        missing=schema.constants,
        names=schema.coefficient_names,
        targets=() if y is None else (y,),
        cells=cells,
    )


def _of_batches(X: BatchedTable, schema: Schema, *, y: Any, exposure: Any) -> Given:
    """Return a table in batches, whose target and exposure are columns of its own."""
    for name, column in (("y", y), ("exposure", None if isinstance(exposure, str) else exposure)):
        if column is not None:
            raise InputError(
                f"{name} must be a column of {X.where}, which is read in batches: give its name, "
                f"as {'target' if name == 'y' else name}='...'."
            )
    schema = schema.settled(X.names, X.where)
    beside = (schema.target, exposure, schema.row_id)
    check_columns([name for name in beside if name], X.names, X.where)
    return Given(
        records=X,
        n_rows=X.n_rows,
        n_features=len(schema.coefficient_names),
        # Whoever reads no exposure must not have records void for it.
        schema=schema if exposure is not None else replace(schema, exposure=None),
        missing=schema.constants,
        names=schema.coefficient_names,
        targets=tuple(_targets(X, schema)),
    )


def _targets(X: BatchedTable, schema: Schema) -> Iterable[Any]:
    if schema.target is not None:
        for empty in X.empties():
            yield TableColumns(empty, X.where).target(schema.target, schema.classes)
