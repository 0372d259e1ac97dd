"""The mean gradient of a generalised linear model, clipped at levels that are released jointly.

``LevelGradients`` clips a record's slope at level ``h`` and cuts its row to length ``R``; the
record contributes their product. With several levels the increments ``clip(slope, h_k) -
clip(slope, h_{k-1})`` are released together. They show the clipping bias of each level.

``ContributionLevels`` cuts contributions instead: slope times row. A contribution is mapped by a
matrix, such as ``V^(-1/2)`` for contributions of covariance ``V``, and then cut at a length. So the
ratio of noise to sampling error is the same in every direction, and one level replaces a level for
slopes and one for rows. The cut contribution is divided into parts, one for each shell between
neighbouring levels, from 0 on. A shell of width ``w`` is released in units of ``sqrt(w)``. The
parts of one record have one direction and lengths ``l_k <= w_k``, so their squared norm is
``sum l_k**2 / w_k <= sum w_k = C``. Hence the sum over all shells has the noise of one release at
level ``C``, and the lower levels come at no extra cost.

Reference
---------
Mallows 1975 (bounding rows and residuals apart); Abadi et al. 2016, Algorithm 1; Dong, Roth and Su
2022, Theorem 2.7; Hampel, Ronchetti, Rousseeuw and Stahel 1986, Section 4.2 (self-standardised
influence: bounded in the metric of its own covariance); Zhao et al. 2024, Algorithm 2 (the clipped
mean). ``means/clipped.py`` has the same shells for rows.
"""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import check_positive, require
from tailguard.data.rows.base import RecordBlock, shrink
from tailguard.privacy.calibration import Sensitivity
from tailguard.queries.base import SumQuery, sum_sensitivity
from tailguard.queries.view import View, add_scaled, check_levels, level_factors


class LevelSums(SumQuery):
    """Base of sums at several levels, released together, each in a unit of its own."""

    view: View
    levels: tuple[float, ...]

    @property
    @abstractmethod
    def level_units(self) -> FloatArray:
        """The unit in which the sum of each level is released."""

    @property
    @abstractmethod
    def norm_limit(self) -> float:
        """The largest norm of one record's contribution, in these units."""

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of the sums of all levels together."""
        return sum_sensitivity(self.norm_limit, len(self.levels) * self.view.width, n_rows)

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Return means in the units of the view, one row per level."""
        means = np.reshape(noised, (len(self.levels), -1))
        return self.view.rotated(means * (self.level_units / n_rows)[:, None])

    def noise_std(self, n_rows: int, n_features: int, mu: float) -> FloatArray:
        """Return the standard deviation of the noise of each level's mean; public numbers only."""
        return self.calibrate(n_rows, n_features, mu).noise_std * self.level_units / n_rows


