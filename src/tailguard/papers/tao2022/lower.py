"""Lower bounds of Tao, Wu, Cheng and Wang (2022).

``moment_order`` is the paper's 1 + v, in (1, 2], and ``moment_bound`` its u: raw moments of every
coordinate at the law's own scale. For strongly convex and sparse problems the gradient is the
distance to a record. Its raw moments are not bounded at every point, but its central ones are.

The paper states its lower bounds also for (epsilon, delta) algorithms, but derives them from bounds
for the smaller class of zCDP ones. They are proved, and stated here, for rho-zCDP, with
``1 / (2 sqrt(rho))`` for ``sqrt(log(1/delta)) / epsilon``.
"""

import math

from tailguard.means.formulas import check_order, checked_up_to_2, moment_scale, tail_power


def squared_rate(cost: float, moment_order: float, moment_bound: float) -> float:
    """Squared error of one coordinate; ``cost`` is the error of privacy for records within 1.

    Examples
    --------
    >>> squared_rate(1e-4, moment_order=2.0, moment_bound=1.0)
    0.0001
    """
    check_order(moment_order, minimum=1.0, maximum=2.0)
    return (moment_scale(moment_bound, moment_order) * tail_power(cost, moment_order)) ** 2


@checked_up_to_2
def scalar_lower_bound(
    *, n_rows: int, moment_order: float, moment_bound: float, epsilon: float, delta: float
) -> float:
    """Least expected error of any (epsilon, delta) scalar mean, with its constants.

    ``(a / 4) max(0, 0.9 e^(-10 eps n p) - 10 delta n p)`` with ``a = u^(1/(1+v)) p^(v/(1+v))``. One
    law is always zero; the other is ``(u / p)^(1/(1+v))`` with probability
    ``p = v / (10 (1+v) eps n)``. The rate is ``u^(1/(1+v)) (1 / (n epsilon))^(v/(1+v))``.

    *Needed.* ``delta`` well below ``epsilon``, or the bound is 0.

    *Reference.* Tao and others 2022, Theorem 2, by Acharya, Sun and Zhang 2021, Theorem 1.

    Examples
    --------
    >>> args = {"n_rows": 10**4, "moment_order": 2.0, "moment_bound": 1.0}
    >>> round(scalar_lower_bound(epsilon=1.0, delta=1e-6, **args), 7)
    0.0003052
    """
    chance = min(1.0, (1.0 - 1.0 / moment_order) / (10.0 * epsilon * n_rows))
    moved = 10.0 * n_rows * chance
    shift = moment_scale(moment_bound, moment_order) * tail_power(chance, moment_order)
    return shift / 4.0 * max(0.0, 0.9 * math.exp(-epsilon * moved) - delta * moved)


@checked_up_to_2
def mean_lower_bound(
    *, n_rows: int, n_features: int, moment_order: float, rho: float, moment_bound: float = 1.0
) -> float:
    """Least expected l2 error of a rho-zCDP mean.

    ``u^(1/(1+v)) sqrt(d) (sqrt(d / (4 rho)) / n)^(v/(1+v))``.

    *Constants.* Hidden constants are set to 1. There must be enough rows that the means lie in the
    unit ball, ``n >= u^(1/v) d^((1+2v)/(2v)) / (2 sqrt(rho))``.

    *Correction.* Proved for zCDP, not for (epsilon, delta) (E23); separations are half the norm of
    the means, where the paper has twice the norm (E30).

    *Reference.* Tao and others 2022, Lemma 21 and equation (26).

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 5, "moment_order": 2.0}
    >>> round(mean_lower_bound(rho=0.02, **args), 6)
    0.006287
    """
    cost = math.sqrt(n_features / (4.0 * rho)) / n_rows
    return math.sqrt(n_features * squared_rate(cost, moment_order, moment_bound))


@checked_up_to_2
def mean_lower_bound_pure(
    *, n_rows: int, n_features: int, moment_order: float, epsilon: float, moment_bound: float = 1.0
) -> float:
    """Least expected l2 error of an epsilon-DP mean.

    ``u^(1/(1+v)) sqrt(d) (d / (n epsilon))^(v/(1+v))``.

    *Constants.* Hidden constants are set to 1. Needs ``n >= u^(1/v) d^((1+3v)/(2v)) / epsilon``.

    *Reference.* Tao and others 2022, Lemma 21 and equation (25).

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 5, "moment_order": 2.0}
    >>> round(mean_lower_bound_pure(epsilon=1.0, **args), 6)
    0.005
    """
    cost = n_features / (epsilon * n_rows)
    return math.sqrt(n_features * squared_rate(cost, moment_order, moment_bound))


