"""Bounds of Wang, Xiao, Devadas and Xu (2020).

"On differentially private stochastic convex optimization with heavy-tailed data".

*Needed for privacy.* Nothing of the data; a bounded range for the trimmed mean. The scales that
the paper prints for its Algorithms 1 and 2 are not smooth and give no privacy: the bounds are those
of the repaired algorithms.

*Needed for accuracy.* ``E x_j^2 <= moment_bound`` for every coordinate of the gradient at every
point, a smooth population risk whose gradient vanishes at the minimiser, a bounded set.

The paper has no lower bound of its own; those of :mod:`~tailguard.papers.kamath2022` with moments
of order 2 apply.
"""

import math

from tailguard.means.formulas import checked
from tailguard.privacy.accounting.zcdp import rho_of_simple


@checked
def smoothed_mean_error(
    *, n_rows: int, moment_bound: float, scale: float, smoothing: float, failure_probability: float
) -> float:
    """Error of the smoothed mean of one coordinate before noise, with all constants.

    ``v (1 + 1/b) / (2 s) + (s / n) (b / 2 + L)``, ``L = log(1 / failure_probability)``, exceeded in
    either direction with at most twice that chance.

    *Correction.* The paper states only the order; this bound follows from the same argument.

    *Reference.* Wang and others 2020, Lemma 3 (after Holland 2019 and Catoni and Giulini 2017).

    Examples
    --------
    >>> args = {"n_rows": 10**5, "moment_bound": 5.0, "scale": 233.0, "smoothing": 4.6}
    >>> round(smoothed_mean_error(failure_probability=0.01, **args), 5)
    0.02915
    """
    bias = moment_bound * (1.0 + 1.0 / smoothing) / (2.0 * scale)
    return bias + scale / n_rows * (smoothing / 2.0 - math.log(failure_probability))


@checked
def private_mean_bound(
    *, n_rows: int, moment_bound: float, epsilon: float, delta: float, failure_probability: float
) -> float:
    """Error of the private mean of one coordinate.

    ``sqrt(v log(1/delta) log(1/fp) / n) / epsilon``.

    *Constants.* The hidden one is set to 1. With the printed scale, d coordinates together have an
    error of ``d / sqrt(n)`` and not ``d^(3/4)``: that scale ignores the noise.

    *Reference.* Wang and others 2020, Theorem 6.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "moment_bound": 5.0, "epsilon": 1.0, "delta": 1e-5}
    >>> round(private_mean_bound(failure_probability=0.01, **args), 5)
    0.05149
    """
    nats = math.log(delta) * math.log(failure_probability)
    return math.sqrt(moment_bound * nats / n_rows) / epsilon


@checked
def sample_aggregate_bound(
    *,
    n_rows: int,
    n_features: int,
    epsilon: float,
    least_risk: float,
    smoothness: float,
    strong_convexity: float,
) -> float:
    """Excess risk of sample and aggregate, ``(b / a)^2 d^3 least_risk / (n epsilon^4)``.

    *Constants.* Hidden ones and logarithms are set to 1; ``least_risk`` is the population risk of
    the minimiser.

    *Also needed for accuracy.* Every single loss smooth and non-negative, which the paper uses but
    does not state, and ``epsilon > 2 d / sqrt(n_blocks)``, although the paper claims any epsilon.

    *Reference.* Wang and others 2020, Theorem 2.

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 5, "epsilon": 1.0, "least_risk": 0.5}
    >>> sample_aggregate_bound(smoothness=4.0, strong_convexity=1.0, **args)
    0.001
    """
    rate = n_features**3 / (n_rows * epsilon**4)
    return (smoothness / strong_convexity) ** 2 * rate * least_risk


@checked
def trimmed_least_rows(
    *, n_rows: int, n_features: int, n_steps: int, epsilon: float, delta: float
) -> float:
    """Rows below which more rows do not improve descent on trimmed means.

    ``16 d T log(n) / rho``: the published smoothness needs that many trimmed records.

    *Correction.* The paper trims a constant number of records, but then its noise does not shrink
    with n.

    *Reference.* Wang and others 2020, Algorithm 2 and Lemma 2.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "n_steps": 100}
    >>> round(trimmed_least_rows(epsilon=1.0, delta=1e-5, **args))
    8847615
    """
    rho = rho_of_simple(epsilon, delta)
    return 16.0 * n_features * n_steps * math.log(n_rows) / rho


