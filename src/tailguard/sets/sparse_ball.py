"""Vectors with few nonzero entries."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray
from tailguard.checks import check_cost, check_integer, check_positive

from .base import as_entries, as_point, length, unit_vector


@dataclass(frozen=True)
class SparseBall:
    """Points with at most ``n_nonzero`` nonzero entries, within ``radius`` of the origin.

    The set is not convex: only methods for sparse weights accept it.

    Parameters
    ----------
    n_nonzero
        The largest number of nonzero entries.
    radius
        The largest Euclidean length; unlimited by default.

    Edge cases
    ----------
    Among entries of equal magnitude, the projection keeps the earlier ones.

    Reference
    ---------
    Blumensath and Davies (2009), "Iterative hard thresholding for compressed sensing".

    Examples
    --------
    >>> SparseBall(n_nonzero=1).project([1.0, -3.0, 2.0])
    array([ 0., -3.,  0.])
    """

    name: ClassVar[str] = "sparse_ball"
    contract_examples = ((1,), (2, 2.0))  # arguments that the contract tests try
    convex: ClassVar[bool] = False
    n_nonzero: int
    radius: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_nonzero", check_integer("n_nonzero", self.n_nonzero, minimum=1))
        if self.radius is not None:
            object.__setattr__(self, "radius", check_positive("radius", self.radius))

    def project(self, point: ArrayLike) -> FloatArray:
        """Keep the largest entries, then shorten the vector to the radius if it is longer."""
        sparse = as_point(point)
        order = np.argsort(-np.abs(sparse), kind="stable")
        sparse[order[self.n_nonzero :]] = 0.0
        if self.radius is not None and length(sparse) > self.radius:
            return self.radius * unit_vector(sparse)
        return sparse

    def diameter(self) -> float:
        """Twice the radius; infinite if the radius is unlimited."""
        return math.inf if self.radius is None else 2 * self.radius

    def contains(self, point: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Whether the point is sparse enough, and within the radius up to ``tolerance``."""
        slack = check_cost("tolerance", tolerance)
        entries = as_entries(point)
        if not np.isfinite(entries).all() or np.count_nonzero(entries) > self.n_nonzero:
            return False
        return self.radius is None or length(entries) <= self.radius * (1 + slack)
