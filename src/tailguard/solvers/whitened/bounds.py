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

from tailguard.array_types import FloatArray
from tailguard.losses.link import Link
from tailguard.plans.problem import Problem
from tailguard.queries.view import LARGEST_FEATURE
from tailguard.solvers.whitened.fit import Fit

__all__ = ["feature_bound", "feature_bounds"]

# In scales of a column. A score's rise is exponential in the loss of a log link, bounded in that of
# log-odds: the more a far row can do, the nearer the bound.
BOUNDS = {Link.IDENTITY: 16.0, Link.LOGIT: 8.0, Link.LOG: 4.0}


def feature_bound(problem: Problem) -> float:
    """Return the number of scales for the loss; ``LARGEST_FEATURE`` where there is no bound.

    A power of the residual above two follows its few largest residuals, which bounds would make.

    Examples
    --------
    >>> import tailguard as tg
    >>> feature_bound(Problem(tg.losses.Squared(), 1000, 3))
    16.0
    """
    loss = problem.scored
    assert loss is not None
    if loss.link.residual and math.isinf(loss.curvature_bound()):
        return LARGEST_FEATURE
    return BOUNDS[loss.link]


def feature_bounds(fit: Fit) -> FloatArray | None:
    """Return the bounds of each feature in the user's units; infinite where it is not read.

    None where there is no bound.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> feature_bounds(example_fit(tg.losses.Squared())).shape
    (2, 2)
    """
    units = fit.view.units
    if fit.view.bound >= LARGEST_FEATURE:
        return None
    half = np.where(fit.left_out, math.inf, fit.view.bound * units.scale)
    return np.column_stack([units.center - half, units.center + half])
