"""The stages of a mean's plan that measure columns, while they are spent.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms, with Laplace noise);
``privacy/books/books.py`` has the proof that Gaussian shares may move between releases.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tailguard.array_types import FloatArray
from tailguard.gate import Gate
from tailguard.means.budget import MeanStage
from tailguard.queries.column_histograms import Bins, ColumnHistograms

__all__ = ["LAPLACE_TAIL", "MeanHistograms", "noise_of"]


LAPLACE_TAIL = 1.8
"""Laplace noise passes 8 deviations as rarely as Gaussian noise passes 4.5."""

TWO_BINS = Bins("linear", -1.0, 1.0, 2)  # noise is that of any bins
ROUNDING = 1.0 - 1e-12  # sums of squares are rounded


def noise_of(stage: MeanStage, columns: int, n_rows: int, n_features: int) -> float:
    """Return the noise of histograms of so many columns, as Gaussian noise that is as rarely large.

    Examples
    --------
    >>> from tailguard.means.budget import Budget
    >>> stage = MeanStage("location", "centres", Budget(0.5, pure=False), times=1, size=56)
    >>> round(noise_of(stage, columns=2, n_rows=1000, n_features=2), 6)
    4.0
    """
    query = ColumnHistograms(tuple(range(columns)), TWO_BINS)
    noise_std = stage.noise_std(query, n_rows, n_features)
    return noise_std * (LAPLACE_TAIL if stage.budget.pure else 1.0)


class MeanHistograms:
    """Asks the gate for the histograms of planned stages, and knows which were not asked for.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> from tailguard.means.budget import Budget
    >>> stage = MeanStage("location", "centres", Budget(0.5, pure=False), times=4, size=56)
    >>> gate = Gate.over(np.zeros((4, 1)), guarantee=tg.GDP(1.0), random_state=0)
    >>> session = MeanHistograms(gate, [stage])
    >>> session.left(), session.plans("scale")
    (1.0, False)
    """

    def __init__(self, gate: Gate, stages: Sequence[MeanStage]) -> None:
        self._gate = gate
        self._stages = {stage.name: stage for stage in stages}
        self._times_left = {stage.name: stage.times for stage in stages}

    @property
    def total_mu(self) -> float:
        """What these stages may spend in all."""
        return math.hypot(*(stage.budget.amount for stage in self._stages.values()))

    def n_rows(self, stage: str = "") -> int:
        """Return how many records there are: every stage reads all of them."""
        return self._gate.n_rows

    def plans(self, stage: str) -> bool:
        """Whether the stage was planned."""
        return stage in self._stages

    def mu(self, stage: str) -> float:
        """Return what one release of the stage spends, ``epsilon`` if that is its currency."""
        return self._stages[stage].budget.amount

    def unspent(self, stage: str) -> float:
        """Return the mu of the stage that was not spent; 0 if it was not planned."""
        times = self._times_left.get(stage, 0)
        return self.mu(stage) * math.sqrt(times) if times else 0.0

    def left(self) -> float:
        """Return the mu that these stages have left."""
        return math.hypot(*(self.unspent(stage) for stage in self._stages))

    def noise_std(self, columns: int, mu: float, stage: str = "") -> float:
        """Return the noise of histograms of so many columns."""
        return noise_of(self._stages[stage], columns, self._gate.n_rows, self._gate.n_features)

    def histograms(
        self, query: ColumnHistograms, state: Any, mu: float, stage: str = "", *, columns: int = 1
    ) -> tuple[FloatArray, float]:
        """Ask for one release of the stage; return counts and their noise."""
        self._times_left[stage] -= 1
        counts = self._stages[stage].ask(self._gate, query, state)
        return counts, self.noise_std(columns, mu, stage)

    def topped_up(self, stage: MeanStage) -> MeanStage:
        """Return a stage that spends what these have left, too; Laplace noise stays as planned."""
        if stage.budget.pure:
            return stage
        amount = math.hypot(stage.budget.amount, self.left()) * ROUNDING
        return replace(stage, budget=replace(stage.budget, amount=amount))
