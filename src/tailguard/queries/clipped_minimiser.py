"""The minimiser of a mean clipped loss plus a penalty, for noise on the answer alone.

With rows ``x`` of norm at most ``row_limit`` and ``f_j(w)`` the loss of record j at the score
``<w, x_j>``, let ``psi_j`` be the convex function whose gradient is that of ``f_j``, clipped to
norm ``clip_norm`` along ``x_j``. The query searches the point of ``constraint`` that minimises

    (psi_1(w) + ... + psi_m(w)) / m  +  strength / 2 * |w - center|^2.

Why one record matters little. The clipped slope is nondecreasing in the score, as the slope is, so
``psi_j`` is convex, with gradients of norm at most C, the clip norm. Let g be the gradient of the
mean plus penalty, and w, w' the minimisers for neighbours. Optimality gives
``<g(w) - g'(w'), w - w'> <= 0``, the penalty ``<g(w) - g(w'), w - w'> >= strength |w - w'|^2``, and
g and g' differ by ``2 C / m`` at most. So ``|w - w'| <= 2 C / (m strength)``. A point within
``tolerance`` of the minimiser moves by ``2 tolerance`` more. Both minimisers lie in the set, and so
do the ends of exact steps, which are projections: neither distance exceeds the set's diameter. The
center is where both searches start, and does not depend on the records.

Answers are drawn into the ball of radius ``travel = min(C / strength, diameter)`` around the start,
which shortens distances: the above still holds. A minimiser lies within this ball, and two points
of the ball are at most ``2 travel`` apart, whatever the tolerance. Floats end a draw within
``(size + 8) 2^-52`` of the radius, relatively, so that the pair is charged ``2^-48 (size + 1)``.
Where strong penalties leave so little room that this is less than twice the tolerance, it counts,
except for a part within a ball, which is charged its tolerance: there are balls for such noise.

This holds for a loss of ONE score. The clipped gradient of another convex loss is no gradient of a
convex function: no multiple of the above bounds how far one record moves its zero. The penalty must
stay outside of the clip.

If the tolerance could need too many steps, the largest allowed number of steps is taken.
With steps that the curvature allows, ``step_size * (curvature + 2 strength) <= 2``, each shortens
the distance between neighbours by ``1 - step_size * strength`` and adds ``step_size * 2 C / m``:
together no more than the above, times the progress of the descent. A single step from the same
start needs no curvature: it adds ``step_size * 2 C / m``.

To draw points back into balls after the projection, each towards its own center, lengthens no
distance either; a center in the set and in the balls before keeps points in all of them. With such
a ball the search is for the fixed point w of its step T: ``T`` and ``T'`` of neighbours differ by
``step_size * 2 C / m``, and so ``|w - w'| = |T(w) - T'(w')|`` is at most that and
``(1 - step_size * strength) |w - w'|``, together the same bound. Without a loss T keeps the start,
where the penalty is centered and which lies in the set and the ball; a loss moves the ends of steps
by ``step_size * C`` at most: w lies within C / strength of the start.

Reference
---------
Xu et al. 2025, Algorithm 2 and Theorem 1, whose proof of privacy this replaces; Chaudhuri,
Monteleoni and Sarwate 2011, Lemma 7 (sensitivity of a regularised minimiser).
"""

import math
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError, check_integer, check_positive
from tailguard.data.rows.base import RecordBlock, Rows, round_to_lattice
from tailguard.data.rows.threads import one_blas_thread
from tailguard.losses.base import Loss
from tailguard.losses.registry import check_known
from tailguard.privacy.calibration import Calibration, Sensitivity
from tailguard.queries.base import GaussianQuery
from tailguard.queries.certified_descent import (
    Accuracy,
    StepFacts,
    accuracy_of,
    certified_point,
    descended,
    drawn_into,
    gradient_error,
    is_cut_by_ball,
)
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.loop import LatticeSum
from tailguard.queries.units import Units
from tailguard.sets.base import ConstraintSet, length
from tailguard.sets.whole_space import WholeSpace

DRAWN_ROUNDOFF = 2.0**-48  # of a radius and for each coordinate, and one: see above
EVERYWHERE = WholeSpace()


