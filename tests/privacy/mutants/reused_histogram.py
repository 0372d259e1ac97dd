"""A gate that takes the first histogram, of sizes, for known and does not charge it."""

from tailguard.gate import Gate


class ReusedHistogram(Gate):
    """Leaves the first release out of the books."""

    reused = False

    def _record(self, release, size, distance):
        if self.reused:
            super()._record(release, size, distance)
        self.reused = True
