"""Along which rows residuals are large, which tells where clipping takes most from skewed ones.

Reference
---------
Efron and Morris 1973 (the rule of Bayes for a normal mean of unknown length).
"""

import math
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray

__all__ = ["ResidualDirection"]


# How long the residual direction is expected to be beside the constant and the fitted score before
# it is seen; how clearly it is seen where it becomes a direction of its own.
PRIOR_LENGTH, DETECTED = 0.15, 2.0


@dataclass(frozen=True, eq=False)
class ResidualDirection:
    """Along which whitened rows residuals are large, relative to their mean size.

    Where they are, clipping takes more from skewed ones.

    Attributes
    ----------
    mean, noise_std
        The mean row, every one counted by the size of its residual; its noise, a coordinate.

    Examples
    --------
    >>> direction = ResidualDirection(np.array([1.0, 0.5]), 0.1)
    >>> direction.along(np.eye(2)[:, :1]).round(3), direction.outside(np.eye(2)[:, :1])
    (array([0.995]), array([0. , 0.5]))
    """

    mean: FloatArray
    noise_std: float

    def along(self, basis: FloatArray) -> FloatArray:
        """Length along each direction, less what noise makes of it."""
        squared = (basis.T @ self.mean) ** 2 - self.noise_std**2
        return np.asarray(np.sqrt(np.maximum(squared, 0.0)))

    def outside(self, basis: FloatArray) -> FloatArray:
        """Return the part outside of the directions."""
        return np.asarray(self.mean - basis @ (basis.T @ self.mean))

    def detected_outside(self, basis: FloatArray) -> bool:
        """Whether that part stands out of the noise."""
        outside = self.outside(basis)
        return float(outside @ outside) > DETECTED * self.noise_std**2 * outside.size

    def expected_outside(self, basis: FloatArray) -> float:
        """Return the expected length of that part, by the rule of Bayes for normal errors."""
        noise = self.mean.size * self.noise_std**2
        kept = PRIOR_LENGTH**2 / (PRIOR_LENGTH**2 + noise)
        outside = self.outside(basis)
        return math.sqrt(kept**2 * float(outside @ outside) + kept * noise)
