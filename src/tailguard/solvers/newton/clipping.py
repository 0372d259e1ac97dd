"""Clip levels that minimise the estimated error: sampling variance, privacy noise, shift bias.

All numbers come from released histograms: with rows of length ``|u|`` cut at ``R`` and slopes at
``h``, the one-step error is
``[V_u(R) V_s(h) / n + k (2 R h / (n mu))**2 + b(h)**2] / (c_u(R) c_s(h))**2``.

Reference
---------
Hampel, Ronchetti, Rousseeuw and Stahel 1986, Section 6.3 (Mallows estimators and their variance).
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.losses.base import Loss
from tailguard.scaling.noisy_distribution import HIDDEN_BINS, POINTS, NoisyDistribution
from tailguard.solvers.limits import leans

# Noise standard deviations by which the bulk of a histogram, or the rise of a gradient along one of
# up to 64 steps, has to stand out.
SIGNIFICANT = 4.0
SMALLEST_KEPT = 0.35  # share of the curvature that a slope limit must keep
# A likelihood cuts as few rows as possible, provided that the error of all coordinates together
# exceeds the least by at most this part of one coordinate's.
MISFIT = 0.5
SYMMETRIC_BIAS = 0.5  # share of what clipping takes away that may bias a symmetric-looking fit
SKEWED = 0.15  # residuals count as skewed above this net share of what clipping takes away
NORMAL_SPREAD = 0.6745  # of residuals as large as the target: half a normal interquartile range
SMALLEST_SPREAD = 1e-6  # part of the target's scale; smaller spreads count as zero
SECANT = 0.05  # half the step of a numerical slope of the slope, in typical residuals
LEAST_RISE = 0.5  # of what bounded slopes rise about where they balance; by trial


@dataclass(frozen=True, eq=False)
class RowNormDistribution:
    """Row lengths, each counted with its curvature weight where the loss has one."""

    distribution: NoisyDistribution
    width: float
    weight: float = 1.0  # mean curvature of a record, where the distribution is weighted
    cap: float = np.inf  # longer rows were cut at this when the curvature was released

    @classmethod
    def of_ones(cls, significance: float) -> "RowNormDistribution":
        """Rows of length one, as those of a constant are."""
        points, edges = np.ones(POINTS), np.array([0.0, 1.0])
        return cls(NoisyDistribution(points, points / POINTS, 1.0, significance, edges), 1.0)

    @property
    def seen(self) -> bool:
        """Whether the lengths stand out of the noise."""
        return self.distribution.significance > SIGNIFICANT

    def variance(self, limit: float) -> float:
        """Mean squared length of the cut rows."""
        return self.weight * self.distribution.mean(
            np.minimum(self.distribution.points, limit) ** 2
        )

    def curvature(self, limit: float) -> float:
        """Mean of length times cut length, a coordinate: what a gradient of cut rows rises by."""
        points = np.minimum(self.distribution.points, max(self.cap, limit))
        return self.weight * self.distribution.mean(points * np.minimum(points, limit)) / self.width

    @property
    def limits(self) -> FloatArray:
        """Candidates for the limit."""
        return np.asarray(self.distribution.edges[1:])


Secant: TypeAlias = tuple[FloatArray, FloatArray, float]
"""Slopes below and above, and half the step between the residuals that have them."""


@dataclass(frozen=True, eq=False)
class SlopeDistribution:
    """Slopes at the current fit, from residuals (or from slopes themselves)."""

    loss: Loss | None
    distribution: NoisyDistribution
    center: float = 0.0  # around which residuals may look symmetric
    told_by_rows: bool = False  # whether weights of rows tell variance and curvature: 1 each
    fall: float = 0.0  # by how much curvature is less per unit of a slope, over its mean
    reach: float = 0.0  # up to which slopes are known to average zero, where that is farther

    @cached_property
    def slopes(self) -> FloatArray:
        """Slopes at the points."""
        return self._shifted(0.0)

    def _shifted(self, shift: float) -> FloatArray:
        """Slopes at the points, each residual moved by ``shift``."""
        points = self.distribution.points + shift
        return points if self.loss is None else self.loss.slope(points, np.zeros(points.size))

    @classmethod
    def of_likelihood(cls, limit: float) -> "SlopeDistribution":
        """Slopes of a likelihood within a limit, whose variance the weights of rows tell.

        Reference
        ---------
        McCullagh and Nelder 1989, Section 2.2.2: variance of the slope and curvature agree; that of
        balanced slopes is less, by half at most.
        """
        points, mass = np.array([-limit, limit]), np.full(2, 0.5)
        return cls(None, NoisyDistribution(points, mass, 1.0, 0.0, points), told_by_rows=True)

    @property
    def seen(self) -> bool:
        """Whether a histogram told slopes that stand out of the noise, and not too small to use."""
        return self.distribution.significance > SIGNIFICANT and self.limits.size > 0

    @cached_property
    def spread(self) -> float:
        """Half of the interquartile range of the points."""
        return (self.distribution.quantile(0.75) - self.distribution.quantile(0.25)) / 2.0

    @property
    def skewed(self) -> bool:
        """Whether what lies beyond the spread leans clearly to one side."""
        points, spread = self.distribution.points - self.center, self.spread
        beyond = points - np.clip(points, -spread, spread)
        return abs(self.distribution.mean(beyond)) > SKEWED * self._beyond(np.abs(points), spread)

    @cached_property
    def unseen(self) -> float:
        """Mean of what lies beyond all that is seen, within ``reach``: it balances what is seen."""
        if self.reach <= float(np.abs(self.slopes).max()):
            return 0.0
        return min(-self.distribution.mean(self.slopes), 0.0)

    def variance(self, limit: float) -> float:
        """Mean squared clipped slope."""
        if self.told_by_rows:
            return 1.0
        far = min(limit, self.reach) * abs(self.unseen) if limit >= self.reach else 0.0
        return self.distribution.mean(np.clip(self.slopes, -limit, limit) ** 2) + far

    def increment_variance(self, low: float, high: float) -> float:
        """Mean squared increment of the slope clipped at ``low`` and at ``high``."""
        increment = np.clip(self.slopes, -high, high) - np.clip(self.slopes, -low, low)
        return self.distribution.mean(increment**2)

    def residual_shares(self) -> FloatArray:
        """Return points and the share of targets less predictions below each.

        What noise may hide lies beyond the farthest bins, as ``lost`` takes it to.
        """
        edges = -self.distribution.edges[::-1]
        masses = self.distribution.mass.reshape(-1, POINTS).sum(axis=1)[::-1]
        far, hidden = self._hidden(np.abs(edges), np.inf)
        hidden = hidden / max(1.0, 2.0 * float(hidden.sum()))
        masses = (1.0 - 2.0 * hidden.sum()) * masses
        points = np.concatenate([-far[::-1], edges, far])
        shares = np.cumsum(np.concatenate([[0.0], hidden[::-1], masses, hidden]))
        return np.column_stack([points, shares])

    def upper_variance(self, limit: float) -> float:
        """Mean squared clipped slope, with what the noise of the histogram may hide."""
        beyond, hidden = self._hidden(np.abs(self.slopes), limit)
        return self.variance(limit) + float(hidden @ beyond**2)

    def bias(self, limit: float) -> float:
        """Mean of what clipping takes away."""
        far = self.unseen if limit < self.reach else 0.0
        return self.distribution.mean(self.slopes - np.clip(self.slopes, -limit, limit)) + far

    def lost(self, limit: float) -> float:
        """Mean size of what clipping takes away, the tail that the noise hides included.

        Bins beyond the last seen one are taken to hold what may be hidden there, less by a constant
        factor from one to the next.
        """
        largest = self.loss.slope_bound() if self.loss is not None else np.inf
        return self._beyond(np.abs(self.slopes), limit, largest)

    def bias_std(self, limit: float) -> float:
        """How far off zero the mean of what clipping takes away is, with noise of the histogram."""
        beyond = self.slopes - np.clip(self.slopes, -limit, limit)
        noise_std = self.distribution.bin_noise * np.linalg.norm(beyond.reshape(-1, POINTS).mean(1))
        return math.hypot(self.bias(limit), float(noise_std))

    def missed(self, limit: float) -> float:
        """Size of what the mean slope loses where a bounded slope is cut lower: another loss."""
        return self.lost(limit) if self.skewed else abs(self.bias(limit))

    def _beyond(self, sizes: FloatArray, limit: float, largest: float = np.inf) -> float:
        """Mean of what sizes have beyond a limit, hidden ones included, none above the largest."""
        beyond, hidden = self._hidden(sizes, largest)
        seen = self.distribution.mean(np.maximum(sizes - limit, 0.0))
        return seen + float(hidden @ np.maximum(beyond - limit, 0.0))

    def _hidden(self, sizes: FloatArray, largest: float) -> tuple[FloatArray, FloatArray]:
        """Sizes beyond the last seen one, none above the largest, and what may be hidden there."""
        return np.minimum(_bins_beyond(sizes.max()), largest), self.distribution.hidden_shares

    def curvature(self, limit: float) -> float:
        """Mean rise of the clipped slope with the residual.

        Bounded slopes may not rise at all where noise or a start that is off left no residuals:
        then about where they balance, over all that is typical, tells how they will near the fit.
        """
        if self.told_by_rows:
            return 1.0
        now = self._rise(self._here, limit)
        if self.fall > 0.0:  # of a likelihood: large targets have low slopes and much curvature
            within = np.where(np.abs(self.slopes) <= limit, self.slopes, 0.0)
            far = self.unseen if limit >= self.reach else 0.0
            now -= self.fall * (self.distribution.mean(within) + far)
        if not self.of_bounded_residual_loss:
            return now
        return max(now, LEAST_RISE * self._rise(self._about_balance, limit))

    @cached_property
    def _here(self) -> Secant:
        """Slopes about the fit."""
        return self._secant(0.0, SECANT)

    @cached_property
    def _about_balance(self) -> Secant:
        """Slopes about where they balance, over all that is typical."""
        shifts = -self.distribution.points
        means = [abs(self.distribution.mean(self._shifted(shift))) for shift in shifts]
        return self._secant(float(shifts[np.argmin(means)]), 1.0)

    def _secant(self, shift: float, step: float) -> Secant:
        """Slopes of residuals that are shifted by ``step`` typical ones either way."""
        step = max(step * self.spread, 1e-12)
        return self._shifted(shift - step), self._shifted(shift + step), step

    def _rise(self, secant: Secant, limit: float) -> float:
        """Mean rise of slopes cut at a limit."""
        low, high, step = secant
        cut = np.clip(high, -limit, limit) - np.clip(low, -limit, limit)
        return self.distribution.mean(cut) / (2.0 * step)

    @property
    def of_bounded_residual_loss(self) -> bool:
        """Whether slopes are those of a loss of residuals that bounds them."""
        return self.loss is not None and np.isfinite(self.loss.slope_bound())

    @property
    def limits(self) -> FloatArray:
        """Candidates for the limit: the magnitudes of slopes, and the bound if there is one.

        Slopes that lean, as of a quantile, are never cut: they would balance elsewhere.
        """
        sizes = np.unique(np.abs(self.slopes))
        sizes = sizes[sizes > 0.0]
        if self.loss is None or not self.of_bounded_residual_loss:
            return np.append(sizes, self.reach) if self.unseen else np.asarray(sizes)
        bound = self.loss.slope_bound()
        lower = sizes[:0] if leans(self.loss) else sizes[sizes < bound]
        return np.append(lower, bound)

    def steepest(self, limit: float) -> float:
        """Largest rise of slopes within a limit, at the points."""
        low, high, step = self._here
        within = np.abs(self.slopes) <= limit
        return float(np.max(high - low, where=within, initial=0.0)) / (2.0 * step)


@dataclass(frozen=True, eq=False)
class Clipping:
    """Row limit and slope limit, what they imply, and what histograms told of rows and slopes.

    Attributes
    ----------
    curvature
        Mean rise of the clipped gradient, a coordinate.
    error
        Estimated mean squared error of a step, a coordinate.
    """

    rows: RowNormDistribution
    slopes: SlopeDistribution
    row_limit: float = 1.0
    slope_limit: float = 1.0
    curvature: float = 1.0
    error: float = np.inf

    @property
    def whole_curvature(self) -> float:
        """The curvature where nothing is clipped."""
        return self.rows.curvature(np.inf) * self.slopes.curvature(np.inf)

    @classmethod
    def unknown(cls, slope_bound: float) -> "Clipping":
        """Before any histogram."""
        return cls(RowNormDistribution.of_ones(0.0), SlopeDistribution.of_likelihood(slope_bound))


def _bins_beyond(largest: float) -> FloatArray:
    """Return the sizes of bins of slopes, three an octave, beyond the last seen one."""
    return np.asarray(largest * 2.0 ** (np.arange(1, HIDDEN_BINS + 1) / 3.0))


def top_level(
    slopes: SlopeDistribution, row_limit: float, width: int, n_rows: int, mu: float
) -> float:
    """Return the level above which what clipping may take away is not worth the noise."""
    levels = np.unique(np.abs(slopes.slopes))
    levels = np.concatenate([levels[levels > 0.0], _bins_beyond(levels[-1])])
    lost = np.array(
        [max(SYMMETRIC_BIAS * slopes.lost(level), abs(slopes.bias(level))) for level in levels]
    )
    noise = width * (2.0 * row_limit * levels / (n_rows * mu)) ** 2
    return float(levels[np.argmin(noise + lost**2)])


def choose_clip(
    rows: RowNormDistribution,
    slopes: SlopeDistribution,
    *,
    n_rows: int,
    mu: float,
    evenness: float,
    shift: float = 0.0,
) -> Clipping:
    """Take the pair of limits with the least estimated error.

    Sampling error is that of ``evenness`` times ``n_rows`` equally weighted records. ``shift`` is
    the squared length of the mean row: through it clipping biases a fit without intercept.
    """
    width = rows.width
    slope_limits = slopes.limits
    kept = np.array([slopes.curvature(limit) for limit in slope_limits])
    slope_variance = np.array([slopes.variance(limit) for limit in slope_limits])
    bias = np.array([slopes.bias(limit) for limit in slope_limits])
    squared_bias = shift * bias**2
    if slopes.of_bounded_residual_loss:
        squared_bias = np.array([slopes.missed(limit) ** 2 for limit in slope_limits])
    # Rows are counted with their curvature, which is the variance where no slopes tell that.
    weight = 1.0 if slopes.told_by_rows else rows.weight
    allowed = kept >= SMALLEST_KEPT * kept.max()
    clips = []
    for row_limit in rows.limits:
        noise = width * (2.0 * row_limit * slope_limits / (n_rows * mu)) ** 2
        sampling = rows.variance(row_limit) / weight * slope_variance / (n_rows * evenness)
        total = rows.curvature(row_limit) * np.maximum(kept, 1e-12)
        error = (sampling + noise + squared_bias) / total**2
        error = np.where(allowed, error, np.inf)
        chosen = int(np.argmin(error))
        numbers = (row_limit, slope_limits[chosen], total[chosen], error[chosen])
        clips.append(Clipping(rows, slopes, *map(float, numbers)))
    best = min(clips, key=lambda clip: clip.error)
    if not slopes.told_by_rows:
        return best
    # Cut rows move the optimum where no linear score is true.
    near = (1.0 + MISFIT / width) * best.error
    good = (clip for clip in clips if clip.error <= near)
    return max(good, key=lambda clip: clip.row_limit, default=best)
