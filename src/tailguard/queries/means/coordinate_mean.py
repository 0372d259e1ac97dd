"""What the coordinate-wise means share: bound every entry, average by groups, take the median.

Groups are runs of a secret random order of the records. In whatever order they come, one record
moves the mean of one group, and each coordinate of it by at most ``2 * limit`` over the
group's size. The median of the group means then moves by at most as much if the number of groups is
odd. If it is even, the median is half the sum of the two middle means, and moves by at most half as
much: sorting never increases the sum of the absolute differences of two lists, so the sorted means
together move by no more than the one mean did.

All of this is done on integers. The mean of a group of size ``s`` is an integer in steps of
``middles * grid``, where ``middles`` is 1 or 2, how many means the median averages: each chunk's
part of a group's sum is rounded to whole multiples of ``s * middles * grid`` and integers are
added. The median is the sum of the ``middles`` middle integers, in steps of ``grid``, exactly.
Neighbours differ in the part of one chunk in one group, and that part's rounding moves the
integer by at most ``1 + 2**-8`` beyond ``|a - b| / (s * middles * grid)``, as
:mod:`tailguard.noise.lattice` shows. As above, the sum of the middle integers moves by no more than
the one integer. So a coordinate moves by at most ``2 * limit / (s * middles)``, plus the float
error of one chunk, plus ``grid * (1 + 2**-8)``: what the calibration charges. (The relative error
2**-53 of the step as a float lies within the float error charged, which has 2**20 times that.)

Reference
---------
Kamath, Liu and Zhang 2022, Algorithm 3; Tao, Wu, Cheng and Wang 2022, Algorithm 3. The papers write
the inverse of a group's size as ``n_groups / n_rows``, up to 1.5 times too small where the groups
do not divide the rows; the smallest group counts here. They do not use the half.
"""

import math
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError
from tailguard.data.rows.base import CHUNK_ROWS, Rows, summation_slack
from tailguard.losses.base import Loss
from tailguard.noise.lattice import laplace_calibration
from tailguard.privacy.calibration import Calibration, Norm, Sensitivity
from tailguard.queries.base import GaussianQuery, Places
from tailguard.queries.kernels.coordinates import BoundedCoordinateSum, CoordinateBound
from tailguard.queries.units import Units


def median_of_groups(means: IntArray) -> IntArray:
    """Return the middle of the rows, entry by entry; the sum of the two middle ones if even."""
    n_groups = len(means)
    ordered = np.sort(means, axis=0)
    middle: IntArray = ordered[(n_groups - 1) // 2 : n_groups // 2 + 1].sum(axis=0)
    return middle


@dataclass(frozen=True)
class CoordinateMean(GaussianQuery):
    """Base of the means that bound each coordinate of a gradient by itself.

    Attributes
    ----------
    loss
        A loss of a score, or None for slope 1: the mean of the rows themselves.
    units
        The coordinate system in which rows and targets are read.
    """

    loss: Loss | None
    units: Units

    name = "coordinate-wise mean"

    @property
    def bound(self) -> CoordinateBound:
        """What is done to every entry of a gradient; every mean says its own."""
        raise TypeError(f"{type(self).__name__} must state its bound.")

    @property
    def group_count(self) -> int:
        """How many groups of records the median is taken over."""
        raise TypeError(f"{type(self).__name__} must state its number of groups.")

    @property
    def places(self) -> Places:
        """Random ones where the median depends on the groups, runs of the order of the records.

        That of two means is the mean of all, but for the one record that one group may have more.
        """
        if self.group_count == 1:
            return "none"
        return "random" if self.group_count > 2 else "any"

    @property
    def middles(self) -> int:
        """How many group means the median averages."""
        return 2 - self.group_count % 2

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State how far the median moves in l2 norm; see the module's proof."""
        return self._sensitivity(n_rows, "l2", math.sqrt(self.units.size))

    def pure_sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State how far the median moves in l1 norm."""
        return self._sensitivity(n_rows, "l1", self.units.size)

    def calibrate_pure(self, n_rows: int, n_features: int, epsilon: float) -> Calibration:
        """Choose lattice and Laplace noise so that the release is ``epsilon``-DP."""
        return laplace_calibration(self.pure_sensitivity(n_rows, n_features), epsilon)

    def _sensitivity(self, n_rows: int, norm: Norm, norm_of_ones: float) -> Sensitivity:
        if self.group_count > n_rows:
            raise InputError(f"n_groups must be at most n_rows = {n_rows}; got {self.group_count}.")
        smallest = n_rows // self.group_count
        limit = self.bound.limit
        share = norm_of_ones / (smallest * self.middles)
        return Sensitivity(
            norm=norm,
            ideal=2.0 * limit * share,
            computed=(2.0 * limit + summation_slack(limit)) * share,
            size=self.units.size,
            largest_partial=limit * min(1.0, CHUNK_ROWS / smallest) / self.middles,
            largest_total=limit,
        )

    def answer(self, rows: Rows, state: FloatArray, calibration: Calibration) -> IntArray:
        """Take the median of the group means at the weights ``state``, on the lattice."""
        kernel = BoundedCoordinateSum(
            weights=state,
            **self.units.for_kernels(),
            loss=self.loss,
            bound=self.bound,
            n_rows=rows.n_rows,
            n_groups=self.group_count,
            grid=calibration.grid * self.middles,
        )
        return median_of_groups(rows.reduce(kernel).reshape(self.group_count, self.units.size))

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {
            "limit": self.bound.limit,
            "n_groups": self.group_count,
            "coordinates": self.units.size,
        }
