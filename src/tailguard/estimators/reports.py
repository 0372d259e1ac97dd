"""Reports of fitted models, searches and means."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tailguard.estimators.summary import (
    CORRECTED,
    LEVEL,
    coefficient_rows,
    missing_cells,
    note_line,
    shown_rows,
    title_of,
)
from tailguard.estimators.wald import baseline_notes, intervals
from tailguard.privacy.certificate import Certificate
from tailguard.report.content import Report, ReportedEstimate, Stated


def model_report(model: Any, stated: Stated, notes: tuple[str, ...] = ()) -> Report:
    """Return the report of a fitted model, with the curator's statements and further notes."""
    estimand = (CORRECTED,) if model.interval_center_ is not None else ()
    declared = _declared_columns(model)
    of_target = f" of {declared['target']}" if "target" in declared else ""
    return Report(
        subject=f"{title_of(model)}{of_target}",
        certificate=model.certificate_,
        quantity="coefficient",
        estimates=_coefficients(model),
        level=LEVEL,
        notes=(*map(note_line, model.notes_), *baseline_notes(model), *estimand, *notes),
        facts=declared,
        stated=stated,
    )


def mean_report(
    method: str,
    rows: Sequence[tuple[Any, ...]],
    certificate: Certificate,
    stated: Stated,
    notes: tuple[str, ...] = (),
) -> Report:
    """Return the report of means; a row has name, value, predicted noise and an interval."""
    estimates = (ReportedEstimate(*row) for row in rows)
    return Report(
        subject=f"private mean ({method})",
        certificate=certificate,
        quantity="mean of",
        estimates=tuple(estimates),
        notes=notes,
        stated=stated,
    )


def _coefficients(model: Any) -> tuple[ReportedEstimate, ...]:
    """Return the coefficients that a summary shows, each with its interval or its reason."""
    rows, reasons = coefficient_rows(model), list(model.reasons_)
    has_intervals = model.coef_std_ is not None
    ends = intervals(model, LEVEL) if has_intervals else np.full((len(rows), 2), math.nan)
    estimates = []
    for row in shown_rows(model):
        name, value, noise = rows[row]
        low, high = map(float, ends[row])
        reason = reasons[row] if row < len(reasons) else ""
        estimates.append(ReportedEstimate(name, value, noise, low, high, reason))
    return tuple(estimates)


def _declared_columns(model: Any) -> Mapping[str, str]:
    """Return target, exposure and constants for missing cells, if they are declared."""
    schema = model.schema_
    facts = {} if schema is None else {"target": schema.target, "exposure": schema.exposure}
    constants = missing_cells(model)
    return {name: text for name, text in {**facts, "missing cells": constants}.items() if text}
