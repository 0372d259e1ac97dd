"""Distributions estimated from noised histograms, to compute clip levels and scales."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist

import numpy as np
from scipy.special import log_ndtr

from tailguard.array_types import BoolArray, FloatArray
from tailguard.queries.histograms import Bins

BIN_SIGNIFICANCE = 2.5  # a bin of the bulk exceeds this many standard deviations of the noise
WIDEST_GAP = 3  # the bulk contains at most this many smaller bins in a row
WINDOW_WIDTHS = (1, 2, 3, 4, 6, 8)  # widths of the windows that search the bulk, in bins
# And of those that search beyond it. Narrower ones hold more harm if they are only noise, and are
# left to ``SURE``.
FAR_WIDTHS = (3, 4, 6, 8, 12, 16, 24)
POINTS = 4  # how many points represent a bin
# Standard deviations of the noise that a count must exceed if a false detection would do harm.
SURE = 6.0
# How many bins beyond the last detected bin may hide records, and the factor from a bin to the
# next. With bins of a third of an octave: five octaves of a tail that falls with a power of about
# two.
HIDDEN_BINS, HIDDEN_DECAY = 15, 0.6
# The factor by which a tail falls from bin to bin: mean and standard deviation of its prior; its
# possible values; and how many of the last detected bins estimate it, with all bins beyond. On the
# simulated data used for tuning, this estimates the mean excess beyond the last bin to within a
# factor of 1.8 (standard deviation). The most that noise may hide would be within a factor of 2.3.
TAIL_DECAY, DECAYS, TELLING_BINS = (0.7, 0.2), np.linspace(0.05, 0.95, 37), 2
# The probability that any window of pure noise stands out in a fit, and the number of windows of a
# column.
FALSE_ALARM, FALSE_WINDOWS = 2e-3, 4e2


def detection_threshold(
    n_columns: float, false_alarm: float = FALSE_ALARM, windows: float = FALSE_WINDOWS
) -> float:
    """Return by how many standard deviations of noise a window of records must stand out."""
    return -NormalDist().inv_cdf(false_alarm / (windows * n_columns))


def most_significant_window(
    counts: FloatArray, noise_std: float, widths: tuple[int, ...] = WINDOW_WIDTHS
) -> tuple[int, int, float]:
    """Return the ends of the window of bins that stands out most, and its significance."""
    sums = np.concatenate([[0.0], np.cumsum(counts)])
    best = (0, 1, -math.inf)
    for width in widths:
        if width >= counts.size:
            continue
        score = (sums[width:] - sums[:-width]) / (noise_std * math.sqrt(width))
        first = int(np.argmax(score))
        if score[first] > best[2]:
            best = (first, first + width, float(score[first]))
    return best


@dataclass(frozen=True, eq=False)
class NoisyDistribution:
    """Probabilities of points, from the bulk of a noised histogram.

    Attributes
    ----------
    points, mass
        Points, ``POINTS`` per bin, and their probabilities.
    total, significance
        The count of the kept records, and how many standard deviations of the noise the bulk
        exceeds.
    edges
        The edges of the bins that were kept.
    bin_noise
        Noise of the share of a bin.
    beyond
        The released share of records in the bins beyond the kept bins; the larger of both ends.
    counts, noise_std
        Counts of all bins, averaged over releases with weights by their noise, and the noise of the
        averages; None if the distribution does not come from a histogram.
    bulk
        The first bin of the bulk and the bin after its last, over all releases.
    last
        The bin after the last kept bin.
    steps
        The edges of all bins, in widths of the first; None as for counts.
    """

    points: FloatArray
    mass: FloatArray
    total: float
    significance: float
    edges: FloatArray
    bin_noise: float = 0.0
    beyond: float = 0.0
    counts: FloatArray | None = None
    noise_std: float = 0.0
    bulk: tuple[int, int] = (0, 0)
    last: int = 0
    steps: FloatArray | None = None

    @classmethod
    def of(
        cls,
        counts: FloatArray,
        bins: Bins,
        noise_std: float,
        earlier: "NoisyDistribution | None" = None,
        held: Iterable[tuple[int, int]] = (),
    ) -> "NoisyDistribution":
        """Keep the bulk at the most significant window, and other bins that surely hold records.

        Kept counts below zero become zero. ``earlier`` is a former release of the same bins. Beyond
        the bulk of both releases, counts are averaged, since far records remain far. Bins in the
        windows ``held`` are known to hold records, so they are always kept.
        """
        kept, first, last, significance = bulk_of(counts, noise_std)
        used, pooled, noise = counts, counts, noise_std
        for window in held:
            kept[slice(*window)] = True
        if earlier is not None and earlier.counts is not None:
            part = earlier.noise_std**2 / (earlier.noise_std**2 + noise_std**2)
            pooled = part * counts + (1.0 - part) * earlier.counts
            noise = math.sqrt(part) * noise_std
            first, last = min(first, earlier.bulk[0]), max(last, earlier.bulk[1])
            sure = _sure_windows(pooled, SURE * noise)
            sure[first:last] = False
            kept, used = kept | sure, np.where(sure, pooled, counts)
        low, high = int(kept.argmax()), int(kept.size - kept[::-1].argmax())
        masses = np.where(kept, np.maximum(used, 0.0), 0.0)[low:high]
        total = float(masses.sum())
        ends = [counts[high : high + HIDDEN_BINS].sum()]
        if bins.transform != "octaves":
            ends.append(counts[max(low - HIDDEN_BINS, 0) : low].sum())
        beyond = max(0.0, *map(float, ends)) / max(total, noise_std)
        if total <= 0.0:
            masses, total = np.ones(high - low), 0.0
        steps = bins.steps(np.arange(counts.size + 1))
        inner = _inner(np.diff(steps)[low:high], np.append(False, masses[:-1] > 0.0))
        positions = (np.arange(low, high)[:, None] + inner).ravel()
        mass = np.repeat(masses / masses.sum(), POINTS) / POINTS
        edges = bins.value(np.arange(low, high + 1.0))
        bin_noise = noise_std / max(total, noise_std)
        bulk = (bins.value(positions), mass, total, significance, edges, bin_noise, beyond)
        return cls(*bulk, pooled, noise, (first, last), high, steps)

    @classmethod
    def with_far_bins(cls, counts: FloatArray, bins: Bins, noise_std: float) -> "NoisyDistribution":
        """Keep far bins, too, that exceed the noise only together: those of ``far_window``.

        Of wide bins there are few, so one that exceeds the noise by less than ``SURE`` is kept.
        """
        seen = cls.of(counts, bins, noise_std)
        # Bins beside sure ones hold records, too. A window from these on would be mostly noise.
        _, last = _grown(counts, seen.last - 1, seen.last, BIN_SIGNIFICANCE * noise_std)
        held = [(seen.last, last)]
        narrow = int(min(bins.narrow, counts.size))
        if window := far_window(counts[:narrow], noise_std, last):
            held.append(window)
        threshold = detection_threshold(1, windows=max(counts.size - narrow, 1)) * noise_std
        seen_wide = narrow + np.flatnonzero(counts[narrow:] > threshold)
        held.extend((int(each), int(each) + 1) for each in seen_wide)
        return cls.of(counts, bins, noise_std, held=held)

    @property
    def hidden(self) -> float:
        """The largest share of the mass that noise may hide in a bin beyond the bulk."""
        return BIN_SIGNIFICANCE * self.bin_noise

    @property
    def hidden_shares(self) -> FloatArray:
        """Largest shares of the mass in the bins beyond the last kept bin.

        They are scaled to the larger of the share that noise may hide and the released share.
        """
        decay = HIDDEN_DECAY ** np.arange(1, HIDDEN_BINS + 1)
        return max(self.hidden, self.beyond / decay.sum()) * decay

    @cached_property
    def expected_shares(self) -> FloatArray:
        """Expected shares of the mass in the bins beyond the last kept bin.

        They are those of ``expected_beyond``, and no share is larger than noise may hide.
        """
        beyond = np.arange(1, HIDDEN_BINS + 1)
        if self.counts is None or self.steps is None:
            return np.asarray(self.hidden * HIDDEN_DECAY**beyond)
        first, steps = max(self.last - TELLING_BINS, 0), self.steps - self.steps[self.last]
        end = int(np.searchsorted(steps[:-1], HIDDEN_BINS))
        told, ends = self.counts[first:end], np.append(0.0, beyond)
        shares = expected_beyond(told, self.noise_std, steps[first : end + 1], ends)
        return np.minimum(shares / self.noise_std * self.bin_noise, self.hidden)

    @property
    def levels(self) -> FloatArray:
        """Ends of the kept bins, and in wide bins also points as close as others' ends."""
        if self.steps is None:
            return self.edges[1:]
        steps = self.steps[self.last + 1 - self.edges.size : self.last + 1]
        return np.interp(np.arange(steps[0] + 1.0, steps[-1] + 1.0), steps, self.edges)

    def mean(self, values: FloatArray) -> float:
        """Return the mean of a function with these values at the points."""
        return float(self.mass @ values)

    def shifted_by(self, shift: float) -> "NoisyDistribution":
        """Return the distribution, shifted."""
        return replace(self, points=self.points + shift, edges=self.edges + shift)

    def quantile(self, level: float) -> float:
        """Return the point below which the given share lies."""
        below = np.concatenate([[0.0], np.cumsum(self.mass.reshape(-1, POINTS).sum(axis=1))])
        return float(np.interp(level, below, self.edges))


