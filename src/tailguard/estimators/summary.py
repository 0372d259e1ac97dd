"""The summary of a fitted model: coefficients, standard errors, intervals and tests."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill, wrap
from typing import Any

import numpy as np

from tailguard.data.declarations import UNDECLARED, listing
from tailguard.data.labels import CLASSES_ASSUMED
from tailguard.data.missing import constants_text
from tailguard.estimators.wald import (
    baseline_notes,
    centers,
    coefficient_names,
    intervals,
    p_words,
    standard_errors,
    wald_test,
)
from tailguard.gate.plan import NO_INTERVAL, NOT_ESTIMATED
from tailguard.gate.record_check import RESTS_ON
from tailguard.printable import (
    html_list,
    html_words,
    notebook_table,
    printable,
    screen_width,
    to_error,
)
from tailguard.privacy.unit import PROTECTED
from tailguard.scaling.required_records import WEIGHS_LITTLE

NO_RECORDS = f"{NOT_ESTIMATED}: no records"
"""The reason of a column of undeclared levels, if no record with such a level was counted."""
UNSEEN = "beyond noise no records were counted with levels of "
"""The beginning of the note on undeclared levels without records."""
WEIGHTED = "rows count by their weights"
"""The beginning of the note on weights."""
PLAIN_NOTES = (CLASSES_ASSUMED, UNDECLARED, RESTS_ON, UNSEEN, WEIGHTED, WEIGHS_LITTLE)
"""Beginnings of notes that a summary shows, and that need no remark on their origin."""
NO_ROWS = "no coefficients"
"""The only line of a table without rows."""
WIDTH = 88  # the most characters in a line of a summary; a wider table is stacked

ROUNDED = 1e-9  # a coefficient below this share of its noise is shown as 0
ENDS = ("[0.025", "0.975]")
"""Headers of the interval of a coefficient: the quantile levels of its two ends."""
HEADERS = ("truth", "coef", "std err", "z", "P>|z|", *ENDS, "noise")
"""The headers of a table: names that other packages use, privacy noise, and a simulated truth."""
LEVEL = 0.95  # confidence level of the intervals in a summary
STD_NOTE = "std err, z, P>|z| and the 95 % interval count sampling and privacy noise together"
NOISE_NOTE = "noise: standard deviation of the privacy noise alone"
NOISE_ALONE = (
    f"{NOISE_NOTE}, as predicted; sampling error and what clipping and shrinking leave come on top"
)
"""The note on the noise column if the table has no standard errors."""
CORRECTED = "aims at: the fit without privacy on these records, features held in feature_bounds_"
"""The note on the estimand of corrected fits."""
BULK = "aims at: the fit without privacy, but with records that reach far counted less"
"""The note on the estimand of all other fits."""


class SummaryText(str):
    """A summary as text, without quotation marks at a prompt; a notebook shows its table."""

    html: str

    def __new__(cls, text: str, html: str = "") -> "SummaryText":
        """Return the text with its HTML; copies and pickles set the HTML later."""
        summary = super().__new__(cls, text)
        summary.html = html
        return summary

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        return self.html

    def __repr__(self) -> str:
        """Return the text itself, so that a prompt shows it without ``print``."""
        return str(self)


@dataclass(frozen=True)
class CoefficientRow:
    """One row of a table: a name, cells by header, and a text in place of missing cells."""

    name: str
    cells: dict[str, str]
    missing: str = ""


def coefficient_rows(model: Any) -> list[tuple[str, float, float]]:
    """Return name, value and predicted noise of each coefficient, the intercept last.

    The value is the centre of the interval; it is NaN if a coefficient was not estimated.
    """
    values, noise = list(centers(model)), list(np.ravel(model.coef_noise_std_))
    if model.fit_intercept:
        noise += list(np.ravel(model.intercept_noise_std_))
    for row, reason in enumerate(model.reasons_):
        if reason.startswith(NOT_ESTIMATED):
            values[row] = math.nan
    rows = zip(coefficient_names(model), values, noise, strict=True)
    return [(printable(str(name)), float(value), float(std)) for name, value, std in rows]


def coefficient_columns(
    model: Any, level: float = LEVEL
) -> tuple[list[str], dict[str, list[float] | list[str]]]:
    """Return the names of all coefficients, and the columns of ``coef_frame`` by their names."""
    rows = coefficient_rows(model)
    numbers = np.full((5, len(rows)), np.nan)
    if model.coef_std_ is not None:
        std = np.append(model.coef_std_, model.intercept_std_)[: len(rows)]
        numbers = np.vstack([std, intervals(model, level).T, wald_test(model).T])
    return [name for name, _, _ in rows], {
        "coefficient": [value for _, value, _ in rows],
        "noise_std": [noise for _, _, noise in rows],
        **dict(zip(("std", "low", "high", "z", "p"), numbers.tolist(), strict=True)),
        "reason": list(model.reasons_) or [""] * len(rows),
    }


def coefficient_cells(model: Any, names: Sequence[str] | None = None) -> list[CoefficientRow]:
    """Return a row of cells for each coefficient, the intercept last.

    A coefficient without an interval has a letter for the reason, instead of errors and noise.
    """
    letters, numbers = marked_reasons(model), coefficient_rows(model)
    given = has_intervals(model)
    test_cells = _test_cells(model) if given else [{}] * len(numbers)
    errors = standard_errors(model) if given else [math.nan] * len(numbers)
    rows = []
    for row, (name, value, noise) in enumerate(numbers):
        row_name = name if names is None or row >= len(names) else printable(names[row])
        shown_value = 0.0 if abs(value) < ROUNDED * noise else value  # rounding errors of a zero
        error = noise if math.isnan(errors[row]) else float(errors[row])
        coef = {} if math.isnan(value) else {"coef": to_error(shown_value, error)}
        if row < len(model.reasons_) and (reason := model.reasons_[row]):
            status = reason.partition(":")[0]
            missing = f"{status} ({letters[reason][0]})" if reason in letters else ""
            rows.append(CoefficientRow(row_name, coef, missing))
        else:
            noise_cell = {"noise": "unknown" if math.isnan(noise) else to_error(noise, noise)}
            rows.append(CoefficientRow(row_name, coef | test_cells[row] | noise_cell))
    return rows


def has_intervals(model: Any) -> bool:
    """Whether any coefficient has an interval."""
    known = getattr(model, "coef_std_", None) is not None
    return known and not np.isnan(standard_errors(model)).all()


def _test_cells(model: Any) -> list[dict[str, str]]:
    """Return standard error, z, p and interval of each coefficient, the intercept last."""
    tests = zip(standard_errors(model), wald_test(model), intervals(model, LEVEL), strict=True)
    return [
        {
            "std err": to_error(std, std),
            "z": f"{round(z, 2) + 0.0:.2f}" if abs(z) < 1000.0 else f"{z:.3g}",  # no -0
            "P>|z|": p_words(p),
            ENDS[0]: to_error(low, std),
            ENDS[1]: to_error(high, std),
        }
        for std, (z, p), (low, high) in tests
    ]


def marked_reasons(model: Any) -> dict[str, tuple[str, list[str]]]:
    """Return, for each reason that a table shows, a letter and the names of its coefficients."""
    names: dict[str, list[str]] = {}
    coefficients = coefficient_rows(model)
    for row in shown_rows(model):
        if model.reasons_ and (reason := model.reasons_[row]):
            names.setdefault(reason, []).append(coefficients[row][0])
    return {reason: (chr(ord("a") + place), names[reason]) for place, reason in enumerate(names)}


def summary_notes(model: Any) -> list[str]:
    """Return notes on the estimand, on the columns of the table, and on missing intervals."""
    notes, alpha = baseline_notes(model), getattr(model, "alpha", 0.0)
    aim = CORRECTED if model.interval_center_ is not None else BULK
    notes.append(aim + (f", and the ridge of alpha={alpha:g}" if alpha > 0.0 else ""))
    if has_intervals(model):
        notes += [STD_NOTE, NOISE_NOTE]
    if model.coef_std_ is None:
        notes.append(NOISE_ALONE)
    for reason, (mark, names) in marked_reasons(model).items():
        notes.append(f"({mark}) {reason}, for {listing(names)}")
    return notes


def note_line(note: str) -> str:
    """Return a note of a model, with a remark if released numbers decided it."""
    is_plain = note.startswith((*PLAIN_NOTES, PROTECTED))
    return note if is_plain else f"decided on released numbers: {note}"


def in_table(model: Any, note: str) -> bool:
    """Whether a note repeats a reason that the table of coefficients shows."""
    repeated = note.startswith((NOT_ESTIMATED, NO_INTERVAL))
    return repeated and any(model.reasons_[row] for row in shown_rows(model) if model.reasons_)


def missing_cells(model: Any) -> str:
    """Return the constants that replace missing cells, by column; empty if there are none."""
    if model.schema_ is not None:
        constants: dict[str, Any] = dict(model.schema_.missing)
    else:
        names = model._names() or [f"x{place}" for place in range(model.n_features_in_)]
        constants = {names[place]: value for place, value in sorted(model._constants().items())}
    return constants_text(constants)


def shown_rows(model: Any) -> list[int]:
    """Return the rows that a table shows: all rows or, for a sparse model, the selected columns."""
    n_columns, n_constants = np.size(model.coef_noise_std_), np.size(model.intercept_noise_std_)
    selected = list(getattr(model, "support_", range(n_columns)))
    constants = range(n_columns, n_columns + n_constants) if model.fit_intercept else ()
    return [*map(int, selected), *constants]


def table_lines(rows: Sequence[CoefficientRow], headers: Sequence[str], width: int) -> list[str]:
    """Return a table as lines of text; stack its cells if it is wider than ``width``."""
    if not rows:  # of a sparse model without a constant that became one
        return [NO_ROWS]
    headers = [header for header in headers if any(header in row.cells for row in rows)]
    name_width = max(len(row.name) for row in rows)
    widths = {
        header: max(len(header), *(len(row.cells.get(header, "")) for row in rows))
        for header in headers
    }
    lines = ["  ".join([" " * name_width, *(header.rjust(widths[header]) for header in headers)])]
    rule_length = len(lines[0])
    for row in rows:
        row_headers = [header for header in headers if header in row.cells or not row.missing]
        cells = [row.cells.get(header, "").rjust(widths[header]) for header in row_headers]
        lines.append("  ".join([row.name.ljust(name_width), *cells, row.missing]).rstrip())
    if max(map(len, lines)) > width:
        return [line for row in rows for line in _stacked(headers, row, width)]
    return [lines[0], "-" * rule_length, *lines[1:]] if headers else lines[1:]


def _stacked(headers: Sequence[str], row: CoefficientRow, width: int) -> list[str]:
    """Return a row as a name and, below it, its cells beside their headers."""
    pairs = [f"{header} {row.cells[header]}" for header in headers if header in row.cells]
    pairs += [row.missing] * bool(row.missing)
    # Lines must not break within a pair.
    text = "   ".join(pair.replace(" ", "\0") for pair in pairs)
    # Both ends of an interval form one pair of at most 40 characters.
    (low, high), between = ENDS, "\0to\0" if width > 42 else " to\0"
    text = text.replace(f"{low}\0", f"{low},\0{high}\0").replace(f"   {high}\0", between)
    wrapped = wrap(
        text, width - 2, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )
    return [row.name, *("  " + line.replace("\0", " ") for line in wrapped)]


def summary_table(model: Any) -> SummaryText:
    """Return a fitted model as a text table that fits into the terminal."""
    cells, width = coefficient_cells(model), screen_width(WIDTH)
    table = table_lines([cells[row] for row in shown_rows(model)], HEADERS, width)
    head = [fill(line, width) for line in _head(model)]
    notes = [fill(line, width) for line in summary_notes(model)]
    rule = "=" * min(width, max(map(len, table)))
    text = "\n".join([*head, rule, *table, rule, *notes])
    return SummaryText(text, summary_html(model))


def summary_html(model: Any) -> str:
    """Return the summary of a fitted model as HTML."""
    all_rows = coefficient_cells(model)
    rows = [all_rows[row] for row in shown_rows(model)]
    headers = [header for header in HEADERS if any(header in row.cells for row in rows)]
    table = [
        [row.name, *(row.cells.get(header, "") for header in headers), row.missing] for row in rows
    ]
    title, *head = _head(model)
    parts = [
        f"<p><b>{html_words(title)}</b></p>",
        html_list(head),
        notebook_table(table, ["", *headers, ""]),
        html_list(summary_notes(model)),
    ]
    return "\n".join(parts)


def title_of(model: Any) -> str:
    """Return the name of a model with the parameters that say what it fits, such as a level."""
    stated = [f"{name}={getattr(model, name):g}" for name in model.stated_in_titles]
    return type(model).__name__ + (f"({', '.join(stated)})" if stated else "")


def _head(model: Any) -> list[str]:
    """Return the lines above the table."""
    certificate = model.certificate_
    target = None if model.schema_ is None else model.schema_.target
    return [
        title_of(model) + (f" of {printable(target)}" if target else ""),
        f"{certificate.unit.noun}: {certificate.n_rows}   mode: {certificate.mode}",
        f"{certificate.guarantee.describe()}, for {certificate.unit.describe()}",
        *declared_lines(model),
    ]


def declared_lines(model: Any) -> list[str]:
    """Describe constants for missing cells, assumptions, and the number of usable records."""
    declared = missing_cells(model)
    lines = [f"missing cells are taken as: {declared}"] if declared else []
    return lines + [note for note in model.notes_ if note.startswith(PLAIN_NOTES)]
