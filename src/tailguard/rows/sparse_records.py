"""Sparse records: those that are read, and no others, are made dense."""

from dataclasses import dataclass

from tailguard.array_types import FloatArray, IntArray
from tailguard.kernels.block import RecordBlock
from tailguard.tables import SparseFeatures


@dataclass(frozen=True, eq=False)
class SparseRecords:
    """Records whose features are sparse, of which any can be had as a block.

    Attributes
    ----------
    features
        A sparse matrix of ``m`` records.
    target, offset
        Vectors of length ``m``, or None.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> records = SparseRecords(SparseFeatures(csr_array(np.array([[0.0], [2.0], [3.0]]))))
    >>> records.rows(1, 3).features
    array([[2.],
           [3.]])
    """

    features: SparseFeatures
    target: FloatArray | None = None
    offset: FloatArray | None = None

    def rows(self, start: int, stop: int) -> RecordBlock:
        """Return records ``start`` to ``stop``."""
        target, offset = (
            None if values is None else values[start:stop] for values in (self.target, self.offset)
        )
        return RecordBlock(self.features.rows(start, stop), target, offset, start)

    def at(self, places: IntArray, first: int = 0) -> RecordBlock:
        """Return the records at these places, in this order."""
        target, offset = (
            None if values is None else values[places] for values in (self.target, self.offset)
        )
        return RecordBlock(self.features.take(places), target, offset, first)
