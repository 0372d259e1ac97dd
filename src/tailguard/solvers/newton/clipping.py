"""Clip levels that minimise the estimated error: sampling variance, privacy noise, shift bias.

All terms come from released histograms. With rows ``u`` cut at length ``R`` and slopes cut at
``h``, the error of one step is
``[V_u(R) V_s(h) / n + k (2 R h / (n mu))**2 + b(h)**2] / (c_u(R) c_s(h))**2``.

Reference
---------
Hampel, Ronchetti, Rousseeuw and Stahel 1986, Section 6.3 (Mallows estimators and their variance).
"""

import math
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.losses.base import Loss
from tailguard.scaling.noisy_distribution import HIDDEN_BINS, POINTS, NoisyDistribution
from tailguard.solvers.limits import is_asymmetric

# The least significance, in standard deviations of the noise: of the bulk of a histogram, or of the
# change of a gradient along one of up to 64 steps.
SIGNIFICANT = 4.0
SMALLEST_KEPT = 0.35  # share of the curvature that a slope limit must keep
# A likelihood takes the largest row limit whose error, summed over coordinates, exceeds the least
# such sum by at most this part of the error of one coordinate.
MISFIT = 0.5
# The part of the mean absolute excess over a level that counts as clipping bias even if residuals
# look symmetric.
SYMMETRIC_BIAS = 0.5
SECANT = 0.05  # half the step of the numerical derivative of the slope, in spreads of residuals
# Bounded slopes have at least this part of the derivative that they have about the shift at which
# they average zero; by trial.
LEAST_RISE = 0.5


@dataclass(frozen=True, eq=False)
class RowNormDistribution:
    """Distribution of row lengths, weighted by curvature if the loss has a curvature weight."""

    distribution: NoisyDistribution
    width: float
    weight: float = 1.0  # mean curvature of a record, if the distribution is weighted
    cap: float = np.inf  # the length at which rows were cut when the curvature was released

    @classmethod
    def of_ones(cls, significance: float) -> "RowNormDistribution":
        """Return the distribution of rows of length one: those of a constant."""
        points, edges = np.ones(POINTS), np.array([0.0, 1.0])
        return cls(NoisyDistribution(points, points / POINTS, 1.0, significance, edges), 1.0)

    @property
    def seen(self) -> bool:
        """Whether the histogram of lengths stands out of the noise."""
        return self.distribution.significance > SIGNIFICANT

    def variance(self, limit: float) -> float:
        """Mean squared length of the cut rows."""
        return self.weight * self.distribution.mean(
            np.minimum(self.distribution.points, limit) ** 2
        )

    def curvature(self, limit: float) -> float:
        """Mean derivative of the gradient along a coordinate: from length times cut length."""
        return self.second_moment(limit, max(self.cap, limit))

    def second_moment(self, limit: float, cap: float) -> float:
        """Mean along a coordinate of ``SecondMoments`` with this limit and cap."""
        points = np.minimum(self.distribution.points, cap)
        return self.weight * self.distribution.mean(points * np.minimum(points, limit)) / self.width

    @property
    def limits(self) -> FloatArray:
        """Candidates for the limit."""
        return np.asarray(self.distribution.edges[1:])


