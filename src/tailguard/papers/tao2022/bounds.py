"""Upper bounds of Tao, Wu, Cheng and Wang (2022).

"Private stochastic convex optimization and sparse learning with heavy-tailed data revisited".

``moment_order`` is the paper's 1 + v, in (1, 2], and ``moment_bound`` its u.

*Needed for privacy.* Nothing of the data.

*Needed for accuracy.* ``E|x_j|^moment_order <= moment_bound`` for every coordinate (of the
gradient, at every point), raw and not central, both numbers known; for optimisation a smooth
population risk with a vanishing gradient at the minimiser and a bounded set.

The lower bounds are those of :mod:`~tailguard.papers.tao2022.lower`.
"""

import math

from tailguard.means.formulas import check_facts, checked_up_to_2, moment_scale, tail_power
from tailguard.papers.tao2022.lower import squared_rate


@checked_up_to_2
def scalar_mean_bound(
    *,
    n_rows: int,
    moment_order: float,
    moment_bound: float,
    epsilon: float,
    delta: float,
    failure_probability: float,
) -> float:
    """Error of the truncated scalar mean with the paper's threshold and noise.

    ``9 u^(1/(1+v)) (sqrt(log(1.25/delta)) log(1/fp) / (n epsilon))^(v/(1+v))``, exceeded with at
    most three times the failure probability.

    *Constants.* The 9 is that of the proof. For ``failure_probability <= 1/2``.

    *Correction.* The paper states the failure probability, but proves three times as much.

    *Reference.* Tao and others 2022, Theorem 1.

    Examples
    --------
    >>> args = {"n_rows": 10**4, "moment_order": 2.0, "moment_bound": 1.0}
    >>> round(scalar_mean_bound(epsilon=1.0, delta=1e-5, failure_probability=0.1, **args), 6)
    0.252773
    """
    nats = -math.sqrt(math.log(1.25 / delta)) * math.log(failure_probability)
    rate = tail_power(nats / (n_rows * epsilon), moment_order)
    return 9.0 * moment_scale(moment_bound, moment_order) * rate


@checked_up_to_2
def scalar_error(
    *,
    n_rows: int,
    moment_order: float,
    moment_bound: float,
    threshold: float,
    noise_std: float,
    failure_probability: float,
) -> float:
    """Error of the truncated scalar mean at any threshold and noise, with all constants.

    Bias ``u / B^v``, sampling ``sqrt(2 B^(1-v) u L / n) + B L / (3 n)`` and noise
    ``std sqrt(2 log(2/fp))``, ``L = log(1/fp)``; exceeded with at most three times the failure
    probability.

    *Reference.* Tao and others 2022, proof of Theorem 1.

    Examples
    --------
    >>> args = {"n_rows": 10**4, "moment_order": 2.0, "moment_bound": 1.0, "threshold": 35.6}
    >>> round(scalar_error(noise_std=0.0266, failure_probability=0.1, **args), 4)
    0.1174
    """
    nats = -math.log(failure_probability)
    bias = moment_bound / threshold ** (moment_order - 1.0)
    variance = threshold ** (2.0 - moment_order) * moment_bound
    sampling = math.sqrt(2.0 * variance * nats / n_rows) + threshold * nats / (3.0 * n_rows)
    return float(bias + sampling + noise_std * math.sqrt(2.0 * (nats + math.log(2.0))))


@checked_up_to_2
def deviation_bound(*, n_rows: int, moment_order: float, moment_bound: float) -> float:
    """Distance from its expectation that a plain mean exceeds with a chance of at most 1/10.

    ``(80 u / n^v)^(1/(1+v))``; the proof applies it to group means.

    *Reference.* Tao and others 2022, Theorem 4, after von Bahr and Esseen 1965.

    Examples
    --------
    >>> round(deviation_bound(n_rows=1000, moment_order=2.0, moment_bound=1.0), 4)
    0.2828
    """
    return moment_scale(80.0 * moment_bound * n_rows ** (1.0 - moment_order), moment_order)


@checked_up_to_2
def mean_bound(
    *, n_rows: int, n_features: int, moment_order: float, moment_bound: float, epsilon: float
) -> float:
    """Error of the truncated median of means with the paper's threshold, constants 1.

    ``u^(1/(1+v)) (sqrt(d) n^(-v/(1+v)) + d^((1+2v)/(2+2v)) (n epsilon)^(-v/(1+v)))``.

    *Reference.* Tao and others 2022, Corollary 1.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "moment_order": 2.0, "moment_bound": 1.0}
    >>> round(mean_bound(epsilon=1.0, **args), 5)
    0.02778
    """
    sampling = tail_power(1.0 / n_rows, moment_order)
    private = tail_power(math.sqrt(n_features) / (n_rows * epsilon), moment_order)
    root = math.sqrt(n_features)
    return moment_scale(moment_bound, moment_order) * root * (sampling + private)


