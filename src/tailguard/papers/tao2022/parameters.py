"""Parameters of Tao, Wu, Cheng and Wang (2022): truncation to zero, for moments of order 1 + v.

Values beyond the threshold count as zero. ``moment_order`` is the paper's 1 + v, in (1, 2], and
``moment_bound`` its u.

*Needed for privacy.* Nothing of the data; the printed noise scales need epsilon <= 1.

*Needed for accuracy.* ``E|x_j|^moment_order <= moment_bound`` for every coordinate, raw and not
central, with both numbers known.
"""

import math

from tailguard.means.formulas import checked, checked_up_to_2, group_count, moment_scale
from tailguard.papers.common.steps import composed_shares


@checked
def classic_noise_over_sensitivity(*, epsilon: float, delta: float) -> float:
    """Gaussian noise of the textbook, ``sqrt(2 log(1.25 / delta)) / epsilon``, for epsilon <= 1.

    *Reference.* Tao and others 2022, Lemma 3.

    Examples
    --------
    >>> round(classic_noise_over_sensitivity(epsilon=1.0, delta=1e-5), 6)
    4.844805
    """
    return math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon


@checked_up_to_2
def scalar_threshold(
    *,
    n_rows: int,
    moment_order: float,
    moment_bound: float,
    epsilon: float,
    delta: float,
    failure_probability: float,
) -> float:
    """Threshold of the scalar mean, ``(u n eps / (log(1/fp) sqrt(log(1.25/delta))))^(1/(1+v))``.

    *Reference.* Tao and others 2022, Algorithm 1, line 1.

    Examples
    --------
    >>> args = {"n_rows": 10**4, "moment_order": 2.0, "moment_bound": 1.0, "epsilon": 1.0}
    >>> round(scalar_threshold(delta=1e-5, failure_probability=0.1, **args), 8)
    35.60504114
    """
    nats = -math.log(failure_probability) * math.sqrt(math.log(1.25 / delta))
    return moment_scale(moment_bound * n_rows * epsilon / nats, moment_order)


@checked
def printed_scalar_noise_std(
    *, n_rows: int, threshold: float, epsilon: float, delta: float
) -> float:
    """Noise that Algorithm 1 prints, ``sqrt(8 log(1.25/delta)) threshold / (n epsilon)``.

    *Reference.* Tao and others 2022, Algorithm 1, line 3.

    Examples
    --------
    >>> args = {"n_rows": 10**4, "threshold": 35.60504114}
    >>> round(printed_scalar_noise_std(epsilon=1.0, delta=1e-5, **args), 8)
    0.0344999
    """
    ratio = classic_noise_over_sensitivity(epsilon=epsilon, delta=delta)
    return 2.0 * threshold * ratio / n_rows


@checked
def printed_noise_std(
    *,
    n_rows: int,
    n_features: int,
    threshold: float,
    epsilon: float,
    delta: float,
    failure_probability: float,
) -> float:
    """Noise that Algorithm 3 prints, ``sqrt(8 d log(1.25/delta)) threshold m / (epsilon n)``.

    Its ``m`` is not rounded. With an odd number of groups that do not divide the rows its
    sensitivity is too small; the true cost is then
    ``sqrt(d) median_sensitivity(...) / noise``.

    *Reference.* Tao and others 2022, Algorithm 3, line 12.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "threshold": 10.0, "epsilon": 1.0}
    >>> round(printed_noise_std(delta=1e-5, failure_probability=0.1, **args), 8)
    0.0649388
    """
    count = group_count(n_features=n_features, failure_probability=failure_probability)
    ratio = classic_noise_over_sensitivity(epsilon=epsilon, delta=delta)
    return 2.0 * threshold * count * math.sqrt(n_features) * ratio / n_rows


@checked
def printed_step_noise_over_sensitivity(*, n_steps: int, epsilon: float, delta: float) -> float:
    """Noise of each step as Algorithm 2 prints it: advanced composition of classic Gaussians.

    Each step gets ``epsilon / (2 sqrt(2 T log(2/delta)))`` and ``delta / (2 T)``. This is valid,
    but 13 to 19 times as large as ``sqrt(T) / mu``, which is exact.

    *Reference.* Tao and others 2022, Lemma 1 and Algorithm 2, line 3.

    Examples
    --------
    >>> round(printed_step_noise_over_sensitivity(n_steps=100, epsilon=1.0, delta=1e-5), 4)
    576.7814
    """
    share, chance = composed_shares(n_steps, epsilon, delta)
    return classic_noise_over_sensitivity(epsilon=share, delta=chance)


