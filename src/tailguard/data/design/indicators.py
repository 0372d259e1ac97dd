"""Cells of a categorical column as indicators of its declared levels.

A cell has a level if it reads the same, as text or as a number. So ``2``, ``2.0`` and ``"2"`` are
one level, and a column of whole numbers that one missing cell turned into floats keeps its levels.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.data.schema.levels import level_number
from tailguard.data.tables.cells import cell_numbers, cell_texts


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
    numbers = {level_number(level): place for place, level in enumerate(levels)} | {None: other}

    def place_of(text: str | None, number: float) -> int:
        if text is None and np.isnan(number):
            return missing
        return texts[text] if text in texts else numbers.get(number, other)

    def places_of(some: list[Any]) -> list[int]:
        readings = zip(cell_texts(some), cell_numbers(some).tolist(), strict=True)
        return [place_of(*reading) for reading in readings]

    listed = list(cells)
    # Most cells are a few texts, each of which is read once; no method of another type is run.
    same = [list({cell for cell in listed if type(cell) is kind}) for kind in (str, bytes)]
    of_text, of_bytes = (dict(zip(some, places_of(some), strict=True)) for some in same)
    others = (cell for cell in listed if type(cell) is not str and type(cell) is not bytes)
    of_others = iter(places_of(list(others)))
    codes = [
        of_text[cell]
        if type(cell) is str
        else of_bytes[cell]
        if type(cell) is bytes
        else next(of_others)
        for cell in listed
    ]
    rows = np.vstack([np.eye(other + 1)[:, 1:], np.full(other, np.nan)])
    return rows[np.array(codes, dtype=np.intp)]
