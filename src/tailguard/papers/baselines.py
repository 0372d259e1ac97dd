"""Methods for comparison: NON-PRIVATE ones, and the papers' private competitor DP-SGD.

The results of :func:`robust_mean` and :func:`robust_gradient_descent` are not private: do not
publish them as such. :class:`DpSgd` is private, and runs through the gate like every solver.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tailguard.array_types import FloatArray
from tailguard.checks import (
    InputError,
    check_boolean,
    check_integer,
    check_methods,
    check_open_unit,
    check_positive,
)
from tailguard.data.matrices import to_matrix, to_matrix_or_vector, to_vector
from tailguard.losses.base import Loss
from tailguard.means.formulas import check_facts
from tailguard.noise.orders import random_partition
from tailguard.noise.sources import make_source

# Exported from here as well, beside the other methods for comparison.
from tailguard.papers.solvers.dp_sgd import DpSgd as DpSgd
from tailguard.papers.solvers.dp_sgd import (
    sampled_noise_over_sensitivity as sampled_noise_over_sensitivity,
)
from tailguard.queries.admission import check_known
from tailguard.queries.soft_truncation import soft_truncation
from tailguard.quiet import quietly
from tailguard.sets.base import ConstraintSet, check_set
from tailguard.sets.whole_space import WholeSpace


def robust_mean(
    X: Any, *, moment_bound: float | None = None, failure_probability: float = 0.05
) -> FloatArray | float:
    """Mean of every column under smoothed soft truncation. NON-PRIVATE: for comparison only.

    It is ``scale`` times the mean of ``psi(x / scale)``, with ``L = log(1 / failure_probability)``,
    ``scale = sqrt(n moment_bound / (2 L))`` and smoothing ``sqrt(2 L)``, which minimises the error
    bound.

    Parameters
    ----------
    X
        Numeric columns, or one vector.
    moment_bound
        A bound on the second raw moment of every column; by default that of the data, column by
        column.
    failure_probability
        The error exceeds ``(1 + 1 / sqrt(2 L)) sqrt(2 L moment_bound / n)`` with probability at
        most twice this.

    Guarantee
    ---------
    None: it reads the records and adds no noise.

    Edge cases
    ----------
    A record with a missing or infinite value counts as zero.

    Reference
    ---------
    Catoni and Giulini 2017; Holland 2019; Wang, Xiao, Devadas and Xu 2020, equations (5) to (11).

    Examples
    --------
    >>> x = np.concatenate([np.linspace(-1.0, 1.0, 999), [1e9]])
    >>> bool(abs(robust_mean(x, moment_bound=1.0)) < 0.05)
    True
    """
    check_facts(failure_probability=failure_probability)
    values, single = to_matrix_or_vector(X)
    values = values.astype(np.float64)
    if not values.size:
        raise InputError(f"X must have at least one row and one column; got {values.shape}.")
    valid = np.isfinite(values).all(axis=1, keepdims=True)
    values = np.where(valid, values, 0.0)
    log_failures = -math.log(failure_probability)  # L
    if moment_bound is None:
        bounds = np.maximum((values**2).mean(axis=0), np.finfo(np.float64).tiny)
    else:
        bounds = np.full(values.shape[1], check_positive("moment_bound", moment_bound))
    scale = np.sqrt(len(values) * bounds / (2.0 * log_failures))
    smoothing = math.sqrt(2.0 * log_failures)
    means: FloatArray = scale * soft_truncation(values / scale, smoothing).mean(axis=0)
    return float(means[0]) if single else means


@dataclass(frozen=True, eq=False)
class NonPrivateFit:
    """Coefficients of a fit WITHOUT privacy, and the iterates of the descent, one per row.

    Examples
    --------
    >>> NonPrivateFit(np.zeros(2), 0.0, np.zeros((1, 2))).private
    False
    """

    coef: FloatArray
    intercept: float
    trace: FloatArray
    private: ClassVar[bool] = False


def robust_gradient_descent(
    loss: Loss,
    X: Any,
    y: Any,
    *,
    n_steps: int = 100,
    step_size: float = 0.1,
    batch_rows: int | None = None,
    moment_bound: float | None = None,
    failure_probability: float = 0.01,
    constraint: ConstraintSet | None = None,
    intercept: bool = False,
    random_state: int | None = None,
) -> NonPrivateFit:
    """Descent on softly truncated means of gradients. NON-PRIVATE: for comparison only.

    Parameters
    ----------
    loss
        A loss of a score, from ``tg.losses``.
    X, y
        Numeric columns and the target.
    n_steps, step_size
        The number of steps and their size.
    batch_rows
        A number selects the stochastic form: random batches of this size, step t divided by the
        root of t, and the average of the points. None reads all records at every step, and returns
        the last point.
    moment_bound
        A bound on the second raw moment of every coordinate of the gradient; by default that of the
        data.
    failure_probability
        Sets the smoothing to ``L = log(1 / failure_probability)``, and not to ``sqrt(2 L)`` as in
        :func:`robust_mean`; the scale is ``sqrt(n moment_bound / (2 L))``.
    constraint
        A convex set; none by default.
    intercept
        Whether a constant coordinate is added.
    random_state
        A seed for the batches.

    Guarantee
    ---------
    None: it reads the records and adds no noise.

    Edge cases
    ----------
    A record with a missing or infinite value, or with a target that is invalid for the loss, has a
    gradient of zero and is counted.

    Reference
    ---------
    Holland 2019; Wang, Xiao, Devadas and Xu 2020, Algorithm 4 without its noise.

    Examples
    --------
    >>> import tailguard as tg
    >>> X = np.linspace(-1.0, 1.0, 999)[:, None]
    >>> y = np.append(2.0 * X[1:, 0], 1e9)
    >>> options = {"moment_bound": 1.0, "step_size": 1.0}
    >>> robust_gradient_descent(tg.losses.Squared(), X, y, **options).coef.round(1)
    array([2.])
    """
    check_known(loss)
    check_methods("loss", loss, ("slope", "valid_target"), "a loss of a score, from tg.losses")
    check_integer("n_steps", n_steps, minimum=1)
    check_positive("step_size", step_size)
    check_open_unit("failure_probability", failure_probability)
    if moment_bound is not None:
        check_positive("moment_bound", moment_bound)
    design, target = _records(loss, X, y, check_boolean("intercept", intercept))
    batches = _batches(len(design), batch_rows, n_steps, random_state)
    allowed = WholeSpace() if constraint is None else check_set("constraint", constraint)
    point = allowed.project(np.zeros(design.shape[1]))
    points = np.empty((n_steps, design.shape[1]))
    for step, batch in enumerate(batches):
        rows = slice(None) if batch is None else batch
        gradient = _robust_gradient(
            loss, design[rows], target[rows], point, moment_bound, -math.log(failure_probability)
        )
        length = step_size / (1.0 if batch is None else math.sqrt(step + 1.0))
        point = allowed.project(point - length * gradient)
        points[step] = point
    weights = allowed.project(points.mean(axis=0)) if batch_rows else point
    n_coefficients = len(weights) - int(intercept)
    constant = float(weights[n_coefficients:].sum())  # 0 without an intercept
    return NonPrivateFit(weights[:n_coefficients], constant, points)


def _records(loss: Loss, X: Any, y: Any, intercept: bool) -> tuple[FloatArray, FloatArray]:
    """Return rows and targets; void records have zero rows and a NaN target."""
    features, target = to_matrix(X).astype(np.float64), to_vector(y, "y").astype(np.float64)
    if len(features) != len(target) or not features.size:
        raise InputError(
            f"X and y must have as many rows, and at least one; got {features.shape} and "
            f"{target.shape}."
        )
    with quietly():
        valid = np.isfinite(features).all(axis=1) & np.isfinite(target) & loss.valid_target(target)
    design = np.column_stack([features, np.ones(len(features))]) if intercept else features
    return np.where(valid[:, None], design, 0.0), np.where(valid, target, np.nan)


def _batches(
    n_rows: int, batch_rows: int | None, n_steps: int, random_state: int | None
) -> list[NDArray[np.int64] | None]:
    """Return the indices of every step's records; None stands for all records."""
    if batch_rows is None:
        return [None] * n_steps
    size = check_integer("batch_rows", batch_rows, minimum=1, maximum=n_rows)
    source = make_source(random_state)
    batches: list[NDArray[np.int64] | None] = []
    while len(batches) < n_steps:
        batches += random_partition(n_rows, (size,) * (n_rows // size), source)
    return batches[:n_steps]


def _robust_gradient(
    loss: Loss,
    design: FloatArray,
    target: FloatArray,
    weights: FloatArray,
    moment_bound: float | None,
    log_failures: float,
) -> FloatArray:
    """Return the softly truncated mean of every coordinate of the gradients."""
    with quietly():
        slopes = np.asarray(loss.slope(design @ weights, np.nan_to_num(target)))
        gradients = np.where(np.isnan(target), 0.0, slopes)[:, None] * design
        bounds = (gradients**2).mean(axis=0) if moment_bound is None else np.float64(moment_bound)
    limits = np.finfo(np.float64)
    bounds = np.clip(bounds, limits.tiny, limits.max / len(design))
    scale = np.sqrt(len(design) * bounds / (2.0 * log_failures))
    return scale * soft_truncation(gradients / scale, log_failures).mean(axis=0)
