"""The answer of ``tg.plan``: methods for a task, each with its predicted error."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from statistics import fmean
from typing import Any

from tailguard.checks import InputError
from tailguard.printable import folded, html_list, html_words, notebook_table, screen_width
from tailguard.privacy.guarantees import Guarantee

UNFOLDED = 10_000  # characters in a line of a text that no terminal shows


@dataclass(frozen=True)
class Candidate:
    """One method and its predicted error.

    Attributes
    ----------
    method
        The public name to call.
    predicted_error
        Error of a mean in l2 norm, or excess risk.
    n_passes
        How many times each record is read.
    noise_std
        Standard deviation of the noise on every coordinate of a step, or of the answer; NaN if it
        depends on the records.
    unit
        The units of error and noise.

    Examples
    --------
    >>> Candidate("tg.mean", 0.1, n_passes=1.0, noise_std=0.01, unit="your units").to_dict()["unit"]
    'your units'
    """

    method: str
    predicted_error: float
    n_passes: float
    noise_std: float
    unit: str

    def to_dict(self) -> dict[str, float | str | None]:
        """Return the fields as plain data; unknown numbers are None."""
        numbers = {"predicted_error": self.predicted_error, "noise_std": self.noise_std}
        known = {name: x if math.isfinite(x) else None for name, x in numbers.items()}
        return {"method": self.method, "n_passes": self.n_passes, "unit": self.unit, **known}


CORRELATIONS = (0.0, 0.5, 1.0)
"""Correlations of a person's rows for which sampling errors are predicted."""