@dataclass(frozen=True, eq=False)
class SlopeDistribution:
    """Distribution of slopes at the current fit, from a histogram of residuals or of slopes."""

    loss: Loss | None
    distribution: NoisyDistribution
    row_weighted: bool = False  # both variance and curvature are 1 here: weights of rows hold them
    fall: float = 0.0  # decrease of the relative curvature per unit of the slope
    reach: float = 0.0  # slopes up to this size average zero; it counts if beyond the histogram

    @cached_property
    def slopes(self) -> FloatArray:
        """Slopes at the points."""
        return self._shifted(0.0)

    def _shifted(self, shift: float) -> FloatArray:
        """Slopes at the points, with each residual moved by ``shift``."""
        points = self.distribution.points + shift
        return points if self.loss is None else self.loss.slope(points, np.zeros(points.size))

    @classmethod
    def of_likelihood(cls, limit: float) -> "SlopeDistribution":
        """Return slopes of a likelihood within a limit; the weights of rows hold their variance.

        Reference
        ---------
        McCullagh and Nelder 1989, Section 2.2.2: variance of the slope and curvature agree. The
        variance of balanced slopes is less than the curvature, by half at most.
        """
        points, mass = np.array([-limit, limit]), np.full(2, 0.5)
        return cls(None, NoisyDistribution(points, mass, 1.0, 0.0, points), row_weighted=True)

    @property
    def seen(self) -> bool:
        """Whether slopes stand out of the noise of their histogram, and are not all zero."""
        return self.distribution.significance > SIGNIFICANT and self.limits.size > 0

    @cached_property
    def spread(self) -> float:
        """Half of the interquartile range of the points."""
        return (self.distribution.quantile(0.75) - self.distribution.quantile(0.25)) / 2.0

    @property
    def scale(self) -> float:
        """Standard deviation of a normal law with this spread; at least 1e-6 target scales."""
        return max(self.spread / 0.6745, 1e-6)

    @cached_property
    def unseen(self) -> float:
        """Mean of slopes beyond the histogram up to ``reach``, such that all average zero."""
        if self.reach <= float(np.abs(self.slopes).max()):
            return 0.0
        return min(-self.distribution.mean(self.slopes), 0.0)

    def variance(self, limit: float) -> float:
        """Mean squared clipped slope."""
        if self.row_weighted:
            return 1.0
        far = min(limit, self.reach) * abs(self.unseen) if limit >= self.reach else 0.0
        return self.distribution.mean(np.clip(self.slopes, -limit, limit) ** 2) + far

    def residual_shares(self) -> FloatArray:
        """Return points, and the share of residuals (target minus prediction) below each.

        The share of records that noise may hide is put beyond the farthest bins, as in ``lost``.
        """
        edges = -self.distribution.edges[::-1]
        masses = self.distribution.mass.reshape(-1, POINTS).sum(axis=1)[::-1]
        far, hidden = self._hidden(np.abs(edges), np.inf)
        hidden = hidden / max(1.0, 2.0 * float(hidden.sum()))
        # By roundoff, both tails may add up to more than one; shares must not fall all the same.
        masses = max(0.0, 1.0 - 2.0 * float(hidden.sum())) * masses
        points = np.concatenate([-far[::-1], edges, far])
        shares = np.cumsum(np.concatenate([[0.0], hidden[::-1], masses, hidden]))
        return np.column_stack([points, shares])

    def bias(self, limit: float) -> float:
        """Clipping bias: the mean of slopes minus clipped slopes."""
        far = self.unseen if limit < self.reach else 0.0
        return self.distribution.mean(self.slopes - np.clip(self.slopes, -limit, limit)) + far

    def lost(self, limit: float) -> float:
        """Mean absolute excess of slopes over the limit, including the tail that noise may hide.

        Each bin beyond the last seen one is assumed to hold the largest share that noise may hide
        there. This share falls by a constant factor from bin to bin.
        """
        largest = self.loss.slope_bound() if self.loss is not None else np.inf
        return self._beyond(np.abs(self.slopes), limit, largest)

    def bias_std(self, limit: float) -> float:
        """Root mean square of the clipping bias: its estimate and the noise of that estimate."""
        beyond = self.slopes - np.clip(self.slopes, -limit, limit)
        noise_std = self.distribution.bin_noise * np.linalg.norm(beyond.reshape(-1, POINTS).mean(1))
        return math.hypot(self.bias(limit), float(noise_std))

    def _beyond(self, sizes: FloatArray, limit: float, largest: float = np.inf) -> float:
        """Mean excess of sizes over a limit, including hidden sizes of at most ``largest``."""
        beyond, hidden = self._hidden(sizes, largest)
        seen = self.distribution.mean(np.maximum(sizes - limit, 0.0))
        return seen + float(hidden @ np.maximum(beyond - limit, 0.0))

    def _hidden(self, sizes: FloatArray, largest: float) -> tuple[FloatArray, FloatArray]:
        """Sizes of bins beyond the last seen one, at most ``largest``, and their hidden shares."""
        return np.minimum(_bins_beyond(sizes.max()), largest), self.distribution.hidden_shares

    def curvature(self, limit: float) -> float:
        """Mean derivative of the clipped slope with respect to the residual.

        Noise or a bad start may leave no residuals where bounded slopes increase. So the derivative
        is at least a part of the derivative about the shift at which slopes average zero, which is
        measured over the spread of residuals and predicts the derivative near the fit.
        """
        if self.row_weighted:
            return 1.0
        curvature = self._rise(0.0, SECANT, limit)
        if (
            self.fall > 0.0
        ):  # large targets of a likelihood have negative slopes and large curvature
            within = np.where(np.abs(self.slopes) <= limit, self.slopes, 0.0)
            far = self.unseen if limit >= self.reach else 0.0
            curvature -= self.fall * (self.distribution.mean(within) + far)
        if not self.of_bounded_residual_loss:
            return curvature
        return max(curvature, LEAST_RISE * self._rise(self._balance, 1.0, limit))

    @cached_property
    def _balance(self) -> float:
        """The shift of residuals at which slopes average zero."""
        shifts = -self.distribution.points
        means = [abs(self.distribution.mean(self._shifted(shift))) for shift in shifts]
        return float(shifts[np.argmin(means)])

    def _secant(self, shift: float, step: float) -> tuple[FloatArray, FloatArray, float]:
        """Slopes ``step`` spreads below and above residuals moved by ``shift``, and the step."""
        step = max(step * self.spread, 1e-12)
        return self._shifted(shift - step), self._shifted(shift + step), step

    def _rise(self, shift: float, step: float, limit: float) -> float:
        """Mean derivative of slopes cut at a limit, over ``step`` spreads about ``shift``."""
        low, high, step = self._secant(shift, step)
        cut = np.clip(high, -limit, limit) - np.clip(low, -limit, limit)
        return self.distribution.mean(cut) / (2.0 * step)

    @property
    def of_bounded_residual_loss(self) -> bool:
        """Whether the loss is one of residuals with bounded slopes."""
        return self.loss is not None and self.loss.bounds_slopes

    @property
    def limits(self) -> FloatArray:
        """Candidates for the limit: the magnitudes of slopes, and the bound if there is one.

        Asymmetric slopes, such as those of a quantile, are never cut: cutting would move their
        optimum.
        """
        sizes = np.unique(np.abs(self.slopes))
        sizes = sizes[sizes > 0.0]
        if self.loss is None or not self.of_bounded_residual_loss:
            return np.append(sizes, self.reach) if self.unseen else np.asarray(sizes)
        bound = self.loss.slope_bound()
        lower = sizes[:0] if is_asymmetric(self.loss) else sizes[sizes < bound]
        return np.append(lower, bound)

    def steepest(self, limit: float) -> float:
        """Largest derivative at the points whose slopes are within a limit."""
        low, high, step = self._secant(0.0, SECANT)
        within = np.abs(self.slopes) <= limit
        return float(np.max(high - low, where=within, initial=0.0)) / (2.0 * step)


