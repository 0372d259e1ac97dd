"""How far floats can lead a projected gradient step astray, from public numbers.

Every bound is larger than what a careful count of roundings gives, by a factor of a few.

Reference
---------
Higham 2002, "Accuracy and Stability of Numerical Algorithms", Sections 3.1 and 4.2 (inner products
and sums).
"""

import math

from tailguard.checks import InputError
from tailguard.data.rows.base import CHUNK_ROWS, ROUNDOFF
from tailguard.losses.base import Loss
from tailguard.sets.base import ConstraintSet
from tailguard.sets.box import Box
from tailguard.sets.intersection_with_ball import IntersectionWithBall
from tailguard.sets.l1_ball import L1Ball
from tailguard.sets.l2_ball import L2Ball
from tailguard.sets.simplex import Simplex
from tailguard.sets.whole_space import WholeSpace

# Sets whose projection is a closed form; others may be as far off as their authors like.
CLOSED_FORMS = {Box, L1Ball, L2Ball, Simplex, WholeSpace}

# A slope errs by a few roundoffs times its condition number, p - 1 for the power p of the residual:
# this allows for powers up to 1000 and for the few roundoffs of a compiled function besides.
SLOPE_ROUNDOFF = 2.0**-40


def point_roundoff(size: int) -> float:
    """Relative float error of a projected step: scores, differences and projections together.

    An inner product errs by ``size`` roundoffs at most, the level to which a sorted vector is cut
    by half as many in each of its coordinates.
    """
    return 4.0 * (size + 8.0) * math.sqrt(size) * ROUNDOFF


def gradient_error(
    loss: Loss, *, n_rows: int, size: int, clip_norm: float, row_limit: float, grid: float
) -> float:
    """Bound the float error of a mean clipped gradient that does not grow with the weights.

    Summation inside a chunk, rounding of each chunk's sum to ``grid``, and the slopes themselves.
    What grows with the weights is as if the weights were off by :func:`point_roundoff`.
    """
    summation = (2.0 * min(n_rows, CHUNK_ROWS) + size) * ROUNDOFF * clip_norm
    rounding = math.sqrt(size) * grid * math.ceil(n_rows / CHUNK_ROWS) / n_rows
    steepest = loss.slope_bound()
    steepest = steepest if math.isfinite(steepest) else 0.0  # the clip bounds relative errors
    return summation + rounding + SLOPE_ROUNDOFF * (clip_norm + steepest * row_limit)


def is_cut_by_ball(constraint: ConstraintSet) -> bool:
    """Tell whether a set is a part within a ball; refuse one whose projection may not be exact.

    Where the edge of a ball meets that of its base, rounding the radius moves the projection by
    the root of it: see :mod:`tailguard.queries.accuracy`.
    """
    cut = type(constraint) is IntersectionWithBall
    base = getattr(constraint, "base", None) if cut else constraint
    if type(base) not in CLOSED_FORMS:
        raise InputError(
            "constraint must be a set whose projection is exact, a Box, an L1Ball, an L2Ball, a "
            f"Simplex, or the part of one within a ball; got {constraint!r}."
        )
    return cut
