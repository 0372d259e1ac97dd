"""Cells of a categorical column as indicators of its declared levels.

A cell has a level if it reads the same, as text or as a number. So ``2``, ``2.0`` and ``"2"`` are
one level, and a column of whole numbers that one missing cell turned into floats keeps its levels.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailguard.schema.levels import level_number

__all__ = ["indicators"]

FloatArray = NDArray[np.float64]

# By identity, as the code of any other type, even its hash, would have come with a record.
NUMPY = (kind for kind in set(np.sctypeDict.values()) if np.dtype(kind).kind in "biuf")
NUMBERS = {id(kind) for kind in (bool, int, float, *NUMPY)}
TEXTS = {id(kind) for kind in (str, np.str_)}
BYTES = {id(kind) for kind in (bytes, np.bytes_)}


def indicators(cells: Iterable[Any], levels: Sequence[str]) -> FloatArray:
    """Return one row of indicators per cell: zeros at the baseline, NaN where the cell is missing.

    Text that has no level counts as ``other``, and so does such a number; what is neither text nor
    a number is missing.

    Examples
    --------
    >>> indicators(["north", "south", "moon", None], ("north", "south"))
    array([[ 0.,  0.],
           [ 1.,  0.],
           [ 0.,  1.],
           [nan, nan]])
    """
    other, missing = len(levels), len(levels) + 1
    texts = {level: place for place, level in enumerate(levels)} | {"": missing}
    numbers = {level_number(level): place for place, level in enumerate(levels)}
    numbers |= {None: other}

    def place_of(cell: Any) -> int:
        text, number = _readings(cell)
        if text is None and number is None:
            return missing
        return texts[text] if text in texts else numbers.get(number, other)

    codes = np.fromiter(map(place_of, cells), np.intp)
    rows = np.vstack([np.eye(other + 1)[:, 1:], np.full(other, np.nan)])
    return rows[codes]


def _readings(cell: Any) -> tuple[str | None, float | None]:
    """Return what a cell is as text and as a number, None where it is none."""
    kind = id(type(cell))
    if kind in TEXTS or kind in BYTES:
        text = str(cell) if kind in TEXTS else cell.decode(errors="replace")
        return text, level_number(text)
    try:
        number = float(cell) if kind in NUMBERS else math.nan
    except OverflowError:  # a whole number beyond the floats
        number = math.inf
    return None, None if math.isnan(number) else number
