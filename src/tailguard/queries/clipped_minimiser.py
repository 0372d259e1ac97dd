"""The minimiser of a mean clipped loss plus a penalty, for noise on the answer alone.

Rows ``x`` have norm at most ``row_limit``, and ``f_j(w)`` is the loss of record j at the score
``<w, x_j>``. Let ``psi_j`` be the convex function whose gradient is that of ``f_j``, clipped to
norm ``clip_norm`` along ``x_j``. The query searches the point of ``constraint`` that minimises

    (psi_1(w) + ... + psi_m(w)) / m  +  strength / 2 * |w - center|^2.

*Influence of one record.* The slope is nondecreasing in the score, and so is the clipped slope. So
``psi_j`` is convex, with gradients of norm at most C, the clip norm. Let g and g' be the gradients
of mean plus penalty for two neighbours, and w and w' their minimisers. Optimality gives
``<g(w) - g'(w'), w - w'> <= 0``. The penalty gives
``<g(w) - g(w'), w - w'> >= strength |w - w'|^2``. And g and g' differ by at most ``2 C / m``. So
``|w - w'| <= 2 C / (m strength)``. For points within ``tolerance`` of the minimisers the bound
grows by ``2 tolerance``. Both minimisers lie in the set, and so do the ends of exact steps, which
are projections. So in either case the distance is at most the set's diameter. Both searches start
at the center, which does not depend on the records.

*A ball around the start.* Answers are projected onto the ball of radius
``travel = min(C / strength, diameter)`` around the start. This lengthens no distance, so the bounds
above still hold. The minimiser lies within this ball. Two points of the ball are at most
``2 travel`` apart, whatever the tolerance. In floats a projected point is within
``(size + 8) 2^-52`` of the radius, relatively, so the charge for two points includes a relative
``2^-48 (size + 1)``. If a strong penalty makes this bound smaller than the bound with the
tolerance, it is what is charged. An intersection with a ball is always charged its tolerance: for
such noise use ``balls``.

*Limits of the proof.* It needs a loss of ONE score. The clipped gradient of another convex loss is
not the gradient of a convex function, and no multiple of the bound above limits how far one record
moves its zero. The penalty must not be clipped.

*Plain descent.* If the tolerance could need too many steps, the query takes the largest allowed
number of steps instead. The curvature allows steps with
``step_size * (curvature + 2 strength) <= 2``. Each of them multiplies the distance between
neighbours by ``1 - step_size * strength`` at most, and adds at most ``step_size * 2 C / m``. Over
all steps that is at most the bound above, times the progress of the descent. A single step from the
same start needs no condition on the curvature: it adds at most ``step_size * 2 C / m``.

*Balls.* After the projection, points may also be projected onto balls, towards the center of each.
This lengthens no distance either. If each center lies in the set and in the earlier balls, the
points stay in all of them. With a ball, the search looks for the fixed point w of its step T. The
steps ``T`` and ``T'`` of neighbours differ by at most ``step_size * 2 C / m``, so
``|w - w'| = |T(w) - T'(w')|`` is at most that plus ``(1 - step_size * strength) |w - w'|``. This
gives the same bound. Without a loss, T keeps the start, since the penalty is centered there and the
start lies in the set and in the ball. A loss moves the end of a step by at most ``step_size * C``,
so w lies within ``C / strength`` of the start.

Reference
---------
Xu et al. 2025, Algorithm 2 and Theorem 1, whose proof of privacy this replaces; Chaudhuri,
Monteleoni and Sarwate 2011, Lemma 7 (sensitivity of a regularised minimiser).
"""

import math
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError, check_integer
from tailguard.data.rows.base import RecordBlock, Rows, round_to_lattice
from tailguard.data.rows.threads import one_blas_thread
from tailguard.losses.base import Loss, check_width
from tailguard.privacy.calibration import Calibration, Sensitivity
from tailguard.queries.admission import check_known
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

