"""Intervals and tests of coefficients and predictions: post-processing of released numbers.

Reference
---------
Wald 1943 (tests from asymptotically normal estimates).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from scipy.special import chdtrc, ndtr, ndtri

from tailguard.array_types import Features, FloatArray
from tailguard.checks import InputError, check_choice, check_finite, check_open_unit, shown
from tailguard.data.declarations import listing
from tailguard.gate.plan import INTERCEPT, NOT_ESTIMATED
from tailguard.printable import four_digits, html_list, notebook_table, printable

Contrasts: TypeAlias = str | Mapping[str, float] | Sequence[str | Mapping[str, float]] | FloatArray
"""Coefficients or categorical columns by name, weights by name, or a matrix of weights."""
# Directions of contrasts with less than this share of the largest variance count as redundant.
REPEATED = 1e-10
SMALLEST_P = 0.001  # smaller p-values depend on far normal tails, which are not tested
LEAST_LEVEL = 0.5  # lower levels are taken for the alpha of other packages
AGAINST = "each class has its log-odds against the first one: "
"""The note on coefficients of more than two classes; the label of the first class follows."""
KINDS = ("mean", "new")
"""What the interval of a prediction covers: the mean, or the target of a new record."""


@dataclass(frozen=True, eq=False)
class JointTest:
    """The test of whether all contrasts of coefficients are zero.

    Attributes
    ----------
    estimate, std
        Each contrast and its standard error, of sampling and privacy noise together.
    statistic, df, p
        Wald's statistic, its degrees of freedom, and its p-value in the chi-squared distribution.
    reason
        Why there is no test, and its numbers are NaN; empty if there is a test.

    Examples
    --------
    >>> import tailguard as tg
    >>> X = np.random.default_rng(0).standard_normal((1000, 2))
    >>> model = tg.LinearRegression(guarantee=tg.GDP(9.0), random_state=0).fit(X, X[:, 0])
    >>> model.wald_test({"x0": 1.0, "x1": -1.0}).p < 0.05
    True
    """

    estimate: FloatArray = field(repr=False)
    std: FloatArray = field(repr=False)
    statistic: float
    df: int
    p: float
    reason: str = ""

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        pairs = zip(self.estimate.tolist(), self.std.tolist(), strict=True)
        contrasts = [(k, *map(four_digits, pair)) for k, pair in enumerate(pairs, start=1)]
        test = ("statistic", four_digits(self.statistic)), ("df", self.df), ("p", p_words(self.p))
        parts = [
            notebook_table(contrasts, ("contrast", "estimate", "std err")),
            notebook_table(test),
        ]
        return "\n".join([*parts, html_list([self.reason] if self.reason else [])])


def p_words(p: float) -> str:
    """Return a p-value for people to read."""
    return f"<{SMALLEST_P}" if p < SMALLEST_P else f"{p:.3f}"


def intervals(model: Any, level: float) -> FloatArray:
    """Return both ends of each coefficient's interval, the intercept last; NaN if unknown."""
    centre, std = centers(model), standard_errors(model)
    half_width = normal_quantile(level) * std
    return np.column_stack([centre - half_width, centre + half_width])


def wald_test(model: Any) -> FloatArray:
    """Return z and the two-sided p-value of each coefficient, the intercept last."""
    centre, std = centers(model), standard_errors(model)
    z = centre / np.where(std > 0.0, std, np.nan)
    return np.column_stack([z, 2.0 * ndtr(-np.abs(z))])


def joint_test(model: Any, contrasts: Contrasts) -> JointTest:
    """Test whether all contrasts are zero; see ``wald_test`` of the models."""
    standard_errors(model)  # raises if the solver has no standard errors
    weights = _weights(model, contrasts)
    used = weights.any(axis=0)
    estimate = weights @ centers(model)
    missing = [place for place in np.flatnonzero(used) if model.reasons_[place]]
    if missing:
        reason = f"{coefficient_names(model)[missing[0]]}: {model.reasons_[missing[0]]}"
        unknown = np.full(len(weights), np.nan)
        return JointTest(unknown, unknown, np.nan, len(weights), np.nan, reason)
    root_of_covariance = weights[:, used] @ model._covariance_root[used]
    std = np.linalg.norm(root_of_covariance, axis=1)
    left_vectors, singular_values, _ = np.linalg.svd(
        root_of_covariance / std[:, None], full_matrices=False
    )
    kept_directions = singular_values**2 > REPEATED * singular_values[0] ** 2
    standardised = left_vectors[:, kept_directions].T @ (estimate / std)
    statistic = float(((standardised / singular_values[kept_directions]) ** 2).sum())
    df = int(kept_directions.sum())
    return JointTest(estimate, std, statistic, df, float(chdtrc(df, statistic)))


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
            f"contrasts must name coefficients; got {shown(name)}, and there are {listing(names)}. "
            f"A combination has weights by name, such as {weights}."
        )
    return names.index(name)


