"""A gate that takes the first histogram, of sizes, for known and does not charge it."""

from tailguard.gate import Gate
from tailguard.privacy.events import Gaussian


class ReusedHistogram(Gate):
    """Answers the first histogram through a second gate whose books nobody reads."""

    reused = False

    def ask(self, query, state, *, mu, **where):
        if self.reused:
            return super().ask(query, state, mu=mu, **where)
        self.reused = True
        hidden = Gate(self._rows, guarantee=self._guarantee, source=self._source)
        hidden.reserve(Gaussian(mu))
        return hidden.ask(query, state, mu=mu)
