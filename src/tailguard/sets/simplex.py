"""Nonnegative weights with a fixed sum."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray
from tailguard.checks import check_cost, check_positive, require

from .base import as_entries, as_point


@dataclass(frozen=True)
class Simplex:
    """Points with non-negative entries that sum to ``total``.

    Parameters
    ----------
    total
        The sum of the entries.

    Reference
    ---------
    Duchi, Shalev-Shwartz, Singer and Chandra (2008), "Efficient projections onto the l1-ball for
    learning in high dimensions", Algorithm 1.

    Examples
    --------
    >>> Simplex().project([0.5, 1.5, -3.0])
    array([0., 1., 0.])
    """

    name: ClassVar[str] = "simplex"
    contract_examples = ((), (100.0,))  # arguments that the contract tests try
    convex: ClassVar[bool] = True
    total: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", check_positive("total", self.total))

    def project(self, point: ArrayLike) -> FloatArray:
        """Subtract one number from all entries, but stop each at zero, so that the sum fits."""
        target = as_point(point)
        require(target.size > 0, "point must have at least one entry; got none.")
        return nearest_shares(target, self.total)

    def diameter(self) -> float:
        """Distance between two corners."""
        return math.sqrt(2) * self.total

    @np.errstate(over="ignore")
    def contains(self, point: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Whether entries are nonnegative with the right sum, up to ``tolerance * total``."""
        slack = check_cost("tolerance", tolerance)
        entries = as_entries(point) / self.total
        if not np.isfinite(np.abs(entries).sum()):
            return False
        return bool((entries >= -slack).all() and abs(math.fsum(entries) - 1) <= slack)


@np.errstate(over="ignore")
def nearest_shares(point: FloatArray, total: float) -> FloatArray:
    """Project onto the simplex, exactly, by sorting (Duchi et al. 2008, Algorithm 1).

    The result depends only on differences from the largest entry, and entries at least ``total``
    below it become zero. So the code uses these differences in units of ``total``, cut at -1, and
    nothing overflows.
    """
    differences = np.maximum((point - point.max()) / total, -1.0)
    descending = np.sort(differences)[::-1]
    counts = np.arange(1, differences.size + 1)
    thresholds = (np.cumsum(descending) - 1.0) / counts
    last_positive = np.flatnonzero(descending > thresholds)[-1]
    shares: FloatArray = np.maximum(differences - thresholds[last_positive], 0.0)
    return total * shares
