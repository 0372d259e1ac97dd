"""Whole runs on a pair of neighbours, overheard: how far the pair differs, and the noise upon it.

Reference
---------
Nasr, Hayes, Steinke, Balle, Tramer, Jagielski, Carlini and Terzis 2023 (an adversary who sees all
that is released); Dong, Roth and Su 2022, Corollary 3.3 (squares of mu add up).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.audit.gates import MUTANTS, AttackedGate, Relayed
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.base import Rows
from tailguard.privacy.guarantees import Guarantee


@dataclass
class Transcript:
    """Per release: how far a pair differs, in noise deviations, and where the answer lies.

    The noise of a release, seen in the direction in which the pair differs, is standard normal
    after division by its deviation, whatever was released before. The sum of all such readings,
    weighted by how far the pair differs, is the privacy loss itself: no other statistic tells more.

    Examples
    --------
    >>> Transcript(shifts=[3.0, 4.0], noises=[0.0, 0.0], queries=[]).score(neighbour=True)
    5.0
    """

    shifts: list[float] = field(default_factory=list)
    noises: list[float] = field(default_factory=list)
    queries: list[Any] = field(default_factory=list)

    @property
    def mu(self) -> float:
        """What the pair attains of the budget."""
        return float(np.linalg.norm(self.shifts))

    def score(self, *, neighbour: bool) -> float:
        """Return the privacy loss, scaled: standard normal, and around mu with the neighbour.

        ``neighbour`` says which of the two was read.
        """
        reading = float(np.dot(self.shifts, self.noises)) / self.mu
        return reading + (self.mu if neighbour else 0.0)


class OverheardGate(AttackedGate):
    """Answers from one of two neighbours and notes what the answer tells about which.

    It is for Gaussian releases of all records.

    Examples
    --------
    >>> from tailguard.gate.stage import Stage
    >>> from tailguard.privacy.guarantees import GDP
    >>> from tailguard.queries.counts import CountBelow
    >>> pair = [(np.array([[0.0], [1.0]]), None), (np.array([[2.0], [1.0]]), None)]
    >>> gate = OverheardGate.between(pair, guarantee=GDP(0.5), neighbour=False, seed=0)
    >>> stage = Stage("count", "", 0.5, 1, 1)
    >>> gate.reserve(stage.event)
    >>> _ = gate.ask(CountBelow((0,)), np.ones(1), stage)
    >>> round(gate.transcript.mu, 9)  # the whole budget
    0.5
    """

    there: Rows
    transcript: Transcript
    sign: float

    @classmethod
    def between(
        cls, pair: Any, *, guarantee: Guarantee, neighbour: bool, seed: int, loss: Any = None
    ) -> Self:
        """Return a gate over one of two data sets, each features and a target."""
        rows = [make_rows(X, y, loss=loss) for X, y in pair]
        here, there = rows[::-1] if neighbour else rows
        gate = cls.of(here, guarantee=guarantee, seed=seed)
        gate.there, gate.transcript = there, Transcript()
        gate.sign = -1.0 if neighbour else 1.0
        return gate

    def _noised(
        self, query: Any, state: Any, calibration: Any, read: Callable[[], Rows]
    ) -> IntArray:
        clean: list[IntArray] = []

        def heard(answer: IntArray) -> IntArray:
            clean.append(answer)
            return answer

        noised = super()._noised(Relayed(query, heard), state, calibration, read)
        with np.errstate(all="ignore"):
            other = query.answer(self.there, state, calibration)
        step = calibration.grid / self.booked.noise_std
        self._note(query, (other - clean[0]) * step, (noised - clean[0]) * step)
        return noised

    def _note(self, query: Any, way: FloatArray, noise: FloatArray) -> None:
        """Write down what a release tells, if the pair differs in it."""
        shift = float(np.linalg.norm(way))
        if shift > 0.0:
            self.transcript.queries.append(query)
            self.transcript.shifts.append(shift)
            self.transcript.noises.append(self.sign * float(noise @ way) / shift)


OVERHEARD_MUTANTS: dict[str, type[OverheardGate]] = {
    fault: type(f"Overheard{mutant.__name__}", (OverheardGate, mutant), {})
    for fault, mutant in MUTANTS.items()
}
"""The mutants, overheard, by what is wrong with them."""
