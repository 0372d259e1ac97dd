"""Records seen through released units and a released linear map.

A view holds public or released numbers only, so reading a record through it depends on that record
alone.

Reference
---------
Dwork and Roth 2014, Proposition 2.1: what earlier releases told may choose the view.
"""

from dataclasses import dataclass, replace

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.losses.base import Loss
from tailguard.queries.kernels.whitened import LARGEST_ENTRY, LARGEST_FEATURE, WhitenedRows
from tailguard.queries.units import Units

__all__ = ["LARGEST_ENTRY", "LARGEST_FEATURE", "View"]


@dataclass(frozen=True, eq=False)
class View:
    """Units, a whitening matrix, and whether the target is a coordinate of the row.

    Attributes
    ----------
    loss
        A loss of a score; None reads rows only.
    units
        Centre and scale of every column.
    bound
        Standardised features are read as within this of zero, in rows and in scores.
    whitening
        A matrix from standardised coordinates (features, constant, target) to whitened ones.
    target_in_row
        Whether the standardised target follows the features and the constant.
    times_slope
        Whether a record's row is multiplied by its slope: then its *contribution*, what it adds to
        the gradient, takes the place of its row.

    Examples
    --------
    >>> View.plain(None, Units.raw(2, intercept=True)).width
    3
    """

    loss: Loss | None
    units: Units
    whitening: FloatArray
    target_in_row: bool = False
    bound: float = LARGEST_FEATURE
    times_slope: bool = False

    @classmethod
    def plain(cls, loss: Loss | None, units: Units, *, target_in_row: bool = False) -> "View":
        """View with every standardised coordinate as it is."""
        return cls(loss, units, np.eye(units.size + int(target_in_row)), target_in_row)

    @property
    def width(self) -> int:
        """Number of whitened coordinates."""
        return int(self.whitening.shape[1])

    @property
    def height(self) -> int:
        """Number of standardised coordinates."""
        return int(self.whitening.shape[0])

    def through(self, matrix: FloatArray) -> "View":
        """Return the view with another whitening matrix."""
        return replace(self, whitening=matrix)

    def contributions(self) -> "View":
        """Return the view with contributions, slope times row, in place of rows."""
        return replace(self, times_slope=True)

    def reads(self, weights: FloatArray | None = None) -> bool:
        """Whether matrix and weights are numbers through which every record can be read."""
        numbers = self.whitening.ravel() if weights is None else [*self.whitening.ravel(), *weights]
        return bool((np.abs(numbers) <= LARGEST_ENTRY).all())

    def rows(self, weights: FloatArray | None = None) -> WhitenedRows:
        """Return the kernel's form, at weights of the standardised coordinates."""
        return WhitenedRows(
            **self.units.for_kernels(),
            loss=self.loss,
            whitening=self.whitening,
            weights=np.zeros(self.height) if weights is None else weights,
            bound=self.bound,
            target_in_row=self.target_in_row,
            times_slope=self.times_slope,
        )