@dataclass(frozen=True)
class ClippedMinimiser(GaussianQuery):
    """The minimiser of a clipped loss plus penalty, relative to the penalty's center.

    The state is the center; the answer is the minimiser minus the center, both within the set.

    Attributes
    ----------
    loss
        A loss of one score, of finite ``clipped_curvature_bound``.
    units
        The coordinate system in which rows and targets are read.
    strength
        Of the penalty ``strength / 2 * |w - center|^2``. To combine penalties of that form, add
        their strengths and average their centers by strength; none goes into the clip.
    clip_norm, row_limit
        Bounds on the norm of one record's gradient, and on that of its row.
    constraint
        A set of ``tg.sets`` whose projection is exact.
    step_size
        None for ``1 / (curvature + strength)``; at most ``2 / (curvature + 2 strength)``.
    most_steps
        If more plain steps could be needed, this many or 20 000 are taken, and the noise is set
        for them.
    n_steps
        Exactly this many steps of plain descent replace the search.
    balls
        After each step the point is drawn into the balls, a center and a radius each, one after the
        other. Several balls need ``n_steps``.

    Guarantee
    ---------
    Replacing any record by any other moves the answer by at most ``2 clip_norm / (m strength)`` in
    l2 norm, and by at most the diameter of the set, plus twice the tolerance, or by twice the
    distance that the penalty allows; plus the charged rounding, under replace-one neighbours.

    Edge cases
    ----------
    A void record contributes zero and stays counted. A search that does not converge is followed
    by plain descent; it never raises. How long it takes depends on the records: the running time is
    not part of the guarantee. A center too large for floats is moved towards zero. A search with a
    ball starts, and centers its penalty, within it. Offsets are refused.

    Examples
    --------
    >>> import tailguard as tg
    >>> query = ClippedMinimiser(
    ...     tg.losses.Logistic(), Units.raw(2, intercept=False), strength=0.1, clip_norm=1.0,
    ...     row_limit=3.0,
    ... )
    >>> query.sensitivity(n_rows=5000, n_features=2).ideal
    0.004
    """

    loss: Loss
    units: Units
    strength: float
    clip_norm: float
    row_limit: float
    constraint: ConstraintSet = EVERYWHERE
    step_size: float | None = None
    most_steps: int = 1_000_000
    n_steps: int | None = None
    balls: tuple[tuple[tuple[float, ...], float], ...] = ()

    name = "clipped minimiser"
    places = "any"  # its proof allows for sums that are rounded chunk by chunk

    def __post_init__(self) -> None:
        """Check the public numbers, and that the proof covers the loss, the set and the step."""
        for name in ("strength", "clip_norm", "row_limit"):
            check_positive(name, getattr(self, name))
        check_integer("most_steps", self.most_steps, minimum=1)
        check_known(self.loss)
        if not math.isfinite(self.curvature):
            raise InputError(
                "loss must be one of a single score whose clipped curvature is bounded, such as "
                f"Squared, Huber, Logistic or LpLoss; got {self.loss!r}, whose minimiser one "
                "record could move too far."
            )
        is_cut_by_ball(self.constraint)
        if self.n_steps is not None:
            check_integer("n_steps", self.n_steps, minimum=1)
        many = len(self.balls) > 1 and self.n_steps is None
        if self.balls and (many or math.isinf(self.constraint.diameter())):
            raise InputError("constraint must be a bounded set for balls; several need n_steps.")
        for center, radius in self.balls:
            check_positive("the radius of balls", radius)
            if len(center) != self.units.size or not np.isfinite(center).all():
                raise InputError(f"centers of balls must be {self.units.size} finite numbers.")
        if self.step_size is not None:
            check_positive("step_size", self.step_size)
            alone = self.n_steps == 1 and self.step_size * self.strength <= 1.0
            if not alone and self.step_size * (self.curvature + 2.0 * self.strength) > 2.0:
                raise InputError(
                    "step_size must be at most 2 / (curvature + 2 * strength) = "
                    f"{2.0 / (self.curvature + 2.0 * self.strength):.6g}, else one record could "
                    f"move the answer further than the noise hides; got {self.step_size!r}."
                )

    @property
    def curvature(self) -> float:
        """Bound on the curvature of the mean clipped loss."""
        return self.loss.clipped_curvature_bound(self.clip_norm, self.row_limit)

    @property
    def step(self) -> float:
        """The step size."""
        return self.step_size or 1.0 / (self.curvature + self.strength)

    @property
    def facts(self) -> StepFacts:
        """The public numbers of the steps."""
        shortening = min(self.step * self.strength, 1.0 - 2.0**-50)
        travel = min(self.clip_norm / self.strength, self.constraint.diameter())
        return StepFacts(shortening, travel)

    def accuracy(self, n_rows: int) -> Accuracy:
        """Compute tolerance, steps and range for that many records."""
        gradient_off = gradient_error(
            self.loss,
            n_rows=n_rows,
            size=self.units.size,
            clip_norm=self.clip_norm,
            row_limit=self.row_limit,
            grid=self._grid,
        )
        return accuracy_of(
            self.facts,
            self.constraint,
            size=self.units.size,
            move=min(self._move(n_rows), self._widest),
            curvature_ratio=self.curvature / self.strength,
            gradient_travel=self.clip_norm / self.strength,
            gradient_off=gradient_off / self.strength,
            most_steps=self.most_steps,
            n_steps=self.n_steps,
            n_projections=1 + len(self.balls),
        )

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State how far one record moves the answer; see the module's proof."""
        accuracy = self.accuracy(n_rows)
        ideal = min(self._move(n_rows) * accuracy.progress, self._widest)
        size = self.units.size
        largest = self.facts.travel * (1.0 + DRAWN_ROUNDOFF * (size + 1))
        room = math.inf if is_cut_by_ball(self.constraint) else 2.0 * largest
        return Sensitivity(
            norm="l2",
            ideal=ideal,
            computed=min(ideal + 2.0 * accuracy.tolerance, room),
            size=size,
            largest_partial=largest,
            largest_total=largest,
        )

    def center(self, state: FloatArray, n_rows: int) -> FloatArray:
        """Return the point at which the search starts: the center, moved into set and balls."""
        point = self.constraint.project(self._near(state, n_rows))
        for center, radius in self._balls:
            point = drawn_into(point, center, radius)
        return point

    def answer(self, rows: Rows, state: FloatArray, calibration: Calibration) -> IntArray:
        """Minimise, in many passes over the records, and round to the lattice."""
        if rows.has_offset:
            raise InputError("offset must be None for a minimiser: it would cancel in floats.")
        accuracy = self.accuracy(rows.n_rows)
        start, balls = self.center(state, rows.n_rows), self._balls
        searched = balls and self.n_steps is None  # then the start is the penalty's center, too
        pull = start - (start if searched else self._near(state, rows.n_rows))

        def step(point: FloatArray) -> FloatArray:
            slope = self._gradient(rows, start + point) + self.strength * (point + pull)
            moved = self.constraint.project(start + (point - self.step * slope))
            for center, radius in balls:
                moved = drawn_into(moved, center, radius)
            return moved - start

        with one_blas_thread():
            if accuracy.certified:
                end = certified_point(step, start.size, self.facts, accuracy.tolerance / 2.0)
            else:
                end = descended(step, start.size, accuracy.n_steps)
        end = drawn_into(end, np.zeros(start.size), self.facts.travel)
        return round_to_lattice(end, calibration.grid)

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {
            **({"diameter": self._widest} if math.isfinite(self._widest) else {}),
            "clip_norm": self.clip_norm,
            "row_limit": self.row_limit,
            "strength": self.strength,
            "curvature": self.curvature,
            "step_size": self.step,
            "most_steps": self.most_steps,
            **({} if self.n_steps is None else {"n_steps": self.n_steps}),
            "coordinates": self.units.size,
        }

    @property
    def _balls(self) -> list[tuple[FloatArray, float]]:
        """The balls, around points of the set."""
        return [(self.constraint.project(center), radius) for center, radius in self.balls]

    def _move(self, n_rows: int) -> float:
        """How far one record moves the minimiser of an unbounded set."""
        return 2.0 * self.clip_norm / (n_rows * self.strength)

    @property
    def _widest(self) -> float:
        """How far apart two answers can be; infinity, no cap, for a set of one point."""
        return (
            min([self.constraint.diameter(), *(2.0 * ball[1] for ball in self.balls)]) or math.inf
        )

    @property
    def _grid(self) -> float:
        """Far finer than the roundings of one chunk's sum; a total of 2**26 rows fits."""
        return self.clip_norm / 2.0**36

    def _near(self, state: FloatArray, n_rows: int) -> FloatArray:
        """Return the state, moved towards zero if it is too far off for floats."""
        point = np.asarray(state, dtype=np.float64)
        far, allowed = length(point), self.accuracy(n_rows).largest_center
        return point * (allowed / far) if far > allowed else point

    def _gradient(self, rows: Rows, weights: FloatArray) -> FloatArray:
        """Return the mean of the clipped gradients of the records."""
        loop = LatticeSum(self, weights, self._grid, weights.size)
        return np.asarray(rows.reduce(loop) * (self._grid / rows.n_rows), dtype=np.float64)

    def sum_block(self, block: RecordBlock, state: FloatArray, grid: float) -> IntArray:
        """Add up clipped gradients by chunks; refuse records without an order, which have none."""
        if block.alone:  # gradient_error allows for the rounding of chunks, not of records
            raise InputError("records without an order have no chunks.")
        gradient = MeanClippedGradient(
            self.loss, self.units, row_limit=self.row_limit, clip_norm=self.clip_norm
        )
        return gradient.sum_block(block, state, grid)
