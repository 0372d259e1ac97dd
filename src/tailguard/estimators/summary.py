"""The printed form of a fitted model: coefficients, their noise, intervals and tests."""

import math
from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np

from tailguard.data.declarations import UNDECLARED, listing
from tailguard.data.labels import CLASSES_ASSUMED
from tailguard.data.missing import constants_described
from tailguard.estimators.wald import centers
from tailguard.gate.plan import NOT_ESTIMATED
from tailguard.gate.record_check import RESTS_ON
from tailguard.printable import printable

PLAIN_NOTES = (CLASSES_ASSUMED, UNDECLARED, RESTS_ON)
"""How notes begin that a summary shows, and that say themselves where they come from."""
WIDTH = 88  # of the longest line below the table

NOISE_NOTE = (
    "privacy noise: predicted standard deviation of the added noise alone; sampling\n"
    "error and what clipping and shrinking leave come on top (conf_int counts sampling)"
)
"""What the noise column says, and what it does not."""
LEVEL, INTERVAL = 0.95, "95 % interval"
INTERVAL_NOTE = f"{INTERVAL}: for sampling and privacy noise together, as conf_int() gives it"
ESTIMAND_NOTE = (
    "aims at: the slope that ordinary least squares would give on these records, every feature\n"
    "held within feature_bounds_ and every target counted in full; the interval also covers\n"
    "what another sample of records would change"
)
"""What corrected least squares estimate, in one sentence."""
TEST_NOTE = "z, p: Wald test of a coefficient being zero, from the same standard errors"
SMALLEST_P = 0.001  # a smaller one rests on how far normal tails hold, which nobody measured


def coefficient_rows(model: Any) -> list[tuple[str, float, float]]:
    """Return name, value and predicted noise of each coefficient, the intercept last.

    The value is what intervals lie about, and NaN where a coefficient was not estimated.

    Examples
    --------
    >>> import tailguard as tg
    >>> model = tg.LinearRegression(guarantee=tg.GDP(1.0), random_state=0)
    >>> model = model.fit(np.arange(100.0)[:, None], np.arange(100.0))
    >>> [name for name, _, _ in coefficient_rows(model)]
    ['x0', '(intercept)']
    """
    names = list(model._names() or [f"x{column}" for column in range(model.n_features_in_)])
    values, noise = list(centers(model)), list(model.coef_noise_std_)
    if model.fit_intercept:
        names.append("(intercept)")
        noise.append(model.intercept_noise_std_)
    for row, reason in enumerate(model.reasons_):
        if reason.startswith(NOT_ESTIMATED):
            values[row] = math.nan
    rows = zip(names, values, noise, strict=True)
    return [(printable(str(name)), float(value), float(std)) for name, value, std in rows]


def coefficient_cells(
    model: Any, digits: int, truth: Sequence[float] | None = None
) -> tuple[list[str], list[list[str]]]:
    """Return the headers of a table and the cells of each coefficient, the intercept last.

    Beside coefficient and noise stand the truth, if it is given, or intervals and tests, if there
    are any. A coefficient that was not estimated says so.

    Examples
    --------
    >>> import tailguard as tg
    >>> X = np.random.default_rng(0).standard_normal((1000, 1))
    >>> model = tg.LinearRegression(guarantee=tg.GDP(9.0), random_state=0).fit(X, X[:, 0])
    >>> headers, rows = coefficient_cells(model, digits=4)
    >>> headers, rows[0][-1]
    (['coefficient', 'privacy noise', '95 % interval', 'z', 'p'], '<0.001')
    """
    headers, rows = ["coefficient", "privacy noise"], []
    tested = truth is None and _has_intervals(model)
    headers += ["truth"] * (truth is not None) + [INTERVAL, "z", "p"] * tested
    beside = _test_cells(model) if tested else None
    for row, (_, value, noise) in enumerate(coefficient_rows(model)):
        estimated = not math.isnan(value)
        said = "unknown" if math.isnan(noise) else f"{noise:.3g}"
        cells = [f"{value:.{digits}g}", said] if estimated else [NOT_ESTIMATED, ""]
        if truth is not None:
            cells.append(f"{truth[row]:.4g}")
        if beside is not None:
            cells += beside[row] if estimated else ["", "", ""]
        rows.append(cells)
    return headers, rows


