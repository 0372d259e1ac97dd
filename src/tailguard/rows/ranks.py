"""How many records have which values of their identifiers, and so which ones come first.

Values are counted by their first digits where the records are; of those, whole numbers come here.
"""

from dataclasses import dataclass

import numpy as np

from tailguard.array_types import IntArray
from tailguard.checks import InputError
from tailguard.noise.sources import Words

from .reader import DIGITS, LARGEST_WORD

# Parts of a file by which records are shared out: of a billion records of twenty features they have
# some 400 MB each.
PARTS = 256


@dataclass(frozen=True, eq=False)
class Ranks:
    """The first ``count`` records in the order of their values.

    Attributes
    ----------
    counts
        How many records have a value with these first digits.
    count
        How many of all records are wanted.

    Examples
    --------
    >>> ranks = Ranks(np.bincount([0, 2, 2, 5], minlength=2**DIGITS), count=2)
    >>> ranks.n_chosen, ranks.most < 3 * 2 ** (64 - DIGITS)
    (3, True)
    """

    counts: IntArray
    count: int

    @property
    def last(self) -> int:
        """The first digits of the last value that is wanted."""
        return int(np.searchsorted(np.cumsum(self.counts), self.count))

    @property
    def most(self) -> int:
        """The largest value with these digits."""
        return min(((self.last + 1) << (64 - DIGITS)) - 1, LARGEST_WORD)

    @property
    def n_chosen(self) -> int:
        """How many records have no larger value."""
        return int(self.counts[: self.last + 1].sum())

    def parts_of(self, values: Words) -> IntArray:
        """Return the part of the chosen records to which each value belongs.

        Parts have equal ranges, and about as many records, since values are uniform.
        """
        return self._parts((values >> np.uint64(64 - DIGITS)).astype(np.int64))

    @property
    def part_counts(self) -> IntArray:
        """How many of the chosen records each part has."""
        found = np.zeros(PARTS, dtype=np.int64)
        np.add.at(found, self._parts(np.arange(self.last + 1)), self.counts[: self.last + 1])
        return found

    def _parts(self, digits: IntArray) -> IntArray:
        return digits * PARTS // (self.last + 1)

    def check(self, n_rows: int) -> None:
        """Refuse records that are not so many as there were before."""
        if int(self.counts.sum()) != n_rows:
            raise InputError("X must have the same rows whenever it is read.")