def expected_beyond(
    counts: FloatArray, noise_std: float, edges: FloatArray, beyond: FloatArray
) -> FloatArray:
    """Return the expected numbers of records between the edges ``beyond`` the last kept bin.

    ``counts`` are those of the last kept bins and of all bins beyond. Edges are in thirds of
    octaves from the end of the kept bins. A tail falls by a constant factor from third to third.
    Its size and the factor are estimated by Bayes' rule: the size has a flat prior, the factor a
    normal one.
    """
    tail, decays = counts / noise_std, DECAYS[:, None]

    def masses(ends: FloatArray) -> FloatArray:
        return np.asarray(-np.diff(decays**ends, axis=1) * decays / (1.0 - decays))

    falls = masses(edges)
    squares = (falls**2).sum(axis=1)
    sizes, errors = falls @ tail / squares, squares**-0.5
    # Sizes are not negative: the probability of this, and the mean if so (Mills 1926).
    positive = log_ndtr(sizes / errors)
    mills = np.exp(-((sizes / errors) ** 2) / 2.0 - positive) / math.sqrt(2.0 * math.pi)
    odds = sizes**2 * squares / 2.0 + positive + np.log(errors)
    odds -= ((DECAYS - TAIL_DECAY[0]) / TAIL_DECAY[1]) ** 2 / 2.0
    odds = np.exp(odds - odds.max())
    expected = (sizes + errors * mills) @ (odds[:, None] * masses(beyond))
    return np.asarray(expected / odds.sum() * noise_std)


