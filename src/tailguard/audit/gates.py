"""Gates over made-up records for attacks: they keep all released numbers; some are faulty.

Each mutant has a fault that an audit must detect: noise of the wrong scale, or an understated
sensitivity. Its books look right. An overheard gate reads one of two neighbours, and also
records the difference of their answers and the noise that was added; it must be a simulation.

Reference
---------
Nasr, Hayes, Steinke, Balle, Tramer, Jagielski, Carlini and Terzis 2023 (an adversary who sees all
that is released); Dong, Roth and Su 2022, Corollary 3.3 (squares of mu add up).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.base import Rows
from tailguard.data.rows.partitions import Partitions
from tailguard.gate import Gate
from tailguard.gate.stage import Stage
from tailguard.noise.mechanisms import SMOOTH_MECHANISMS
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.accounting.total_cost import Distance
from tailguard.privacy.books import Release
from tailguard.privacy.events import Gaussian, Laplace
from tailguard.privacy.guarantees import Guarantee

NOISE = 0.8
"""A mutant's noise relative to the correct one; an audit must detect this and smaller ratios."""


class KnownOrder(Partitions):
    """Partitions of records in an order that the attacker knows: no claim relies on its secrecy."""

    def all_rows(self, *, random_order: bool) -> Rows:
        """Return the records in the given order."""
        return self._rows


class AttackedGate(Gate):
    """A gate that keeps its noised numbers in ``heard``, before any post-processing.

    A mutant draws noise that is too small by ``factor``; 1 is correct. This class does so for noise
    whose scale depends on the records, and mutants do it for all other noise. ``keeps_books`` is
    False for a repetition of a run that was recorded before.
    """

    factor = 1.0
    keeps_books = True

    def __init__(self, rows: Rows, **facts: Any) -> None:
        super().__init__(rows, **facts)
        self._partitions = KnownOrder(rows, self._source)
        self.heard: list[FloatArray] = []
        self.booked: Any = None  # the calibration that the books state

    @classmethod
    def of(cls, rows: Rows, *, guarantee: Guarantee, seed: int) -> Self:
        """Return a simulation over the rows."""
        return cls(rows, guarantee=guarantee, source=SimulationSource(seed))

    def ask_often(self, query: Any, state: Any, stage: Stage, times: int) -> None:
        """Answer a query ``times`` times; calibrate and record it once, to save time."""
        self.ask(query, state, stage)
        for _ in range(times - 1):
            self._noised(*self._asked)

    def _book(self, release: Release, calibration: Any, n_answers: int) -> None:
        self.booked = calibration
        super()._book(release, calibration, n_answers)

    def _record(self, release: Release, size: int, distance: Distance) -> None:
        if self.keeps_books:
            super()._record(release, size, distance)

    def _noised(
        self, query: Any, state: Any, calibration: Any, read: Callable[[], Rows]
    ) -> IntArray:
        self._asked = query, state, calibration, read
        if self.factor != 1.0 and calibration.mechanism in SMOOTH_MECHANISMS:
            query = understated(query, self.factor)
        noised = super()._noised(query, state, calibration, read)
        self.heard.append(noised * calibration.grid)
        return noised


class LessNoise(AttackedGate):
    """Draw noise of ``NOISE`` times the scale that the books state."""

    factor = 1.0 / NOISE

    def _calibrate(self, query: Any, n_rows: int, stage: Stage, *, hidden: bool) -> Any:
        self._stated = super()._calibrate(query, n_rows, stage, hidden=hidden)
        if self._stated.mechanism in SMOOTH_MECHANISMS:
            return self._stated
        return super()._calibrate(query, n_rows, _with_budget(stage, self.factor), hidden=hidden)

    def _book(self, release: Release, calibration: Any, n_answers: int) -> None:
        stated = self._stated
        release = replace(
            release,
            sensitivity=stated.charged,
            noise_std=stated.noise_std,
            parameters={**release.parameters, **stated.parameters()},
        )
        super()._book(release, stated, n_answers)


class HalfSensitivity(LessNoise):
    """Draw noise for half of every sensitivity or smooth scale, as for add-or-remove neighbours."""

    factor = 2.0


MUTANTS: dict[str, type[AttackedGate]] = {
    "noise at 0.8": LessNoise,
    "half the sensitivity": HalfSensitivity,
}
"""The gates that every audit must reject, by their fault."""


