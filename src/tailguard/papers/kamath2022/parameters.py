"""Parameters of Kamath, Liu and Zhang (2022): the clamped median of means, and descent on it.

Each coordinate is clamped to ``[-3 threshold, 3 threshold]``, averaged within groups, and the
median of the group means is released with noise. The paper measures in units in which moments are
at most 1; here thresholds have the units of ``moment_bound ** (1 / moment_order)``.

*Needed for privacy.* Nothing of the data.

*Needed for accuracy.* Every coordinate has a central moment of order ``moment_order >= 2`` of at
most ``moment_bound``, and a mean within ``threshold`` of zero.

In formulas, ``d`` is ``n_features``, ``k`` is ``moment_order``, ``fp`` is ``failure_probability``.
"""

import math

from tailguard.means.clamped import mean_threshold as mean_threshold
from tailguard.means.clamped import mean_threshold_pure as mean_threshold_pure
from tailguard.means.formulas import checked, group_count, moment_scale
from tailguard.means.soft import psi_limit


@checked
def printed_noise_std(
    *, n_rows: int, n_features: int, threshold: float, rho: float, failure_probability: float
) -> float:
    """Noise that the paper prints, ``sqrt(1152 d / rho) threshold log(2 d / fp) / n``.

    It suffices for the guarantee, but is two to four times too large.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 4.1.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "threshold": 10.0, "rho": 0.5}
    >>> round(printed_noise_std(failure_probability=0.1, **args), 9)
    0.080422803
    """
    count = group_count(n_features=n_features, failure_probability=failure_probability)
    return math.sqrt(72.0 * n_features / rho) * threshold * count / n_rows


@checked
def printed_noise_scale_pure(
    *, n_rows: int, n_features: int, threshold: float, epsilon: float, failure_probability: float
) -> float:
    """Laplace scale that the paper prints, ``48 threshold d log(2 d / fp) / (epsilon n)``.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 4.1.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "threshold": 10.0, "epsilon": 1.0}
    >>> round(printed_noise_scale_pure(failure_probability=0.1, **args), 8)
    0.25431923
    """
    count = group_count(n_features=n_features, failure_probability=failure_probability)
    return 12.0 * threshold * count * n_features / (epsilon * n_rows)


@checked
def printed_soft_noise_rho(*, rho: float, smoothing: float) -> float:
    """Cost of the noise that Algorithm 4 prints for rho: ``2 K^2 rho``.

    ``K`` is the limit of the smoothed clip (``psi_limit``). The cost reaches ``16/9 rho``, and is
    at most ``rho`` only for ``smoothing <= 1.3233``.

    *Reference.* Kamath, Liu and Zhang 2022, Algorithm 4.

    Examples
    --------
    >>> round(printed_soft_noise_rho(rho=1.0, smoothing=10.0), 3)
    1.772
    """
    return 2.0 * psi_limit(smoothing=smoothing) ** 2 * rho


@checked
def convex_threshold(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    rho: float,
    diameter: float,
    moment_bound: float = 1.0,
) -> float:
    """Threshold for convex losses, ``(n sqrt(rho) / (diameter d^(3/2)))^(1/k)``.

    It is larger than the threshold that balances bias and noise of one step: noise averages out
    over steps, and bias does not.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 5.2.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "moment_order": 2.0}
    >>> round(convex_threshold(rho=0.5, diameter=2.0, **args), 6)
    33.437015
    """
    signal = math.sqrt(rho) * n_rows / (diameter * n_features**1.5)
    return moment_scale(moment_bound * signal, moment_order)


@checked
def naive_convex_threshold(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    rho: float,
    n_steps: int,
    moment_bound: float = 1.0,
) -> float:
    """Threshold that balances bias and noise of a single step; the paper warns against it.

    ``(n sqrt(rho) / (d^(3/2) sqrt(n_steps)))^(1/k)``, below :func:`convex_threshold` for many
    steps. It serves as an ablation: see :func:`naive_convex_rate`.

    *Reference.* Kamath, Liu and Zhang 2022, Remark 5.3.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "moment_order": 2.0}
    >>> round(naive_convex_threshold(rho=0.5, n_steps=447, **args), 4)
    10.2841
    """
    signal = math.sqrt(rho / n_steps) * n_rows / n_features**1.5
    return moment_scale(moment_bound * signal, moment_order)