def _inner(widths: FloatArray, goes_on: BoolArray) -> FloatArray:
    """Return the places of the points within bins, a row for each.

    Within a wide bin a tail that goes on from the bin before falls, and records that lie apart from
    all others may be anywhere.
    """
    shares = (np.arange(POINTS) + 0.5) / POINTS
    fall = math.log(TAIL_DECAY[0]) * widths[:, None]
    falling = np.log1p(shares * np.expm1(fall)) / fall
    return np.where((widths > 1.0)[:, None] & goes_on[:, None], falling, shares)


def bulk_of(counts: FloatArray, noise_std: float) -> tuple[BoolArray, int, int, float]:
    """Return which bins hold records, the ends of the bulk, and its significance.

    These bins are the bulk around the most significant window, and bins that surely hold records.
    The ends are the bulk's first bin and the bin after its last. The significance is the height of
    that window in standard deviations of the noise.
    """
    low, high, significance = most_significant_window(counts, noise_std)
    low, high = _grown(counts, low, high, BIN_SIGNIFICANCE * noise_std)
    kept = counts > SURE * noise_std  # for example, a code for missing values
    kept[low:high] = True
    return kept, low, high, significance


def far_window(counts: FloatArray, noise_std: float, first: int) -> tuple[int, int] | None:
    """Return the ends of the window that stands out most from bin ``first`` on, if any does.

    Few records spread over many bins exceed the noise in none of them, but together they do.
    """
    start, end, significance = most_significant_window(counts[first:], noise_std, FAR_WIDTHS)
    return (first + start, first + end) if significance > detection_threshold(1) else None


def _sure_windows(counts: FloatArray, threshold: float) -> BoolArray:
    """Return which bins stand out alone, or together with a neighbour."""
    pairs = counts[1:] + counts[:-1] > math.sqrt(2.0) * threshold
    beside = np.append(pairs, False) | np.append(False, pairs)
    return (counts > threshold) | (beside & (counts > 0.0))


def _grown(counts: FloatArray, low: int, high: int, threshold: float) -> tuple[int, int]:
    """Extend a window to bins above the threshold, across short gaps."""
    above = np.flatnonzero(counts > threshold)
    while True:
        left = above[(above < low) & (above >= low - WIDEST_GAP)]
        right = above[(above >= high) & (above < high + WIDEST_GAP)]
        if not left.size and not right.size:
            return low, high
        low, high = int(min([low, *left])), int(max([high, *(right + 1)]))
