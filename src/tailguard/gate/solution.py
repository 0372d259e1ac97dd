"""What a run found."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from tailguard.array_types import FloatArray
from tailguard.gate.plan import Plan


@dataclass(frozen=True, eq=False)
class Solution:
    """What a run found, in the user's units.

    Attributes
    ----------
    coef, intercept
        The released coefficients; or the mean of each column, and 0.
    plan
        The plan that was run.
    coef_noise_std, intercept_noise_std
        Predicted standard deviation that the privacy noise gives each coefficient, from public and
        released numbers; NaN where no prediction is made.
    trace
        Released iterates, one a row, in the units of the descent.
    coef_std, intercept_std
        Predicted standard deviation of each coefficient through sampling and privacy noise
        together, where the solver pays for it; None and NaN where it does not.
    center
        What intervals lie about where that is not the coefficients, the intercept last.
    notes
        What was decided on the way, from released numbers.
    found
        Released numbers that the run decided by.
    feature_bounds
        Lower and upper bound of each feature, within which the fit read it and its coefficient is a
        slope; None where features were read as they are, or none was.
    score_bound
        The largest score of a prediction, as a log link may have one; else infinite.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> solution = tg.minimize(
    ...     tg.losses.Squared(), np.eye(100)[:, :1], np.ones(100), guarantee=tg.GDP(1.0),
    ...     constraint=tg.sets.L2Ball(2.0), random_state=0,
    ... )
    >>> solution.coef.shape
    (1,)
    """

    coef: FloatArray
    intercept: float
    plan: Plan
    coef_noise_std: FloatArray
    intercept_noise_std: float
    trace: FloatArray
    coef_std: FloatArray | None = None
    intercept_std: float = math.nan
    center: FloatArray | None = None
    notes: tuple[str, ...] = ()
    feature_bounds: FloatArray | None = None
    score_bound: float = math.inf
    found: Mapping[str, float | int | str] = field(default_factory=dict)