def _has_intervals(model: Any) -> bool:
    """Whether any coefficient has one."""
    known = getattr(model, "coef_std_", None) is not None
    return known and not np.isnan(model.conf_int(LEVEL)).all()


def _test_cells(model: Any) -> list[list[str]]:
    """Return interval, z and p of each coefficient, the intercept last."""
    told = zip(model.conf_int(LEVEL), model.wald_test(), strict=True)
    return [
        [
            f"{low:.4g} to {high:.4g}",
            f"{z:.2f}" if abs(z) < 1000.0 else f"{z:.3g}",
            f"<{SMALLEST_P}" if p < SMALLEST_P else f"{p:.3f}",
        ]
        if low < high
        else ["unknown", "", ""]
        for (low, high), (z, p) in told
    ]


def summary_notes(model: Any) -> list[str]:
    """Return what the columns of a table say, and what they do not.

    Examples
    --------
    >>> import tailguard as tg
    >>> model = tg.SparseLinearRegression(n_nonzero=1, guarantee=tg.GDP(9.0), random_state=0)
    >>> len(summary_notes(model.fit(np.arange(100.0)[:, None], np.arange(100.0))))
    1
    """
    notes = [NOISE_NOTE] + [INTERVAL_NOTE, TEST_NOTE] * _has_intervals(model)
    notes += [ESTIMAND_NOTE] * (model.interval_center_ is not None)
    return notes + _reason_lines(model)


def note_line(note: str) -> str:
    """Say of one of a model's notes where it comes from.

    Examples
    --------
    >>> note_line("no scale was seen")
    'decided on released numbers: no scale was seen'
    """
    return note if note.startswith(PLAIN_NOTES) else f"decided on released numbers: {note}"


def shown_rows(model: Any) -> list[int]:
    """Return which rows a table shows: all, or of a sparse model those that it kept.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> X = np.random.default_rng(0).standard_normal((1000, 9))
    >>> model = tg.SparseLinearRegression(n_nonzero=1, guarantee=tg.GDP(9.0), random_state=0)
    >>> shown_rows(model.fit(X, X[:, 3]))
    [3, 9]
    """
    n_columns = len(model.coef_)
    kept = list(getattr(model, "support_", range(n_columns)))
    return [int(column) for column in kept] + [n_columns] * bool(model.fit_intercept)


def summary_table(model: Any) -> str:
    """Return a fitted model as a text table.

    Examples
    --------
    >>> import tailguard as tg
    >>> model = tg.LinearRegression(guarantee=tg.GDP(1.0), random_state=0)
    >>> model = model.fit(np.arange(100.0)[:, None], np.arange(100.0))
    >>> print(model.summary())  # doctest: +ELLIPSIS
    LinearRegression, n = 100, mode: simulation: NOT PRIVATE
    ...
    """
    certificate = model.certificate_
    names = [name for name, _, _ in coefficient_rows(model)]
    headers, cells = coefficient_cells(model, digits=6)
    lines = [["", *headers], *([names[row], *cells[row]] for row in shown_rows(model))]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    table = [
        "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip()
        for line in lines
    ]
    return "\n".join(
        [
            f"{type(model).__name__}, n = {certificate.n_rows}, mode: {certificate.mode}",
            certificate.guarantee.describe(),
            *_declared_lines(model),
            "",
            *table,
            "",
            *summary_notes(model),
        ]
    )


def _reason_lines(model: Any) -> list[str]:
    """Say which coefficients have no interval, or no number, and why."""
    names = [name for name, _, _ in coefficient_rows(model)]
    told: dict[str, list[str]] = {}
    for row in shown_rows(model):
        if row < len(model.reasons_) and model.reasons_[row]:
            told.setdefault(model.reasons_[row], []).append(names[row])
    return [fill(f"{listing(some)}: {reason}", WIDTH) for reason, some in told.items()]


def _declared_lines(model: Any) -> list[str]:
    """Say what stands for missing cells, what was assumed, and how many records can be used."""
    names = tuple(name for name, _, _ in coefficient_rows(model))
    declared = constants_described(model._constants(), names)
    lines = [f"missing cells are taken as: {declared}"] if declared else []
    return lines + [fill(note, WIDTH) for note in model.notes_ if note.startswith(PLAIN_NOTES)]