@checked
def trimmed_strongly_convex_bound(
    *,
    n_rows: int,
    n_features: int,
    epsilon: float,
    delta: float,
    tail_scale: float,
    diameter: float,
    smoothness: float,
    strong_convexity: float,
) -> float:
    """Excess risk of descent on trimmed means.

    ``(D b tau d log n)^2 log(1/delta) / (a^3 n epsilon^2)``.

    *Constants.* The hidden one is set to 1; the units are the paper's, and do not match.

    *Also needed for accuracy.* Sub-exponential coordinates of scale ``tail_scale`` (all moments
    exist), a known range of their means, and more rows than :func:`trimmed_least_rows`, which the
    paper does not require.

    *Reference.* Wang and others 2020, Theorem 5.

    Examples
    --------
    >>> args = {"n_rows": 10**7, "n_features": 5, "epsilon": 1.0, "delta": 1e-5}
    >>> shape = {"tail_scale": 1.0, "diameter": 2.0, "smoothness": 1.0, "strong_convexity": 1.0}
    >>> round(trimmed_strongly_convex_bound(**args, **shape), 5)
    0.02991
    """
    reach = diameter * smoothness * tail_scale * n_features * math.log(n_rows) / epsilon
    return -(reach**2) * math.log(delta) / (strong_convexity**3 * n_rows)


@checked
def strongly_convex_bound(
    *,
    n_rows: int,
    n_features: int,
    moment_bound: float,
    epsilon: float,
    delta: float,
    failure_probability: float,
    diameter: float,
    smoothness: float,
    strong_convexity: float,
) -> float:
    """Excess risk of Algorithm 4 for strongly convex losses.

    ``v D^2 b^4 d^3 log(n)^2 log(1/delta) log(1/fp) / (a^3 n epsilon^2)``.

    *Constants.* The hidden one is set to 1; the units are the paper's, and do not match.

    *Correction.* The paper prints ``d^2``. With its scale the error that holds at all points at
    once is ``d^(3/2)`` and not ``d``, as Kamath, Liu and Zhang (2022) found.

    *Reference.* Wang and others 2020, Theorem 7.

    Examples
    --------
    >>> args = {"n_rows": 10**7, "n_features": 5, "moment_bound": 1.0, "epsilon": 1.0}
    >>> shape = {"diameter": 2.0, "smoothness": 1.0, "strong_convexity": 1.0}
    >>> round(strongly_convex_bound(delta=1e-5, failure_probability=0.01, **args, **shape), 4)
    0.6887
    """
    nats = math.log(n_rows) ** 2 * math.log(delta) * math.log(failure_probability)
    shape = diameter**2 * smoothness**4 / strong_convexity**3
    return moment_bound * shape * n_features**3 * nats / (n_rows * epsilon**2)


@checked
def convex_bound(
    *, n_rows: int, n_features: int, epsilon: float, delta: float, failure_probability: float
) -> float:
    """Excess risk of Algorithm 4 for convex losses.

    ``d log(1/delta)^(1/3) log(1/fp)^(1/2) / (n epsilon^2)^(1/3)``.

    *Constants.* The moment, the smoothness, the diameter and the hidden constants are set to 1.

    *Correction.* The paper prints ``d^(2/3)``; see :func:`strongly_convex_bound`.

    *Also needed for accuracy.* A set that contains the ball around the minimiser whose radius is
    twice the distance of the start.

    *Reference.* Wang and others 2020, Theorem 8.

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 5, "epsilon": 1.0, "delta": 1e-5}
    >>> round(convex_bound(failure_probability=0.01, **args), 4)
    0.2423
    """
    rate = math.cbrt(-math.log(delta) / (n_rows * epsilon**2))
    return n_features * math.sqrt(-math.log(failure_probability)) * rate
