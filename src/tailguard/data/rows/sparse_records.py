"""Sparse records: those that are read, and no others, are made dense."""

from dataclasses import dataclass

from tailguard.array_types import FloatArray, IntArray
from tailguard.data.rows.block import RecordBlock, vectors_at
from tailguard.data.tables import SparseFeatures


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
        vectors = vectors_at(self, slice(start, stop))
        return RecordBlock(self.features.rows(start, stop), *vectors, start)

    def at(self, places: IntArray, first: int = 0) -> RecordBlock:
        """Return the records at these places, in this order."""
        return RecordBlock(self.features.take(places), *vectors_at(self, places), first)
