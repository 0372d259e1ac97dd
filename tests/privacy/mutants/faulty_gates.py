"""Gates that charge less than they release, or know what should be secret."""

from dataclasses import replace

from support.sources import QuietSource
from tailguard.data.rows.partitions import Partitions
from tailguard.gate import Gate
from tailguard.gate.selection import SelectionGate
from tailguard.queries.histograms import ColumnHistograms


class FixedPartition(Gate):
    """Zhao et al. 2024, Theorem 6, as printed: amplification for groups that anybody knows."""

    def __init__(self, rows, **facts):
        super().__init__(rows, **facts)
        self._partitions = Partitions(rows, QuietSource())  # leaves the order of places as it is


class CountedAsOneTry(SelectionGate):
    """Books the best of many tries as if no other had been made."""

    def _record(self, release, size, distance):
        one = replace(release, mechanism="gaussian")
        self._books.own.reserve(one.event())
        super()._record(one, size, distance)


class ReusedHistogram(Gate):
    """Leaves the first release out of the books."""

    reused = False

    def _record(self, release, size, distance):
        if self.reused:
            super()._record(release, size, distance)
        self.reused = True


class UnchargedHistograms(Gate):
    """Answers histograms of columns through a second gate whose books nobody reads."""

    def ask(self, query, state, stage, **where):
        if not isinstance(query, ColumnHistograms):
            return super().ask(query, state, stage, **where)
        hidden = Gate(self._rows, guarantee=self._guarantee, source=self._source)
        hidden.reserve(stage.event)
        return hidden.ask(query, state, stage)