@dataclass(frozen=True, eq=False)
class LevelGradients(LevelSums):
    """Means of ``(clip(slope, h_k) - clip(slope, h_{k-1})) * row``, one row per level.

    The state is the vector of weights of the standardised coordinates.

    Attributes
    ----------
    view
        How records are read.
    row_limit
        The length ``R`` to which rows are cut.
    levels
        Clip levels of the slope, increasing; the level before the first is 0.
    shares
        One number per level: the noise of an increment is proportional to its width over its share.

    Guarantee
    ---------
    An increment over its width lies in [-1, 1]. So, for every input, a record contributes a row of
    length at most ``R`` times a vector of norm at most ``|shares|``. Replacing a record moves the
    released vector by at most ``2 * R * |shares|``, plus the charged rounding. Two opposite records
    with slopes beyond the top level attain the bound.

    Edge cases
    ----------
    A record with a non-finite value, or with a slope that is not a number, contributes zero. An
    infinite slope is clipped at the top level. An overflowing row is cut to length ``R`` in its
    direction.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.queries.units import Units
    >>> view = View.plain(tg.losses.Squared(), Units.raw(2, intercept=False))
    >>> LevelGradients(view, row_limit=3.0, levels=(2.0,)).sensitivity(1000, 2).ideal
    6.0
    """

    view: View
    row_limit: float
    levels: tuple[float, ...]
    shares: tuple[float, ...] = (1.0,)

    name = "sum of clipped gradients by level"

    @property
    def level_units(self) -> FloatArray:
        """The widths of the increments over their shares."""
        return np.diff([0.0, *self.levels]) / np.array(self.shares)

    @property
    def norm_limit(self) -> float:
        """The largest norm of one record's contribution."""
        return self.row_limit * float(np.linalg.norm(self.shares))

    def read_state(self, state: FloatArray) -> FloatArray:
        """Return the weights of the standardised coordinates."""
        check_positive("row_limit", self.row_limit)
        check_levels("levels", self.levels, self.shares)
        require(
            self.view.times == "one", 'view must have times="one", which keeps rows as they are.'
        )
        return self.view.weights(state)

    def sum_block(self, block: RecordBlock, state: FloatArray, grid: float) -> IntArray:
        """Sum the increments on the lattice.

        Before the multiplication by its share, a factor lies in [-1, 1]. A length errs by
        ``width / 2 + 2`` roundoffs, a factor by five. The shrink covers both errors.
        """
        levels, shares = np.array([self.levels, self.shares], dtype=np.float64)
        total = np.zeros((levels.size, self.view.width), dtype=np.int64)
        for sight in self.view.read(block, state, shrunk=shrink(total.size)):
            slope = self.view.slope(sight, self.levels[-1])
            factors = level_factors(sight, slope, sight.length, self.row_limit, levels, shares)
            add_scaled(sight.mapped, factors, grid, total, alone=block.alone)
        return total.ravel()

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {
            "norm_limit": self.norm_limit,
            "coordinates": self.view.width,
            "levels": len(self.levels),
        }


@dataclass(frozen=True, eq=False)
class ContributionLevels(LevelSums):
    """Means of the parts of contributions between ``levels``, one row of the answer per level.

    The state is the vector of weights of the standardised coordinates.

    Attributes
    ----------
    view
        How records are read. The slopes are those of its loss.
    levels
        Lengths at which contributions are cut, increasing; the level before the first is 0.

    Guarantee
    ---------
    Each part is released in units of the root of its shell's width. In these units a record adds a
    vector of norm at most ``sqrt(levels[-1])``, for every input. Replacing it moves the released
    vector by at most ``2 * sqrt(levels[-1])``, plus the charged rounding. Two opposite records
    beyond the last level attain the bound.

    Edge cases
    ----------
    A record with a non-finite value, or with a slope that is not a number, contributes zero. An
    overflowing contribution is cut at the last level, in its direction.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.queries.units import Units
    >>> view = View.plain(tg.losses.Squared(), Units.raw(2, intercept=False))
    >>> ContributionLevels(view, levels=(1.0, 4.0)).sensitivity(1000, 2).ideal
    4.0
    """

    view: View
    levels: tuple[float, ...]

    name = "sum of cut contributions by level"

    @property
    def level_units(self) -> FloatArray:
        """Roots of the widths of the shells."""
        return np.sqrt(np.diff(self.levels, prepend=0.0))

    @property
    def norm_limit(self) -> float:
        """The root of the last level."""
        return float(np.sqrt(self.levels[-1]))

    def read_state(self, state: FloatArray) -> FloatArray:
        """Return the weights of the standardised coordinates."""
        check_levels("levels", self.levels, tuple(self.level_units))
        return self.view.weights(state, rows_alone=True)

    def sum_block(self, block: RecordBlock, state: FloatArray, grid: float) -> IntArray:
        """Sum the parts between the levels on the lattice.

        Besides the error of its slope, the length of a contribution errs by one roundoff more than
        the length of a row. The shrink covers this error.
        """
        view, levels = self.view.contributions(), np.array(self.levels, dtype=np.float64)
        root_widths = self.level_units
        total = np.zeros((levels.size, view.width), dtype=np.int64)
        for sight in view.read(block, state, shrunk=shrink(total.size)):
            reach, ones = np.copysign(sight.length, sight.inverse), np.ones(sight.length.size)
            factors = level_factors(sight, reach, ones, 1.0, levels, root_widths)
            add_scaled(sight.mapped, factors, grid, total, alone=block.alone)
        return total.ravel()

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {
            "largest_level": self.levels[-1],
            "levels": len(self.levels),
            "coordinates": self.view.width,
        }
