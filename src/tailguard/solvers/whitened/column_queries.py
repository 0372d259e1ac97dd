"""Columns that are asked about together, and what is known of them.

Reference
---------
Dong, Roth and Su 2022, Theorem 2.7: one release of ``k`` columns costs what one of a vector of
``l2`` sensitivity ``sqrt(2 k)`` does, so that who asks for fewer columns adds less noise.
"""

from dataclasses import dataclass

import numpy as np

from tailguard.array_types import BoolArray, FloatArray, IndexArray
from tailguard.plans.stage import Stage
from tailguard.queries.column_histograms import Bins, ColumnHistograms
from tailguard.solvers.whitened.session import BudgetSession

__all__ = ["ColumnQueries", "ColumnScales"]


@dataclass(eq=False)
class ColumnScales:
    """Centre and scale of some columns, as far as they are known by now.

    Attributes
    ----------
    center, scale
        One number a column; the scale of a column that was not seen is NaN.
    width
        How wide the bin of the centre is where it is too coarse to tell the scale, else 0.
    zeros
        Columns that are zero so often that zero is their centre.

    Examples
    --------
    >>> ColumnScales.unknown(2).detected
    array([False, False])
    """

    center: FloatArray
    scale: FloatArray
    width: FloatArray
    zeros: BoolArray

    @classmethod
    def unknown(cls, count: int) -> "ColumnScales":
        """Of columns that were not measured."""
        zeros = np.zeros(count)
        return cls(zeros, np.full(count, np.nan), zeros.copy(), np.zeros(count, dtype=bool))

    @property
    def detected(self) -> BoolArray:
        """Columns whose scale is known."""
        return ~np.isnan(self.scale)


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

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.gate import Gate
    >>> from tailguard.plans.plan import Plan
    >>> from tailguard.plans.problem import Problem
    >>> from tailguard.plans.stage import Stage
    >>> problem = Problem(tg.losses.Squared(), n_rows=400, n_features=2)
    >>> stage = Stage("typical size", "sizes", 1.0, 1, 8)
    >>> plan = Plan("example", problem, tg.GDP(1.0), (stage,))
    >>> gate = Gate.over(np.ones((400, 2)), guarantee=tg.GDP(1.0), random_state=0)
    >>> gate.reserve(plan.event, coordinates=plan.coordinates)
    >>> queries = ColumnQueries(BudgetSession(plan, gate), (0, 1))
    >>> bins = Bins("linear", -2.0, 1.0, 4)
    >>> counts, noise_std = queries.histograms(np.array([0, 1]), bins, stage)
    >>> counts.argmax(axis=1), noise_std
    (array([3, 3]), 2.0)
    """

    session: BudgetSession
    indices: tuple[int, ...]
    prefix: str = ""

    def __len__(self) -> int:
        return len(self.indices)

    def n_rows(self, stage: Stage | None = None) -> int:
        """Return how many records the stage reads; without a stage, how many there are."""
        return self.session.n_rows(stage)

    def plans(self, name: str) -> bool:
        """Whether the stage was planned for these columns."""
        return any(planned.name == self.prefix + name for planned in self.session.plan.stages)

    def stage(self, name: str) -> Stage:
        """Return the stage that was planned for these columns."""
        return self.session.plan.stage(self.prefix + name)

    def unspent(self, name: str) -> float:
        """Return the mu of a stage of these columns that was not spent; 0 if not planned."""
        return self.session.unspent(self.stage(name)) if self.plans(name) else 0.0

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
