"""The arguments of estimators, their documentation and checks; and the count of their fits.

Errors of scikit-learn's metrics print targets. So the checks of a score refuse the same inputs
first, with messages that print no target.
"""

import re
import warnings
from inspect import cleandoc
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted

from tailguard.array_types import FloatArray
from tailguard.checks import (
    InputError,
    require,
    shown,
    warn_before_spending,
)
from tailguard.data.matrices import to_vector
from tailguard.privacy.events import Event

T = TypeVar("T")

SHARED = """{shared_parameters}

Attributes
----------
{shared_attributes}

Notes
-----
*Guarantee.* As for ``LinearRegression``."""
"""The text that replaces ``{shared}`` in a docstring."""


def with_shared(doc: str, base: str) -> str:
    """Fill in the shared parameters and attributes from the docstring of the base class."""
    sections = {
        name.lower(): text.strip()
        for name, text in re.findall(r"(?ms)^(\w+)\n-+\n(.*?)(?=^\w+\n-+$|\Z)", cleandoc(base))
    }
    doc = cleandoc(doc).replace("{shared}", SHARED)
    for name, text in sections.items():
        doc = doc.replace(f"{{shared_{name}}}", text)
    return doc


def twin(estimator: T) -> T:
    """Return an estimator with the same attributes, also those that a pickle leaves out."""
    made = object.__new__(type(estimator))
    made.__dict__.update(estimator.__dict__)
    return made


def fits_of(estimator: Any) -> list[Event]:
    """Return the costs of all fits of an estimator; its clones share the list."""
    fits: list[Event] = estimator.__dict__.setdefault("_fits", [])
    return fits


class CountedFits:
    """Mixin of estimators whose clones share their count of fits, and never a checkpoint."""

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy; refuse one that would share a checkpoint."""
        checkpoint = getattr(self, "checkpoint", None)
        if checkpoint is not None:
            raise InputError(
                "checkpoint must be None where an estimator is cloned: a checkpoint belongs to one "
                f"fit of one table; got {shown(checkpoint)}."
            )
        clone: Any = super().__sklearn_clone__()  # type: ignore[misc]
        vars(clone)["_fits"] = fits_of(self)
        return clone


def check_exposure(model: Any, exposure: Any, declared: str | None = None) -> None:
    """Refuse an exposure, given or declared, for a model without a logarithmic link."""
    if model.takes_exposure or (exposure is None and declared is None):
        return
    whose = f"a {type(model).__name__}, whose link is no logarithm"
    if exposure is not None:
        raise InputError(
            f"exposure must be None for {whose}; what is to be added to scores is given as offset."
        )
    raise InputError(
        f"exposure must be left out of the schema of {whose}: declare what is to be added to "
        f"scores as offset, or the column as a feature or dropped; got {declared!r}."
    )


def check_target(model: BaseEstimator, y: Any) -> None:
    """Refuse a missing target; warn of a target with a second axis, as scikit-learn does."""
    if y is None:
        raise InputError(
            f"{type(model).__name__} requires y to be passed, but the target y is None."
            " Pass y, or the name of a column of X as target=."
        )
    if len(getattr(y, "shape", ())) == 2:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected.",
            DataConversionWarning,
            stacklevel=5,
        )


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