@dataclass(frozen=True)
class RowsUsed:
    """Predicted errors if at most ``max_rows`` rows of a person are used.

    Attributes
    ----------
    max_rows
        The largest number of rows of one person that are used.
    noise
        The error of privacy noise with ``person=``.
    group_noise
        The same error for a fit that protects rows, with the guarantee divided by group privacy
        among ``max_rows`` rows. It does not protect persons with more rows. NaN if impossible.
    sampling
        The error of sampling persons, if a person's rows have a correlation of 0, .5 or 1.

    Examples
    --------
    >>> RowsUsed(3, noise=0.1, group_noise=0.2, sampling=(0.1, 0.2, 0.3)).to_dict()["max_rows"]
    3
    """

    max_rows: int
    noise: float
    group_noise: float
    sampling: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data; unknown numbers are None."""
        group = self.group_noise if math.isfinite(self.group_noise) else None
        numbers = {"max_rows": self.max_rows, "noise": self.noise, "group_noise": group}
        return {**numbers, "sampling": [*self.sampling]}


def rows_used(
    noise_error: Callable[[int, Guarantee], float],
    rows: Sequence[float],
    persons: int,
    guarantee: Guarantee,
    sampling_error: float,
    power: float,
) -> tuple[RowsUsed, ...]:
    """Predict errors for each ``max_rows``, given guesses of how many ``rows`` persons have.

    ``noise_error`` predicts the noise for a number of records; a person counts as one record,
    whatever her number of rows. The mean of ``k`` rows with correlation ``c`` has ``c + (1 - c) /
    k`` times the variance of one row. Its error is ``sampling_error`` times this factor to the
    ``power``.
    """
    round_numbers = (base * 10**tens for tens in range(7) for base in (1, 2, 5))
    noise, predictions = noise_error(persons, guarantee), []
    below_largest = takewhile(lambda number: number < max(rows), round_numbers)
    for max_rows in (*below_largest, math.ceil(max(rows))):
        rows_kept = [min(each, max_rows) for each in rows]
        try:
            n_rows = max(1, round(persons * fmean(rows_kept)))
            group_noise = noise_error(n_rows, guarantee.of_one_row(max_rows))
        except InputError:  # the budget is too small for any method
            group_noise = math.nan
        unrelated = fmean(1.0 / each for each in rows_kept)
        factors = (c + (1.0 - c) * unrelated for c in CORRELATIONS)
        errors = (sampling_error * factor**power for factor in factors)
        predictions.append(RowsUsed(max_rows, noise, group_noise, tuple(errors)))
    return tuple(predictions)


@dataclass(frozen=True)
class Advice:
    """Methods for a task, the best first, and why others cannot be used.

    Attributes
    ----------
    task, n_rows, n_features, guarantee
        The facts of the task.
    candidates
        The recommended one first, the others by predicted error.
    refusals
        Each method that cannot be used, and the reason.
    notes
        What a reader should know before choosing a method.
    useful_rows
        For a loss of the estimators: the number of records from which the default fit predicts
        better than a constant at this budget, as in the warning of ``fit``. None if no number
        suffices.
    by_max_rows
        If records are persons, predictions for the recommended method at each ``max_rows``.

    Examples
    --------
    >>> import tailguard as tg
    >>> advice = tg.plan("mean", n_rows=100_000, n_features=10, epsilon=1.0, delta=1e-6)
    >>> advice.recommended.method
    "tg.mean(method='clipped')"
    """

    task: str
    n_rows: int
    n_features: int
    guarantee: Guarantee
    candidates: tuple[Candidate, ...]
    refusals: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    useful_rows: int | None = None
    by_max_rows: tuple[RowsUsed, ...] = ()

    @property
    def recommended(self) -> Candidate:
        """The recommended method."""
        return self.candidates[0]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data."""
        return {
            "task": self.task,
            "n_rows": self.n_rows,
            "n_features": self.n_features,
            "guarantee": self.guarantee.to_dict(),
            "recommended": self.recommended.method,
            "candidates": [candidate.to_dict() for candidate in self.candidates],
            "not_possible": [{"method": name, "reason": why} for name, why in self.refusals],
            "notes": [*self.notes],
            "useful_rows": self.useful_rows,
            "by_max_rows": [each.to_dict() for each in self.by_max_rows],
        }

    def to_json(self) -> str:
        """Return the fields as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def to_text(self) -> str:
        """Return a table and the refusals."""
        width = max(len(candidate.method) for candidate in self.candidates)
        lines = [
            f"{self.task}: {self.guarantee.describe()}, {self._sizes()}",
            "No record was read. Errors are predictions of what is typical, not bounds.",
            "",
            f"  {'method':{width}} {'error':>9} {'passes':>7} {'noise':>9}",
        ]
        for candidate in self.candidates:
            star = "*" if candidate is self.recommended else " "
            lines.append(
                f"{star} {candidate.method:{width}} {_shown_cell(candidate.predicted_error)} "
                f"{candidate.n_passes:7g} {_shown_cell(candidate.noise_std)}"
            )
        unit = self.recommended.unit
        others = sorted({candidate.unit for candidate in self.candidates} - {unit})
        units = f"{unit}; of the others in {', '.join(others)}" if others else unit
        lines += ["", f"* recommended. Error and noise are in {units}."]
        if self.useful_rows is not None and self.n_rows >= self.useful_rows:
            lines.append(f"  fits beat a constant from about {self.useful_rows:,} records")
        lines += self._person_lines()
        lines += [f"  note: {note}" for note in self.notes]
        lines += [f"  {method} is not possible: {reason}" for method, reason in self.refusals]
        return "\n".join(lines)

    def _sizes(self) -> str:
        persons = " persons" if self.by_max_rows else ""
        return f"n = {self.n_rows}{persons}, d = {self.n_features}"

    def _person_lines(self) -> list[str]:
        """Return the table of rows of a person."""
        if not self.by_max_rows:
            return []
        headers = "".join(f"{f'at {each:g}':>10}" for each in CORRELATIONS)
        lines = [
            "",
            "Privacy noise, and the error of sampling where rows of a person correlate:",
            f"  {'max_rows':>8} {'noise':>9} {'by group':>9}{headers}",
        ]
        for each in self.by_max_rows:
            cells = " ".join(map(_shown_cell, (each.noise, each.group_noise, *each.sampling)))
            lines.append(f"  {each.max_rows:8d} {cells}")
        return [*lines, "  by group: rows are protected, max_rows of them together", ""]

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        rows = (
            (each.method, _shown_cell(each.predicted_error), f"{each.n_passes:g}",
             _shown_cell(each.noise_std), each.unit)
            for each in self.candidates
        )  # fmt: skip
        refused = (f"{name} is not possible: {reason}" for name, reason in self.refusals)
        parts = [
            f"<p><b>{html_words(self.task)}</b>: {html_words(self.guarantee.describe())}, "
            f"{self._sizes()}; the recommended method comes first</p>",
            notebook_table(rows, ("method", "error", "passes", "noise", "unit")),
            html_list([*self.notes, *refused]),
        ]
        return "\n".join(parts)

    def __str__(self) -> str:
        """Return the table, with lines folded to the width of the terminal."""
        return folded(self.to_text(), screen_width(UNFOLDED))


def _shown_cell(value: float) -> str:
    return f"{value:9.3g}" if math.isfinite(value) else f"{'-':>9}"
