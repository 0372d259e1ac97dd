"""Columns that are asked about together, and who asks for them.

Reference
---------
Dong, Roth and Su 2022, Theorem 2.7: one release of ``k`` columns costs what one of a vector of
``l2`` sensitivity ``sqrt(2 k)`` does, so that who asks for fewer columns adds less noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tailguard.array_types import FloatArray, IndexArray
from tailguard.gate.stage import Stage
from tailguard.queries.base import Query
from tailguard.queries.column_histograms import Bins, ColumnHistograms


class HistogramSession(Protocol):
    """The budget of a plan while it is spent, as far as histograms of columns need it.

    Noise is a Gaussian standard deviation; of other noise, one whose tail is at least as heavy.
    """

    def n_rows(self, stage: Stage | None = None) -> int:
        """Return how many records the stage reads; without a stage, how many there are."""
        ...

    def plans(self, name: str) -> bool:
        """Whether a stage of that name was planned."""
        ...

    def stage(self, name: str) -> Stage:
        """Return the planned stage of that name."""
        ...

    def left(self) -> float:
        """Return the mu that is left of the whole plan."""
        ...

    def noise_std(self, columns: int, stage: Stage) -> float:
        """Return the noise of histograms of so many columns, as of all records."""
        ...

    def histograms(
        self, query: Query, state: Any, stage: Stage, *, columns: int = 1
    ) -> tuple[FloatArray, float]:
        """Ask for histograms; return counts and their noise, both as of all records."""
        ...


@dataclass(frozen=True, eq=False)
class ColumnQueries:
    """Some columns and the stages that were planned for them.

    Attributes
    ----------
    session
        What they are asked from.
    indices
        The columns as queries count them: the target is ``d``, the offset ``d + 1``.
    prefix
        What the names of their stages begin with.
    """

    session: HistogramSession
    indices: Sequence[int]
    prefix: str = ""

    def __len__(self) -> int:
        return len(self.indices)

    def n_rows(self, stage: Stage | None = None) -> int:
        """Return how many records the stage reads; without a stage, how many there are."""
        return self.session.n_rows(stage)

    def plans(self, name: str) -> bool:
        """Whether the stage was planned for these columns."""
        return self.session.plans(self.prefix + name)

    def stage(self, name: str) -> Stage:
        """Return the stage that was planned for these columns."""
        return self.session.stage(self.prefix + name)

    def noise_std(self, count: int, stage: Stage) -> float:
        """Return the noise of histograms of so many of them, as of all records."""
        return self.session.noise_std(count, stage)

    def histograms(
        self,
        chosen: IndexArray,
        bins: Bins,
        stage: Stage,
        *,
        center: FloatArray | None = None,
        unit: FloatArray | None = None,
        paired: bool = False,
    ) -> tuple[FloatArray, float]:
        """Release histograms of the chosen ones; return counts and their noise.

        Values are read from ``center`` and in ``unit``, one of each for every chosen column. Of a
        stage that reads a sample, counts and noise are raised to what all records would show.
        """
        query = ColumnHistograms(tuple(self.indices[c] for c in chosen), bins, paired=paired)
        center = np.zeros(chosen.size) if center is None else center
        inverse_scale = np.ones(chosen.size) if unit is None else 1.0 / unit
        state = (center, inverse_scale)
        return self.session.histograms(query, state, stage, columns=chosen.size)
