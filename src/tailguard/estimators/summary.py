"""The printed form of a fitted model: coefficients, their noise and intervals, the promise."""

from typing import Any

import numpy as np

__all__ = [
    "INTERVAL",
    "NOISE_NOTE",
    "classes_assumed",
    "coefficient_rows",
    "interval_cells",
    "note_line",
    "shown_rows",
    "summary_notes",
    "summary_table",
]

NOISE_NOTE = (
    "privacy noise: predicted standard deviation of the added noise alone; sampling\n"
    "error and what clipping and shrinking leave come on top (conf_int counts sampling)"
)
"""What the noise column says, and what it does not."""
INTERVAL = "95 % interval"
INTERVAL_NOTE = f"{INTERVAL}: for sampling and privacy noise together, as conf_int() gives it"
LEVEL = 0.95
ASSUMED = "classes assumed "


def classes_assumed(n_classes: int) -> str:
    """Return what notes, summary and certificate say where nobody declared the classes.

    Examples
    --------
    >>> classes_assumed(2), classes_assumed(5)[:22]
    ('classes assumed 0 and 1; other labels count as missing', 'classes assumed 0 to 4')
    """
    labels = "0 and 1" if n_classes == 2 else f"0 to {n_classes - 1}"
    return f"{ASSUMED}{labels}; other labels count as missing"


def coefficient_rows(model: Any) -> list[tuple[str, float, float]]:
    """Return name, value and predicted noise of each coefficient, the intercept last.

    Examples
    --------
    >>> import tailguard as tg
    >>> model = tg.LinearRegression(guarantee=tg.GDP(1.0), random_state=0)
    >>> model = model.fit(np.arange(100.0)[:, None], np.arange(100.0))
    >>> [name for name, _, _ in coefficient_rows(model)]
    ['x0', '(intercept)']
    """
    names = model._names() or [f"x{column}" for column in range(model.n_features_in_)]
    rows = list(zip(names, model.coef_, model.coef_noise_std_, strict=True))
    if model.fit_intercept:
        rows.append(("(intercept)", model.intercept_, model.intercept_noise_std_))
    return [(str(name), float(value), float(noise)) for name, value, noise in rows]


def interval_cells(model: Any, digits: int) -> list[str] | None:
    """Return an interval per coefficient, the intercept last; None where the model has none.

    Examples
    --------
    >>> import tailguard as tg
    >>> X = np.random.default_rng(0).standard_normal((1000, 1))
    >>> model = tg.LinearRegression(guarantee=tg.GDP(9.0), random_state=0).fit(X, X[:, 0])
    >>> [cell.count(" to ") for cell in interval_cells(model, digits=4)]
    [1, 1]
    """
    if getattr(model, "coef_std_", None) is None:
        return None
    intervals = model.conf_int(LEVEL)
    if np.isnan(intervals).all():
        return None
    return [
        f"{low:.{digits}g} to {high:.{digits}g}" if low <= high else "unknown"
        for low, high in intervals
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
    return [NOISE_NOTE] + [INTERVAL_NOTE] * (interval_cells(model, 1) is not None)


def note_line(note: str) -> str:
    """Say of one of a model's notes where it comes from.

    Examples
    --------
    >>> note_line("no scale was seen")
    'decided on released numbers: no scale was seen'
    """
    return note if note.startswith(ASSUMED) else f"decided on released numbers: {note}"


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
    everything = coefficient_rows(model)
    shown = shown_rows(model)
    cells = interval_cells(model, digits=6)
    width = max((len(everything[row][0]) for row in shown), default=0)
    lines = [
        f"{type(model).__name__}, n = {certificate.n_rows}, mode: {certificate.mode}",
        certificate.guarantee.describe(),
        *_declared_lines(model),
        "",
        f"{'':{width}}  {'coefficient':>14}  {'privacy noise':>14}"
        + (f"  {INTERVAL:>28}" if cells else ""),
    ]
    for row in shown:
        name, value, noise = everything[row]
        interval = f"  {cells[row]:>28}" if cells else ""
        lines.append(f"{name:{width}}  {value:14.6g}  {noise:14.3g}{interval}")
    return "\n".join([*lines, "", *summary_notes(model)])


def _declared_lines(model: Any) -> list[str]:
    """Say what stands for missing cells and which classes were assumed, where either is so."""
    names = tuple(name for name, _, _ in coefficient_rows(model))
    declared = model._fill().describe(names)
    lines = [f"missing cells are taken as: {declared}"] if declared else []
    return lines + [note for note in model.notes_ if note.startswith(ASSUMED)]
