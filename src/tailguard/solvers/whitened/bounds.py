"""Features are read within a public number of scales of their location, in fits and predictions.

A scale that fits most records of a column can be far too small for some: a column that is mostly
zero, of two clusters, with codes for what is missing, or of a heavy tail. Then a few rows are
thousands of times as long as others, whose clipped slopes say little and whose predictions are
far off. Within bounds a model is linear where most records lie and constant beyond.

Reference
---------
Tukey 1962, Section 18 (winsorising); Hampel, Ronchetti, Rousseeuw and Stahel 1986, Section 6.2
(bounding the influence of position in a regression).
"""

import math

import numpy as np

from tailguard.array_types import BoolArray, FloatArray
from tailguard.losses.link import Link
from tailguard.plans.problem import Problem
from tailguard.queries.view import LARGEST_FEATURE, View
from tailguard.scaling.sizes import NEAREST_BOUND

__all__ = ["OTHERS", "feature_bound", "feature_bounds"]

# In scales of a column. A score's rise is exponential in the loss of a log link, bounded in that of
# log-odds: the more a far row can do, the nearer the bound.
BOUNDS = {Link.IDENTITY: 16.0, Link.LOGIT: 8.0, Link.LOG: NEAREST_BOUND}
# Others that may be better. Where records are too few to choose by, and most of a fit is noise, the
# nearest is (41 real tables). Means that are exponentials of the score start within that.
OTHERS = {
    Link.IDENTITY: (NEAREST_BOUND, 64.0),
    Link.LOGIT: (NEAREST_BOUND, 16.0),
    Link.LOG: (16.0, 64.0),
}


def feature_bound(problem: Problem, *, few: bool = False) -> float:
    """Return the number of scales for the loss; ``LARGEST_FEATURE`` where there is no bound.

    ``few`` says that records are too few to choose another one. A power of the residual above two
    follows its few largest residuals, which bounds would make.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Squared(), 1000, 3)
    >>> feature_bound(problem), feature_bound(problem, few=True)
    (16.0, 4.0)
    """
    loss = problem.scored
    assert loss is not None
    if loss.link.residual and math.isinf(loss.curvature_bound()):
        return LARGEST_FEATURE
    return NEAREST_BOUND if few else BOUNDS[loss.link]


def feature_bounds(view: View, left_out: BoolArray) -> FloatArray | None:
    """Return the bounds of each feature in the user's units; infinite where it is not read.

    None where there is no bound.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.queries.units import Units
    >>> units = Units(np.array([1.0, 5.0]), np.array([0.5, 1.0]), intercept=True)
    >>> view = View(tg.losses.Squared(), units, np.eye(3), bound=4.0)
    >>> feature_bounds(view, left_out=np.array([False, True])).tolist()
    [[-1.0, 3.0], [-inf, inf]]
    """
    units = view.units
    if view.bound >= LARGEST_FEATURE:
        return None
    half = np.where(left_out, math.inf, view.bound * units.scale)
    return np.column_stack([units.center - half, units.center + half])
