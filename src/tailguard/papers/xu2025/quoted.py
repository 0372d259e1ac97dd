"""Bounds of other papers that Table 1 of Xu and others (2025) compares with, as it prints them.

Six rows: Bassily and others 2019, convex and strongly convex; Asi and others 2021 with Su and
others 2022; three of Lowy and Razaviyayn 2023. The two rows of Kamath, Liu and Zhang are
:func:`tailguard.papers.kamath2022.convex_bound` and similar functions. The table omits logarithms,
the smoothness and the strong convexity; hidden constants are 1.

*Needed for privacy.* Nothing: these are numbers of the table, and no method here uses them.

*Needed for accuracy.* Smooth convex losses on a set of diameter 1. Functions with ``lipschitz`` in
their name need gradients of norm at most 1, the others a moment of their norm. ``scale`` is the
root of that moment. Where a formula has ``R``, the moment is of order ``2 moment_order``, and
:func:`~tailguard.papers.xu2025.parameters.averaged_scale` may be the scale. Where it has ``r``, and
in lower bounds, the moment is of order ``moment_order``. Formulas write k for ``moment_order`` and
theta for ``growth``.
"""

import math

from tailguard.means.formulas import checked, tail_power
from tailguard.papers.xu2025.bounds import check_growth


@checked
def lipschitz_bound(*, n_rows: int, n_features: int, epsilon: float) -> float:
    """Excess risk of convex Lipschitz losses, ``1 / sqrt(n) + sqrt(d) / (n epsilon)``.

    The lower bound is the same.

    *Reference.* Xu and others 2025, Table 1, row 1 (Bassily and others 2019).

    Examples
    --------
    >>> round(lipschitz_bound(n_rows=10**4, n_features=100, epsilon=0.5), 4)
    0.012
    """
    return 1.0 / math.sqrt(n_rows) + math.sqrt(n_features) / (n_rows * epsilon)


@checked
def lipschitz_strongly_convex_bound(*, n_rows: int, n_features: int, epsilon: float) -> float:
    """Excess risk of strongly convex Lipschitz losses, ``1 / n + d / (n epsilon)^2``.

    *Correction.* The lower bound is printed with ``1 / sqrt(n)``, above the upper one; with
    ``1 / n`` it is the same (E66).

    *Reference.* Xu and others 2025, Table 1, row 2 (Bassily and others 2019).

    Examples
    --------
    >>> round(lipschitz_strongly_convex_bound(n_rows=10**4, n_features=100, epsilon=0.5), 7)
    0.000104
    """
    return 1.0 / n_rows + n_features / (n_rows * epsilon) ** 2


@checked
def lipschitz_tsybakov_bound(
    *, n_rows: int, n_features: int, epsilon: float, growth: float
) -> float:
    """Excess risk of Lipschitz losses under the noise condition.

    :func:`lipschitz_bound` to the power ``theta / (theta - 1)``; from ``growth`` 2 on the lower
    bound is the same.

    *Reference.* Xu and others 2025, Table 1, row 5 (Asi and others 2021; Su and others 2022).

    Examples
    --------
    >>> args = {"n_rows": 10**4, "n_features": 100, "epsilon": 0.5}
    >>> round(lipschitz_tsybakov_bound(growth=2.0, **args), 6)
    0.000144
    """
    check_growth(growth, 1.0)
    risk = lipschitz_bound(n_rows=n_rows, n_features=n_features, epsilon=epsilon)
    return math.pow(risk, growth / (growth - 1.0))


@checked
def norm_bound(
    *, n_rows: int, n_features: int, moment_order: float, epsilon: float, scale: float = 1.0
) -> float:
    """Excess risk for moments of the norm and a large Lipschitz constant.

    ``R (1 / sqrt(n) + (sqrt(d) / (n epsilon))^((k-1)/k))`` for the scale ``R``.

    *Reference.* Xu and others 2025, Table 1, row 6 (Lowy and Razaviyayn 2023).

    Examples
    --------
    >>> args = {"n_rows": 10**4, "n_features": 100, "moment_order": 2.0}
    >>> round(norm_bound(epsilon=0.4, scale=2.0, **args), 6)
    0.12
    """
    private = tail_power(math.sqrt(n_features) / (n_rows * epsilon), moment_order)
    return scale * (1.0 / math.sqrt(n_rows) + private)


