"""From released weights to coefficients, their noise and their bounds in the user's units.

Reference
---------
Dwork and Roth 2014, Proposition 2.1 (post-processing).
"""

import math

import numpy as np

from tailguard.plans.plan import Plan
from tailguard.plans.solution import Solution
from tailguard.solvers.whitened.bounds import feature_bounds
from tailguard.solvers.whitened.covariance import covariances
from tailguard.solvers.whitened.state import Fit

__all__ = ["solution"]


def solution(fit: Fit, plan: Plan) -> Solution:
    """Map weights, their noise and their variance back to the user's units.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> fit = example_fit(tg.losses.Squared(), phase=0)
    >>> solution(fit, fit.session.plan).coef.shape
    (2,)
    """
    units, link = fit.view.units, fit.problem.link
    coef, intercept = units.coefficients(fit.weights, link)
    gain = units.gain(link)
    jacobian = np.diag(gain / units.scale)
    own = fit.problem.intercept
    if own:
        below = np.append(-gain * units.center / units.scale, gain)
        jacobian = np.vstack([np.column_stack([jacobian, np.zeros(coef.size)]), below])
    noise, whole = (jacobian @ matrix @ jacobian.T for matrix in covariances(fit))
    noise_std, std = (np.sqrt(np.diag(matrix)) for matrix in (noise, whole))
    std[: coef.size][fit.left_out] = math.nan
    return Solution(
        # Units near the limits of floats can carry a coefficient beyond them.
        coef=np.nan_to_num(coef),
        intercept=float(np.nan_to_num(intercept)),
        plan=plan,
        coef_noise_std=noise_std[: coef.size],
        intercept_noise_std=float(noise_std[-1]) if own else 0.0,
        trace=np.array([a.weights for a in fit.iterates]).reshape(-1, fit.problem.size),
        coef_std=std[: coef.size],
        intercept_std=float(std[-1]) if own else 0.0,
        notes=tuple(fit.notes),
        feature_bounds=feature_bounds(fit.view, fit.left_out),
    )
