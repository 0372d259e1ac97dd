"""A gate that claims the shuffle of a secret partition and cuts the records in their own order."""

from support.sources import QuietSource
from tailguard.data.rows.partitions import Partitions
from tailguard.gate import Gate


class FixedPartition(Gate):
    """Zhao et al. 2024, Theorem 6, as printed: amplification for groups that anybody knows."""

    def __init__(self, rows, **facts):
        super().__init__(rows, **facts)
        self._partitions = Partitions(rows, QuietSource())  # leaves the order of places as it is
