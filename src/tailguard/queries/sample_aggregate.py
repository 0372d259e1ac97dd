"""Sample and aggregate: a private centre of any estimator's results on blocks of the records.

The gate passes the records in a secret random order, and the query cuts this order into m blocks.
The user's estimator returns a point for each block, and the point is cut to a public ball. For each
point, take the smallest ball around it that holds ``t0`` of the points. The query chooses the point
whose ball is the smallest, and releases it with Gaussian noise on the smooth scale of that choice.
Given the order, a replaced record keeps its place, and only blocks with this place change
(``queries/base.py``).

*Proof.* Write ``r(i, t)`` for the distance from point i to the t-th nearest point, itself included.
One record changes at most s points: one if the blocks are disjoint, else the number of blocks that
may hold it. Let ``t0 = ceil((m + s) / 2) + 1``. (In the code m is ``n_points``, s is ``overlap``
and t0 is ``first_ball``.) Take t0 points of a data set and t0 points of its neighbour: the two sets
share an unchanged point. So the centres are at most the sum of the two smallest radii apart. For an
unchanged point, ``r(i, t0)`` on the neighbour is at most ``r(i, t0 + s)``. Let

    ``h(k) = the ((k + 1) s + 1)-th smallest r(i, t0 + (k + 1) s)``,

or the public ball's radius if that is smaller, or if there are too few points. ``2 h(0)`` is at
least the local sensitivity. The j-th smallest ``r(i, t)`` is at most the (j + s)-th smallest
``r(i, t + s)`` on the neighbour, so ``h(k)`` is at most ``h(k + 1)`` there. So
``S = max over k of 2 h(k) exp(-beta k)`` is beta-smooth.

*Floats.* Distances between unchanged points are the same floats on both data sets, and order
statistics only compare them. So the smoothness still holds, up to the rounding of the weights
``exp(-beta k)``. That rounding is less than ``smoothness - decay``, and the weights use ``decay``.
Distances err by less than the margin by which the released scale is raised.

Reference
---------
Nissim, Raskhodnikova and Smith 2007 (sample and aggregate); Wang, Xiao, Devadas and Xu 2020,
Algorithm 1 and Theorem 1. Their printed scale has the mean of the largest ``r(i, t)`` in the place
of an order statistic, and is not smooth. For small m, a draw of overlapping blocks is unlikely to
meet their condition. Disjoint blocks need no such draw, and far fewer blocks.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import bdtrc

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError, check_choice, check_integer, check_positive, shown
from tailguard.data.rows.base import RecordBlock, Rows
from tailguard.noise.orders import random_sample
from tailguard.noise.smooth import SmoothAnswer
from tailguard.noise.sources import SimulationSource, Source
from tailguard.privacy.arsinh import PROVED
from tailguard.privacy.calibration import FLOAT_MARGIN, SmoothCalibration
from tailguard.privacy.events import Approximate, Event
from tailguard.privacy.smooth_gaussian import smooth_gaussian_constants
from tailguard.queries.base import SmoothQuery
from tailguard.queries.block_minimiser import BlockEstimator
from tailguard.queries.clipping import safe_clip
from tailguard.queries.gather import check_gathered, gather, placed
from tailguard.quiet import quietly
from tailguard.sets.base import as_vector

# The distances of all pairs of points are in memory, which limits the number of blocks.
FEWEST_BLOCKS, MOST_BLOCKS = 4, 5_000
LAYOUTS = ("disjoint", "overlapping")
# Seed of the draws of overlapping blocks. It is public: blocks are places in a secret order.
DRAW = 0
MOST_DRAWS = 50
# If the chance that any draw succeeds is below this, none is made.
HOPELESS = 1e-6


def ball_radii(points: FloatArray) -> FloatArray:
    """Return for each point its distances to all points, itself included, in increasing order."""
    return np.sort(cdist(points, points), axis=1)


def central_point(radii: FloatArray, overlap: int = 1) -> int:
    """Return the index of the point whose ball of ``t0`` points is the smallest."""
    place = min(first_ball(len(radii), overlap), len(radii))
    return int(np.argmin(radii[:, place - 1]))


def central_scale(radii: FloatArray, diameter: float, smoothness: float, overlap: int = 1) -> float:
    """Return a smooth bound on how far ``overlap`` changed points move the central point."""
    n_points = len(radii)
    scale = least_scale(n_points, diameter, smoothness, overlap)
    for k in range(changes_until_all(n_points, overlap)):
        changed = (k + 1) * overlap
        distances = radii[:, first_ball(n_points, overlap) + changed - 1]
        bound = min(diameter / 2.0, float(np.partition(distances, changed)[changed]))
        scale = max(scale, 2.0 * bound * math.exp(-smoothness * k))
    return scale


def least_scale(n_points: int, diameter: float, smoothness: float, overlap: int = 1) -> float:
    """Return the smallest possible smooth scale, that of points that coincide."""
    return diameter * math.exp(-smoothness * changes_until_all(n_points, overlap))


def changes_until_all(n_points: int, overlap: int) -> int:
    """Return the number of changes after which no ball holds enough points."""
    return max(n_points - first_ball(n_points, overlap), 0) // overlap


def first_ball(n_points: int, overlap: int) -> int:
    """Return ``t0``: any two balls that hold this many points share an unchanged point."""
    return math.ceil((n_points + overlap) / 2) + 1


def largest_overlap(n_blocks: int) -> int:
    """Return the most blocks that may hold one record: the root of their number, rounded up."""
    return math.isqrt(n_blocks - 1) + 1


@lru_cache(maxsize=1)  # 8 bytes a record
def overlapping_blocks(n_rows: int, n_blocks: int, order: int) -> tuple[IntArray, ...] | None:
    """Draw ``n_blocks`` sets of ``n_rows // n_blocks`` places each; ``order`` is the draw's seed.

    The draw depends on these three numbers only, and not on the secret order of the records, so the
    places in each block are public.

    *Guarantee.* No record is in more than ``largest_overlap(n_blocks)`` blocks.

    *Edge cases.* Returns None if each of 50 draws puts a record into too many blocks, or almost
    surely would. This is the case for few blocks.

    *Reference.* Wang, Xiao, Devadas and Xu 2020, Algorithm 1, which repeats draws without limit.
    """
    if MOST_DRAWS * _likely(n_rows, n_blocks) < HOPELESS:
        return None
    source = SimulationSource(order)
    for _ in range(MOST_DRAWS):
        blocks = _draw(source, n_rows, n_blocks)
        if blocks is not None:
            return blocks
    return None


def _likely(n_rows: int, n_blocks: int) -> float:
    """Return an upper bound on the chance that a draw succeeds.

    The number of blocks that hold a record is binomial. The numbers of different records are
    negatively associated (Joag-Dev and Proschan 1983, Theorem 2.11). So the chance that none is too
    large is at most the product of the records' chances.
    """
    share = (n_rows // n_blocks) / n_rows
    return math.exp(n_rows * math.log1p(-bdtrc(largest_overlap(n_blocks), n_blocks, share)))


def _draw(source: Source, n_rows: int, n_blocks: int) -> tuple[IntArray, ...] | None:
    """Draw all blocks; return None if a record is in too many of them."""
    n_times, most, blocks = np.zeros(n_rows, dtype=np.int64), largest_overlap(n_blocks), []
    for _ in range(n_blocks):
        block = random_sample(n_rows, n_rows // n_blocks, source)
        n_times[block] += 1
        if n_times[block].max() > most:
            return None
        block.setflags(write=False)
        blocks.append(block)
    return tuple(blocks)


@dataclass(frozen=True)
class SampleAggregate(SmoothQuery):
    """The central point of the estimates on blocks of records; there is no state.

    Attributes
    ----------
    estimator
        A function ``(features, target) -> vector`` of the records of one block that hold no bad
        value. If there is no target, it gets zeros. It must be deterministic and keep nothing
        between calls.
    center, diameter
        A public ball to which the estimates are cut. It has the dimension of the estimates.
    n_blocks
        The number of blocks. More blocks mean less noise and worse estimates. None chooses as many
        blocks as still reduce the noise, as far as ``least_rows`` allows.
    least_rows
        If ``n_blocks`` is None, the smallest number of records for an estimate.
    layout
        ``"disjoint"`` blocks, or the paper's ``"overlapping"`` blocks: ``m`` random subsets, each
        of ``1 / m`` of the records, with every record in at most ``sqrt(m)`` of them. Far more
        overlapping blocks are needed for the same noise. If 50 draws fail, blocks are disjoint.
    calibration
        ``"tight"``: the largest constants with a proof. ``"numerical"``: larger constants, thus
        less noise, at a cost that is certified numerically and not proved. ``"published"``: the
        constants of the paper, which waste half of the budget; the books have their true cost.

    Guarantee
    ---------
    A release costs at most ``calibrate_event(...).event``, an (epsilon, delta) cost, under
    replace-one neighbours. This is proved in real arithmetic; for ``"numerical"`` it rests on a
    numerical certificate. The estimator must keep nothing between calls, write nothing elsewhere,
    never end the process because of a record, and never raise ``KeyboardInterrupt``.

    Edge cases
    ----------
    A record with a non-finite value is left out of its block. If the estimator fails, or returns
    anything but a vector of finite numbers, the estimate of the block is the centre. The running
    time of the estimator is not hidden.

    Reference
    ---------
    Wang, Xiao, Devadas and Xu 2020, Algorithm 1; Nissim, Raskhodnikova and Smith 2007.

    Examples
    --------
    >>> query = SampleAggregate(
    ...     lambda X, y: np.median(X, axis=0), center=(0.0, 0.0), diameter=20.0, n_blocks=400
    ... )
    >>> public = query.calibrate_event(10_000, 2, Approximate(1.0, 1e-5))
    >>> round(public.smoothness, 4), round(public.shift, 4)
    (0.0384, 0.0884)
    """

    estimator: BlockEstimator = field(repr=False)
    center: tuple[float, ...]
    diameter: float
    n_blocks: int | None = None
    least_rows: int = 20
    layout: str = "disjoint"
    calibration: str = "tight"

    name = "sample and aggregate"
    places = "random"

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", as_vector("center", self.center))
        if not self.center:
            raise InputError(
                f"center must be a vector of finite numbers; got {shown(self.center)}."
            )
        if not 1e-100 <= check_positive("diameter", self.diameter) <= 1e100:
            raise InputError(
                f"diameter must be a number from 1e-100 to 1e100; got {shown(self.diameter)}."
            )
        if self.n_blocks is not None:
            check_integer("n_blocks", self.n_blocks, minimum=FEWEST_BLOCKS, maximum=MOST_BLOCKS)
        check_integer("least_rows", self.least_rows, minimum=1)
        check_choice("layout", self.layout, LAYOUTS)
        check_choice("calibration", self.calibration, PROVED)

    def calibrate_event(self, n_rows: int, n_features: int, event: Event) -> SmoothCalibration:
        """Choose smoothness, blocks and noise so that the release costs at most ``event``."""
        if not isinstance(event, Approximate):
            raise InputError(f"event must be an Approximate cost; got {shown(event)}.")
        check_gathered(n_rows, n_features + 1)
        size = len(self.center)
        smoothness, shift = smooth_gaussian_constants(
            event.epsilon, event.delta, size, self.calibration
        )
        return SmoothCalibration(
            mechanism="smooth-gaussian",
            size=size,
            smoothness=smoothness,
            shift=shift,
            calibration=self.calibration,
            value_limit=max(map(abs, self.center)) + self.diameter / 2.0,
            scale_ceiling=self.diameter * (1.0 + FLOAT_MARGIN),  # no smooth scale is larger
            delta=event.delta,
            facts=self._facts(n_rows, smoothness),
        )

    def _facts(self, n_rows: int, smoothness: float) -> dict[str, float | int | str]:
        """Return the number of blocks, their layout, and how many of them may hold one record."""
        n_blocks, layout, overlap = self._count_blocks(n_rows, smoothness), "disjoint", 1
        if self.layout == "overlapping" and overlapping_blocks(n_rows, n_blocks, DRAW):
            layout, overlap = "overlapping", largest_overlap(n_blocks)
        return {"n_blocks": n_blocks, "layout": layout, "overlap": overlap}

    def _count_blocks(self, n_rows: int, smoothness: float) -> int:
        """Return the number of blocks; refuse more blocks than records."""
        # Two more disjoint blocks multiply the least scale by exp(-smoothness). For overlapping
        # blocks, the root of their number must grow by two. ``growth`` divides the scale by n_rows.
        growth = math.ceil(2.0 / smoothness * math.log(n_rows))
        useful = FEWEST_BLOCKS + (growth if self.layout == "disjoint" else growth**2)
        n_blocks = self.n_blocks or max(
            FEWEST_BLOCKS, min(n_rows // self.least_rows, useful, MOST_BLOCKS)
        )
        if n_blocks > n_rows:
            raise InputError(f"n_rows must be at least {n_blocks}, the blocks; got {n_rows}.")
        return n_blocks

    def answer(self, rows: Rows, state: Any, calibration: SmoothCalibration) -> SmoothAnswer:
        """Compute the estimate of every block, and choose the central estimate."""
        records = gather(self, rows, rows.n_features + 1)
        blocks = self._blocks_of(rows.n_rows, calibration)
        points = np.array([self._estimate(records[block]) for block in blocks])
        radii, overlap = ball_radii(points), int(calibration.facts["overlap"])
        value = points[central_point(radii, overlap)]
        scale = self._scale(radii, calibration, overlap)
        scales = np.full(value.size, scale * (1.0 + FLOAT_MARGIN))
        return SmoothAnswer(value + np.array(self.center), scales)

    def sum_block(self, block: RecordBlock, state: tuple[None, int], grid: float) -> IntArray:
        """Write features and target to the block's places in the matrix; void rows are NaN."""
        values = np.column_stack([block.features, block.vector("target")])
        values = np.where(block.void()[:, None], np.nan, values)
        return placed(values.astype(np.float64, copy=False), block, state[1])

    def _scale(self, radii: FloatArray, calibration: SmoothCalibration, overlap: int) -> float:
        """Return the smooth scale; a subclass may compute another."""
        return central_scale(radii, self.diameter, calibration.decay, overlap)

    def _blocks_of(self, n_rows: int, calibration: SmoothCalibration) -> Sequence[IntArray]:
        """Return the places of each block in the secret order, from public numbers only."""
        n_blocks = int(calibration.facts["n_blocks"])
        if calibration.facts["layout"] == "overlapping":
            blocks = overlapping_blocks(n_rows, n_blocks, DRAW)
            assert blocks is not None  # else the layout would be disjoint
            return blocks
        return np.array_split(np.arange(n_rows), n_blocks)

    def _estimate(self, records: FloatArray) -> FloatArray:
        """Return the estimate of one block relative to the centre, within the ball."""
        usable = records[np.isfinite(records).all(axis=1)]
        relative = np.zeros(len(self.center))
        try:
            with quietly():
                point = np.asarray(self.estimator(usable[:, :-1].copy(), usable[:, -1].copy()))
                if point.shape == relative.shape and point.dtype.kind in "biuf":
                    relative = point.astype(np.float64) - np.array(self.center)
        except KeyboardInterrupt:
            raise
        except BaseException:  # any error would reveal something about records
            relative = np.zeros(len(self.center))
        return safe_clip(relative, self.diameter / 2.0)

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the scale, besides those of the calibration."""
        return {"diameter": self.diameter}
