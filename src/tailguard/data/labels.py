"""Encode labels as their positions among the classes, which never come from the data.

Each label is read from its own cell, whatever the type of its column: one cell that is not a number
may turn a column of numbers into text. So no column type is refused because of the classes, and a
label outside the classes counts as missing.
"""

from collections.abc import Sequence
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
from tailguard.data.declarations import level_number
from tailguard.data.frames import plain_list
from tailguard.data.matrices import one_column

CLASSES_ASSUMED = "classes assumed "
"""The beginning of each note of :func:`classes_assumed`."""


def encode_labels(y: Any, classes: Sequence[Any]) -> FloatArray:
    """Return the position of each label among ``classes``; NaN for any other label.

    The classes are all text or all numbers. An undeclared or missing label makes its record void.
    A cell matches a class if both are equal as text or as numbers: a rare word, in one cell, may
    have turned a column of codes such as 1 and 2 into text.
    """
    declared = _declared_labels(classes)
    column, where, kind = _labels(y)
    if isinstance(declared[0], str):
        return _places_of_texts(cells_of(column), declared)
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


def scored_cells(score: FloatArray, target: FloatArray) -> FloatArray:
    """Return scores and targets as columns; all of a row is NaN if a part of it is not finite.

    With a score for each of several classes, the last column is the outcome of a row: twice the
    place of its class, plus one if that class has the largest score.
    """
    columns = [score, target]
    if score.ndim == 2:
        columns.append(2.0 * target + (score.argmax(axis=1) == target))
    cells = np.column_stack(columns)
    cells[~np.isfinite(cells).all(axis=1)] = np.nan
    return cells


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
    n_different = len(set(map(_reading, labels)))
    if n_different < max(2, len(labels)):
        raise InputError(
            "classes must be at least two different labels, and two that spell one number are "
            f"not; got {len(labels)} labels, {n_different} of them different."
        )
    return labels


def _reading(label: Any) -> Any:
    """Return the number that a label is or spells, else the label."""
    number = level_number(label) if isinstance(label, str) else label
    return label if number is None else number


def _places_of_texts(cells: Sequence[Any], declared: Sequence[str]) -> FloatArray:
    """Return the position of each cell among declared texts; NaN for any other cell."""
    texts: dict[str | None, float] = {label: float(k) for k, label in enumerate(declared)}
    numbers = {_reading(label): place for label, place in texts.items()}
    read = [texts.get(text) for text in cell_texts(cells)]
    if numbers.keys() == texts.keys():  # no class spells a number
        return np.array(read, dtype=np.float64)
    spelled = (numbers.get(number, np.nan) for number in cell_numbers(cells).tolist())
    places = [number if text is None else text for text, number in zip(read, spelled, strict=True)]
    return np.array(places, dtype=np.float64)


def _places(numbers: FloatArray, declared: FloatArray) -> FloatArray:
    """Return the position of each number among the declared ones; NaN for any other number."""
    order = np.argsort(declared)
    nearest = np.minimum(np.searchsorted(declared[order], numbers), order.size - 1)
    return np.where(declared[order[nearest]] == numbers, order[nearest], np.nan)


def label_list(labels: Any) -> list[Any]:
    """Return declared labels as a list of Python objects; refuse sets and iterators."""
    listed = plain_list(labels)
    if listed is None:
        raise InputError(f"classes must be a sequence of labels or None; got {shown(labels)}.")
    return listed


def _labels(y: Any) -> tuple[Any, str, Kind]:
    """Return the column of labels, its name in errors, and its kind."""
    where, column = one_column(y, "y")
    return column, where, kind_of(column, where, LABELS)
