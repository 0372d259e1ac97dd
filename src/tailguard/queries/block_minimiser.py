"""The minimiser of the mean loss on one block's records, an estimator for sample and aggregate.

Reference
---------
Liu and Nocedal 1989 (L-BFGS); Wang, Xiao, Devadas and Xu 2020, Algorithm 1, step 3.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from tailguard.array_types import FloatArray
from tailguard.data.rows.threads import one_blas_thread
from tailguard.losses.base import Loss

MOST_ITERATIONS = 100  # other blocks outvote the poor minimiser of a block that has not converged
BlockEstimator = Callable[[FloatArray, FloatArray], ArrayLike]


def no_estimate(features: FloatArray, target: FloatArray) -> FloatArray:
    """Return no numbers; a placeholder estimator if only a query's public numbers are needed."""
    return np.empty(0)


@dataclass(frozen=True)
class BlockMinimiser:
    """Compute weights that minimise the mean loss plus a small ridge penalty; keeps no state.

    Examples
    --------
    >>> import tailguard as tg
    >>> fit = BlockMinimiser(tg.losses.Squared(), intercept=False, ridge=1e-9)
    >>> fit(np.array([[1.0], [2.0]]), np.array([2.0, 4.0])).round(6)
    array([2.])
    """

    loss: Loss
    intercept: bool
    ridge: float

    def __call__(self, features: FloatArray, target: FloatArray) -> FloatArray:
        """Minimise, starting from zero."""
        columns = [features, np.ones((len(features), 1))] if self.intercept else [features]
        design = np.hstack(columns)

        def risk(weights: FloatArray) -> tuple[float, FloatArray]:
            """Return the penalised mean loss and its gradient."""
            score = design @ weights
            penalty = self.ridge * float(weights @ weights)
            value = float(np.mean(self.loss.value(score, target))) + penalty
            slope = self.loss.slope(score, target)
            return value, design.T @ slope / len(target) + 2.0 * self.ridge * weights

        with one_blas_thread():  # blocks are small: several threads would mostly wait
            result = minimize(
                risk,
                np.zeros(design.shape[1]),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": MOST_ITERATIONS},
            )
        return np.asarray(result.x, dtype=np.float64)