class Relayed:
    """A query whose answers pass through a function before noise is added."""

    def __init__(self, query: Any, relay: Callable[[Any], Any]) -> None:
        self._query, self._relay = query, relay

    def __getattr__(self, name: str) -> Any:
        return getattr(self._query, name)

    def answer(self, rows: Rows, state: Any, calibration: Any) -> Any:
        """Return the query's answer after the function."""
        return self._relay(self._query.answer(rows, state, calibration))


def understated(query: Any, factor: float) -> Relayed:
    """Return a query on a smooth scale with its scale divided by ``factor``."""
    return Relayed(query, lambda answer: replace(answer, scale=answer.scale / factor))


def _with_budget(stage: Stage, factor: float) -> Stage:
    """Return a stage with ``factor`` times the budget and the same kind of noise."""
    asked = stage.asked
    assert isinstance(asked, Gaussian | Laplace)  # other noise is understated in the query
    amount = asked.mu if isinstance(asked, Gaussian) else asked.epsilon
    return Stage.of(type(asked)(amount * factor), stage.name, stage.purpose, 1, stage.size)


@dataclass
class Transcript:
    """Per release: the difference of the pair's answers, and the noise along that difference.

    Both are in standard deviations of the noise. So the noise along the difference is standard
    normal, whatever was released before. The sum of these noises, weighted by the differences, is
    the privacy loss itself: no other statistic is more powerful.
    """

    shifts: list[float] = field(default_factory=list)
    noises: list[float] = field(default_factory=list)
    queries: list[Any] = field(default_factory=list)

    @property
    def mu(self) -> float:
        """The privacy loss of this pair, in mu; at most that of the budget."""
        return float(np.linalg.norm(self.shifts))

    def score(self, *, neighbour: bool) -> float:
        """Return the scaled privacy loss: N(0, 1), or N(mu, 1) if the neighbour was read.

        ``neighbour`` states which of the two was read.
        """
        noise = float(np.dot(self.shifts, self.noises)) / self.mu
        return noise + (self.mu if neighbour else 0.0)


class OverheardGate(AttackedGate):
    """Answer from one of two neighbours and keep a transcript of the privacy loss.

    It supports Gaussian releases of all records.
    """

    there: Rows  # the neighbour that is not read
    transcript: Transcript
    sign: float  # directs every difference from the first data set to the other

    @classmethod
    def between(
        cls, pair: Any, *, guarantee: Guarantee, neighbour: bool, seed: int, loss: Any = None
    ) -> Self:
        """Return a gate over one of two data sets, each given as features and a target."""
        rows = [make_rows(X, y, loss=loss) for X, y in pair]
        return cls.over_rows(*rows, guarantee=guarantee, neighbour=neighbour, seed=seed)

    @classmethod
    def over_rows(
        cls, one: Rows, other: Rows, *, guarantee: Guarantee, neighbour: bool, seed: int
    ) -> Self:
        """Return a gate over the rows of one of two data sets."""
        here, there = (other, one) if neighbour else (one, other)
        gate = cls.of(here, guarantee=guarantee, seed=seed)
        gate.there, gate.transcript = there, Transcript()
        gate.sign = -1.0 if neighbour else 1.0
        return gate

    def _noised(
        self, query: Any, state: Any, calibration: Any, read: Callable[[], Rows]
    ) -> IntArray:
        clean: list[IntArray] = []

        def keep(answer: IntArray) -> IntArray:
            clean.append(answer)
            return answer

        noised = super()._noised(Relayed(query, keep), state, calibration, read)
        with np.errstate(all="ignore"):
            other = query.answer(self.there, state, calibration)
        step = calibration.grid / self.booked.noise_std
        self._note(query, (other - clean[0]) * step, (noised - clean[0]) * step)
        return noised

    def _note(self, query: Any, difference: FloatArray, noise: FloatArray) -> None:
        """Add a release to the transcript if the pair's answers differ."""
        shift = float(np.linalg.norm(difference))
        if shift > 0.0:
            self.transcript.queries.append(query)
            self.transcript.shifts.append(shift)
            self.transcript.noises.append(self.sign * float(noise @ difference) / shift)


OVERHEARD_MUTANTS: dict[str, type[OverheardGate]] = {
    fault: type(f"Overheard{mutant.__name__}", (OverheardGate, mutant), {})
    for fault, mutant in MUTANTS.items()
}
"""Overheard gates with the faults of the mutants, by their fault."""