DRAWN_ROUNDOFF = 2.0**-48  # relative to a radius, for each coordinate plus one; see above
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
        The strength of the penalty ``strength / 2 * |w - center|^2``. To combine such penalties,
        add their strengths and average their centers by strength. Penalties are not clipped.
    clip_norm, row_limit
        Bounds on the norm of one record's gradient, and on that of its row.
    constraint
        A set of ``tg.sets`` whose projection is exact.
    step_size
        At most ``2 / (curvature + 2 strength)``; None for ``1 / (curvature + strength)``.
    most_steps
        The largest number of plain steps. If more could be needed, the query takes this many, or
        20 000 if that is less, and its noise is set for them.
    n_steps
        Exactly this many steps of plain descent replace the search.
    balls
        Balls, each a center and a radius, onto which the point is projected after each step, one
        after the other. Several balls need ``n_steps``.

    Guarantee
    ---------
    Under replace-one neighbours the answer moves by at most the smaller of
    ``2 clip_norm / (m strength)`` and the diameter of the set, in l2 norm, plus twice the
    tolerance. It also moves by at most twice the distance from the start that the penalty allows.
    The charged rounding comes on top.

    Edge cases
    ----------
    A void record contributes zero and stays counted. If a search does not converge, plain descent
    follows; no search raises. The running time depends on the records and is not part of the
    guarantee. A center too large for floats is moved towards zero. If there is a ball, the search
    starts within it and the penalty is centered there. Offsets are refused.

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
    places = "any"  # its proof covers sums that are rounded chunk by chunk

    def __post_init__(self) -> None:
        """Check the public numbers, and that the proof covers the loss, the set and the step."""
        for name in ("strength", "clip_norm", "row_limit"):
            check_width(name, getattr(self, name))  # beyond these limits, floats overflow
        check_integer("most_steps", self.most_steps, minimum=1)
        check_known(self.loss)
        if not math.isfinite(self.curvature):
            raise InputError(
                "loss must have a single score and a bounded clipped curvature, such as Squared, "
                f"Huber, Logistic or LpLoss; got {self.loss!r}. One record could move its "
                "minimiser too far."
            )
        is_cut_by_ball(self.constraint)
        if self.n_steps is not None:
            check_integer("n_steps", self.n_steps, minimum=1)
        lacks_steps = len(self.balls) > 1 and self.n_steps is None
        if self.balls and (lacks_steps or math.isinf(self.constraint.diameter())):
            raise InputError(
                "constraint must be a bounded set if there are balls; several balls need n_steps."
            )
        for center, radius in self.balls:
            check_width("the radius of balls", radius)
            if len(center) != self.units.size or not np.isfinite(center).all():
                raise InputError(f"centers of balls must be {self.units.size} finite numbers.")
        if self.step_size is not None:
            check_width("step_size", self.step_size)
            single = self.n_steps == 1 and self.step_size * self.strength <= 1.0
            if not single and self.step_size * (self.curvature + 2.0 * self.strength) > 2.0:
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
        """Compute the tolerance, the steps and the largest center for ``n_rows`` records."""
        gradient_off = gradient_error(
            self.loss,
            n_rows=n_rows,
            size=self.units.size,
            clip_norm=self.clip_norm,
            row_limit=self.row_limit,
            grid=self._grid(n_rows),
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
        """Return the start of the search: the center, projected onto the set and the balls."""
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
        start_is_center = balls and self.n_steps is None
        pull = start - (start if start_is_center else self._near(state, rows.n_rows))

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
        """The balls, their centers projected onto the set."""
        return [(self.constraint.project(center), radius) for center, radius in self.balls]

    def _move(self, n_rows: int) -> float:
        """How far one record moves the minimiser, if the set is not bounded."""
        return 2.0 * self.clip_norm / (n_rows * self.strength)

    @property
    def _widest(self) -> float:
        """The largest distance between two answers; infinity (no cap) for a set of one point."""
        return (
            min([self.constraint.diameter(), *(2.0 * ball[1] for ball in self.balls)]) or math.inf
        )

    def _grid(self, n_rows: int) -> float:
        """Return the lattice step of gradients, so wide that their sum fits in 64 bits.

        Up to 2**26 records it is below the roundings of a chunk.
        """
        return self.clip_norm * max(2.0**-36, n_rows * 2.0**-62)

    def _near(self, state: FloatArray, n_rows: int) -> FloatArray:
        """Return the state, shortened if it is too long for floats."""
        point = np.asarray(state, dtype=np.float64)
        norm, allowed = length(point), self.accuracy(n_rows).largest_center
        return point * (allowed / norm) if norm > allowed else point

    def _gradient(self, rows: Rows, weights: FloatArray) -> FloatArray:
        """Return the mean of the clipped gradients of the records."""
        grid = self._grid(rows.n_rows)
        loop = LatticeSum(self, weights, grid, weights.size)
        return np.asarray(rows.reduce(loop) * (grid / rows.n_rows), dtype=np.float64)

    def sum_block(self, block: RecordBlock, state: FloatArray, grid: float) -> IntArray:
        """Add up clipped gradients chunk by chunk; refuse records that are rounded alone."""
        if block.alone:  # gradient_error allows for the rounding of chunks, not of records
            raise InputError("records without an order have no chunks.")
        gradient = MeanClippedGradient(
            self.loss, self.units, row_limit=self.row_limit, clip_norm=self.clip_norm
        )
        return gradient.sum_block(block, state, grid)
