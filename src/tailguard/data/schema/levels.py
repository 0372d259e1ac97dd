"""Declared levels of a categorical column, which are never taken from the data.

The first declared level is the baseline and has no column of its own. Whatever was not declared
shares one last column, ``other``, so that the width is public.
"""

import math
from collections.abc import Sequence

from tailguard.checks import InputError, shown

OTHER = "other"


def check_levels(column: str, levels: Sequence[str | int]) -> tuple[str, ...]:
    """Return the declared levels as text if they differ, none is empty and none is ``other``.

    Examples
    --------
    >>> check_levels("region", ["north", "south"]), check_levels("power", [4, 5, 6])
    (('north', 'south'), ('4', '5', '6'))
    """
    listed = list(levels) if isinstance(levels, list | tuple) else [True]
    wanted = f"The levels of {column!r} must be a list of text or whole numbers"
    if not all(isinstance(level, str | int) and not isinstance(level, bool) for level in listed):
        raise InputError(f"{wanted}; got {shown(levels)}.")
    try:
        declared = tuple(map(str, listed))
    except ValueError:  # Python prints no huge integer
        raise InputError(f"{wanted} that Python prints; got {shown(levels)}.") from None
    numbers = [level_number(level) for level in declared]
    readings = {n if n is not None else text for n, text in zip(numbers, declared, strict=True)}
    if not declared or len({*readings, "", OTHER}) < len(declared) + 2:
        raise InputError(
            f"The levels of {column!r} must be different and none may be empty or {OTHER!r}, which "
            f"stands for every other level; got {shown(list(declared))}."
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


def level_number(text: str) -> float | None:
    """Return the number that a level or a cell of text reads as, None if it reads as none.

    True and False, which a column of booleans holds as text beside other cells, read as 1 and 0.

    Examples
    --------
    >>> level_number("2.0"), level_number("True"), level_number("north")
    (2.0, 1.0, None)
    """
    try:
        number = float({"true": "1", "false": "0"}.get(text.lower(), text))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
