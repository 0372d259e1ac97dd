"""Parameters of Zhao, Wu, Liu, Wang, Fan and Li (2024): l2 clipping, and the iterative mean.

The paper sets the moment, the diameter of the set and the smoothness to 1; here they are arguments,
so the units are right.

*Needed for privacy.* Nothing of the data. The paper's amplified budget needs more than its theorem
states: see :func:`printed_amplified_rho`.

*Needed for accuracy.* ``E|<u, x>|^moment_order <= moment_bound`` for every unit vector u.
"""

import math

from tailguard.means.formulas import checked, moment_scale
from tailguard.means.formulas import mean_clip_norm as mean_clip_norm


@checked
def printed_rho(*, epsilon: float, delta: float) -> float:
    """Budget of the paper, ``epsilon^2 / (1 + 2 sqrt(log(1/delta)))^2``.

    It is valid for ``epsilon <= 1 + 2 sqrt(log(1/delta))``, although the paper requires epsilon <=
    1. At (1, 1e-5) it is 20 percent below the textbook's conversion, and half of the tight one.

    *Reference.* Zhao and others 2024, equation (15).

    Examples
    --------
    >>> round(printed_rho(epsilon=1.0, delta=1e-5), 9)
    0.016495122
    """
    return (epsilon / (1.0 + 2.0 * math.sqrt(-math.log(delta)))) ** 2


@checked
def printed_amplified_rho(*, n_groups: int, epsilon: float, delta: float) -> float:
    """Budget of each group mean in the paper, which assumes a shuffle of the groups.

    *Correction.* False for fixed or public groups, for any post-processing of the group means: a
    group that lies apart from the others is recognisable, and nothing hides it. It holds for a
    partition that is drawn uniformly, in equal sizes, in secret and anew for each release. With
    its constants it is worse than no amplification below ``64 e^4 log(8/delta)`` groups (55 000 at
    1e-6). For reproduction only; it is never a calibration of this library.

    *Reference.* Zhao and others 2024, Theorem 6, equation (24).

    Examples
    --------
    >>> printed_amplified_rho(n_groups=100, epsilon=0.5, delta=1e-6)
    4.373804765646089e-06
    """
    spread = (1.0 + 2.0 * math.sqrt(math.log(12.0 * n_groups / delta))) ** 2
    return epsilon**2 * n_groups / (64.0 * math.exp(4.0) * math.log(8.0 / delta) * spread)


@checked
def clipped_noise_std(*, n_rows: int, clip_norm: float, rho: float, n_steps: int = 1) -> float:
    """Noise on each coordinate of each of ``n_steps`` clipped means: ``sqrt(2 T / rho) R / n``.

    For (epsilon, delta) take ``rho = mu_of(epsilon, delta)**2 / 2``, which is exact here; the paper
    takes :func:`printed_rho`.

    *Reference.* Zhao and others 2024, Lemma 4.

    Examples
    --------
    >>> args = {"n_rows": 10**4, "clip_norm": 10.0, "n_steps": 40}
    >>> round(clipped_noise_std(rho=printed_rho(epsilon=1.0, delta=1e-5), **args), 7)
    0.0696414
    """
    return math.sqrt(2.0 * n_steps / rho) * clip_norm / n_rows


@checked
def steps(
    *, n_rows: int, n_features: int, clip_norm: float, rho: float, gradient_bound: float = 1.0
) -> float:
    """How many steps of descent, ``gradient_bound^2 rho n^2 / (d R^2)``, before rounding.

    ``gradient_bound`` is smoothness times diameter. Theorem 7 is the same with ``rho =
    epsilon**2``. The noise of a step then has a norm of sqrt(2) ``gradient_bound`` for every n.
    Only averaging reduces it, and below one step there is nothing to average.

    *Correction.* The paper prints no gradient bound.

    *Reference.* Zhao and others 2024, Theorem 4.

    Examples
    --------
    >>> args = {"n_rows": 10**4, "n_features": 10, "clip_norm": 63.729}
    >>> round(steps(rho=printed_rho(epsilon=1.0, delta=1e-5), **args), 2)
    40.61
    """
    return rho * (gradient_bound * n_rows / clip_norm) ** 2 / n_features


@checked
def step_size(*, n_steps: int, smoothness: float) -> float:
    """Step size, ``1 / (smoothness sqrt(2 n_steps))``.

    *Reference.* Zhao and others 2024, Theorems 4 and 7.

    Examples
    --------
    >>> step_size(n_steps=50, smoothness=1.0)
    0.1
    """
    return 1.0 / (smoothness * math.sqrt(2.0 * n_steps))


@checked
def iterative_clip_norm(
    *, n_rows: int, n_features: int, moment_order: float, epsilon: float, moment_bound: float = 1.0
) -> float:
    """Clipping norm of the iterative mean, ``M sqrt(d) (n epsilon / sqrt(d))^(1/q)``.

    *Correction.* The paper prints no ``M``, the root of the moment.

    *Reference.* Zhao and others 2024, Theorem 7.

    Examples
    --------
    >>> args = {"n_rows": 10**4, "n_features": 10, "moment_order": 2.0}
    >>> round(iterative_clip_norm(epsilon=1.0, **args), 2)
    177.83
    """
    reach = n_rows * epsilon / math.sqrt(n_features)
    return math.sqrt(n_features) * moment_scale(moment_bound * reach, moment_order)


@checked
def iterative_group_count(*, failure_probability: float) -> float:
    """How many groups the theory needs, ``800 log(1 / failure_probability)``, before rounding.

    This is 2 400 at 0.05, and exceeds the number of rows if the bound must hold at all points at
    once; in practice 20 to 200 are enough.

    *Reference.* Zhao and others 2024, Lemma 6.

    Examples
    --------
    >>> round(iterative_group_count(failure_probability=0.05), 1)
    2396.6
    """
    return -800.0 * math.log(failure_probability)


@checked
def iterative_updates(*, distance_over_radius: float) -> int:
    """How many updates the iterative mean needs to reach its final accuracy.

    ``2 log(ratio) / log(256/233)``, where ``ratio`` is the distance of the start from the clipped
    mean over four radii of the bulk of the group means.

    *Reference.* Zhao and others 2024, Lemma 8.

    Examples
    --------
    >>> iterative_updates(distance_over_radius=100.0)
    98
    """
    return max(0, math.ceil(2.0 * math.log(distance_over_radius) / math.log(256.0 / 233.0)))
