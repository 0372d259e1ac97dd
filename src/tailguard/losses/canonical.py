"""What likelihoods with their canonical link have in common."""

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray

from .compiled import CompiledLoss

# exp(500) leaves room to multiply by a row. From an exponent of 512 on that of NumPy may take
# another time, which would tell of a record.
LARGEST_EXPONENT = 500.0


class CanonicalLoss(CompiledLoss):
    """Base of losses whose slope is the difference of the expected target and the target.

    Reference
    ---------
    McCullagh and Nelder 1989, Section 2.2.4.
    """

    canonical: ClassVar[bool] = True

    @property
    def shape(self) -> FloatArray:
        """The largest exponent; such a loss has no parameter."""
        return np.array([LARGEST_EXPONENT])

    def mean(self, score: ArrayLike) -> FloatArray:
        """Return the expected target; every loss says how."""
        raise TypeError(f"{type(self).__name__} must say what it expects.")

    @np.errstate(all="ignore")
    def slope(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Difference of the expected target and the target."""
        slope: FloatArray = np.subtract(self.mean(score), target)
        return slope
