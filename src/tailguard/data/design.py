"""Convert the columns of a table to numbers by its schema: features, targets, offsets and marks.

Numeric columns stay as they are, dates become times after an origin, and levels become indicators.
Public constants replace missing cells; then terms are computed from the columns. The schema alone
determines the width and the column names of the design matrix, and each row depends on its own
record only. A cell matches a level if both are equal as text or as numbers. So ``2``, ``2.0`` and
``"2"`` are one level, and a column of whole numbers that one missing cell turned into floats keeps
its levels.

A mark classifies a cell: a finite number if usable, NaN if empty, else infinity. Marks identify the
column that makes records void; each depends only on its own cell and the declarations.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from tailguard.array_types import BoolArray, Features, FloatArray
from tailguard.checks import InputError, check_positive, shown
from tailguard.data.cells import cell_numbers, cell_texts
from tailguard.data.columns import LABELS, cells_of, kind_of, marks_of, numbers_of
from tailguard.data.declarations import check_columns, check_weight_bound, level_number
from tailguard.data.frames import chosen_columns, frame_column
from tailguard.data.labels import encode_labels
from tailguard.data.matrices import one_column, stacked, to_matrix, to_vector
from tailguard.data.missing import filled
from tailguard.data.schema import Schema
from tailguard.data.table import as_table, names_in
from tailguard.data.terms.dates import date_numbers
from tailguard.data.terms.term import Cells

Role: TypeAlias = Literal[
    "feature", "levels", "date", "target", "labels", "exposure", "offset", "weight"
]
"""What a column is: a numeric feature, levels, dates, a target of numbers or labels, or beside."""

Marks: TypeAlias = tuple[Features, *tuple[FloatArray | None, ...]]
"""Marks of the features, the target, the offset and the weight; None for an absent column."""


class TableColumn(NamedTuple):
    """A column of a table: its role, and its name, or its number if columns have no names."""

    role: Role
    name: str | int


class Offset(NamedTuple):
    """A term of each record's score: a column, or the logarithm of an exposure.

    ``column`` is None for a table in batches, which finds the column by its name.
    """

    role: Literal["exposure", "offset"]
    name: str
    column: Any = None


# Rows of text to read at a time: text takes about ten times the memory of its numbers.
ROWS_OF_TEXT = 10_000


def design_matrix(X: Any, schema: Schema) -> Features:
    """Return the design matrix: one column per coefficient of a schema with named features.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"region": ["south", "moon", "north"], "age": [41, 50, 30]})
    >>> schema = Schema(categorical={"region": ["north", "south"]}).settled(table.columns)
    >>> design_matrix(table, schema)
    array([[ 1.,  0., 41.],
           [ 0.,  1., 50.],
           [ 0.,  0., 30.]])
    """
    return read_columns(X, schema)[0]


def read_columns(X: Any, schema: Schema, *others: str) -> tuple[Features, dict[str, Any]]:
    """Read a table in memory in one pass: the design matrix, and other columns as they are."""
    table = as_table(X)
    names = tuple(dict.fromkeys((*(schema.features or ()), *others)))
    check_columns(names, table.names, table.where)
    parts: list[Any] = []
    other_columns: dict[str, list[Any]] = {name: [] for name in others}
    for frame in table.batches(names, table.n_rows or ROWS_OF_TEXT):
        parts.append(frame_matrix(frame, schema, table.where))
        for name, columns in other_columns.items():
            columns.append(frame_column(frame, name))
    return join_parts(parts), {
        name: join_parts(columns, _join_cells) for name, columns in other_columns.items()
    }


def join_parts(parts: list[Any], join: Callable[[list[Any]], Any] = np.concatenate) -> Any:
    """Join consecutive parts; return a single part unchanged."""
    return parts[0] if len(parts) == 1 else join(parts)


def frame_matrix(frame: Any, schema: Schema, where: str = "X") -> Features:
    """Return the design matrix of one frame that has all feature columns."""
    declared = schema.categorical or schema.dates or schema.terms is not None
    if not declared:
        numbers = _numbers(frame, schema, where)
        constants = {schema.numeric.index(name): v for name, v in schema.missing.items()}
        return filled(numbers, constants)
    cells = feature_cells(frame, schema, where)
    return np.hstack([term.values(cells) for term in schema.model_terms])


def feature_cells(frame: Any, schema: Schema, where: str = "X") -> dict[str, Cells]:
    """Return the cells of each feature as numbers, before and after constants fill gaps."""
    unfilled: dict[str, Any] = {}
    if schema.numeric:
        numbers = _numbers(frame, schema, where)
        unfilled |= {name: numbers[:, [place]] for place, name in enumerate(schema.numeric)}
    for name, column in declared_columns(frame, schema, where).items():
        if name in schema.dates:
            unfilled[name] = date_numbers(column, schema.dates[name])[:, None]
        else:
            void = name in schema.void_columns
            unfilled[name] = indicators(cells_of(column), schema.levels[name], void=void)
    cells = {name: (raw, raw) for name, raw in unfilled.items()}
    for name, constant in schema.missing.items():
        filler: Any = constant
        if name in schema.categorical:
            filler = indicators([constant], schema.levels[name], void=name in schema.void_columns)
        raw = unfilled[name]
        cells[name] = raw, np.where(np.isnan(raw), filler, raw)
    for name in schema.void_columns:
        raw, full = cells[name]
        cells[name] = raw, np.where(np.isinf(full), np.nan, full)
    return cells


def _numbers(frame: Any, schema: Schema, where: str) -> Features:
    """Return the numeric features as a matrix."""
    if isinstance(frame, dict):
        return stacked([cell_numbers(frame[name]) for name in schema.numeric])
    return to_matrix(chosen_columns(frame, schema.numeric), where)


def declared_columns(frame: Any, schema: Schema, where: str = "X") -> dict[str, Any]:
    """Return the columns of levels and dates; refuse a column of an unsuitable type."""
    names = (*schema.categorical, *schema.dates)
    columns = {name: frame_column(frame, name) for name in names}
    for name, column in columns.items():
        kind_of(column, f"Column {name!r} of {where}", LABELS)
    return columns


def indicators(cells: Iterable[Any], levels: Sequence[str], *, void: bool = False) -> FloatArray:
    """Return one row of indicators per cell: zeros at the baseline, NaN where the cell is missing.

    Text and numbers without a level count as ``other``. If ``void``, ``other`` has no indicator and
    a row of such a cell is infinite. A cell that is neither text nor a number is missing.

    Examples
    --------
    >>> indicators(["north", "south", "moon", None], ("north", "south"))
    array([[ 0.,  0.],
           [ 1.,  0.],
           [ 0.,  1.],
           [nan, nan]])
    """
    other, missing = len(levels), len(levels) + 1
    texts = {level: place for place, level in enumerate(levels)} | {"": missing}
    numbers = {level_number(level): place for place, level in enumerate(levels)} | {None: other}

    def place_of(text: str | None, number: float) -> int:
        if text is None and np.isnan(number):
            return missing
        return texts[text] if text in texts else numbers.get(number, other)

    def places_of(cells: list[Any]) -> list[int]:
        readings = zip(cell_texts(cells), cell_numbers(cells).tolist(), strict=True)
        return [place_of(*reading) for reading in readings]

    listed = list(cells)
    # Most cells repeat a few texts, so each text is read once. No method of another cell is called.
    distinct = [list({cell for cell in listed if type(cell) is kind}) for kind in (str, bytes)]
    text_codes, bytes_codes = (dict(zip(each, places_of(each), strict=True)) for each in distinct)
    others = (cell for cell in listed if type(cell) is not str and type(cell) is not bytes)
    other_codes = iter(places_of(list(others)))
    codes = [
        text_codes[cell]
        if type(cell) is str
        else bytes_codes[cell]
        if type(cell) is bytes
        else next(other_codes)
        for cell in listed
    ]
    rows = np.vstack([np.eye(other + 1)[:, 1:], np.full(other, np.nan)])
    if void:
        rows = np.delete(rows, other - 1, axis=1)
        rows[other] = np.inf
    return rows[np.array(codes, dtype=np.intp)]


def target_numbers(y: Any, loss: Any, classes: Sequence[Any] | None, n_rows: int) -> FloatArray:
    """Return targets as numbers; NaN for undeclared labels and for targets invalid for the loss."""
    values = to_vector(y if classes is None else encode_labels(y, classes), "y", n_rows=n_rows)
    if loss is None:
        return values
    with np.errstate(all="ignore"):
        return np.where(loss.valid_target(values), values, np.nan)


class Weight(NamedTuple):
    """The weight of each record: a column, and the bound at which larger weights are cut.

    ``column`` is None for a table in batches, which finds the column by its name.
    """

    name: str
    bound: float
    column: Any = None


def weight_given(sample_weight: Any, bound: float | None) -> Weight | None:
    """Return the weights of rows, or None; refuse weights without a bound, and the reverse."""
    check_weight_bound("sample_weight", sample_weight, bound)
    if sample_weight is None or bound is None:
        return None
    return Weight("sample_weight", float(bound), sample_weight)


def weights_by_schema(schema: Schema | None, sample_weight: Any, bound: float | None) -> Any:
    """Return the given weights and their bound, or else those that a schema declares."""
    if schema is None or schema.weight is None or sample_weight is not None:
        return sample_weight, bound
    if bound is not None:
        raise InputError(
            "weight_bound must be None where the schema declares weights and their bound; got "
            f"{shown(bound)}."
        )
    return schema.weight, schema.weight_bound


def weight_of_score(
    X: Any, sample_weight: Any, bound: float | None, schema: Schema | None
) -> Weight | None:
    """Return the weights for scoring the rows of X; a schema declares the default."""
    if schema is not None and schema.weight is not None and bound is None:
        if sample_weight is None and schema.weight not in names_in(X):
            raise InputError(
                "sample_weight must be given to score a model whose rows counted by weights, since "
                f"X has no column {schema.weight!r}: a number per row, or another column's name."
            )
        sample_weight = schema.weight if sample_weight is None else sample_weight
        bound = schema.weight_bound
    check_weight_bound("sample_weight", sample_weight, bound)
    named = isinstance(sample_weight, str)
    return weight_given(column_of(X, sample_weight) if named else sample_weight, bound)


def weight_parts(weight: Weight, n_rows: int) -> FloatArray:
    """Return weights divided by their bound, in [0, 1]; NaN if missing, negative or infinite."""
    numbers = to_vector(weight.column, "sample_weight", n_rows=n_rows)
    with np.errstate(all="ignore"):
        parts = np.minimum(numbers / weight.bound, 1.0)
        return np.where((numbers >= 0.0) & np.isfinite(numbers), parts, np.nan)


def declared_weight(schema: Schema) -> Weight | None:
    """Return the weights that a schema declares, without their column."""
    if schema.weight is None:
        return None
    # A schema declares both or none.
    return Weight(schema.weight, check_positive("weight_bound", schema.weight_bound))


def declared_offset(schema: Schema) -> Offset | None:
    """Return the offset or exposure that a schema declares, without its column."""
    if schema.exposure is not None:
        return Offset("exposure", schema.exposure)
    return None if schema.offset is None else Offset("offset", schema.offset)


def offset_numbers(offset: Offset, n_rows: int) -> FloatArray:
    """Return the numbers to add to scores: offsets, or logarithms of exposures."""
    numbers = to_vector(offset.column, offset.role, n_rows=n_rows)
    with np.errstate(all="ignore"):
        return np.log(numbers) if offset.role == "exposure" else numbers


def offset_given(exposure: Any, offset: Any) -> Offset | None:
    """Return the exposure or offset, whichever is given; refuse both."""
    if exposure is not None and offset is not None:
        raise InputError(
            "offset must be None if an exposure is given; got both: the score includes the "
            "logarithm of the exposure, so add that logarithm to the offset instead."
        )
    if exposure is not None:
        return Offset("exposure", "exposure", exposure)
    return None if offset is None else Offset("offset", "offset", offset)


def with_declared(
    given: Mapping[str, Any], schema: Schema | None, weight_bound: float | None
) -> dict[str, Any]:
    """Return the arguments besides X; take those that are missing from the schema."""
    weight, bound = weights_by_schema(schema, given.get("sample_weight"), weight_bound)
    # Generic code, as that of scikit-learn, fits one estimator with and without weights.
    bound = None if weight is None else bound
    for role, other in (("offset", "exposure"), ("exposure", "offset")):
        declared = None if schema is None else getattr(schema, other)
        if given.get(role) is not None and declared is not None:
            raise InputError(
                f"{role} must be None, or the schema without its {other}, {declared!r}: give one "
                "offset, to which the logarithm of the exposure is added."
            )
    completed = {**given, "sample_weight": weight, "weight_bound": bound}
    if schema is not None and completed.get("exposure") is None and completed.get("offset") is None:
        completed |= {"exposure": schema.exposure, "offset": schema.offset}
    return completed


def with_offset(
    score: FloatArray, X: Any, exposure: Any, offset: Any, schema: Schema | None = None
) -> FloatArray:
    """Return scores plus the given offset or exposure, or else the declared one."""
    declared = None if schema is None else offset_given(schema.exposure, schema.offset)
    added = offset_given(exposure, offset) or declared
    if added is None:
        return score
    if isinstance(name := added.column, str):
        added = Offset(added.role, name, column_of(X, name))
    with np.errstate(all="ignore"):  # no warnings about the user's rows
        return (score.T + numbers_of_predictions(added, len(score))).T


def numbers_of_predictions(offset: Offset, n_rows: int) -> FloatArray:
    """Return what predictions add to scores: minus infinity without exposure, NaN if infinite."""
    numbers = offset_numbers(offset, n_rows)
    no_exposure = (numbers == -np.inf) & (offset.role == "exposure")
    return np.where(np.isfinite(numbers) | no_exposure, numbers, np.nan)


def column_of(X: Any, name: str) -> Any:
    """Return a column of a table by its name, in memory."""
    table = as_table(X)
    check_columns([name], table.names, table.where)
    frames = table.batches((name,), table.n_rows or ROWS_OF_TEXT)
    return join_parts([frame_column(frame, name) for frame in frames], _join_cells)


def _join_cells(columns: list[Any]) -> list[Any]:
    """List the cells of consecutive parts of a column."""
    return [*chain.from_iterable(map(cells_of, columns))]


def takes_off(loss: Any) -> bool:
    """Whether offsets are subtracted from targets, since the loss depends on residuals only."""
    return loss is not None and hasattr(loss, "link") and bool(loss.link.residual)


def marks_beside(
    y: Any, offset: Offset | None, weight: Weight | None, loss: Any, classes: Sequence[Any] | None
) -> tuple[FloatArray | None, FloatArray | None, FloatArray | None]:
    """Return marks of targets, offsets and weights; a cell is usable if its number is finite."""
    targets = offsets = weights = None
    if y is not None:
        targets = _marks(y, "y", partial(target_numbers, y, loss, classes))
    if offset is not None:
        offsets = _marks(offset.column, offset.role, partial(offset_numbers, offset))
    if weight is not None:
        weights = _marks(weight.column, "sample_weight", partial(weight_parts, weight))
    return targets, offsets, weights


def _marks(values: Any, name: str, numbers: Callable[[int], FloatArray]) -> FloatArray:
    """Return marks of one column; ``numbers`` returns its cells as numbers, given their count."""
    where, column = one_column(values, name)
    return _refined(marks_of(column, where), np.isfinite(numbers(len(column))))


def number_marks(column: Any, where: str, *, filled: bool) -> FloatArray:
    """Return marks of a column of numbers; if ``filled``, a constant makes NaN cells usable."""
    marks = marks_of(column, where)
    return _refined(marks, ~np.isinf(numbers_of(column, where))) if filled else marks


def feature_marks(frame: Any, schema: Schema) -> Features:
    """Return marks of features: a cell is usable if every factor that reads it is finite."""
    cells, marks = feature_cells(frame, schema), []
    factors = [factor for term in schema.model_terms for factor in term.factors]
    for name in schema.features or ():
        parts = [factor.values(cells) for factor in factors if factor.column == name]
        usable = np.asarray(np.isfinite(np.hstack(parts)).all(axis=1))
        marks.append(_refined(marks_of(frame_column(frame, name), f"Column {name!r}"), usable))
    return np.stack(marks, axis=1)


def _refined(marks: FloatArray, usable: BoolArray) -> FloatArray:
    """Return marks: zero for usable cells, NaN for empty ones, and infinity for all others."""
    return np.where(usable, 0.0, np.where(np.isnan(marks), np.nan, np.inf))
