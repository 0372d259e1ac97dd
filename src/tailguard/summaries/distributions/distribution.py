"""A column's distribution function, estimated from noisy histograms of several resolutions.

The masses between edges are estimated by least squares, weighted by the noise of each histogram,
and updated after each release. The bins of the first histogram are octaves. Later histograms have
their own edges, which split the earlier bins. A priori the mass of a split bin is spread evenly,
with a public prior variance. So bins that noise cannot resolve stay smooth, and bins that hold one
value are detected. All quantiles come from one nondecreasing function. Their intervals use the
unevenness of bins that the releases show; the prior variance is larger, to allow for columns of few
values.

Reference
---------
Hay, Rastogi, Miklau and Suciu 2010, Section 4 (consistent estimates by least squares); Ferguson
1973, Section 3 (the variance of shares of a random distribution); Kalman 1960 (the update). Dwork
and Roth 2014, Proposition 2.1 (the whole estimate is post-processing).
"""

import math
from functools import cached_property
from statistics import NormalDist
from typing import Literal

import numpy as np
from scipy.ndimage import binary_dilation
from scipy.optimize import isotonic_regression

from tailguard.array_types import BoolArray, FloatArray
from tailguard.summaries.distributions.octaves import (
    AS_ZERO,
    LEAST_SIZE,
    NEAR_BINS,
    OCTAVES,
    ONE,
    octaves_of,
    zero_if_tiny,
)

Z = NormalDist().inv_cdf(0.975)
"""Half the width of a 95 % interval, in standard deviations."""
Z_OF_ALL = 4.0
"""The same for levels 0 and 1: the ends of a column are sought among all edges, and the noise at
one or more of 800 edges exceeds this in 5 % of runs.
"""
MOST_MARGIN = 1.5
"""The largest distance of a shown quantile from the only finite end of its interval, in
interquartile ranges. By trial: at this distance every other quantile is off by more than one
interquartile range.
"""
EXACT = 0.5  # records: the standard deviation of a known count
BESIDE = 0.05  # part of an interval's width, beyond each end, where common values are searched
# A bin counts as one value if its mass exceeds this many deviations of the last histogram's noise,
# and it is this many times as dense as its neighbours. By trial.
STANDS_OUT, DENSER = 4.0, 4.0


