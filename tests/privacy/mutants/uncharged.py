"""A gate that lets one kind of query pass without writing the books."""

from tailguard.gate import Gate
from tailguard.privacy.events import Gaussian


class UnchargedCounts(Gate):
    """Answers counts through a second gate whose books nobody reads."""

    def ask(self, query, state, *, mu, **where):
        if "below thresholds" not in query.name:
            return super().ask(query, state, mu=mu, **where)
        hidden = Gate(self._rows, guarantee=self._guarantee, source=self._source)
        hidden.reserve(Gaussian(mu))
        return hidden.ask(query, state, mu=mu)