@dataclass(frozen=True, eq=False)
class Clipping:
    """The limits of rows and of slopes, the distributions of both, and the error of a step.

    Attributes
    ----------
    curvature
        Mean derivative of the clipped gradient along a coordinate.
    error
        Estimated mean squared error of a step along a coordinate.
    """

    rows: RowNormDistribution
    slopes: SlopeDistribution
    row_limit: float = 1.0
    slope_limit: float = 1.0
    curvature: float = 1.0
    error: float = np.inf


def _bins_beyond(largest: float) -> FloatArray:
    """Return the sizes of bins of slopes, three per octave, beyond the last seen one."""
    return np.asarray(largest * 2.0 ** (np.arange(1, HIDDEN_BINS + 1) / 3.0))


def top_level(
    slopes: SlopeDistribution, row_limit: float, width: int, n_rows: int, mu: float
) -> float:
    """Return the level with the least sum of squared noise and squared clipping bias."""
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
    misfit: float = MISFIT,
) -> Clipping:
    """Return the pair of limits with the least estimated error.

    Sampling error is that of ``evenness`` times ``n_rows`` equally weighted records. ``shift``, the
    squared length of the mean row, multiplies the squared clipping bias of slopes. ``misfit`` is
    the part of a coordinate's error that a likelihood gives up for a larger row limit.
    """
    width = rows.width
    slope_limits = slopes.limits
    moments = [(slopes.curvature(h), slopes.variance(h), slopes.bias(h)) for h in slope_limits]
    kept, slope_variance, bias = np.array(moments).T
    # Rows with small targets and rows with large ones have biases of opposite sign, whose mean may
    # pass zero at some limit. So the bias is at least that of any higher limit.
    squared_bias = shift * np.maximum.accumulate(np.abs(bias)[::-1])[::-1] ** 2
    # Row lengths are weighted by curvature. If no slopes are released, the curvature equals the
    # variance. Else slopes give the variance, so the mean weight is divided out.
    weight = 1.0 if slopes.row_weighted else rows.weight
    allowed = kept >= SMALLEST_KEPT * kept.max()
    clips = []
    for row_limit in rows.limits:
        noise = width * (2.0 * row_limit * slope_limits / (n_rows * mu)) ** 2
        sampling = rows.variance(row_limit) / weight * slope_variance / (n_rows * evenness)
        total = rows.curvature(row_limit) * np.maximum(kept, 1e-12)
        error = (sampling + noise + squared_bias) / total**2
        error = np.where(allowed, error, np.inf)
        chosen = int(np.argmin(error))
        fields = (row_limit, slope_limits[chosen], total[chosen], error[chosen])
        clips.append(Clipping(rows, slopes, *map(float, fields)))
    best = min(clips, key=attrgetter("error"))
    if not slopes.row_weighted:
        return best
    # If the linear score is misspecified, cutting rows moves the optimum: prefer larger limits.
    acceptable = (1.0 + misfit / width) * best.error
    candidates = (clip for clip in clips if clip.error <= acceptable)
    return max(candidates, key=attrgetter("row_limit"), default=best)
