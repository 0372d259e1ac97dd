"""A gate that lets one kind of query pass without writing the books."""

from tailguard.gate import Gate
from tailguard.queries.column_histograms import ColumnHistograms


class UnchargedHistograms(Gate):
    """Answers histograms of columns through a second gate whose books nobody reads."""

    def ask(self, query, state, stage, **where):
        if not isinstance(query, ColumnHistograms):
            return super().ask(query, state, stage, **where)
        hidden = Gate(self._rows, guarantee=self._guarantee, source=self._source)
        hidden.reserve(stage.event)
        return hidden.ask(query, state, stage)
