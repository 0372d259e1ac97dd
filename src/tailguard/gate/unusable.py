"""Which columns make records unusable, by released counts of their cells, and what to do, in words.

Neither a cell nor a level is ever named.
"""

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.data.design.cells import Role, TableColumn

# A column is named where its cells that cannot be used are so many deviations of their noise. At
# 68 times the root of the columns, over mu, all cells of a column are 7.2 of them: it is missed
# with a chance of 1.6e-4, and another column is named with as much (computed).
NAMED = 3.6
# Each column that is named has at least this share of the worst one's such cells.
MOSTLY = 0.5
# A message names at most so many columns one by one.
MOST_NAMED = 3


class BlamedColumn(NamedTuple):
    """A column of which many cells cannot be used, about how many, and why."""

    column: TableColumn
    n_cells: str
    empty: bool


Remedies = Mapping[tuple[Role, bool], str]
"""From a column's role, and whether its cells are empty, to what to do.

``{name}`` is the column's name, and ``{word}`` what a shell takes for it.
"""

REMEDIES: Remedies = {
    ("feature", False): "declare its levels (`schema={{'categorical': {{{name!r}: [...]}}}}`), "
    "turn it into numbers, or drop it",
    ("feature", True): "declare a constant for them (`missing={{{name!r}: ...}}`) or drop it",
    ("levels", False): "turn it into text or drop it",
    ("levels", True): "drop it",
    ("target", False): "give numbers that the model allows, or declare its labels "
    "(`classes=(..., ...)`)",
    ("target", True): "fit another column",
    ("exposure", False): "give numbers above zero",
    ("exposure", True): "fit without it",
}
"""What to do in Python."""

UNNAMED: Remedies = {
    ("feature", False): "turn it into numbers, or drop it",
    ("feature", True): "declare a constant for them (`missing={{{name!r}: ...}}`) or drop it",
}
"""The same for columns without names."""

WHAT: Mapping[Role, tuple[str, str]] = {
    "feature": ("Column", "are no numbers"),
    "levels": ("Column", "are no levels"),
    "target": ("Target", "are no valid targets"),
    "exposure": ("Exposure", "are no exposures"),
}


def blamed_columns(
    columns: Sequence[TableColumn], counts: FloatArray, noise_std: float, n_rows: int
) -> list[BlamedColumn]:
    """Return the columns that surely hold cells that cannot be used, the worst one first.

    Each row of ``counts`` has the numbers, the empty cells and all others of a column, with noise.
    """
    # The three add up to the number of records, which is public: of noise a third goes.
    fitted = counts + (n_rows - counts.sum(axis=1, keepdims=True)) / 3.0
    noise_std *= math.sqrt(2.0 / 3.0)
    amiss = n_rows - fitted[:, 0]
    least = max(NAMED * noise_std, MOSTLY * float(amiss.max()))
    worst_first = [int(place) for place in np.argsort(-amiss, kind="stable")]
    return [
        BlamedColumn(
            columns[place],
            about(float(fitted[place, 1:].max()), noise_std, n_rows),
            empty=bool(fitted[place, 1] > fitted[place, 2]),
        )
        for place in worst_first
        if amiss[place] >= least
    ]


def about(value: float, noise_std: float, most: int) -> str:
    """Return a noised count in as many digits as its noise leaves, from 0 to ``most``."""
    unit = 10 ** math.ceil(math.log10(max(noise_std, 1.0)))
    return f"{min(max(round(value / unit) * unit, 0), most):,}"


def unusable_sentence(
    records: str, blamed: Sequence[BlamedColumn], remedies: Remedies = REMEDIES
) -> str:
    """Say how many records can be used, which columns are to blame, and what to do."""
    parts = [f"{records[0].upper()}{records[1:]} can be used."]
    parts += [_blame(each, remedies) for each in blamed[:MOST_NAMED]]
    left = len(blamed) - MOST_NAMED
    if left > 0:
        parts.append(f"{left} more {'column is' if left == 1 else 'columns are'} to blame.")
    if not blamed:
        parts.append("The budget is too small to tell which column is to blame.")
    return " ".join(parts)


def _blame(blamed: BlamedColumn, remedies: Remedies) -> str:
    role, name = blamed.column
    thing, amiss = WHAT[role]
    cells = "empty cells" if blamed.empty else f"cells that {amiss}"
    if isinstance(name, int):
        remedies = {**remedies, **UNNAMED}
    remedy = remedies[role, blamed.empty].format(name=name, word=shlex.quote(str(name)))
    named = f"{name} of X" if isinstance(name, int) else repr(name)
    return f"{thing} {named} holds about {blamed.n_cells} {cells}: {remedy}."
