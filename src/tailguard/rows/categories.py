"""Declared categorical columns as indicator columns; the levels are never taken from the data.

The first declared level is the baseline and has no column of its own. Whatever was not declared
shares one last column, ``other``, so that the width is public. A missing cell makes the record
void.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tailguard.checks import InputError

__all__ = ["check_levels", "indicator_names", "indicators"]

FloatArray = NDArray[np.float64]

OTHER = "other"


def check_levels(column: str, levels: Sequence[str]) -> tuple[str, ...]:
    """Return the declared levels if they are different, none is empty and none is ``other``.

    Examples
    --------
    >>> check_levels("region", ["north", "south"])
    ('north', 'south')
    """
    declared = tuple(levels)
    if not declared or len({*declared, "", OTHER}) < len(declared) + 2:
        raise InputError(
            f"The levels of {column!r} must be different and none may be empty or {OTHER!r}, which "
            f"stands for every other level; got {list(declared)!r}."
        )
    return declared


def indicator_names(column: str, levels: Sequence[str]) -> tuple[str, ...]:
    """Name the indicator columns of a categorical column.

    Examples
    --------
    >>> indicator_names("region", ("north", "south"))
    ('region=south', 'region=other')
    """
    return tuple(f"{column}={level}" for level in (*levels[1:], OTHER))


def indicators(cells: Iterable[str | None], levels: Sequence[str]) -> FloatArray:
    """Return one row of indicators per cell: zeros at the baseline, NaN where the cell is missing.

    Examples
    --------
    >>> indicators(["north", "south", "moon", None], ("north", "south"))
    array([[ 0.,  0.],
           [ 1.,  0.],
           [ 0.,  1.],
           [nan, nan]])
    """
    width = len(levels)
    place: dict[str | None, int] = {level: index for index, level in enumerate(levels)}
    place |= {None: width + 1, "": width + 1}
    codes = np.array([place.get(cell, width) for cell in cells], dtype=np.intp)
    rows = np.vstack([np.eye(width + 1)[:, 1:], np.full(width, np.nan)])
    return rows[codes]
