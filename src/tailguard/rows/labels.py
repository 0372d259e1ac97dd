"""Declared labels as numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tailguard.checks import InputError
from tailguard.kernels.block import FloatArray

__all__ = ["encode_labels"]


def encode_labels(y: Any, classes: Sequence[Any]) -> FloatArray:
    """Return the place of each label among ``classes``, and NaN for what is not among them.

    The classes are declared, never looked up in the data: an undeclared or missing label makes its
    record void.

    Examples
    --------
    >>> encode_labels(["yes", "no", "perhaps", None], classes=("no", "yes"))
    array([ 1.,  0., nan, nan])
    """
    places = {label: float(place) for place, label in enumerate(_plain(classes))}
    if len(places) < 2 or len(places) != len(classes):
        raise InputError(
            f"classes must be at least two different labels; got {len(classes)}, of which "
            f"{len(places)} are different."
        )
    shape = getattr(y, "shape", (0,))
    if len(shape) != 1 and shape[1:] != (1,):
        raise InputError(f"y must be one column of labels; got shape {shape}.")
    labels = _plain(y) if len(shape) == 1 else np.asarray(y, dtype=object)[:, 0]
    return np.array([_place(label, places) for label in labels], dtype=np.float64)


def _plain(labels: Any) -> list[Any]:
    """Return a column's cells as a list of Python objects."""
    for method in ("to_pylist", "to_list"):
        if hasattr(labels, method):
            return list(getattr(labels, method)())
    if hasattr(labels, "__array__"):
        return list(np.asarray(labels).tolist())
    return list(labels)


def _place(label: Any, places: dict[Any, float]) -> float:
    try:
        return places.get(label, np.nan)
    except Exception:  # a cell that cannot be compared is an undeclared label
        return np.nan
