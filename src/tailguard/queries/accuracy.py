"""How close to the minimiser a search ends in floats, and after how many steps at most.

The tolerance is a small share of what one record may move the minimiser by; half of it is for the
search, a quarter each for float errors of gradients and of points. Where these need more, because
the problem is too ill-conditioned for floats, the tolerance is raised: it is charged as noise.

Let a be the strength, h the step size and s = h a. An error of ``e`` in the gradient moves the
fixed point of the steps by ``e / a``, one in the point after each step by ``e / s``.

For the part of a set within a ball of center c, the projection is found where its path ``y(t)``
reaches the ball. On it ``|y(t) - y(t')|^2 <= ||y(t) - c|^2 - |y(t') - c|^2|``, so where the
distance from c is known to ``e`` only, the point is known to the root of ``2 D e``, with D the
diameter. That root need not be divided by s. The point found is the projection p to the part
within a ball whose radius is off by ``e``, and shrinking p or the minimiser w* towards c by ``e``
puts each into the other's set. From the two variational inequalities,
``|p - w*|^2 <= (1 - s) |v - w*| |p - w*| + h e G``, where v is where the step began and G adds up
the gradients at w* and v and the length of the step over h. Hence
``|p - w*| <= (1 - s) / s |p - v| + root(e G / a)``, and plain descent closes in at the rate s / 2
until it is twice that root away. (Terms for the other errors are left out here.)

Reference
---------
Banach 1922, Theorem 6; Boyd and Vandenberghe 2004, Section 4.2.3 (variational inequality).
"""

import math
from dataclasses import dataclass

import numpy as np

from tailguard.queries.certified import StepFacts
from tailguard.queries.float_error import is_cut_by_ball, point_roundoff
from tailguard.sets.base import ConstraintSet, length

TOLERANCE_SHARE = 1e-3  # of what one record moves: it costs as much noise
CAPPED_STEPS = 20_000  # where plain descent could not finish, it does so many


@dataclass(frozen=True)
class Accuracy:
    """What is known of an answer before any record is read.

    Attributes
    ----------
    tolerance
        How far from the minimiser, or from the end of ``n_steps`` exact steps, the answer is.
    search_distance
        The part of it that a search has to certify.
    n_steps
        The steps of plain descent: enough for the tolerance, or all that is done.
    certified
        Whether the minimiser is approached.
    progress
        1 if so; else the share of the way, and of the influence of a record.
    largest_center
        The largest norm of a center for which all this holds.
    """

    tolerance: float
    search_distance: float
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
) -> Accuracy:
    """Work it out from public numbers.

    Parameters
    ----------
    facts, constraint, size
        The steps, and the set of points of that many coordinates.
    move
        How far one record moves the minimiser.
    curvature_ratio, gradient_travel, gradient_off
        Curvature of the loss, bound of its gradient and float error of it, over the strength.
    most_steps
        What plain descent may take.
    """
    short, travel, diameter = facts.shortening, facts.travel, constraint.diameter()
    bounded = math.isfinite(diameter)
    reach = length(constraint.project(np.zeros(size))) + 2.0 * travel + (diameter if bounded else 0)
    # Norms of the points before and of those to be projected: centers may have norm ``reach``.
    largest = 2.0 * reach + short * (gradient_travel + 2.0 * travel + 2.0 * reach)
    roundoff = point_roundoff(size) * largest
    off = roundoff * (curvature_ratio + 2.0 / short)
    jump, root = 0.0, 0.0
    if is_cut_by_ball(constraint):
        jump = math.sqrt(6.0 * diameter * roundoff) / short
        root = 2.0 * math.sqrt(3.0 * roundoff * (3.0 * gradient_travel + 11.0 * reach))
    tolerance = max(TOLERANCE_SHARE * move, 4.0 * gradient_off, 4.0 * (off + root))
    n_steps = 2 * facts.steps_to(tolerance / 2.0)
    certified, progress = n_steps <= most_steps, 1.0
    if not certified:
        n_steps = min(most_steps, CAPPED_STEPS)
        progress = facts.progress(n_steps)
        least = max(gradient_off, off + jump) * 4.0
        tolerance = max(TOLERANCE_SHARE * move * progress, least)
    return Accuracy(
        tolerance=tolerance,
        search_distance=tolerance / 2.0,
        n_steps=n_steps,
        certified=certified,
        progress=progress,
        # Without bounds, errors are in proportion to the center: what is left of them is room.
        largest_center=reach if bounded else reach * tolerance / (4.0 * off),
    )
