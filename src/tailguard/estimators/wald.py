"""Intervals and tests of coefficients and predictions: post-processing of released numbers.

Reference
---------
Wald 1943 (tests from asymptotically normal estimates).
"""

from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from tailguard.array_types import Features, FloatArray
from tailguard.checks import InputError, check_choice, check_open_unit, shown
from tailguard.gate.plan import INTERCEPT
from tailguard.printable import printable

SMALLEST_P = 0.001  # smaller p-values depend on far normal tails, which are not tested
LEAST_LEVEL = 0.5  # lower levels are taken for the alpha of other packages
AGAINST = "each class has its log-odds against the first one: "
"""The note on coefficients of more than two classes; the label of the first class follows."""
KINDS = ("mean", "new")
"""What the interval of a prediction covers: the mean, or the target of a new record."""


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