@checked_up_to_2
def convex_threshold(
    *, n_rows: int, n_features: int, moment_order: float, epsilon: float, moment_bound: float = 1.0
) -> float:
    """Threshold for convex losses, ``(u n epsilon / d^(3/2))^(1/(1+v))``.

    *Correction.* The paper omits ``u``, so its units are wrong.

    *Reference.* Tao and others 2022, Theorem 6.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "moment_order": 2.0}
    >>> round(convex_threshold(epsilon=1.0, **args), 6)
    56.234133
    """
    return moment_scale(moment_bound * epsilon * n_rows / n_features**1.5, moment_order)


@checked
def convex_steps(
    *, n_rows: int, n_features: int, threshold: float, gradient_bound: float, epsilon: float
) -> float:
    """How many steps for convex losses, ``gradient_bound^2 epsilon^2 n^2 / (threshold^2 d^4)``.

    The size of a step is :func:`~tailguard.papers.common.steps.descent_step_size`.

    *Reference.* Tao and others 2022, Theorem 6.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "threshold": 56.234133}
    >>> round(convex_steps(gradient_bound=1.0, epsilon=1.0, **args), 3)
    316.228
    """
    return (gradient_bound * epsilon * n_rows / (threshold * n_features**2)) ** 2


@checked_up_to_2
def strongly_convex_threshold(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    epsilon: float,
    n_steps: int,
    moment_bound: float = 1.0,
) -> float:
    """Threshold for strongly convex losses, ``(u n epsilon / (sqrt(d) n_steps))^(1/(1+v))``.

    *Correction.* The paper's Theorem 7 prints ``d^(3/2) sqrt(n_steps)``, which does not give its
    rate; its Lemma 20, used here, does.

    *Reference.* Tao and others 2022, Lemma 20.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "moment_order": 2.0}
    >>> round(strongly_convex_threshold(epsilon=1.0, n_steps=10, **args), 4)
    56.2341
    """
    reach = epsilon * n_rows / (math.sqrt(n_features) * n_steps)
    return moment_scale(moment_bound * reach, moment_order)


@checked
def sparse_width(*, n_features: int, n_nonzero: int, condition: float) -> int:
    """Coordinates kept in each step, ``72 condition^2 n_nonzero``, at most all of them.

    ``condition`` is restricted smoothness over restricted strong convexity. There are ``condition
    log n`` steps (the proof has 24 times as many) of size ``2 / (3 smoothness)``.

    *Reference.* Tao and others 2022, proof of Theorem 10.

    Examples
    --------
    >>> sparse_width(n_features=1000, n_nonzero=3, condition=1.5)
    486
    """
    return min(n_features, math.ceil(72.0 * condition**2 * n_nonzero))


@checked_up_to_2
def sparse_threshold(
    *,
    n_rows: int,
    n_features: int,
    n_kept: int,
    n_steps: int,
    smoothness: float,
    moment_order: float,
    moment_bound: float,
    epsilon: float,
    delta: float,
    failure_probability: float,
) -> float:
    """Threshold of sparse descent, ``(s u n eps / (T log(dT/fp) sqrt(k log(1/delta))))^(1/(1+v))``.

    *Reference.* Tao and others 2022, Theorem 10.

    Examples
    --------
    >>> sizes = {"n_rows": 10**5, "n_features": 1000, "n_kept": 20, "n_steps": 10}
    >>> tails = {"smoothness": 1.0, "moment_order": 2.0, "moment_bound": 1.0}
    >>> privacy = {"epsilon": 1.0, "delta": 1e-5, "failure_probability": 0.1}
    >>> round(sparse_threshold(**sizes, **tails, **privacy), 5)
    7.56577
    """
    union = math.log(n_features * n_steps / failure_probability)
    nats = n_steps * union * math.sqrt(-n_kept * math.log(delta))
    return moment_scale(smoothness * moment_bound * n_rows * epsilon / nats, moment_order)
