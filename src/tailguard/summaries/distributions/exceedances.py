"""Exceedances: how many cells lie beyond the range of a mean, and whether a tail explains them.

The histograms of the search say little of the outer hundredth of a column: edges lie at the
quantiles, and the noise of many octaves adds up beyond. One histogram with six edges per column
counts far cells with the noise of one bin: from the median, its edges lie at half, once and twice
the distance of each end of the range that the mean would have. Range, bias and error of the mean
then follow from the distribution function that these counts update.

Two laws bound how many cells a tail has beyond an end; far cells exceed either by more than noise.
First, a generalised Pareto law through the median and the outer twentieth, with a shape of at least
a quarter. Second, for columns of few values: let a share ``T`` lie beyond an end, and ``c`` between
it and the point half-way. A tail that falls at least as fast as such a law of shape ``s`` has
``c >= (2**(1 / s) - 1) * T``, which is ``1.69 * T`` at 0.7, the largest shape with an interval.

Reference
---------
Pickands 1975, Section 4 (the law of a tail); Dwork, McSherry, Nissim and Smith 2006, Section 3.2
(histograms); Dwork and Roth 2014, Proposition 2.1 (all functions here are post-processing).
"""

import math
from collections.abc import Sequence

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.summaries.distributions.distribution import DistributionEstimate
from tailguard.summaries.distributions.octaves import LEAST_SIZE
from tailguard.summaries.distributions.search import SEARCHED_UNEVENNESS

FAR = "far cells"
N_FAR_EDGES = 6
FAR_DISTANCES = np.array([0.5, 1.0, 2.0])
OUTSIDE = 1e-3  # part of the range between its lower end and the edge, which excludes cells there
LEAST_RATIO = 1.69  # of cells between half a distance and the distance to cells beyond: see above
# The median, the outer twentieth, and the level at which the logarithm has fallen half as far.
OUTER_TAIL = 0.05
TAIL_LEVELS = np.array([0.5, math.sqrt(0.5 * OUTER_TAIL), OUTER_TAIL])
TAIL_SHAPES = 0.25, 0.7  # the least and the largest shape of the law
# By how many standard deviations of its noise an excess over this multiple of a tail is seen, and
# the part of it that bins must show elsewhere: then the range includes it. By trial.
FAR_SEEN, FAR_MARGIN, FAR_PLACED = 2.5, 1.25, 0.5


def far_edges(estimate: DistributionEstimate, low: float, high: float) -> FloatArray:
    """Return points at half, once and twice the distance of a range's ends from the median.

    Cells at the lower end lie inside.
    """
    middle = min(max(float(estimate.at(np.array([0.5]))[0]), low), high)
    lower = low - OUTSIDE * (high - low)
    distances = np.outer([lower - middle, high - middle], FAR_DISTANCES)
    edges = np.concatenate([middle + distances[0, ::-1], middle + distances[1]])
    # No edge splits the bin of zeros.
    signs = np.repeat([-1.0, 1.0], N_FAR_EDGES // 2)
    edges = np.where(np.abs(edges) < LEAST_SIZE, signs * LEAST_SIZE, edges)
    return np.asarray(np.sort(edges))


def add_far_counts(
    estimates: Sequence[DistributionEstimate],
    edges: FloatArray,
    counts: FloatArray,
    noise_std: float,
) -> list[bool]:
    """Update each distribution by its counts; return which have far cells that no bin places."""
    far = []
    for estimate, row, counted in zip(estimates, edges, counts, strict=True):
        estimate.refine(row, counted[: N_FAR_EDGES + 1], noise_std, SEARCHED_UNEVENNESS)
        far.append(_has_far_cells(estimate, row, counted, noise_std))
    return far


def _has_far_cells(
    estimate: DistributionEstimate, edges: FloatArray, counts: FloatArray, noise_std: float
) -> bool:
    """Whether more cells than a tail has lie beyond either end, and no bin shows where."""
    if estimate.like_indicator:
        return False  # its cells above one are counted by themselves
    shares, total = estimate.shares, estimate.total
    lower, upper = estimate.at(TAIL_LEVELS), estimate.at(1.0 - TAIL_LEVELS)
    sides = (
        (counts[:3], -edges[:2], -lower, shares[1], estimate.noise_of_shares(0.0)[1]),
        (counts[6:3:-1], edges[:3:-1], upper, 1.0 - shares[-2], estimate.noise_of_shares(1.0)[-2]),
    )
    for bins, ends, quantiles, open_share, open_noise in sides:
        unplaced = (float(open_share) + 2.0 * float(open_noise)) * total
        for n_bins, end in enumerate(ends.tolist(), 1):
            beyond, before = float(bins[:n_bins].sum()), max(float(bins[n_bins]), 0.0)
            noise = FAR_SEEN * noise_std * math.sqrt(n_bins)
            law = FAR_MARGIN * _share_beyond(quantiles, end) * total
            spread = math.hypot(1.0, 1.0 / LEAST_RATIO / math.sqrt(n_bins))
            excess = max(beyond - law - noise, beyond - before / LEAST_RATIO - noise * spread)
            if excess > 0.0 and unplaced > FAR_PLACED * (excess + noise):
                return True
    return False


def _share_beyond(quantiles: FloatArray, end: float) -> float:
    """Return the share beyond ``end`` by the law through the quantiles of ``TAIL_LEVELS``.

    Examples
    --------
    >>> round(_share_beyond(TAIL_LEVELS**-0.5, 0.01**-0.5), 3)
    0.01
    """
    middle, inner, outer = map(float, quantiles)
    if not outer > inner > middle:
        return 0.0 if end > outer else OUTER_TAIL
    fall, (least, largest) = math.log(0.5 / OUTER_TAIL), TAIL_SHAPES
    ratio = (outer - middle) / (inner - middle) - 1.0
    shape = min(max(2.0 / fall * math.log(max(ratio, 1e-9)), least), largest)
    distance = max(end - middle, 0.0) / (outer - middle)
    return 0.5 * (1.0 + math.expm1(shape * fall) * distance) ** (-1.0 / shape)
