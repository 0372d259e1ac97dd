"""Bounds of Kamath, Liu and Zhang (2022).

"Improved rates for differentially private stochastic convex optimization with heavy-tailed data".

The paper measures gradients in units in which their moments are at most 1. Here the bounds are
multiplied by the root of ``moment_bound``, which is equivalent to rescaled gradients.

*Needed for privacy.* Nothing of the data; rho-zCDP (or epsilon-DP) under replacement of a record.

*Needed for accuracy.* Central moments of every coordinate of the gradient, of order
``moment_order >= 2`` and at most ``moment_bound``, at every point; for optimisation also smooth
non-negative losses, a bounded set, and a gradient that vanishes at the minimiser. The lower bounds
for convex losses hold for the larger class without this last assumption.
"""

import math

from tailguard.means.clamped import clamping_bias as clamping_bias
from tailguard.means.formulas import checked, moment_scale, tail_power


@checked
def mean_bound(
    *, n_rows: int, n_features: int, moment_order: float, rho: float, moment_bound: float = 1.0
) -> float:
    """Error of the rho-zCDP mean, ``sqrt(d/n) + sqrt(d) (sqrt(d) / (n sqrt(rho)))^((k-1)/k)``.

    *Constants.* Hidden ones and logarithms are set to 1.

    *Reference.* Kamath, Liu and Zhang 2022, Corollary 4.2.

    Examples
    --------
    >>> round(mean_bound(n_rows=10**5, n_features=10, moment_order=2.0, rho=0.5), 5)
    0.03115
    """
    cost = math.sqrt(n_features / rho) / n_rows
    return _mean_error(n_rows, n_features, moment_order, moment_bound, cost)


@checked
def mean_bound_pure(
    *, n_rows: int, n_features: int, moment_order: float, epsilon: float, moment_bound: float = 1.0
) -> float:
    """Error of the epsilon-DP mean, ``sqrt(d/n) + sqrt(d) (d / (n epsilon))^((k-1)/k)``.

    *Constants.* Hidden ones and logarithms are set to 1.

    *Reference.* Kamath, Liu and Zhang 2022, Corollary 4.2.

    Examples
    --------
    >>> round(mean_bound_pure(n_rows=10**5, n_features=10, moment_order=2.0, epsilon=1.0), 5)
    0.04162
    """
    cost = n_features / (epsilon * n_rows)
    return _mean_error(n_rows, n_features, moment_order, moment_bound, cost)


@checked
def mean_error(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    threshold: float,
    failure_probability: float,
    moment_bound: float = 1.0,
    noise_std: float = 0.0,
    noise_scale: float = 0.0,
) -> float:
    """Error of the clamped median of means, with the constants of its proof.

    ``sqrt(d) (10 s sqrt(m / n) + 3 s (14 s / tau)^(k-1))`` without privacy, for ``s`` the root of
    the moment and ``m = 4 log(2 d / fp)`` groups. Gaussian noise of standard deviation
    ``noise_std`` adds ``2 std (sqrt(d) + sqrt(log(1/fp)))``, Laplace noise of ``noise_scale``
    ``sqrt(d) scale log(2 d / fp)``. It fails with at most ``failure_probability``.

    *Needed.* A threshold of at least 10 ``s``, and means as near to zero.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 4.1.

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 4, "moment_order": 2.0, "threshold": 500.0}
    >>> round(mean_error(failure_probability=0.1, **args), 4)
    0.2517
    """
    scale, nats = moment_scale(moment_bound, moment_order), -math.log(failure_probability)
    root, log_groups = math.sqrt(n_features), math.log(2.0 * n_features) + nats
    sampling = 20.0 * scale * math.sqrt(log_groups / n_rows)
    bias = 3.0 * scale * (14.0 * scale / threshold) ** (moment_order - 1.0)
    noise = 2.0 * noise_std * (root + math.sqrt(nats)) + root * noise_scale * log_groups
    return float(root * (sampling + bias) + noise)


@checked
def convex_bound(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    rho: float,
    diameter: float,
    moment_bound: float = 1.0,
) -> float:
    """Excess risk for convex losses on the clamped median of means.

    ``D d / sqrt(n) + max(1, D) (D d^2 / (n sqrt(rho))) (n sqrt(rho) / (D d^(3/2)))^(1/k)``.

    *Constants.* Hidden ones, the bound on the gradient and the smoothness are set to 1.

    *Correction.* The paper prints no ``max(1, D)``; the bias term of its proof has it.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 5.2.

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 10, "moment_order": 2.0}
    >>> round(convex_bound(rho=0.5, diameter=2.0, **args), 5)
    0.07981
    """
    sampling = diameter * n_features / math.sqrt(n_rows)
    private = _convex_private_term(n_rows, n_features, moment_order, rho, diameter)
    return moment_scale(moment_bound, moment_order) * (sampling + private)


