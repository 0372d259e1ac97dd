"""A gate that takes the first histogram, of sizes, for known and does not charge it."""

from tailguard.gate import Gate


class ReusedHistogram(Gate):
    """Answers the first histogram through a second gate whose books nobody reads."""

    reused = False

    def ask(self, query, state, stage, **where):
        if self.reused:
            return super().ask(query, state, stage, **where)
        self.reused = True
        hidden = Gate(self._rows, guarantee=self._guarantee, source=self._source)
        hidden.reserve(stage.event)
        return hidden.ask(query, state, stage)
