"""Joint tests of contrasts of coefficients: post-processing of released numbers.

Reference
---------
Wald 1943 (tests from asymptotically normal estimates).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any, TypeAlias

import numpy as np
from scipy.special import chdtrc

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_finite, shown
from tailguard.data.declarations import listing
from tailguard.estimators.summary import WIDTH, CoefficientRow, table_lines
from tailguard.estimators.wald import centers, coefficient_names, p_words, standard_errors
from tailguard.gate.plan import NOT_ESTIMATED
from tailguard.printable import (
    four_digits,
    html_list,
    html_words,
    notebook_table,
    printable,
    screen_width,
    to_error,
)

Contrasts: TypeAlias = str | Mapping[str, float] | Sequence[str | Mapping[str, float]] | FloatArray
"""Coefficients or categorical columns by name, weights by name, or a matrix of weights."""
# Directions of contrasts with less than this share of the largest variance count as redundant.
REPEATED = 1e-10
HEADERS = ("estimate", "std err")
LONGEST_NAME = 40  # characters of a contrast as it prints; longer ones print as their number


@dataclass(frozen=True, eq=False, repr=False)
class JointTest:
    """The test of whether all contrasts of coefficients are zero.

    Attributes
    ----------
    estimate, std
        Each contrast and its standard error, of sampling and privacy noise together.
    statistic, df, p
        Wald's statistic, its degrees of freedom, and its p-value in the chi-squared distribution.
    names
        The contrasts as text, such as ``age`` or ``x0 - 2 x1``.
    reason
        Why there is no test, and its numbers are NaN; empty if there is a test.
    notes
        Which coefficients of the tested columns are left out, and why.

    Examples
    --------
    >>> import tailguard as tg
    >>> X = np.random.default_rng(0).standard_normal((1000, 2))
    >>> model = tg.LinearRegression(guarantee=tg.GDP(9.0), random_state=0).fit(X, X[:, 0])
    >>> model.wald_test({"x0": 1.0, "x1": -1.0}).p < 0.05
    True
    """

    estimate: FloatArray
    std: FloatArray
    statistic: float
    df: int
    p: float
    names: tuple[str, ...]
    reason: str = ""
    notes: tuple[str, ...] = ()

    def _title(self) -> str:
        return f"Wald test that {'all of these are' if len(self.names) > 1 else 'this is'} zero"

    def _test(self) -> str:
        if self.reason:
            return f"no test: {self.reason}"
        return f"statistic {four_digits(self.statistic)}   df {self.df}   p {p_words(self.p)}"

    def _cells(self) -> list[CoefficientRow]:
        """Return a row for each contrast; without a test, its name alone."""
        numbers = zip(self.names, self.estimate.tolist(), self.std.tolist(), strict=True)
        rows = []
        for name, estimate, std in numbers:
            cells = zip(HEADERS, (to_error(estimate, std), to_error(std, std)), strict=True)
            rows.append(CoefficientRow(printable(name), {} if self.reason else dict(cells)))
        return rows

    def __repr__(self) -> str:
        width = screen_width(WIDTH)
        table = table_lines(self._cells(), HEADERS, width)
        above, notes = (
            [fill(line, width) for line in lines]
            for lines in ((self._title(), self._test()), self.notes)
        )
        return "\n".join([*above, *table, *notes])

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        rows = [(row.name, *row.cells.values()) for row in self._cells()]
        above = (f"<p>{html_words(line)}</p>" for line in (self._title(), self._test()))
        table = notebook_table(rows, ("contrast", *(() if self.reason else HEADERS)))
        return "\n".join([*above, table, html_list(self.notes)])


def joint_test(model: Any, contrasts: Contrasts) -> JointTest:
    """Test whether all contrasts are zero; see ``wald_test`` of the models."""
    standard_errors(model)  # raises if the solver has no standard errors
    weights = _weights(model, contrasts)
    coefficients = coefficient_names(model)
    names = tuple(_contrast_name(coefficients, row, k) for k, row in enumerate(weights, start=1))
    used = weights.any(axis=0)
    estimate = weights @ centers(model)
    missing = [place for place in np.flatnonzero(used) if model.reasons_[place]]
    if missing:
        reason = f"{coefficients[missing[0]]}: {model.reasons_[missing[0]]}"
        unknown = np.full(len(weights), np.nan)
        return JointTest(unknown, unknown, np.nan, len(weights), np.nan, names, reason)
    root_of_covariance = weights[:, used] @ model._covariance_root[used]
    std = np.linalg.norm(root_of_covariance, axis=1)
    left_vectors, singular_values, _ = np.linalg.svd(
        root_of_covariance / std[:, None], full_matrices=False
    )
    kept_directions = singular_values**2 > REPEATED * singular_values[0] ** 2
    standardised = left_vectors[:, kept_directions].T @ (estimate / std)
    statistic = float(((standardised / singular_values[kept_directions]) ** 2).sum())
    df = int(kept_directions.sum())
    p, notes = float(chdtrc(df, statistic)), _left_out(model, coefficients, contrasts)
    return JointTest(estimate, std, statistic, df, p, names, notes=notes)


def _contrast_name(names: Sequence[str], weights: FloatArray, number: int) -> str:
    """Return a contrast as text: the name of its coefficient, or a sum of coefficients."""
    text = ""
    for place in np.flatnonzero(weights).tolist():
        size = abs(float(weights[place]))
        sign = " - " if weights[place] < 0.0 else " + "
        text += sign + ("" if size == 1.0 else f"{size:.4g} ") + names[place]
    text = text[3:] if text.startswith(" + ") else "-" + text[3:]
    return text if np.count_nonzero(weights) == 1 or len(text) <= LONGEST_NAME else f"({number})"


def _left_out(model: Any, names: Sequence[str], contrasts: Any) -> tuple[str, ...]:
    """Return a note for each reason why coefficients of tested columns are left out."""
    terms = _places_of_terms(model)
    left_out: dict[str, list[str]] = {}
    for contrast in contrasts if isinstance(contrasts, list | tuple) else [contrasts]:
        for place in terms.get(contrast, ()) if isinstance(contrast, str) else ():
            if (reason := model.reasons_[place]).startswith(NOT_ESTIMATED):
                left_out.setdefault(reason, []).append(names[place])
    return tuple(f"left out: {listing(each)} ({why})" for why, each in left_out.items())


def _weights(model: Any, contrasts: Any) -> FloatArray:
    """Return the weights of contrasts: a row per contrast, a column per coefficient."""
    names = coefficient_names(model)
    rows_given = isinstance(contrasts, list) and len(contrasts) > 0
    if rows_given and all(isinstance(each, list | tuple) for each in contrasts):
        contrasts = _as_array(contrasts)
    if isinstance(contrasts, np.ndarray):
        matrix = np.atleast_2d(contrasts)
        is_numeric = matrix.dtype.kind in "fiu" and matrix.ndim == 2
        if is_numeric and matrix.shape[1] == len(names):
            return _checked(matrix.astype(np.float64))
    rows: list[FloatArray] = []
    for contrast in contrasts if isinstance(contrasts, list | tuple) else [contrasts]:
        if isinstance(contrast, str):
            rows += [np.eye(len(names))[place] for place in _places(model, names, contrast)]
        elif isinstance(contrast, Mapping):
            rows.append(_combination(names, contrast))
        else:
            is_array = isinstance(contrasts, np.ndarray)
            got = f"shape {contrasts.shape}" if is_array else shown(contrasts)
            raise InputError(
                "contrasts must be names of coefficients or of categorical columns, weights by "
                f"name, a list of these, or an array with {len(names)} columns; got {got}."
            )
    return _checked(np.array(rows).reshape(-1, len(names)))


def _as_array(rows: list[Any]) -> Any:
    """Return rows of numbers as an array; rows of other lengths or types are left as they are."""
    try:
        return np.asarray(rows)
    except ValueError:  # rows of several lengths
        return rows


def _checked(weights: FloatArray) -> FloatArray:
    if not np.isfinite(weights).all():
        raise InputError("contrasts must have finite weights.")
    if not len(weights) or not weights.any(axis=1).all():
        raise InputError("contrasts must have a weight that is not zero in each of them.")
    return weights


def _places(model: Any, names: Sequence[str], name: str) -> list[int]:
    """Return the place of a coefficient, or the places of all estimated ones of a term."""
    terms = _places_of_terms(model)
    if name not in terms:
        return [_place(names, name)]
    estimated = [
        place for place in terms[name] if not model.reasons_[place].startswith(NOT_ESTIMATED)
    ]
    return estimated or terms[name]


def _places_of_terms(model: Any) -> dict[str, list[int]]:
    """Return the places of each term's coefficients: those of all classes if there are several."""
    of_schema = {} if model.schema_ is None else model.schema_.places_of_terms
    if np.ndim(model.coef_) < 2:
        return {name: list(places) for name, places in of_schema.items()}
    n_columns, n_groups = model.coef_.shape[1], len(model.classes_) - 1
    columns = model._names() or [f"x{column}" for column in range(n_columns)]
    of_term = {name: (column,) for column, name in enumerate(columns)} | of_schema
    return {
        name: [group * n_columns + place for group in range(n_groups) for place in places]
        for name, places in of_term.items()
    }


def _combination(names: Sequence[str], weights: Mapping[str, float]) -> FloatArray:
    row = np.zeros(len(names))
    for name, weight in weights.items():
        row[_place(names, name)] += check_finite(f"contrasts[{name!r}]", weight)
    return row


def _place(names: Sequence[str], name: Any) -> int:
    if name not in names:
        weights = dict(zip(names[:2], (1, -1), strict=False))
        raise InputError(
            f"contrasts must name coefficients; got {shown(name)}, and there are "
            f"{listing(names, repr)}. A combination has weights by name, such as {weights}."
        )
    return names.index(name)