@checked
def convex_bound_with_probability(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    rho: float,
    diameter: float,
    smoothness: float,
    failure_probability: float,
) -> float:
    """Excess risk as in :func:`convex_bound`, exceeded with at most ``failure_probability``.

    ``D d sqrt(nats / n) + nats (private term + D b d^(3/2) / n^3)`` with
    ``nats = log(1 + D d n / failure_probability)``.

    *Constants.* Hidden ones, the moment and the bound on the gradient are set to 1.

    *Correction.* As in :func:`convex_bound`.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem B.8.

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 10, "moment_order": 2.0, "rho": 0.5}
    >>> shape = {"diameter": 2.0, "smoothness": 1.0, "failure_probability": 0.1}
    >>> round(convex_bound_with_probability(**args, **shape), 4)
    1.2307
    """
    nats = math.log1p(diameter * n_features * n_rows / failure_probability)
    sampling = diameter * n_features * math.sqrt(nats / n_rows)
    private = _convex_private_term(n_rows, n_features, moment_order, rho, diameter)
    net = diameter * smoothness * math.pow(n_features, 1.5) / n_rows**3
    return sampling + nats * (private + net)


@checked
def soft_convex_bound(
    *,
    n_rows: int,
    n_features: int,
    rho: float,
    diameter: float,
    balance: float,
    moment_bound: float = 1.0,
) -> float:
    """Excess risk for convex losses on the smoothed mean, from second moments.

    ``sqrt(D / n) (d^((3-q)/2) + d^((1+q)/2) / rho^(1/4))`` for a balance ``q`` in [1/2, 2].

    *Constants.* Hidden ones and logarithms, the bound on the gradient and the smoothness are set
    to 1. The noise that the paper prints for this algorithm spends up to 16/9 of rho; with correct
    noise the order is the same.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 5.5.

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 10, "rho": 0.5, "diameter": 2.0}
    >>> round(soft_convex_bound(balance=0.92474, **args), 5)
    0.03084
    """
    powers = (3.0 - balance) / 2.0, (1.0 + balance) / 2.0
    terms = n_features ** powers[0] + n_features ** powers[1] / rho**0.25
    return float(math.sqrt(moment_bound * diameter / n_rows) * terms)


@checked
def strongly_convex_bound(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    rho: float,
    diameter: float,
    strong_convexity: float,
    smoothness: float,
    moment_bound: float = 1.0,
) -> float:
    """Excess risk for strongly convex losses on the clamped median of means.

    ``((D + 1)^2 (a + b)^2 / (a^2 b)) (d/n + d (sqrt(d) / (n sqrt(rho)))^(2(k-1)/k))``.

    *Constants.* Hidden ones and logarithms are set to 1.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 5.7.

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 10, "moment_order": 2.0, "rho": 0.5}
    >>> shape = {"diameter": 2.0, "strong_convexity": 1.0, "smoothness": 1.0}
    >>> round(strongly_convex_bound(**args, **shape), 6)
    0.00197
    """
    rate = tail_power(math.sqrt(n_features / rho) / n_rows, moment_order) ** 2
    shape = ((diameter + 1.0) * (1.0 + smoothness / strong_convexity)) ** 2 / smoothness
    scale = moment_scale(moment_bound, moment_order) ** 2
    return shape * scale * n_features * (1.0 / n_rows + rate)


@checked
def strongly_convex_bound_with_probability(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    rho: float,
    diameter: float,
    strong_convexity: float,
    smoothness: float,
    failure_probability: float,
    moment_bound: float = 1.0,
) -> float:
    """Excess risk for strongly convex losses, exceeded with at most ``failure_probability``.

    It is :func:`strongly_convex_bound` with its first term multiplied by the ``nats`` of
    :func:`convex_bound_with_probability`, and its second term by their square.

    *Ours*, not printed: every step reads a new block at a point that does not depend on it, so
    Theorem 4.1 holds at all steps. Hidden constants and the number of steps are set to 1.

    *Reference.* Kamath, Liu and Zhang 2022, Remark 5.8.

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 10, "moment_order": 2.0, "rho": 0.5}
    >>> shape = {"diameter": 2.0, "strong_convexity": 1.0, "smoothness": 1.0}
    >>> round(strongly_convex_bound_with_probability(failure_probability=0.1, **args, **shape), 4)
    0.5951
    """
    nats = math.log1p(diameter * n_features * n_rows / failure_probability)
    rate = nats * tail_power(math.sqrt(n_features / rho) / n_rows, moment_order)
    shape = ((diameter + 1.0) * (1.0 + smoothness / strong_convexity)) ** 2 / smoothness
    scale = moment_scale(moment_bound, moment_order) ** 2
    return shape * scale * n_features * (nats / n_rows + rate**2)


