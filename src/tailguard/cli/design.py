"""The declared columns of a file as a matrix: numeric ones as they are, categorical ones expanded.

Everything here follows from the header and from what the user declared; no cell is looked at before
the width of the matrix is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tailguard.checks import InputError
from tailguard.rows.categories import check_levels, indicator_names, indicators
from tailguard.rows.files import read_columns, read_texts

__all__ = ["Design", "declare_design"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Design:
    """Which columns of a file make the features, and the levels of those that are categorical.

    Examples
    --------
    >>> Design(("age", "region"), {"region": ("north", "south")}).feature_names
    ('age', 'region=south', 'region=other')
    """

    columns: tuple[str, ...]
    categorical: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name per coefficient."""
        named = (
            indicator_names(column, self.categorical[column])
            if column in self.categorical
            else (column,)
            for column in self.columns
        )
        return tuple(name for names in named for name in names)

    def constants(self, missing: Mapping[str, float]) -> dict[int, float]:
        """Return constants for missing cells by the number of the feature."""
        numeric = [column for column in self.columns if column not in self.categorical]
        for column in missing:
            if column not in numeric:
                raise InputError(
                    f"--missing must name one of the numeric features {', '.join(numeric)}; got "
                    f"{column!r}."
                )
        return {self.feature_names.index(column): missing[column] for column in missing}

    def read(self, path: Path) -> FloatArray:
        """Read the columns of a file as a matrix; a row with a missing cell holds NaN."""
        numeric = [column for column in self.columns if column not in self.categorical]
        blocks: dict[str, FloatArray] = {}
        if numeric:
            blocks |= zip(
                numeric, np.hsplit(read_columns(path, numeric), len(numeric)), strict=True
            )
        texts = read_texts(path, [*self.categorical]) if self.categorical else []
        for (column, levels), cells in zip(self.categorical.items(), texts, strict=True):
            blocks[column] = indicators(cells, levels)
        return np.hstack([blocks[column] for column in self.columns])


def declare_design(
    header: tuple[str, ...],
    *,
    features: tuple[str, ...] | None,
    categorical: Mapping[str, tuple[str, ...]],
    reserved: Mapping[str, str],
) -> Design:
    """Settle the feature columns of a file with that header.

    Without ``features``, all columns are taken but the ``reserved`` ones (option -> column).

    Examples
    --------
    >>> header = ("age", "km", "cost")
    >>> declare_design(header, features=None, categorical={}, reserved={"--target": "cost"}).columns
    ('age', 'km')
    """
    taken = set(reserved.values())
    columns = tuple(name for name in header if name not in taken) if features is None else features
    for option, column in reserved.items():
        if column in columns:
            raise InputError(f"--features must not name the column of {option}; got {column!r}.")
    if len(taken) < len(reserved):
        raise InputError(f"--exposure must not be the target; got {reserved['--exposure']!r}.")
    for column in categorical:
        if column not in columns:
            raise InputError(
                f"--categorical must name one of the features {', '.join(columns)}; got {column!r}."
            )
    if not columns:
        raise InputError("--features must name at least one column; the file has no other.")
    return Design(columns, {name: check_levels(name, categorical[name]) for name in categorical})
