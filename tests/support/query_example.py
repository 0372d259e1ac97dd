"""What an example of a query is: its state, and a pair of neighbours that attains its charge."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tailguard.queries.units import Units

N_FEATURES = 3


@dataclass(frozen=True)
class Example:
    """A query with a state and a pair of neighbours (row, old record, new record) that attains.

    Records are ``(features, target)`` rows, with an exposure behind where ``exposed``.
    """

    name: str
    query: Any
    state: Any
    old: tuple[float, ...]
    new: tuple[float, ...]
    loss: Any = None
    exposed: bool = False  # the last number of a record is its exposure
    n_groups: int = 1
    far: float = 0.0

    @property
    def width(self) -> int:
        """How many numbers a record has."""
        return N_FEATURES + 1 + self.exposed

    def background(self, n_rows):
        """Zeros; with groups, all but that of record 4 at ``far`` to either side, half and half.

        The mean of that group, which holds the replaced record, is then the median or one of the
        two middle means, wherever it lies.
        """
        data = np.zeros((n_rows, self.width))
        if self.exposed:
            data[:, -1] = 1.0
        changed = (5 * self.n_groups - 1) // n_rows
        others = [group for group in range(self.n_groups) if group != changed]
        for place, group in enumerate(others):
            rows = slice(*(g * n_rows // self.n_groups for g in (group, group + 1)))
            data[rows, :N_FEATURES] = -self.far if place < self.n_groups // 2 else self.far
        return data


def skewed_units(intercept):
    return Units(np.array([0.5, -1.0, 0.0]), np.array([1.0, 2.0, 1e-3]), intercept, 0.25, 2.0)