@checked
def naive_convex_rate(*, n_rows: int, moment_order: float, rho: float) -> float:
    """Rate of the excess risk with the naive threshold, for one column: ``c^((k-1)/(2k-1))``.

    Here ``c = 1 / (n sqrt(rho))``; the rate takes ``c^(-(2k-2)/(2k-1))`` steps. With
    :func:`convex_threshold` it is ``c^((k-1)/k)``.

    *Reference.* Kamath, Liu and Zhang 2022, Remark 5.3.

    Examples
    --------
    >>> round(naive_convex_rate(n_rows=10**6, moment_order=2.0, rho=1.0), 6)
    0.01
    """
    power = (moment_order - 1.0) / (2.0 * moment_order - 1.0)
    return math.pow(math.sqrt(rho) * n_rows, -power)


@checked
def convex_steps(
    *, n_rows: int, n_features: int, threshold: float, gradient_bound: float, rho: float
) -> float:
    """How many steps for convex losses, before rounding.

    ``gradient_bound^2 rho n^2 / (threshold^2 d^4)``.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 5.2.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "threshold": 33.437015}
    >>> round(convex_steps(gradient_bound=1.0, rho=0.5, **args), 3)
    447.214
    """
    return rho * (gradient_bound * n_rows / (threshold * n_features**2)) ** 2


@checked
def soft_balance(*, n_features: int, rho: float) -> float:
    """Exponent ``q`` of Theorem 5.5 that makes its two terms equal, clipped to [1/2, 2].

    Their product does not depend on ``q``, so equality is best:
    ``1 + log(rho) / (4 log d)``; 1 for a single feature.

    *Reference.* Kamath, Liu and Zhang 2022, Remark 5.6, which leaves the choice open.

    Examples
    --------
    >>> round(soft_balance(n_features=10, rho=0.5), 5)
    0.92474
    """
    if n_features == 1:
        return 1.0
    return min(2.0, max(0.5, 1.0 + math.log(rho) / (4.0 * math.log(n_features))))


@checked
def soft_threshold(
    *,
    n_rows: int,
    n_features: int,
    rho: float,
    diameter: float,
    balance: float,
    moment_bound: float = 1.0,
) -> float:
    """Threshold for convex losses on the smoothed mean, ``(n sqrt(rho) / (diameter d^q))^(1/2)``.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 5.5, for moments of order 2.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "rho": 0.5, "diameter": 2.0}
    >>> round(soft_threshold(balance=soft_balance(n_features=10, rho=0.5), **args), 5)
    64.84198
    """
    signal = math.sqrt(rho) * n_rows / (diameter * n_features**balance)
    return math.sqrt(moment_bound * signal)


@checked
def soft_steps(
    *, n_rows: int, n_features: int, threshold: float, gradient_bound: float, rho: float
) -> float:
    """How many steps on the smoothed mean, before rounding.

    ``gradient_bound^2 rho n^2 / (threshold^2 d^2)``.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 5.5.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "threshold": 64.841978}
    >>> round(soft_steps(gradient_bound=1.0, rho=0.5, **args), 2)
    11892.07
    """
    return rho * (gradient_bound * n_rows / (threshold * n_features)) ** 2


@checked
def strongly_convex_threshold(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    rho: float,
    n_steps: int,
    moment_bound: float = 1.0,
) -> float:
    """Threshold for strongly convex losses, ``(n sqrt(rho) / (sqrt(d) n_steps))^(1/k)``.

    *Correction.* The paper divides rho among the steps and prints ``n_steps^(3/2)``. Each step
    reads its own block of records, so each may spend all of rho.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 5.7.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "moment_order": 2.0}
    >>> round(strongly_convex_threshold(rho=0.5, n_steps=10, **args), 4)
    47.2871
    """
    signal = math.sqrt(rho / n_features) * n_rows / n_steps
    return moment_scale(moment_bound * signal, moment_order)
