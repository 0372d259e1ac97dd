"""A point within a proven distance of the minimiser of a strongly convex function.

The function is only used through its projected gradient step ``T``. With a penalty of strength
``a`` and a step size ``h`` that its curvature allows, ``T`` brings points closer to one another by
the factor ``1 - h a``, and the minimiser is its fixed point. Hence ``T(v)`` lies within
``(1 - h a) / (h a) * |T(v) - v|`` of the minimiser, for every ``v``: fast methods without
guarantees may search for ``v``, and the length of one step shows whether they succeeded. If none
did, plain descent succeeds after a number of steps that is known beforehand.

Floats. The tolerance is a small share of the distance by which one record may move the minimiser.
Half of it is for the search, and a quarter each for float errors of gradients and of points. If
these errors are larger, because the problem is too ill-conditioned for floats, the tolerance is
raised, and with it the sensitivity. Every bound of float errors is a few times what a careful count
of roundings gives.

Let a be the strength, h the step size and s = h a. An error of ``e`` in the gradient moves the
fixed point of the steps by ``e / a``, one in the point after each step by ``e / s``.

For the part of a set within a ball of center c, the projection is the point where a path ``y(t)``
from c leaves the ball (:class:`IntersectionWithBall`). On the path
``|y(t) - y(t')|^2 <= ||y(t) - c|^2 - |y(t') - c|^2|``. So an error of ``e`` in the distance from c
moves the point by at most the root of ``2 D e``, with D the diameter. This error need not be
divided by s, as others are: the point is the projection p to the part within a ball whose radius is
off by ``e``. If p or the minimiser w* moves towards c by ``e``, it is in the set of the other. From
the two variational inequalities, ``|p - w*|^2 <= (1 - s) |v - w*| |p - w*| + h e G``. Here the step
begins at v, and G is the sum of the norms of the gradients at w* and v and of the step over h.
Hence ``|p - w*| <= (1 - s) / s |p - v| + root(e G / a)``, and plain descent closes in at the rate
s / 2 until it is twice that root away. (Terms for the other errors are left out here.)

Reference
---------
Banach 1922, Theorem 6 (the fixed point, and how far it is); Walker and Ni 2011, Algorithm AA
(mixing); Nesterov 2004, Section 2.2 with the restarts of O'Donoghue and Candes 2015, Section 3.2;
Boyd and Vandenberghe 2004, Section 4.2.3 (variational inequality); Higham 2002, "Accuracy and
Stability of Numerical Algorithms", Sections 3.1 and 4.2 (inner products and sums).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError
from tailguard.data.rows.base import CHUNK_ROWS, ROUNDOFF
from tailguard.losses.base import Loss
from tailguard.sets.base import ConstraintSet, length
from tailguard.sets.box import Box
from tailguard.sets.intersection_with_ball import IntersectionWithBall
from tailguard.sets.l1_ball import L1Ball
from tailguard.sets.l2_ball import L2Ball
from tailguard.sets.simplex import Simplex
from tailguard.sets.whole_space import WholeSpace

Step = Callable[[FloatArray], FloatArray]

MIXED_STEPS = 300
ACCELERATED_STEPS = 10_000
MIXED_POINTS = 10  # how many earlier points mixing uses

TOLERANCE_SHARE = 1e-3  # of the influence of one record; noise grows by about as much
CAPPED_STEPS = 20_000  # of plain descent if it may not reach the tolerance
# Sets whose projection is a closed form; the errors of others are unknown.
CLOSED_FORMS = {Box, L1Ball, L2Ball, Simplex, WholeSpace}

# A slope errs by a few roundoffs times its condition number, which is p - 1 for the power p of the
# residual. This allows for powers up to 1000, and for the few roundoffs of a compiled function.
SLOPE_ROUNDOFF = 2.0**-40


@dataclass(frozen=True)
class StepFacts:
    """Public numbers of a projected gradient step that starts at zero.

    Attributes
    ----------
    shortening
        Step size times strength, below 1: a step shortens distances by one minus this.
    travel
        The largest distance from zero of the minimiser and of all points of plain descent.
    """

    shortening: float
    travel: float

    def steps_to(self, distance: float) -> int:
        """Count the steps that plain descent needs from zero to this distance of the minimiser."""
        if distance >= self.travel:
            return 1
        rate = -math.log1p(-self.shortening)
        return max(1, math.ceil(math.log(self.travel / distance) / rate))

    def progress(self, n_steps: int) -> float:
        """Return the share of the way to the minimiser, and of a record's influence, so far."""
        return -math.expm1(n_steps * math.log1p(-self.shortening))

    def reached(self, step: FloatArray, distance: float) -> bool:
        """Whether a step of that length ends close enough to the minimiser; never if NaN."""
        return (1.0 - self.shortening) / self.shortening * length(step) <= distance

    def allows(self, point: FloatArray) -> bool:
        """Whether a fast method may continue from a point: float errors are bounded nearby only."""
        return length(point) <= 2.0 * self.travel


