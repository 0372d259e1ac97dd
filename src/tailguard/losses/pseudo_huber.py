"""A smooth relative of Huber's loss."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray

from .huber import Huber

# At a residual of this many thresholds, the slope rounds to the threshold. Larger residuals are
# clipped to it, so no square overflows.
MOST_THRESHOLDS = 2.0**30


@dataclass(frozen=True)
class PseudoHuber(Huber):
    """Smooth transition from squared to absolute loss: ``h**2 * (sqrt(1 + (r / h)**2) - 1)``.

    Here ``r`` is the residual and ``h`` the threshold. All derivatives are continuous; those of
    Huber's loss are not.

    Parameters
    ----------
    threshold
        The supremum of the slope, in units of the target that the loss is given, from 1e-100 to
        1e100.

    Reference
    ---------
    Charbonnier, Blanc-Feraud, Aubert and Barlaud (1997), "Deterministic edge-preserving
    regularization in computed imaging".

    Examples
    --------
    >>> PseudoHuber(threshold=3.0).slope([4.0, 1e300], 0.0)
    array([2.4, 3. ])
    """

    name: ClassVar[str] = "pseudo_huber"

    @np.errstate(all="ignore")
    def value(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Nearly quadratic up to the threshold, nearly linear beyond."""
        residual: FloatArray = np.subtract(score, target)
        # sqrt(h^2 + r^2) - h, without cancellation near r = 0.
        rise = residual / (np.hypot(self.threshold, residual) + self.threshold) * residual
        return self.threshold * rise

    @np.errstate(all="ignore")
    def slope(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """``h * r / sqrt(h**2 + r**2)``, between minus and plus the threshold."""
        residual: FloatArray = np.subtract(score, target)
        largest = MOST_THRESHOLDS * self.threshold
        residual = np.clip(residual, -largest, largest)
        return self.threshold * (residual / np.sqrt(self.threshold**2 + residual * residual))
