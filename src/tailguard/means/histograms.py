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
from tailguard.gate.stage import Stage
from tailguard.means.budget import tail_noise
from tailguard.privacy.events import Laplace
from tailguard.queries.base import Query
from tailguard.queries.column_histograms import Bins, ColumnHistograms

TWO_BINS = Bins("linear", -1.0, 1.0, 2)  # noise is that of any bins
ROUNDING = 1.0 - 1e-12  # sums of squares are rounded


def noise_of(stage: Stage, columns: int, n_rows: int, n_features: int) -> float:
    """Return the std of Gaussian noise that is as rarely large as that of the histograms."""
    query = ColumnHistograms(tuple(range(columns)), TWO_BINS)
    return tail_noise(query, n_rows, n_features, stage.asked)


class MeanHistograms:
    """Asks the gate for the histograms of planned stages, and knows which were not asked for."""

    def __init__(self, gate: Gate, stages: Sequence[Stage]) -> None:
        self._gate = gate
        self._stages = {stage.name: stage for stage in stages}
        self._times_left = {stage.name: stage.times for stage in stages}

    @property
    def total_mu(self) -> float:
        """What these stages may spend in all."""
        return math.hypot(*(stage.total_mu for stage in self._stages.values()))

    def n_rows(self, stage: Stage | None = None) -> int:
        """Return how many records there are: every stage reads all of them."""
        return self._gate.n_rows

    def plans(self, name: str) -> bool:
        """Whether a stage of that name was planned."""
        return name in self._stages

    def stage(self, name: str) -> Stage:
        """Return the planned stage of that name."""
        return self._stages[name]

    def unspent(self, stage: Stage) -> float:
        """Return the mu of a planned stage that was not spent."""
        return stage.mu * math.sqrt(self._times_left[stage.name])

    def left(self) -> float:
        """Return the mu that these stages have left."""
        return math.hypot(*(self.unspent(stage) for stage in self._stages.values()))

    def noise_std(self, columns: int, stage: Stage) -> float:
        """Return the noise of histograms of so many columns."""
        return noise_of(stage, columns, self._gate.n_rows, self._gate.n_features)

    def histograms(
        self, query: Query, state: Any, stage: Stage, *, columns: int = 1
    ) -> tuple[FloatArray, float]:
        """Ask for one release of the stage; return counts and their noise."""
        self._times_left[stage.name] -= 1
        return self._gate.ask(query, state, stage), self.noise_std(columns, stage)

    def topped_up(self, stage: Stage) -> Stage:
        """Return a stage that spends what these have left, too; Laplace noise stays as planned."""
        if isinstance(stage.asked, Laplace):
            return stage
        return replace(stage, mu=math.hypot(stage.mu, self.left()) * ROUNDING)
