"""The coordinate system in which records are read: a centre and a scale per column.

The numbers are public or were released earlier, so reading a record in these units depends on that
record alone.

Reference
---------
Dwork and Roth 2014, Proposition 2.1: what earlier releases told may choose the units.
"""

from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.losses.base import Link


class ReadingUnits(TypedDict):
    """The units as kernels of a score take them."""

    center: FloatArray
    inverse_scale: FloatArray
    intercept: bool
    target_center: float
    target_scale: float
    offset_center: float


@dataclass(frozen=True, eq=False)
class Units:
    """Records are read as ``((x - center) / scale, 1)`` and ``(y - target_center) / target_scale``.

    Attributes
    ----------
    center, scale
        One number per feature; scales are positive.
    intercept
        Whether a constant coordinate 1 follows the features. It counts in the norm of a row.
    target_center, target_scale
        The same for the target.
    offset_center
        Subtracted from the offset that is added to the score.

    Examples
    --------
    >>> units = Units.raw(n_features=2, intercept=True)
    >>> units.size
    3
    """

    center: FloatArray
    scale: FloatArray
    intercept: bool
    target_center: float = 0.0
    target_scale: float = 1.0
    offset_center: float = 0.0

    @classmethod
    def raw(cls, n_features: int, *, intercept: bool) -> "Units":
        """Units that leave every value as it is."""
        return cls(np.zeros(n_features), np.ones(n_features), intercept)

    @property
    def size(self) -> int:
        """The number of coordinates of a row."""
        return self.center.size + int(self.intercept)

    def for_kernels(self) -> ReadingUnits:
        """Return what a kernel needs in order to read records in these units."""
        return ReadingUnits(
            center=self.center,
            inverse_scale=1.0 / self.scale,
            intercept=self.intercept,
            target_center=self.target_center,
            target_scale=self.target_scale,
            offset_center=self.offset_center,
        )

    def gain(self, link: Link) -> float:
        """Return how many units of the user's score one unit of a score is."""
        return self.target_scale if link.residual else 1.0

    def coefficients(
        self, weights: FloatArray, link: Link = Link.LOGIT
    ) -> tuple[FloatArray, float]:
        """Map weights back to coefficients and intercept in the user's units.

        ``link`` is the loss's and tells what was done to the target: by default, nothing. A log
        link turns its scale into a shift of the intercept.
        """
        slopes = weights[: self.center.size]
        constant = float(weights[-1]) if self.intercept else 0.0
        gain = self.gain(link)
        coef = slopes * (gain / self.scale)
        shift = constant * gain - float(coef @ self.center) - self.offset_center
        if link.residual:
            shift += self.target_center
        elif link.log:
            shift += float(np.log(self.target_scale))
        return coef, shift
