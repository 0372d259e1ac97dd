"""Intervals and tests of coefficients from their standard errors: post-processing of what is known.

Reference
---------
Wald 1943 (tests from asymptotically normal estimates).
"""

from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_open_unit


def intervals(model: Any, level: float) -> FloatArray:
    """Return low and high of each coefficient, the intercept last; NaN where the error is unknown.

    Examples
    --------
    >>> import tailguard as tg
    >>> X = np.random.default_rng(0).standard_normal((1000, 1))
    >>> model = tg.LinearRegression(guarantee=tg.GDP(9.0), random_state=0).fit(X, X[:, 0])
    >>> low, high = intervals(model, 0.95)[0]
    >>> bool(low < 1.0 < high)
    True
    """
    check_open_unit("level", level)
    centre, std = _estimates(model)
    reach = float(ndtri(0.5 + level / 2.0)) * std
    return np.column_stack([centre - reach, centre + reach])


def wald_test(model: Any) -> FloatArray:
    """Return z and two-sided p-value of each coefficient being zero, the intercept last.

    Examples
    --------
    >>> import tailguard as tg
    >>> X = np.random.default_rng(0).standard_normal((1000, 2))
    >>> model = tg.LinearRegression(guarantee=tg.GDP(9.0), random_state=0)
    >>> wald_test(model.fit(X, X[:, 0]))[:, 1].round(3).tolist()[0]
    0.0
    """
    centre, std = _estimates(model)
    z = centre / np.where(std > 0.0, std, np.nan)
    return np.column_stack([z, 2.0 * ndtr(-np.abs(z))])


def _estimates(model: Any) -> tuple[FloatArray, FloatArray]:
    """Return coefficients and their standard errors, the intercept last."""
    if model.coef_std_ is None:
        raise InputError(
            f"solver must be 'auto' or 'whitened-newton' for confidence intervals and tests; "
            f"{model.plan_.solver!r} pays for no sampling variance."
        )
    std = np.append(model.coef_std_, model.intercept_std_)
    return centers(model), std if model.fit_intercept else std[:-1]


def centers(model: Any) -> FloatArray:
    """Return what intervals lie about, the intercept last: the coefficients unless told otherwise.

    Examples
    --------
    >>> import tailguard as tg
    >>> X = np.random.default_rng(0).standard_normal((1000, 1))
    >>> model = tg.HuberRegression(guarantee=tg.GDP(9.0), random_state=0).fit(X, X[:, 0])
    >>> bool(centers(model)[0] == model.coef_[0])
    True
    """
    center = model.interval_center_
    if center is None:
        center = np.append(model.coef_, model.intercept_)
    return np.asarray(center if model.fit_intercept else center[:-1])
