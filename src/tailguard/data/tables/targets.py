"""What scikit-learn expects to hear of a target that is missing, or a column."""

import warnings
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning

from tailguard.checks import InputError


def check_target(model: BaseEstimator, y: Any) -> None:
    """Refuse a missing target, and warn of a column as scikit-learn does; its shape is public.

    Examples
    --------
    >>> import tailguard as tg
    >>> check_target(tg.LinearRegression(), None)
    Traceback (most recent call last):
    tailguard.checks.InputError: LinearRegression requires y to be passed, but the target y is None.
    """
    if y is None:
        raise InputError(
            f"{type(model).__name__} requires y to be passed, but the target y is None."
        )
    if len(getattr(y, "shape", ())) == 2:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected.",
            DataConversionWarning,
            stacklevel=5,
        )