@checked
def mean_lower_bound(
    *, n_rows: int, n_features: int, moment_order: float, rho: float, moment_bound: float = 1.0
) -> float:
    """Least error of any rho-zCDP mean: :func:`mean_bound` with the private power at most 1.

    *Constants.* Hidden ones are set to 1; :func:`tailguard.papers.fano.mean_lower_bound` has them.

    *Reference.* Kamath, Liu and Zhang 2022, Lemma 6.3.

    Examples
    --------
    >>> round(mean_lower_bound(n_rows=10**5, n_features=10, moment_order=2.0, rho=0.5), 5)
    0.03115
    """
    cost = min(1.0, math.sqrt(n_features / rho) / n_rows)
    return _mean_error(n_rows, n_features, moment_order, moment_bound, cost)


@checked
def mean_lower_bound_pure(
    *, n_rows: int, n_features: int, moment_order: float, epsilon: float, moment_bound: float = 1.0
) -> float:
    """Least error of any epsilon-DP mean: :func:`mean_bound_pure` with the power at most 1.

    *Constants.* Hidden ones are set to 1.

    *Reference.* Kamath, Liu and Zhang 2022, Lemma 6.3.

    Examples
    --------
    >>> round(mean_lower_bound_pure(n_rows=10**5, n_features=10, moment_order=2.0, epsilon=1.0), 5)
    0.04162
    """
    cost = min(1.0, n_features / (epsilon * n_rows))
    return _mean_error(n_rows, n_features, moment_order, moment_bound, cost)


@checked
def strongly_convex_lower_bound(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    rho: float,
    strong_convexity: float = 1.0,
    moment_bound: float = 1.0,
) -> float:
    """Least excess risk for strongly convex losses, ``(d/n + d min(1, ...)^2) / strong_convexity``.

    The squares of the terms of :func:`mean_lower_bound`: the loss is the squared distance.

    *Constants.* Hidden ones are set to 1.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 6.1.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "moment_order": 2.0}
    >>> round(strongly_convex_lower_bound(rho=0.5, **args), 6)
    0.000547
    """
    rate = min(1.0, tail_power(math.sqrt(n_features / rho) / n_rows, moment_order)) ** 2
    scale = moment_scale(moment_bound, moment_order) ** 2
    return scale * n_features * (1.0 / n_rows + rate) / strong_convexity


@checked
def convex_lower_bound(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    rho: float,
    diameter: float = 2.0,
    moment_bound: float = 1.0,
) -> float:
    """Least excess risk for convex losses: half the diameter times :func:`mean_lower_bound`.

    *Constants.* Hidden ones are set to 1. The set is a ball; the paper has the unit ball.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 6.4.

    Examples
    --------
    >>> round(convex_lower_bound(n_rows=10**5, n_features=10, moment_order=2.0, rho=0.5), 5)
    0.03115
    """
    cost = min(1.0, math.sqrt(n_features / rho) / n_rows)
    return diameter / 2.0 * _mean_error(n_rows, n_features, moment_order, moment_bound, cost)


@checked
def convex_lower_bound_pure(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    epsilon: float,
    diameter: float = 2.0,
    moment_bound: float = 1.0,
) -> float:
    """Least excess risk of epsilon-DP algorithms, half the diameter times the pure mean's error.

    The error is that of :func:`mean_lower_bound_pure`.

    *Constants.* Hidden ones are set to 1. The set is a ball; the paper has the unit ball.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem B.7.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "moment_order": 2.0}
    >>> round(convex_lower_bound_pure(epsilon=1.0, diameter=4.0, **args), 5)
    0.08325
    """
    cost = min(1.0, n_features / (epsilon * n_rows))
    return diameter / 2.0 * _mean_error(n_rows, n_features, moment_order, moment_bound, cost)


def _mean_error(
    n_rows: int, n_features: int, moment_order: float, moment_bound: float, cost: float
) -> float:
    """Add the errors of sampling and privacy; ``cost`` is that of privacy for records within 1."""
    error = 1.0 / math.sqrt(n_rows) + tail_power(cost, moment_order)
    return moment_scale(moment_bound, moment_order) * math.sqrt(n_features) * error


def _convex_private_term(
    n_rows: int, n_features: int, moment_order: float, rho: float, diameter: float
) -> float:
    """Second term of Theorem 5.2, with the factor that its statement omits."""
    ratio = diameter * n_features**1.5 / (math.sqrt(rho) * n_rows)
    return max(1.0, diameter) * math.sqrt(n_features) * tail_power(ratio, moment_order)
