"""Scores and targets as a table, with the weights and persons of the fit: what a score reads."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError
from tailguard.data.declarations import check_weight_bound
from tailguard.data.design import (
    Weight,
    column_of,
    target_numbers,
    weight_given,
    weight_parts,
    with_offset,
)
from tailguard.data.frames import column_names
from tailguard.data.inputs import Inputs, read_inputs
from tailguard.data.rows.keys import PersonRule
from tailguard.data.schema import Schema
from tailguard.data.table import Table
from tailguard.privacy.unit import Unit


def scored_inputs(
    X: Any, y: Any, score_of: Callable[[Any], FloatArray], fitted: Unit, *,
    exposure: Any, offset: Any, sample_weight: Any, weight_bound: float | None,
    schema: Schema | None, loss: Any, labels: Sequence[Any] | None, **persons: Any,
) -> Inputs:  # fmt: skip
    """Return scores and targets in two columns; weights and persons by default as in the fit."""
    weight = _weight_of_score(X, sample_weight, weight_bound, schema)
    beside = {"y": y, "exposure": exposure, "offset": offset, "weight": weight}
    rule = PersonRule.of_score(fitted, X, beside, **persons)
    score = score_of(X)
    if weight is not None:
        weight_parts(weight, len(score))  # refuses other lengths and types now
    rule.check_lengths(len(score), **beside)  # later a message would tell how many rows there are
    score = with_offset(score, X, exposure, offset)
    cells = np.column_stack([score, target_numbers(y, loss, labels, len(score))])
    cells[~np.isfinite(cells).all(axis=1)] = np.nan
    found = read_inputs(cells, features_only=True)
    return replace(found, weight=weight, persons=rule.read(None, len(score)), unit=rule.unit)


def _weight_of_score(
    X: Any, sample_weight: Any, bound: float | None, schema: Schema | None
) -> Weight | None:
    """Return the weights of rows on which a model is scored: by default as its schema declares."""
    declared = None if schema is None else schema.weight
    if sample_weight is None and declared is not None and bound is None:
        names = X.names if isinstance(X, Table) else column_names(X) or ()
        if declared not in names:
            raise InputError(
                "sample_weight must be given to score a model whose rows counted by weights, since "
                f"X has no column {declared!r}: a number per row, or the name of another column, "
                "and its weight_bound; got None."
            )
        sample_weight, bound = declared, schema.weight_bound if schema else None
    if sample_weight is not None and bound is None and schema is not None:
        bound = schema.weight_bound
    check_weight_bound("sample_weight", sample_weight, bound)
    found = weight_given(sample_weight, bound)
    if found is None or not isinstance(found.column, str):
        return found
    return Weight(found.column, found.bound, column_of(X, found.column))
