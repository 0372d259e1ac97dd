"""The iterative mean: noised means of groups, and a centre that is moved into their bulk.

Records are clipped in l2 norm and averaged within groups, and all group means are released as one
vector. A centre then moves, a quarter of the way each time, in the direction in which nine in ten
group means lie furthest, until no direction has so many ahead. The updates see released numbers
only.

One record changes one group, so the group means together are no more sensitive than one of them:
that is the parallel composition, and all that this query counts on. The paper counts on a shuffle
of the groups on top. Its Theorem 6 is false for fixed groups: where one group lies apart from the
others it is recognised, and nothing hides it. It holds for a secret random partition into equal
groups, which only a gate can draw: :mod:`tailguard.means.iterative` asks for one where that pays.

Reference
---------
Zhao et al. 2024, Algorithm 3 and program (27). Deviations: the group means as printed need all
groups to be of equal size, here they differ by one record at most; the direction points from the
centre to the mean, which the text of the paper reverses; the last centre is examined as well, as
its Lemma 8 needs; the updates start at the coordinate-wise median of the group means.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import (
    InputError,
    check_choice,
    check_integer,
    check_open_unit,
    check_positive,
)
from tailguard.data.rows.base import Rows
from tailguard.losses.base import Loss
from tailguard.privacy.calibration import Calibration, Sensitivity
from tailguard.queries.base import GaussianQuery, Places
from tailguard.queries.clipped_gradient import MeanClippedGradient, clipped_sum_sensitivity
from tailguard.queries.means.directions import furthest_direction
from tailguard.queries.units import Units

PART = 0.25  # of the way that a step goes
LEVEL = 0.9  # part of the points that must lie ahead
MOST_STEPS = 40
STARTS = ("median", "origin")
ALL = "all"
CENTRES = ("updates", "median", "geometric-median")
WEISZFELD_STEPS = 100


def updated_centre(
    points: FloatArray, start: FloatArray, *, level: float = LEVEL, n_steps: int = MOST_STEPS
) -> FloatArray:
    """Walk from ``start`` to the bulk of the points; return the centre of least reach on the way.

    *Edge cases.* The updates end as soon as no direction has a part ``level`` of the points ahead:
    a start outside of the points ends at the edge of their bulk.

    *Reference.* Zhao et al. 2024, Algorithm 3.
    """
    count = max(1, math.ceil(level * len(points) - 1e-9))
    best, least, centre = start, math.inf, start
    for _ in range(n_steps + 1):
        distance, direction = furthest_direction(points - centre, count)
        if distance < least:
            best, least = centre, distance
        if distance <= 0.0:
            break
        centre = centre + PART * distance * direction
    return best


def centre_of(
    points: FloatArray, centre: str, level: float = LEVEL, start: str = "median"
) -> FloatArray:
    """Return a centre of noised group means, one a row, by one of ``CENTRES``.

    Updates go from one of ``STARTS``.
    """
    median: FloatArray = np.median(points, axis=0)
    if centre == "median":
        return median
    if centre == "geometric-median":
        return _geometric_median(points, median)
    return updated_centre(points, median if start == "median" else 0.0 * median, level=level)


@dataclass(frozen=True)
class IterativeMean(GaussianQuery):
    """Centre of the noised means of groups of l2-clipped ``slope * row``; the state is the weights.

    Attributes
    ----------
    loss, units
        As for :class:`CoordinateMean`.
    clip_norm
        The largest norm of one record's gradient.
    n_groups
        How many groups, drawn at random. The noise on the centre grows as its root.
    centre
        ``"updates"``: the paper's. ``"median"``, by coordinate, and ``"geometric-median"`` are as
        private, quicker, and often nearer. ``"all"``: no centre but all means, one after the other.
    level
        The part of the group means that a direction of an update must have ahead.
    start
        Where updates start, the paper's ``c_1``: ``"median"`` of the group means, by coordinate, or
        ``"origin"``. From the median hardly any step is taken, since at the usual level every
        direction has enough of the group means behind it; from further away the walk ends at the
        edge of their bulk.

    Guarantee
    ---------
    Replacing any record by any other moves the sums of all groups, as one vector, by at most
    ``2 * clip_norm`` in l2 norm, plus the charged rounding, under replace-one neighbours. This
    holds for any fixed groups, runs of the order that records come in: that the order is random and
    secret is for accuracy, and no amplification is claimed.

    Edge cases
    ----------
    A record with a non-finite value contributes zero and stays counted.

    Reference
    ---------
    Zhao et al. 2024, Algorithm 3, with the noise of disjoint groups in the place of Theorem 6.

    Examples
    --------
    >>> query = IterativeMean(None, Units.raw(3, intercept=False), clip_norm=2.0, n_groups=20)
    >>> sensitivity = query.sensitivity(n_rows=1000, n_features=3)
    >>> sensitivity.ideal, sensitivity.size
    (4.0, 60)
    """

    loss: Loss | None
    units: Units
    clip_norm: float
    n_groups: int = 20
    centre: str = "updates"
    level: float = LEVEL
    start: str = "median"

    name = "group means"

    @classmethod
    def wide(cls, reach: float) -> dict[str, float]:
        """Return parameters with which hardly anything within ``reach`` of zero is cut."""
        return {"clip_norm": reach}

    def __post_init__(self) -> None:
        check_positive("clip_norm", self.clip_norm)
        check_integer("n_groups", self.n_groups, minimum=1)
        check_choice("centre", self.centre, (*CENTRES, ALL))
        check_choice("start", self.start, STARTS)
        check_open_unit("level", self.level)

    @property
    def places(self) -> Places:
        """Random ones where there are several groups, runs of the order of the records."""
        return "random" if self.n_groups > 1 else "any"

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of the sums of all groups: that of one group's sum."""
        check_group_count(self.n_groups, n_rows)
        largest = -(-n_rows // self.n_groups)
        size = self.n_groups * self.units.size
        return clipped_sum_sensitivity(self.clip_norm, size, largest)

    def answer(self, rows: Rows, state: FloatArray, calibration: Calibration) -> IntArray:
        """Sum the clipped gradients of every group at the weights ``state``, on the lattice."""
        query = MeanClippedGradient(self.loss, self.units, clip_norm=self.clip_norm)
        edges = group_edges(rows.n_rows, self.n_groups)
        groups = (rows.restricted(np.arange(start, stop)) for start, stop in pairwise(edges))
        return np.concatenate([query.answer(group, state, calibration) for group in groups])

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Divide each noised sum by its group's size and find the centre of the means."""
        sizes = np.diff(group_edges(n_rows, self.n_groups))
        means = noised.reshape(self.n_groups, self.units.size) / sizes[:, None]
        if self.centre == ALL:
            return means.ravel()
        return centre_of(means, self.centre, self.level, self.start)

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {
            "clip_norm": self.clip_norm,
            "n_groups": self.n_groups,
            "coordinates": self.units.size,
        }


def group_edges(n_rows: int, n_groups: int) -> IntArray:
    """Where groups begin and end in the order that records come in; sizes differ by at most one."""
    return np.arange(n_groups + 1) * n_rows // n_groups


def check_group_count(n_groups: int, n_rows: int) -> int:
    """Return a number of groups if there are as many records."""
    if check_integer("n_groups", n_groups, minimum=1) > n_rows:
        raise InputError(f"n_groups must be at most n_rows = {n_rows}; got {n_groups}.")
    return n_groups


def _geometric_median(points: FloatArray, start: FloatArray) -> FloatArray:
    """Weiszfeld's iteration; distances are kept above a small part of the spread."""
    spread = float(np.abs(points - start).max())
    centre = start
    for _ in range(WEISZFELD_STEPS if spread > 0.0 else 0):
        distances = np.linalg.norm((points - centre) / spread, axis=1)
        weights = 1.0 / np.maximum(distances, 1e-9)
        centre = weights @ points / weights.sum()
    return centre