def certified_point(step: Step, size: int, facts: StepFacts, distance: float) -> FloatArray:
    """Return a point that is certified to lie within ``distance`` of the fixed point of ``step``.

    *Guarantee.* In real arithmetic, the bound holds for the function that ``step`` descends. The
    caller must add float errors. Nothing is raised, and no point is returned
    without its certificate.

    *Reference.* Banach 1922, Theorem 6.
    """
    for search in (_mixed, _accelerated):
        point = search(step, np.zeros(size), facts, distance)
        if point is not None:
            return point
    return descended(step, size, facts.steps_to(distance))


def descended(step: Step, size: int, n_steps: int) -> FloatArray:
    """Return the point after this many plain steps from zero."""
    point = np.zeros(size)
    for _ in range(n_steps):
        point = step(point)
    return point


def drawn_into(point: FloatArray, center: FloatArray, radius: float) -> FloatArray:
    """Project a point onto a ball."""
    offset = point - center
    far = length(offset)
    return center + offset * (radius / far) if far > radius else point


def _mixed(step: Step, point: FloatArray, facts: StepFacts, distance: float) -> FloatArray | None:
    """Search by Anderson mixing: combine the last few points so that their steps cancel best."""
    ends: list[FloatArray] = []
    moves: list[FloatArray] = []
    for _ in range(MIXED_STEPS):
        if not facts.allows(point):
            return None
        end = step(point)
        move = end - point
        if facts.reached(move, distance):
            return end
        ends, moves = [*ends[-MIXED_POINTS:], end], [*moves[-MIXED_POINTS:], move]
        shares = _cancelling_shares(moves)
        if shares is None:
            return None
        point = end - shares @ np.diff(ends, axis=0) if shares.size else end
    return None


def _cancelling_shares(moves: list[FloatArray]) -> FloatArray | None:
    """Return the factors of past changes that best cancel the last move; None if unsolvable."""
    if len(moves) == 1:
        return np.zeros(0)
    try:
        return np.asarray(np.linalg.lstsq(np.diff(moves, axis=0).T, moves[-1], rcond=1e-12)[0])
    except np.linalg.LinAlgError:  # an exception would reveal something about the records
        return None