@checked_up_to_2
def sparse_mean_lower_bound(
    *,
    n_rows: int,
    n_features: int,
    n_nonzero: int,
    moment_order: float,
    rho: float,
    moment_bound: float = 1.0,
) -> float:
    """Least expected l2 error of a rho-zCDP mean of few nonzero entries.

    ``sqrt(2 s) u^(1/(1+v)) min(1, (sqrt(s log(d) / (4 rho)) / n)^(v/(1+v)))``.

    *Constants.* Hidden constants are set to 1.

    *Correction.* Proved for zCDP, not for (epsilon, delta) (E23). The paper scales its words to the
    unit ball without need; unscaled words have the same moments and gain ``sqrt(2 s)`` (E32).
    Scaled words are 1/2 apart, not ``sqrt(2)`` as in the paper (E30).

    *Reference.* Tao and others 2022, Lemma 27 and equation (58).

    Examples
    --------
    >>> args = {"n_rows": 10**7, "n_features": 1000, "n_nonzero": 3, "moment_order": 2.0}
    >>> round(sparse_mean_lower_bound(rho=0.02, **args), 6)
    0.003108
    """
    cost = min(1.0, math.sqrt(n_nonzero * math.log(n_features) / (4.0 * rho)) / n_rows)
    return math.sqrt(2.0 * n_nonzero * squared_rate(cost, moment_order, moment_bound))


@checked_up_to_2
def sparse_mean_lower_bound_pure(
    *,
    n_rows: int,
    n_features: int,
    n_nonzero: int,
    moment_order: float,
    epsilon: float,
    moment_bound: float = 1.0,
) -> float:
    """Least expected l2 error of an epsilon-DP mean of few nonzero entries.

    ``sqrt(2 s) u^(1/(1+v)) min(1, (s log(d) / (n epsilon))^(v/(1+v)))``.

    *Constants.* Hidden constants are set to 1.

    *Correction.* The factor ``sqrt(2 s)``, as in :func:`sparse_mean_lower_bound`.

    *Reference.* Tao and others 2022, Lemma 27 and equation (57).

    Examples
    --------
    >>> args = {"n_rows": 10**7, "n_features": 1000, "n_nonzero": 3, "moment_order": 2.0}
    >>> round(sparse_mean_lower_bound_pure(epsilon=1.0, **args), 6)
    0.003526
    """
    cost = min(1.0, n_nonzero * math.log(n_features) / (n_rows * epsilon))
    return math.sqrt(2.0 * n_nonzero * squared_rate(cost, moment_order, moment_bound))


@checked_up_to_2
def strongly_convex_lower_bound(
    *, n_rows: int, n_features: int, moment_order: float, rho: float, moment_bound: float = 1.0
) -> float:
    """Least excess risk of rho-zCDP algorithms, strongly convex losses.

    ``u^(2/(1+v)) d (sqrt(d / (4 rho)) / n)^(2v/(1+v))``, the square of :func:`mean_lower_bound`,
    with the same constants, rows and corrections.

    *Reference.* Tao and others 2022, Theorem 8.

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 5, "moment_order": 2.0}
    >>> round(strongly_convex_lower_bound(rho=0.02, **args), 8)
    3.953e-05
    """
    tails = {"moment_order": moment_order, "moment_bound": moment_bound}
    return mean_lower_bound(n_rows=n_rows, n_features=n_features, rho=rho, **tails) ** 2


