"""Parameters of Wang, Xiao, Devadas and Xu (2020): the smoothed mean and descent on it.

The estimator averages ``scale * psi(x / scale)``, where psi is the soft truncation of Catoni and
Giulini after smoothing by noise of variance ``1 / smoothing``.

*Needed for privacy.* Nothing of the data: psi is bounded.

*Needed for accuracy.* ``E x^2 <= moment_bound`` for every coordinate, with a known bound.
"""

import math

from tailguard.means.formulas import checked
from tailguard.means.soft import noise_aware_scale as noise_aware_scale
from tailguard.means.soft import printed_smoothing as printed_smoothing
from tailguard.means.soft import psi_limit as psi_limit
from tailguard.privacy.accounting.zcdp import rho_of_simple


@checked
def printed_scale(*, n_rows: int, moment_bound: float, failure_probability: float) -> float:
    """Scale of the paper, ``sqrt(n moment_bound / (2 log(1 / failure_probability)))``.

    It minimises the error without noise. For minibatches ``n_rows`` is the batch size.

    *Reference.* Wang and others 2020, Lemma 3.

    Examples
    --------
    >>> round(printed_scale(n_rows=10**5, moment_bound=5.0, failure_probability=0.01), 8)
    232.99530089
    """
    return math.sqrt(n_rows * moment_bound / (-2.0 * math.log(failure_probability)))


@checked
def sensitivity(*, n_rows: int, n_features: int, scale: float, smoothing: float) -> float:
    """How far one record moves the smoothed mean in l2: ``2 scale K sqrt(d) / n``.

    For minibatches ``n_rows`` is the batch size, never the size of the data.

    *Correction.* The paper has ``2 sqrt(2) / 3`` for ``K`` (:func:`psi_limit`): 3 percent more
    noise at smoothing 4.6, and 32 percent at 1.

    *Reference.* Wang and others 2020, equation (12).

    Examples
    --------
    >>> round(sensitivity(n_rows=10**5, n_features=10, scale=233.0, smoothing=4.6), 9)
    0.013449235
    """
    return 2.0 * scale * psi_limit(smoothing=smoothing) * math.sqrt(n_features) / n_rows


@checked
def printed_noise_std(
    *,
    n_rows: int,
    n_features: int,
    n_steps: int,
    moment_bound: float,
    failure_probability: float,
    epsilon: float,
    delta: float,
) -> float:
    """Noise that Algorithm 4 adds to each coordinate of each gradient.

    ``sqrt(8 v d T / (9 L n rho))`` with ``rho`` of the textbook's conversion. The calibration is
    correct for every epsilon, but the noise is 1.3 times as large as exact accounting requires. Its
    cost is :func:`sensitivity` ``* sqrt(n_steps)`` over it.

    *Reference.* Wang and others 2020, Algorithm 4, line 3.

    Examples
    --------
    >>> facts = {"n_rows": 10**5, "n_features": 10, "n_steps": 100, "moment_bound": 5.0}
    >>> privacy = {"failure_probability": 0.01, "epsilon": 1.0, "delta": 1e-5}
    >>> round(printed_noise_std(**facts, **privacy), 8)
    0.68084175
    """
    rho = rho_of_simple(epsilon, delta)
    nats = -math.log(failure_probability)
    return math.sqrt(8.0 * moment_bound * n_features * n_steps / (9.0 * nats * n_rows * rho))


@checked
def strongly_convex_steps(*, n_rows: int, strong_convexity: float, smoothness: float) -> float:
    """How many steps for strongly convex losses, of size 1/smoothness.

    ``(smoothness / strong_convexity) log n``.

    *Constants.* The hidden one is set to 1.

    *Reference.* Wang and others 2020, Theorem 7.

    Examples
    --------
    >>> round(strongly_convex_steps(n_rows=10**5, strong_convexity=1.0, smoothness=4.0), 4)
    46.0517
    """
    return smoothness / strong_convexity * math.log(n_rows)


@checked
def convex_steps(*, n_rows: int, n_features: int, diameter: float, rho: float) -> float:
    """How many steps for convex losses, of size 1/smoothness: ``(diameter sqrt(n rho) / d)^(2/3)``.

    *Constants.* The hidden ones are set to 1; the diameter stands for the distance from the start
    to the minimiser, which is not public.

    *Reference.* Wang and others 2020, Theorem 8.

    Examples
    --------
    >>> round(convex_steps(n_rows=10**5, n_features=10, diameter=2.0, rho=0.02), 4)
    4.3089
    """
    return float((diameter * math.sqrt(n_rows * rho) / n_features) ** (2.0 / 3.0))