def standard_errors(model: Any) -> FloatArray:
    """Return the standard errors, the intercept last; raise if the solver has none."""
    if model.coef_std_ is None:
        raise InputError(
            "solver must be one that pays for sampling variance to have confidence intervals and "
            f"tests, as 'auto' does for dense models; that of this {type(model).__name__} does not."
        )
    std = np.append(model.coef_std_, model.intercept_std_)
    return std if model.fit_intercept else std[:-1]


def centers(model: Any) -> FloatArray:
    """Return the centres of the intervals, usually the coefficients; the intercept is last."""
    center = model.interval_center_
    if center is None:
        center = np.append(model.coef_, model.intercept_)
        if np.ndim(model.coef_) > 1:
            center = np.append(*(v[1:] - v[0] for v in (model.coef_, model.intercept_)))
    return center if model.fit_intercept else center[:-1]


def coefficient_names(model: Any) -> list[str]:
    """Return the names of the coefficients, the intercept last; with classes, names per class."""
    names = model._names() or [f"x{column}" for column in range(model.n_features_in_)]
    if np.ndim(model.coef_) > 1:
        labels, groups = model.classes_.tolist()[1:], (names, [INTERCEPT])
        return [f"{label}: {name}" for group in groups for label in labels for name in group]
    return [*names, INTERCEPT] if model.fit_intercept else list(names)


def baseline_notes(model: Any) -> list[str]:
    """Return the note on the classes that a model of labels compares; else no note."""
    labels = [printable(str(label)) for label in getattr(model, "classes_", ())]
    if len(labels) == 2:
        return [f"coefficients are of the log-odds of {labels[1]} against {labels[0]}"]
    return [f"{AGAINST}{labels[0]}"] if labels else []


def normal_quantile(level: float) -> float:
    """Return the half-width of a normal interval of this level, in standard errors."""
    if check_open_unit("level", level) < LEAST_LEVEL:
        raise InputError(
            f"level must be the share of intervals that hold, from {LEAST_LEVEL}: for a test at "
            f"level alpha give 1 - alpha, such as 0.95; got {shown(level)}."
        )
    return float(ndtri(0.5 + level / 2.0))


def check_interval(model: Any, kind: str, level: float) -> tuple[float, float, float]:
    """Return the half-width in standard errors, and the residual quantiles of a new record.

    Raise if the model has no interval of this kind.
    """
    check_choice("interval", kind, KINDS)
    reach = normal_quantile(level)
    standard_errors(model)  # raises if the solver has no standard errors
    below, above = _residual_quantiles(model, level) if kind == "new" else (0.0, 0.0)
    return reach, below, above


def score_intervals(model: Any, pieces: Iterable[Features], kind: str, level: float) -> FloatArray:
    """Return both ends of the interval of each row's score, for features as the fit reads them."""
    reach, below, above = check_interval(model, kind, level)
    if kind == "new":
        reach = 0.0  # residuals contain the errors of the fit that they are about
    ends = []
    for features in pieces:
        score, std = _scores(model, features, kind)
        ends.append(np.column_stack([score + below - reach * std, score + above + reach * std]))
    intervals = np.concatenate(ends)
    return np.clip(intervals, *model.score_bounds_) if model.extrapolate == "bounded" else intervals


def _scores(model: Any, features: Features, kind: str) -> tuple[FloatArray, FloatArray]:
    """Return the centre of each score's interval, and its standard error; NaN if unknown.

    New records lie about the fit whose residuals were released, not about the last one.
    """
    center, root = centers(model), model._covariance_root
    if not model.fit_intercept:
        center, root = np.append(center, 0.0), np.vstack([root, np.zeros(root.shape[1])])
    unknown = np.isnan(root).any(axis=1)
    level_columns = () if model.schema_ is None else model.schema_.level_columns
    indicators = np.isin(np.arange(len(center)), [*chain(*level_columns)])
    # A prediction does not use a numeric column that noise hid, so the column adds no error. A
    # prediction does use a level without records, whose effect is unknown.
    unused = unknown & (center == 0.0) & ~indicators
    if kind == "new":
        center = model._residual_center
    known_root = np.where(unknown[:, None], 0.0, root)
    with np.errstate(all="ignore"):
        score = features @ center[:-1] + center[-1]
        std = np.linalg.norm(features @ known_root[:-1] + known_root[-1], axis=1)
        undefined = features[:, (unknown & ~unused)[:-1]].any(axis=1) | unknown[-1]
    return score, np.where(undefined, np.nan, std)


def _residual_quantiles(model: Any, level: float) -> tuple[float, float]:
    """Return two quantiles of residuals, which have the share ``level`` of records between them."""
    shares = model._residual_shares
    if shares is None:
        raise InputError(
            "interval must be 'mean' for this model: intervals of a new record need a released "
            "histogram of residuals, which linear, Huber, quantile and lp models have if the "
            "budget is large enough, and others never."
        )
    low, high = np.interp([0.5 - level / 2.0, 0.5 + level / 2.0], shares[:, 1], shares[:, 0])
    return float(low), float(high)
