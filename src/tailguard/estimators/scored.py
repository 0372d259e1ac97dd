"""Which rows a score is made of: targets, predictions and weights that have one.

Metrics of scikit-learn show targets in their errors. So whatever they would refuse is refused here,
by a sentence that shows none.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, require
from tailguard.data.matrices import to_vector


def scored_rows(
    predicted: FloatArray, y: Any, sample_weight: Any
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return targets, predictions and weights of the rows that count."""
    weights = row_weights(sample_weight, len(predicted))
    counts = weights > 0.0
    targets = to_vector(y, n_rows=len(predicted))[counts]
    require(
        bool(np.isfinite(targets).all()),
        "y must be a finite number in every row that is scored; leave out those where it is not.",
    )
    require(
        bool(np.isfinite(predicted[counts]).all()),
        "X must give a finite prediction in every row that is scored; leave out those with a "
        "missing or infinite cell, or fit with a constant for it in missing.",
    )
    return targets, predicted[counts], weights[counts]


def row_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    """Return the weight of each row in a score; 1 where none are given."""
    if sample_weight is None:
        return np.ones(n_rows)
    weights = to_vector(sample_weight, "sample_weight", n_rows=n_rows)
    require(
        bool((np.isfinite(weights) & (weights >= 0.0)).all() and (weights > 0.0).any()),
        "sample_weight must be finite numbers of at least 0, not all of them 0.",
    )
    return weights


def check_exposure(model: Any, exposure: Any) -> None:
    """Refuse an exposure for a model without a log link, whose score is no logarithm."""
    if exposure is not None and not model.takes_exposure:
        raise InputError(
            f"exposure must be None for a {type(model).__name__}, whose link is no logarithm; "
            "what is to be added to scores is given as offset."
        )


def check_target(model: BaseEstimator, y: Any) -> None:
    """Refuse a missing target, and warn of a column as scikit-learn does; its shape is public."""
    if y is None:
        raise InputError(
            f"{type(model).__name__} requires y to be passed, but the target y is None."
            " A column of X is named as target."
        )
    if len(getattr(y, "shape", ())) == 2:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected.",
            DataConversionWarning,
            stacklevel=5,
        )
