"""Whether intervals of a power of the residual above two hold although its slopes are clipped.

Such a fit follows its largest residuals, and rounds clip these: where a residual counts in
proportion to its cube, noise allows a clip level of hardly two standard deviations. Clipping leaves
the optimum where it is only if residuals are symmetric and alike in all rows. If a few far
residuals have most of the variance, the fit without privacy moves with them, and the clipped one
does not. In each of these cases, and if noise hides which one it is, there are no intervals.

Reference
---------
Huber 1964 (the variance of a location estimate, by its slope).
"""

import math

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.solvers.newton.clipping import SlopeDistribution
from tailguard.solvers.newton.state import Fit
from tailguard.solvers.newton.whitening import noise_level

# The largest variance of a step without clipping over that of a clipped one, by the seen residuals.
# In fits of four columns it is 1 to 2.3 with normal residuals, and mostly more with t(3) ones.
LARGEST_CLIPPED = 2.5
# The largest relative excess of squared residuals along any direction over the estimate from
# histograms. In the same fits of 40,000 records it is at most .2 where residuals are alike in all
# rows, and .3 to .7 where a square is left out. It counts beyond the largest eigenvalue of its
# noise.
UNEVEN_ROWS = 0.3
HIDDEN_TAIL = "noise hides how far residuals reach, and whether they are skewed"
CLIPPED = "residuals are skewed, uneven or far: clipping them moves a fit of this power"


def is_power(slopes: SlopeDistribution) -> bool:
    """Whether residuals were seen, and the loss is a power of them above two."""
    unbounded = slopes.loss is not None and math.isinf(slopes.loss.curvature_bound())
    return slopes.seen and unbounded and not slopes.of_bounded_residual_loss


def why_clipping_matters(fit: Fit, largest_hidden: float) -> str | None:
    """Return why clipping may move a fit of a power by standard errors; None if it does not.

    ``largest_hidden`` is the largest share of records that noise may hide beyond the seen ones.
    """
    slopes = fit.clipping.slopes
    if not is_power(slopes):
        return None
    whole, clipped = (_variance(slopes, h) for h in (math.inf, fit.clipping.slope_limit))
    if slopes.skewed or whole > LARGEST_CLIPPED * clipped:
        return CLIPPED
    return HIDDEN_TAIL if slopes.distribution.hidden > largest_hidden else None


def _variance(slopes: SlopeDistribution, limit: float) -> float:
    """Variance of a step along a coordinate of unit variance, times the number of records."""
    return slopes.variance(limit) / max(slopes.curvature(limit), 1e-300) ** 2


def uneven_power(fit: Fit, excess: FloatArray, noise_std: float) -> bool:
    """Whether squared residuals of a fit of a power are larger along some direction of rows."""
    if not is_power(fit.clipping.slopes):
        return False
    largest = float(np.linalg.eigvalsh(excess).max())
    return largest > max(UNEVEN_ROWS, noise_level(noise_std, len(excess)))