@checked
def norm_bound_unlipschitz(
    *, n_rows: int, n_features: int, moment_order: float, epsilon: float, scale: float = 1.0
) -> float:
    """Excess risk for moments of the norm and no Lipschitz constant.

    ``r (1 / sqrt(n) + max((c / r^(1/4))^(4(k-1)/(5k-1)), c^((k-1)/k)))`` with
    ``c = sqrt(d) / (n epsilon)``.

    *Reference.* Xu and others 2025, Table 1, row 7 (Lowy and Razaviyayn 2023).

    Examples
    --------
    >>> args = {"n_rows": 10**4, "n_features": 100, "moment_order": 2.0}
    >>> round(norm_bound_unlipschitz(epsilon=1.0, **args), 5)
    0.05642
    """
    cost = math.sqrt(n_features) / (n_rows * epsilon)
    slower = 4.0 * (moment_order - 1.0) / (5.0 * moment_order - 1.0)
    private = max(math.pow(cost / scale**0.25, slower), tail_power(cost, moment_order))
    return scale * (1.0 / math.sqrt(n_rows) + private)


@checked
def norm_strongly_convex_bound(
    *, n_rows: int, n_features: int, moment_order: float, epsilon: float, scale: float = 1.0
) -> float:
    """Excess risk of strongly convex losses: ``R^2 (1 / n + (sqrt(d) / (n eps))^(2(k-1)/k))``.

    *Reference.* Xu and others 2025, Table 1, row 8 (Lowy and Razaviyayn 2023).

    Examples
    --------
    >>> args = {"n_rows": 10**4, "n_features": 100, "moment_order": 2.0}
    >>> round(norm_strongly_convex_bound(epsilon=0.4, scale=2.0, **args), 6)
    0.0104
    """
    private = tail_power(math.sqrt(n_features) / (n_rows * epsilon), moment_order)
    return scale**2 * (1.0 / n_rows + private**2)


@checked
def norm_lower_bound(
    *, n_rows: int, n_features: int, moment_order: float, rho: float, scale: float = 1.0
) -> float:
    """Lower bound on the excess risk of rho-zCDP algorithms, in rows 6 and 7 of the table.

    :func:`norm_bound` with ``sqrt(rho)`` in place of epsilon.

    *Reference.* Xu and others 2025, Table 1, rows 6 and 7 (Lowy and Razaviyayn 2023).

    Examples
    --------
    >>> args = {"n_rows": 10**4, "n_features": 100, "moment_order": 2.0}
    >>> round(norm_lower_bound(rho=0.16, scale=2.0, **args), 6)
    0.12
    """
    tails = {"moment_order": moment_order, "scale": scale}
    return norm_bound(n_rows=n_rows, n_features=n_features, epsilon=math.sqrt(rho), **tails)


@checked
def norm_strongly_convex_lower_bound(
    *, n_rows: int, n_features: int, moment_order: float, rho: float, scale: float = 1.0
) -> float:
    """Lower bound on the excess risk of rho-zCDP algorithms, in row 8 of the table.

    :func:`norm_strongly_convex_bound` with ``sqrt(rho)`` in place of epsilon.

    *Reference.* Xu and others 2025, Table 1, row 8 (Lowy and Razaviyayn 2023).

    Examples
    --------
    >>> args = {"n_rows": 10**4, "n_features": 100, "moment_order": 2.0}
    >>> round(norm_strongly_convex_lower_bound(rho=0.16, scale=2.0, **args), 6)
    0.0104
    """
    known = {"moment_order": moment_order, "scale": scale, "epsilon": math.sqrt(rho)}
    return norm_strongly_convex_bound(n_rows=n_rows, n_features=n_features, **known)