@checked_up_to_2
def mean_error(
    *,
    n_rows: int,
    n_features: int,
    n_groups: int,
    moment_order: float,
    moment_bound: float,
    threshold: float,
    noise_std: float,
    failure_probability: float,
) -> float:
    """Error of the truncated median of means, with the constants of its proof.

    ``sqrt(d) ((80 u)^(1/(1+v)) (m/n)^(v/(1+v)) + u / tau^v) + 2 std (sqrt(d) + sqrt(log(1/fp)))``.

    *Reference.* Tao and others 2022, Theorem 3.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "n_groups": 22, "moment_order": 2.0}
    >>> noise = {"threshold": 50.0, "noise_std": 0.13, "failure_probability": 0.1}
    >>> round(mean_error(moment_bound=1.0, **args, **noise), 4)
    1.6995
    """
    group_rows = n_rows // n_groups
    check_facts(n_group_rows=group_rows)
    sampling = deviation_bound(
        n_rows=group_rows, moment_order=moment_order, moment_bound=moment_bound
    )
    bias = moment_bound / threshold ** (moment_order - 1.0)
    root = math.sqrt(n_features)
    noise = 2.0 * noise_std * (root + math.sqrt(-math.log(failure_probability)))
    return float(root * (sampling + bias) + noise)


@checked_up_to_2
def convex_bound(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    epsilon: float,
    diameter: float,
    moment_bound: float = 1.0,
) -> float:
    """Excess risk for convex losses: ``D u^(1/(1+v)) (a + a^3)``.

    ``a = d^((1+4v)/(2+2v)) / (n epsilon)^(v/(1+v))``.

    *Constants.* Hidden ones, logarithms and the bound on the gradient are set to 1.

    *Correction.* The paper prints ``u^2``, with a threshold that does not depend on ``u``. Rescaled
    gradients have ``u = 1``, and the risk scales with the gradients.

    *Reference.* Tao and others 2022, Theorem 6.

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 5, "moment_order": 2.0}
    >>> round(convex_bound(epsilon=1.0, diameter=2.0, **args), 5)
    0.01495
    """
    rate = math.sqrt(n_features) * tail_power(n_features**1.5 / (epsilon * n_rows), moment_order)
    return diameter * moment_scale(moment_bound, moment_order) * (rate + rate**3)


@checked_up_to_2
def strongly_convex_bound(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    epsilon: float,
    diameter: float,
    strong_convexity: float,
    smoothness: float,
    moment_bound: float = 1.0,
) -> float:
    """Excess risk for strongly convex losses.

    ``((D+1)^2 (a+b)^2 / (a^2 b)) u^(2/(1+v)) d^((1+2v)/(1+v)) / (n epsilon)^(2v/(1+v))``.

    *Constants.* Hidden ones, logarithms and the bound on the gradient are set to 1.

    *Correction.* The introduction's power of d, ``(1+4v)/(1+v)``, is a misprint. The theorem's
    threshold does not give this rate; that of its Lemma 20 does. In the pseudo-code each step reads
    all records, but its budget is for a block.

    *Reference.* Tao and others 2022, Theorem 7.

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 5, "moment_order": 2.0, "epsilon": 1.0}
    >>> shape = {"diameter": 2.0, "strong_convexity": 1.0, "smoothness": 1.0}
    >>> round(strongly_convex_bound(**args, **shape), 6)
    0.000402
    """
    shape = ((diameter + 1.0) * (1.0 + smoothness / strong_convexity)) ** 2 / smoothness
    cost = math.sqrt(n_features) / (epsilon * n_rows)
    return shape * n_features * squared_rate(cost, moment_order, moment_bound)


@checked_up_to_2
def sparse_bound(
    *,
    n_rows: int,
    n_features: int,
    n_nonzero: int,
    moment_order: float,
    epsilon: float,
    delta: float,
    failure_probability: float,
    moment_bound: float = 1.0,
) -> float:
    """Excess risk of sparse descent, logarithmic in the number of features.

    ``s^((1+2v)/(1+v)) u^(2/(1+v)) (log(n) log(d/fp) sqrt(log(1/delta)) / (n eps))^(2v/(1+v))``.

    *Constants.* Hidden ones and restricted convexity and smoothness are set to 1.

    *Also needed for accuracy.* Restricted strong convexity and smoothness.

    *Reference.* Tao and others 2022, Theorem 10.

    Examples
    --------
    >>> args = {"n_rows": 10**7, "n_features": 1000, "n_nonzero": 3, "moment_order": 2.0}
    >>> round(sparse_bound(epsilon=1.0, delta=1e-5, failure_probability=0.1, **args), 6)
    0.000262
    """
    nats = math.log(n_rows) * math.log(n_features / failure_probability)
    cost = math.sqrt(-n_nonzero * math.log(delta)) * nats / (n_rows * epsilon)
    return n_nonzero * squared_rate(cost, moment_order, moment_bound)
