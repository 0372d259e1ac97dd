"""Encode labels as their positions among the classes, which never come from the data.

Each label is read from its own cell, whatever the type of its column: one cell that is not a number
may turn a column of numbers into text. So no column type is refused because of the classes, and a
label outside the classes counts as missing.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, shown
from tailguard.data.cells import cell_numbers, cell_texts
from tailguard.data.columns import (
    LABELS,
    Kind,
    cells_of,
    doubled,
    kind_of,
    numbers_of,
    type_of,
    type_word,
)
from tailguard.data.matrices import one_column

CLASSES_ASSUMED = "classes assumed "
"""The beginning of each note of :func:`classes_assumed`."""


def encode_labels(y: Any, classes: Sequence[Any]) -> FloatArray:
    """Return the position of each label among ``classes``; NaN for any other label.

    The classes are all text or all numbers. An undeclared or missing label makes its record void.
    If classes are numbers, text is read as the number that it spells; if they are text, a number
    is not a label.
    """
    declared = _declared_labels(classes)
    column, where, kind = _labels(y)
    if isinstance(declared[0], str):
        places = {label: float(place) for place, label in enumerate(declared)}
        texts = cell_texts(cells_of(column))
        return np.array([places.get(label, np.nan) for label in texts], dtype=np.float64)
    is_categorical = kind == "levels"
    numbers = cell_numbers(cells_of(column)) if is_categorical else numbers_of(column, where)
    return _places(doubled(numbers), np.array(declared))


def classes_assumed(n_classes: int) -> str:
    """Return the note for undeclared classes."""
    labels = "0 and 1" if n_classes == 2 else f"0 to {n_classes - 1}"
    return f"{CLASSES_ASSUMED}{labels}; other labels, such as -1, count as missing"


def check_plain_labels(y: Any) -> None:
    """Refuse a categorical column without declared classes; no single cell causes that type."""
    column, where, kind = _labels(y)
    if kind == "levels":
        raise InputError(
            f"{where} must hold integers, real numbers or booleans unless classes are declared, "
            f"such as classes=('no', 'yes'); got {type_word(type_of(column))}."
        )


def n_labels(classes: Sequence[Any]) -> int:
    """Return how many labels are declared; refuse an invalid declaration."""
    return len(_declared_labels(classes))


def _declared_labels(classes: Sequence[Any]) -> list[Any]:
    """Return declared labels: different, and all text or all finite numbers."""
    listed = label_list(classes)
    texts, numbers = cell_texts(listed), cell_numbers(listed)
    labels: list[Any] = texts if None not in texts else numbers.tolist()
    if None in texts and (set(texts) != {None} or not np.isfinite(numbers).all()):
        raise InputError(f"classes must be all text or all finite numbers; got {shown(listed)}.")
    if len(set(labels)) < max(2, len(labels)):
        raise InputError(
            f"classes must be at least two different labels; got {len(labels)} labels, "
            f"{len(set(labels))} of them different."
        )
    return labels


def _places(numbers: FloatArray, declared: FloatArray) -> FloatArray:
    """Return the position of each number among the declared ones; NaN for any other number."""
    order = np.argsort(declared)
    nearest = np.minimum(np.searchsorted(declared[order], numbers), order.size - 1)
    return np.where(declared[order[nearest]] == numbers, order[nearest], np.nan)


def label_list(labels: Any) -> list[Any]:
    """Return declared labels as a list of Python objects; refuse unordered collections.

    Iterators are refused, too: the next reader would find them empty.
    """
    for method in ("to_pylist", "to_list"):
        if hasattr(labels, method):
            return list(getattr(labels, method)())
    if hasattr(labels, "__array__"):
        labels = np.asarray(labels).tolist()
    if not isinstance(labels, Iterable) or isinstance(labels, str | Set | Iterator):
        raise InputError(f"classes must be a sequence of labels or None; got {shown(labels)}.")
    return list(labels)


def _labels(y: Any) -> tuple[Any, str, Kind]:
    """Return the column of labels, its name in errors, and its kind."""
    where, column = one_column(y, "y")
    return column, where, kind_of(column, where, LABELS)
