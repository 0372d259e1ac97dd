"""Ball of the l1 norm, the sum of absolute values."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray
from tailguard.checks import check_cost, check_positive

from .base import as_entries, as_point
from .simplex import nearest_shares


@dataclass(frozen=True)
class L1Ball:
    """Points whose absolute entries sum to at most ``radius``; favours sparse weights.

    Parameters
    ----------
    radius
        The largest sum of absolute values.

    Reference
    ---------
    Duchi, Shalev-Shwartz, Singer and Chandra (2008), "Efficient projections onto the l1-ball for
    learning in high dimensions", section 4.

    Examples
    --------
    >>> L1Ball(1.0).project([1.0, -0.5, 0.25])
    array([ 0.75, -0.25,  0.  ])
    """

    name: ClassVar[str] = "l1_ball"
    contract_examples = ((1.0,), (1e-6,), (1e3,))  # arguments that the contract tests try
    convex: ClassVar[bool] = True
    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", check_positive("radius", self.radius))

    def project(self, point: ArrayLike) -> FloatArray:
        """Reduce all magnitudes by the same amount, never below zero, until their sum fits."""
        target = as_point(point)
        magnitudes = np.abs(target)
        if _sum(magnitudes) <= self.radius:
            return target
        return np.copysign(nearest_shares(magnitudes, self.radius), target)

    def diameter(self) -> float:
        """Distance between two opposite corners."""
        return 2 * self.radius

    def contains(self, point: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Whether the sum is at most ``radius * (1 + tolerance)``."""
        slack = check_cost("tolerance", tolerance)
        return _sum(np.abs(as_entries(point))) <= self.radius * (1 + slack)


@np.errstate(over="ignore")
def _sum(magnitudes: FloatArray) -> float:
    return float(magnitudes.sum())