class DistributionEstimate:
    """Masses between edges, in records, with the covariance of their errors.

    Attributes
    ----------
    significance
        The column's height in the first histogram, in standard deviations of its noise.
    like_indicator
        Whether only zeros and ones exceed the noise.
    edges, mass, covariance
        The ends of bins, how many records each bin holds, and the covariance of the errors of these
        numbers. The first and the last bin hold everything beyond the detected bins.
    """

    def __init__(
        self,
        counts: FloatArray,
        noise_std: float,
        n_rows: float,
        known: BoolArray | Literal[False] = False,
        tail_std: float | None = None,
    ) -> None:
        """Start from the histogram of octaves; the column holds at most ``n_rows``.

        ``known`` marks octaves in which other groups of the column hold cells. ``tail_std`` is the
        standard deviation of Gaussian noise with as heavy a tail as this noise; it decides which
        octaves are detected.
        """
        self.n_rows = n_rows
        kept, self.significance = octaves_of(counts, noise_std if tail_std is None else tail_std)
        kept |= known
        kept[[0, -1]] = False  # the two open ends: later edges split them
        zero = kept.size // 2
        separate, binary = kept.copy(), [*range(zero - AS_ZERO, zero + AS_ZERO + 1), ONE]
        self.like_indicator = not np.delete(kept, binary).any()
        if self.like_indicator:
            separate[binary] = True  # noise may hide ones beside zeros, and the reverse
        near = binary_dilation(separate, iterations=NEAR_BINS)
        near[[0, -1]] = False
        first, last = int(near.argmax()), int(near.size - near[::-1].argmax())
        # Octaves far from all detected ones are merged: into the first bin, into the last, and into
        # one bin between any two groups of detected octaves.
        inside = near[first:last]
        within = np.flatnonzero(inside | np.append(True, inside[:-1])) + first
        starts = np.concatenate([[0], within, [last]])
        self.edges = np.concatenate(
            [2.0 * OCTAVES[:1], OCTAVES[starts[1:] - 1], 2.0 * OCTAVES[-1:]]
        )
        summed, n_merged = np.add.reduceat(counts, starts), np.diff(np.append(starts, counts.size))
        variances = noise_std**2 * n_merged
        # How many cells noise may hide in one undetected bin, and at either end in all octaves
        # together, of which a window of eight may hide 12 deviations. By trial.
        hidden = np.full(n_merged.size, max(0.02 * n_rows, noise_std))
        hidden[[0, -1]] = 4.0 * noise_std
        prior = np.where(kept[starts], float(n_rows), hidden) ** 2
        self.mass = summed * prior / (prior + variances)
        self.covariance = np.diag(prior * variances / (prior + variances))
        self._even, self._surprise = self.covariance, np.zeros(2)

    def count_cells(self, total: float, noise_std: float) -> None:
        """Update by a count of all cells of the column."""
        self._observe(np.ones((1, self.mass.size)), np.array([total]), noise_std)

    def refine(
        self, edges: FloatArray, counts: FloatArray, noise_std: float, unevenness: float
    ) -> None:
        """Update by a histogram, whose edges split the bins.

        ``unevenness`` is the standard deviation of the share of half a bin, divided by one half. It
        is 1 for bins that may hold one value.
        """
        # A heavy bin, of more than one deviation, may hold one value: a split may give all of it to
        # one part. With 4 deviations intervals of zeros and ones covered the truth in only two
        # thirds of the cases.
        heavy = self.mass > noise_std
        within = edges[(edges > self.edges[0]) & (edges < self.edges[-1])]
        finer = np.union1d(self.edges, within)
        parent = np.searchsorted(self.edges, finer[:-1], side="right") - 1
        part = np.diff(finer) / np.diff(self.edges)[parent]
        # A narrow part may hold one value, so all of the mass or none. Therefore its variance uses
        # the average of its width's share and of an equal share.
        varying = (part + 1.0 / np.bincount(parent)[parent]) / 2.0
        shared = (np.diag(varying) - np.outer(varying, varying)) * (parent[:, None] == parent)
        second_moment = np.maximum(self.mass, 0.0) ** 2 + np.diag(self.covariance)
        split, of_parts = np.outer(part, part), np.ix_(parent, parent)
        self._even = split * self._even[of_parts]
        self.covariance = (
            split * self.covariance[of_parts]
            + np.where(heavy, 1.0, unevenness**2)[parent] * second_moment[parent] * shared
        )
        self.mass, self.edges = part * self.mass[parent], finer
        bins = np.searchsorted(edges, finer[1:], side="left")
        self._observe(bins == np.arange(counts.size)[:, None], counts, noise_std)

    def _observe(self, sums: FloatArray | BoolArray, counts: FloatArray, noise_std: float) -> None:
        """Update by noisy sums of masses, one per row.

        ``_even`` is the covariance of the same estimate if the true masses split evenly.
        """
        sums, noise = np.asarray(sums, dtype=np.float64), noise_std**2 * np.eye(counts.size)
        cross, cross_even = self.covariance @ sums.T, self._even @ sums.T
        variance, variance_even = sums @ cross + noise, sums @ cross_even + noise
        gain, error = np.linalg.solve(variance, cross.T), counts - sums @ self.mass
        expected_even = float(np.trace(np.linalg.solve(variance, variance_even)))
        squares = float(error @ np.linalg.solve(variance, error))
        self._surprise = self._surprise + np.array(
            [squares - expected_even, counts.size - expected_even]
        )
        self.mass = self.mass + gain.T @ error
        self.covariance = self.covariance - cross @ gain
        reduction = (cross_even - gain.T @ variance_even / 2.0) @ gain
        self._even = self._even - reduction - reduction.T
        for name in ("shares", "_noise", "_noise_seen"):
            self.__dict__.pop(name, None)

    @property
    def unevenness(self) -> float:
        """The fraction of the prior variance of split bins that the releases show.

        Squared errors of predicted counts, divided by their variances, are summed. The expected sum
        is the number of counts if bins are as uneven as the prior, and falls linearly with the
        variance if they are more even.
        """
        excess, largest_excess = self._surprise
        return min(max(float(excess) / max(float(largest_excess), 1e-9), 0.0), 1.0)

    def settle(self, n_rows: float, noise_std: float = 0.0) -> bool:
        """Take the number of records as a count of cells, unless cells are surely missing.

        If records have weights, ``n_rows`` is their total, with the noise ``noise_std``. Return
        whether the column seems to have no missing cell.
        """
        deviation = math.hypot(self.total_std, noise_std)
        full = bool(n_rows - self.mass.sum() < 2.0 * deviation)
        if full:
            self.count_cells(n_rows, max(noise_std, EXACT))
        return full

    @property
    def total(self) -> float:
        """Number of readable cells, from 1 to all records."""
        return min(max(float(self.mass.sum()), 1.0), float(self.n_rows))

    @property
    def total_std(self) -> float:
        """The standard deviation of the error of ``total``."""
        return math.sqrt(max(float(self.covariance.sum()), 0.0))

    @cached_property
    def shares(self) -> FloatArray:
        """The distribution function at the edges: it rises from 0 to 1."""
        sums = np.append(0.0, np.cumsum(self.mass))
        weights = 1.0 / np.maximum(self.noise_of_shares(0.0) * self.total, EXACT) ** 2
        rising = isotonic_regression(sums, weights=weights).x
        shares = (rising - rising[0]) / max(rising[-1] - rising[0], 1e-9)
        return np.clip(shares, 0.0, 1.0)

    def noise_of_shares(self, level: float, *, seen: bool = False) -> FloatArray:
        """Return the standard deviation of the noise of each share minus ``level``.

        Split bins are as uneven as the prior says or, with ``seen``, as the releases show.
        """
        own, with_total = self._noise_seen if seen else self._noise
        variances = own + level * (level * with_total[-1] - 2.0 * with_total)
        return np.sqrt(np.maximum(variances, 0.0)) / self.total

    @cached_property
    def _noise(self) -> tuple[FloatArray, FloatArray]:
        return _below_edges(self.covariance)

    @cached_property
    def _noise_seen(self) -> tuple[FloatArray, FloatArray]:
        return _below_edges(self._even + self.unevenness * (self.covariance - self._even))

    def bin_of(self, level: float) -> tuple[int, float]:
        """Return the bin that holds the quantile of a level, and the share of the cells in it."""
        shares = self.shares
        place = min(max(int(np.searchsorted(shares, level)) - 1, 0), shares.size - 2)
        return place, float(shares[place + 1] - shares[place])

    def is_open(self, place: int) -> bool:
        """Whether a bin holds everything below or above the others."""
        return place in (0, self.edges.size - 2)

    def at(self, levels: FloatArray) -> FloatArray:
        """Return the points at which the distribution function, linear in bins, has these levels.

        If a level is reached in the first or the last bin, the point is the inner end of the bin.
        """
        shares = self.shares
        # Tiny steps break ties: at equal shares the choice of an edge would be ambiguous.
        rising = shares + np.arange(shares.size) * 1e-13
        points = np.interp(levels, rising[1:-1], self.edges[1:-1])
        points = np.where(np.abs(points) < LEAST_SIZE, np.copysign(LEAST_SIZE, points), points)
        return np.asarray(points, dtype=np.float64)

    def spread(self, level: float, unevenness: float) -> float:
        """Return the uncertainty of the share at a quantile: noise, and the width of its bin."""
        place, mass = self.bin_of(level)
        part = min(max((level - self.shares[place]) / max(mass, 1e-12), 0.0), 1.0)
        noise = self.noise_of_shares(level)
        ends = (1.0 - part) * noise[place] + part * noise[place + 1]
        return math.hypot(ends, unevenness * mass * math.sqrt(part * (1.0 - part)))

    def quantile(self, level: float, noise_std: float) -> float:
        """Return a quantile; in a bin that holds one value, the roundest number of the bin.

        ``noise_std`` is the noise of a bin of the last histogram.
        """
        place, mass = self.bin_of(level)
        alone = not self.is_open(place) and self._holds_one_value(place)
        if alone and mass * self.total > STANDS_OUT * noise_std:
            low, high = map(float, self.edges[place : place + 2])
            return roundest(math.nextafter(low, math.inf), high)
        return zero_if_tiny(float(self.at(np.array([level]))[0]))

    def interval(self, level: float, z: float) -> tuple[float, float]:
        """Return the interval in which the true function may reach a level.

        The interval contains all points at which the released function is within ``z`` standard
        deviations (of sampling and noise) of the level. It contains the whole bin at an end if the
        bin's mass exceeds these deviations or seems to be one value. An end is infinite if no edge
        bounds it: noise may hide cells beyond.

        *Sampling.* The share ``F`` of weights below a point is a ratio of sums, whose variance is
        ``sum(w**2 * (below - F)**2) / sum(w)**2`` to first order. Weights are parts of their bound,
        so ``w**2 <= w``, and the variance is at most ``F * (1 - F) / sum(w)``, whatever weights
        depend on. For a person, ``w`` is the total weight of her rows, by the inequality of Cauchy
        and Schwarz.
        """
        shares, last = self.shares, self.edges.size - 1
        sampling = level * (1.0 - level) / self.total
        slack = z * np.sqrt(sampling + self.noise_of_shares(level, seen=True) ** 2)
        low, high = -math.inf, math.inf
        below = np.flatnonzero(shares + slack < level)
        above = np.flatnonzero((shares - slack >= level) & (shares > 0.0))
        if below.size and below[-1] > 0:
            low = self._leave(int(below[-1]), 1, level, slack)
        if above.size and above[0] < last:
            high = self._leave(int(above[0]), -1, level, slack)
        if math.isfinite(high - low):
            low, high = self._with_values_beside(low, high)
        return zero_if_tiny(low), zero_if_tiny(high)

    def hides(self, level: float, value: float, ends: tuple[float, float]) -> bool:
        """Whether a quantile with this interval is more likely far off than near.

        It is shown if both ends are finite, or if it is near the finite one. In a column of zeros
        and ones, an open bin does not show where its quantile is.
        """
        finite = [end for end in ends if math.isfinite(end)]
        if len(finite) == 2:
            return False
        if not finite or (self.like_indicator and self.is_open(self.bin_of(level)[0])):
            return True
        lower, upper = map(float, self.at(np.array([0.25, 0.75])))
        return abs(finite[0] - value) > MOST_MARGIN * (upper - lower)

    def _with_values_beside(self, low: float, high: float) -> tuple[float, float]:
        """Extend an interval to a near edge if cells are far denser just beyond an end than inside.

        A value that many records share often lies just beyond an edge that was chosen near it.
        """
        margin = BESIDE * (high - low)
        ends = np.array([low - margin, low, low + margin, high - margin, high, high + margin])
        at_ends = np.interp(ends, self.edges, self.shares)
        most = DENSER * 2.0 * BESIDE * (at_ends[4] - at_ends[1])
        near = self.edges[(self.edges >= ends[0]) & (self.edges <= ends[5])]
        if near.size and at_ends[2] - at_ends[0] > most:
            low = min(low, float(near[0]))
        if near.size and at_ends[5] - at_ends[3] > most:
            high = max(high, float(near[-1]))
        return low, high

    def _leave(self, edge: int, way: int, level: float, slack: FloatArray) -> float:
        """Return how far beyond an edge the function surely does not reach a level.

        ``way`` is 1 for the bin above the edge and -1 for the bin below it. Within a bin the error
        is a weighted mean of the errors at both edges, so its deviation is at most that mean of
        their deviations. So both the function and its slack are linear there.
        """
        shares, beyond, place = self.shares, edge + way, min(edge, edge + way)
        gap, mass = abs(level - float(shares[edge])), abs(float(shares[beyond] - shares[edge]))
        low, high, start = float(self.edges[edge]), float(self.edges[beyond]), float(slack[edge])
        if self.is_open(place) or mass > start or self._holds_one_value(place):
            return low
        part = min((gap - start) / max(mass + float(slack[beyond]) - start, 1e-300), 1.0)
        return low + part * (high - low)

    def _holds_one_value(self, place: int) -> bool:
        """Whether a bin is far denser than the next bins, and than equal widths on both sides."""
        low, high = self.edges[place : place + 2]
        around = np.array([2.0 * low - high, low, high, 2.0 * high - low])
        below, mass, above = np.diff(np.interp(around, self.edges, self.shares))
        density = np.diff(self.shares) / np.diff(self.edges)
        beside = np.append(np.append(0.0, density), 0.0)[[place, place + 2]] * (high - low)
        return bool(mass > DENSER * np.minimum(beside, [below, above]).max())


def _below_edges(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the variances of the masses below edges, and their covariances with the total mass."""
    below = np.cumsum(np.cumsum(covariance, axis=0), axis=1)
    return np.append(0.0, np.diag(below)), np.append(0.0, below[-1])


def roundest(low: float, high: float) -> float:
    """Return the number from ``low`` to ``high`` with the fewest decimal digits.

    Examples
    --------
    >>> roundest(1.94, 2.07), roundest(-0.3, 1e9), roundest(1399.5, 1400.2), roundest(0.22, 0.28)
    (2.0, 0.0, 1400.0, 0.25)
    >>> roundest(-7.3, -6.9), roundest(1e9, 1e9)
    (-7.0, 1000000000.0)
    """
    if low <= 0.0 <= high:
        return 0.0
    if high < 0.0:
        return -roundest(-high, -low)
    unit = 10.0 ** math.floor(math.log10(high))
    while unit > high * 1e-16:
        for step in (unit, unit / 2.0, unit / 4.0):
            number = math.ceil(low / step) * step
            if number <= high:
                return float(f"{number:.15g}")
        unit /= 10.0
    return high
