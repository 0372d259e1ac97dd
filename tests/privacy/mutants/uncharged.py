"""A gate that lets one kind of query pass without writing the books."""

from tailguard.gate import Gate


class UnchargedCounts(Gate):
    """Answers counts through a second gate whose books nobody reads."""

    def ask(self, query, state, stage, **where):
        if "below thresholds" not in query.name:
            return super().ask(query, state, stage, **where)
        hidden = Gate(self._rows, guarantee=self._guarantee, source=self._source)
        hidden.reserve(stage.event)
        return hidden.ask(query, state, stage)
