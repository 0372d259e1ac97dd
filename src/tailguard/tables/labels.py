"""Labels as numbers: their places among classes, which are never looked up in the data.

Where classes are declared, text and objects are read cell by cell, since one cell that is no number
turns a column of numbers into these. Refused is a type that contradicts the declaration, and, where
nothing is declared, every type but numbers.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, shown

from .cells import cell_numbers, cell_texts
from .columns import cells_of, kind_of, kind_of_levels, numbers_of, type_of
from .kinds import LABELS, Kind, type_word
from .matrices import one_column

CLASSES_ASSUMED = "classes assumed "
"""How every sentence of :func:`classes_assumed` begins."""


def encode_labels(y: Any, classes: Sequence[Any]) -> FloatArray:
    """Return the place of each label among ``classes``, and NaN for what is not among them.

    The classes are all text or all numbers. An undeclared or missing label makes its record void.
    With numbers, text is read as the number that it spells. Columns and categories of numbers are
    refused for classes of text, and categories of text for classes of numbers.

    Examples
    --------
    >>> encode_labels(["yes", "no", "perhaps", None], classes=("no", "yes"))
    array([ 1.,  0., nan, nan])
    """
    declared = _declared_labels(classes)
    if not isinstance(declared[0], str):
        return _places(_label_numbers(y), np.array(declared))
    places = {label: float(place) for place, label in enumerate(declared)}
    return np.array([places.get(label, np.nan) for label in _texts(y)], dtype=np.float64)


def classes_assumed(n_classes: int) -> str:
    """Return what notes, summary and certificate say where nobody declared the classes.

    Examples
    --------
    >>> classes_assumed(2), classes_assumed(5)[:22]
    ('classes assumed 0 and 1; other labels count as missing', 'classes assumed 0 to 4')
    """
    labels = "0 and 1" if n_classes == 2 else f"0 to {n_classes - 1}"
    return f"{CLASSES_ASSUMED}{labels}; other labels count as missing"


def check_plain_labels(y: Any) -> None:
    """Refuse labels that are no numbers by their type, where no classes are declared.

    Examples
    --------
    >>> check_plain_labels(np.array([0, 1, 1]))
    >>> check_plain_labels(np.array(["no", "yes"]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tailguard.checks.InputError: y must hold integers, real numbers or booleans unless classes ...
    """
    column, where, kind = _labels(y)
    if kind != "numbers":
        raise InputError(
            f"{where} must hold integers, real numbers or booleans unless classes are declared, "
            f"such as classes=('no', 'yes'); got {type_word(type_of(column))}."
        )


def n_labels(classes: Sequence[Any]) -> int:
    """Return how many labels are declared, refusing what is no declaration.

    Examples
    --------
    >>> n_labels(("no", "yes"))
    2
    """
    return len(_declared_labels(classes))


def _declared_labels(classes: Sequence[Any]) -> list[Any]:
    """Return declared labels: different, and all text or all finite numbers."""
    given = label_list(classes)
    texts, numbers = cell_texts(given), cell_numbers(given)
    labels: list[Any] = texts if None not in texts else numbers.tolist()
    if None in texts and (set(texts) != {None} or not np.isfinite(numbers).all()):
        raise InputError(f"classes must be all text or all finite numbers; got {shown(given)}.")
    if len(set(labels)) < max(2, len(labels)):
        raise InputError(
            f"classes must be at least two different labels; got {len(labels)}, of which "
            f"{len(set(labels))} are different."
        )
    return labels


def _places(numbers: FloatArray, declared: FloatArray) -> FloatArray:
    """Return the place of each number among declared ones, and NaN for what is none of them."""
    order = np.argsort(declared)
    above = np.minimum(np.searchsorted(declared[order], numbers), order.size - 1)
    return np.where(declared[order[above]] == numbers, order[above], np.nan)


def label_list(labels: Any) -> list[Any]:
    """Return declared labels as a list of Python objects; what has no order tells no second label.

    What can be read only once is refused, too: whoever asks next would find it empty.

    Examples
    --------
    >>> label_list(np.array([0, 1])), label_list(("no", "yes"))
    ([0, 1], ['no', 'yes'])
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
    """Return the column of labels, what to call it, and the kind of its type."""
    where, column = one_column(y, "y")
    return column, where, kind_of(column, where, LABELS)


def _texts(y: Any) -> list[str | None]:
    column, where, kind = _labels(y)
    if kind == "numbers" or (kind == "levels" and kind_of_levels(column) == "numbers"):
        raise _other_type(where, column, "text", "numbers, such as classes=(0, 1)")
    return cell_texts(cells_of(column))


def _label_numbers(y: Any) -> FloatArray:
    column, where, kind = _labels(y)
    if kind != "levels":
        return numbers_of(column, where)
    if kind_of_levels(column) == "text":
        raise _other_type(where, column, "numbers", "text, such as classes=('no', 'yes')")
    return cell_numbers(cells_of(column))


def _other_type(where: str, column: Any, declared: str, remedy: str) -> InputError:
    """Return the sentence that refuses labels of another type than the classes."""
    return InputError(
        f"{where} must hold {declared} where classes are {declared}; got "
        f"{type_word(type_of(column))}: declare classes that are {remedy}."
    )
