"""The checked targets, predictions and weights of a score.

Errors of scikit-learn's metrics print targets. So these checks refuse the same inputs first, with
messages that print no target.
"""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tailguard.array_types import FloatArray
from tailguard.checks import require, warn_before_spending
from tailguard.data.matrices import to_vector


def scored_rows(
    predicted: FloatArray, y: Any, sample_weight: Any
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return targets, predictions and weights of the rows whose weight is above zero."""
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
    """Return the weight of each row in a score, by default 1."""
    if sample_weight is None:
        return np.ones(n_rows)
    weights = to_vector(sample_weight, "sample_weight", n_rows=n_rows)
    require(
        bool((np.isfinite(weights) & (weights >= 0.0)).all() and (weights > 0.0).any()),
        "sample_weight must be finite numbers of at least 0, not all of them 0.",
    )
    return weights


def warn_of_score(model: Any) -> None:
    """Warn that a score of a private fit is not private itself."""
    check_is_fitted(model)
    if model.certificate_.mode == "private":
        warn_before_spending(
            "a score reads records and has no noise, so neither it nor a choice that is made by it "
            "is private, with or without a ledger: keep scores of private records to yourself."
        )