def _accelerated(
    step: Step, point: FloatArray, facts: StepFacts, distance: float
) -> FloatArray | None:
    """Search with momentum, which is reset whenever it leads uphill."""
    before, momentum = point, 1.0
    for _ in range(ACCELERATED_STEPS):
        larger = (1.0 + math.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = point + (momentum - 1.0) / larger * (point - before)
        if not facts.allows(ahead):
            return None
        end = step(ahead)
        if facts.reached(end - ahead, distance):
            return end
        uphill = (ahead - end) @ (end - point) > 0.0
        before, point, momentum = point, end, 1.0 if uphill else larger
    return None


@dataclass(frozen=True)
class Accuracy:
    """Facts about an answer that are known before any record is read.

    Attributes
    ----------
    tolerance
        Bound on the distance from the answer to the minimiser, or to the end of ``n_steps`` exact
        steps.
    n_steps
        The steps of plain descent: as many as the tolerance needs, or as many as are allowed.
    certified
        Whether the answer is within the tolerance of the minimiser.
    progress
        1 if certified; else the share of the way to the minimiser, and of a record's influence.
    largest_center
        The largest norm of a center for which all this holds.
    """

    tolerance: float
    n_steps: int
    certified: bool
    progress: float
    largest_center: float


def accuracy_of(
    facts: StepFacts,
    constraint: ConstraintSet,
    *,
    size: int,
    move: float,
    curvature_ratio: float,
    gradient_travel: float,
    gradient_off: float,
    most_steps: int,
    n_steps: int | None = None,
    n_projections: int = 1,
) -> Accuracy:
    """Compute the facts from public numbers.

    Parameters
    ----------
    facts, constraint, size
        The projected gradient step, the set, and the number of coordinates of its points.
    move
        How far one record moves the minimiser.
    curvature_ratio, gradient_travel, gradient_off
        Curvature of the loss, bound on its gradient and float error of its gradient, each over the
        strength.
    most_steps
        The most steps of plain descent.
    n_steps, n_projections
        A fixed number of steps, or None; and how many projections follow each step.
    """
    short, travel, diameter = facts.shortening, facts.travel, constraint.diameter()
    bounded = math.isfinite(diameter)
    reach = length(constraint.project(np.zeros(size))) + 2.0 * travel + (diameter if bounded else 0)
    # Bounds norms of points before a step and before projection; ``reach`` bounds those of centers.
    largest = 2.0 * reach + short * (gradient_travel + 2.0 * travel + 2.0 * reach)
    roundoff = n_projections * point_roundoff(size) * largest
    step_error = roundoff * (curvature_ratio + 2.0 / short)
    cut_error, certified_cut_error = 0.0, 0.0
    if is_cut_by_ball(constraint):
        cut_error = math.sqrt(6.0 * diameter * roundoff) / short
        gradients = 3.0 * gradient_travel + 11.0 * reach
        certified_cut_error = 2.0 * math.sqrt(3.0 * roundoff * gradients)
    point_error = step_error + certified_cut_error
    tolerance = max(TOLERANCE_SHARE * move, 4.0 * gradient_off, 4.0 * point_error)
    enough, progress = 2 * facts.steps_to(tolerance / 2.0), 1.0
    certified = n_steps is None and enough <= most_steps
    if not certified:
        enough = n_steps or min(most_steps, CAPPED_STEPS)
        progress = facts.progress(enough)
        least = max(gradient_off, step_error + cut_error) * 4.0
        tolerance = max(TOLERANCE_SHARE * move * progress, least)
    return Accuracy(
        tolerance=tolerance,
        n_steps=enough,
        certified=certified,
        progress=progress,
        # In an unbounded set, errors grow with the center, up to a quarter of the tolerance.
        largest_center=reach if bounded else reach * tolerance / (4.0 * step_error),
    )


def point_roundoff(size: int) -> float:
    """Relative float error of a projected step: scores, differences and projections together.

    An inner product errs by at most ``size`` roundoffs. The level at which a projection cuts a
    sorted vector errs by half as many in each coordinate.
    """
    return 4.0 * (size + 8.0) * math.sqrt(size) * ROUNDOFF


def gradient_error(
    loss: Loss, *, n_rows: int, size: int, clip_norm: float, row_limit: float, grid: float
) -> float:
    """Bound the float error of a mean clipped gradient that does not grow with the weights.

    Summation inside a chunk, rounding of each chunk's sum to ``grid``, and the slopes themselves.
    Errors that grow with the weights count as errors of the weights, in :func:`point_roundoff`.
    """
    summation = (2.0 * min(n_rows, CHUNK_ROWS) + size) * ROUNDOFF * clip_norm
    rounding = math.sqrt(size) * grid * math.ceil(n_rows / CHUNK_ROWS) / n_rows
    steepest = loss.slope_bound()
    if not math.isfinite(steepest):
        # The clip bounds relative errors. A slope 1 - target / mean errs by roundoffs of 1, too.
        steepest = float(loss.link.log)
    return summation + rounding + SLOPE_ROUNDOFF * (clip_norm + steepest * row_limit)


def is_cut_by_ball(constraint: ConstraintSet) -> bool:
    """Whether a set is a part within a ball; refuse one whose projection may not be exact.

    Where the surface of a ball meets that of its base, rounding the radius moves the projection by
    the root of that rounding: see above.
    """
    cut = type(constraint) is IntersectionWithBall
    base = getattr(constraint, "base", None) if cut else constraint
    if type(base) not in CLOSED_FORMS:
        raise InputError(
            "constraint must be a set whose projection is exact, a Box, an L1Ball, an L2Ball, a "
            f"Simplex, or the part of one within a ball; got {constraint!r}."
        )
    return cut