@checked_up_to_2
def strongly_convex_lower_bound_pure(
    *, n_rows: int, n_features: int, moment_order: float, epsilon: float, moment_bound: float = 1.0
) -> float:
    """Least excess risk of epsilon-DP algorithms: ``u^(2/(1+v)) d (d / (n epsilon))^(2v/(1+v))``.

    The square of :func:`mean_lower_bound_pure`, with the same constants and rows.

    *Reference.* Tao and others 2022, Theorem 8.

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 5, "moment_order": 2.0}
    >>> round(strongly_convex_lower_bound_pure(epsilon=1.0, **args), 8)
    2.5e-05
    """
    known = {"moment_order": moment_order, "moment_bound": moment_bound, "epsilon": epsilon}
    return mean_lower_bound_pure(n_rows=n_rows, n_features=n_features, **known) ** 2


@checked_up_to_2
def convex_lower_bound(
    *, n_rows: int, n_features: int, moment_order: float, rho: float, moment_bound: float = 1.0
) -> float:
    """Least excess risk of rho-zCDP algorithms, convex losses on the unit ball.

    :func:`mean_lower_bound`: the excess of a linear loss on the ball is the error of its mean
    gradient.

    *Correction.* That of :func:`mean_lower_bound`. The upper bounds assume that the loss is not
    negative and its gradient is zero at the minimiser; neither is true of the linear loss.

    *Reference.* Tao and others 2022, Theorem 9.

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 5, "moment_order": 2.0}
    >>> round(convex_lower_bound(rho=0.02, **args), 6)
    0.006287
    """
    tails = {"moment_order": moment_order, "moment_bound": moment_bound}
    return mean_lower_bound(n_rows=n_rows, n_features=n_features, rho=rho, **tails)


@checked_up_to_2
def convex_lower_bound_pure(
    *, n_rows: int, n_features: int, moment_order: float, epsilon: float, moment_bound: float = 1.0
) -> float:
    """Least excess risk of epsilon-DP algorithms, convex losses on the unit ball.

    :func:`mean_lower_bound_pure`, as in :func:`convex_lower_bound`.

    *Reference.* Tao and others 2022, Theorem 9.

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 5, "moment_order": 2.0}
    >>> round(convex_lower_bound_pure(epsilon=1.0, **args), 6)
    0.005
    """
    tails = {"moment_order": moment_order, "moment_bound": moment_bound}
    return mean_lower_bound_pure(n_rows=n_rows, n_features=n_features, epsilon=epsilon, **tails)


@checked_up_to_2
def sparse_lower_bound(
    *,
    n_rows: int,
    n_features: int,
    n_nonzero: int,
    moment_order: float,
    rho: float,
    moment_bound: float = 1.0,
) -> float:
    """Least excess risk of rho-zCDP algorithms, sparse strongly convex problems.

    ``2 s u^(2/(1+v)) (sqrt(s log(d) / (4 rho)) / n)^(2v/(1+v))``.

    The square of :func:`sparse_mean_lower_bound`, with the same constants and corrections. The
    factor ``2 s`` closes the gap to :func:`sparse_bound`.

    *Reference.* Tao and others 2022, Theorem 11.

    Examples
    --------
    >>> args = {"n_rows": 10**7, "n_features": 1000, "n_nonzero": 3, "moment_order": 2.0}
    >>> round(sparse_lower_bound(rho=0.02, **args), 8)
    9.66e-06
    """
    cost = math.sqrt(n_nonzero * math.log(n_features) / (4.0 * rho)) / n_rows
    return 2.0 * n_nonzero * squared_rate(cost, moment_order, moment_bound)


@checked_up_to_2
def sparse_lower_bound_pure(
    *,
    n_rows: int,
    n_features: int,
    n_nonzero: int,
    moment_order: float,
    epsilon: float,
    moment_bound: float = 1.0,
) -> float:
    """Least excess risk of epsilon-DP algorithms, sparse strongly convex problems.

    ``2 s u^(2/(1+v)) (s log(d) / (n epsilon))^(2v/(1+v))``.

    The square of :func:`sparse_mean_lower_bound_pure`, with the same constants and corrections.

    *Reference.* Tao and others 2022, Theorem 11.

    Examples
    --------
    >>> args = {"n_rows": 10**7, "n_features": 1000, "n_nonzero": 3, "moment_order": 2.0}
    >>> round(sparse_lower_bound_pure(epsilon=1.0, **args), 8)
    1.243e-05
    """
    cost = n_nonzero * math.log(n_features) / (n_rows * epsilon)
    return 2.0 * n_nonzero * squared_rate(cost, moment_order, moment_bound)
