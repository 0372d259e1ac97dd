"""Bounds of Zhao, Wu, Liu, Wang, Fan and Li (2024).

"Differential private stochastic optimization with heavy-tailed data: towards optimal rates".

The paper sets the moment, the diameter of the set and the smoothness to 1; here they are arguments,
so the units are right. Its bounds on descent are those of :mod:`tailguard.papers.common.descent`,
with smoothness times diameter as the bound on the gradient.

*Needed for privacy.* Nothing of the data. For the iterative mean Theorem 7 assumes amplification,
which needs a partition drawn in secret, uniformly and anew in every step.

*Needed for accuracy.* ``E|<u, gradient>|^moment_order <= moment_bound`` for every unit vector u and
at every point; a convex set of known diameter; convex smooth losses (every single one, which the
paper uses and does not state) with a vanishing gradient at the minimiser.
"""

import math

from tailguard.means.formulas import checked, moment_scale, tail_power
from tailguard.means.formulas import clipping_bias as clipping_bias


@checked
def clipped_mean_bound(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    clip_norm: float,
    rho: float,
    failure_probability: float,
    moment_bound: float = 1.0,
) -> float:
    """Error of the rho-zCDP clipped mean, exceeded with at most ``failure_probability``.

    ``max(sqrt(12 M^2 L / n), 8 R L / n) + bias + (4 R / n) sqrt(L / rho)`` with
    ``L = log(2/fp) + d log 6``, all constants those of the theorem.

    *Correction.* The bias has the smaller constant of :func:`clipping_bias`. The variance step of
    the proof fails as printed and holds with second moments about zero.

    *Reference.* Zhao and others 2024, Theorem 2.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "moment_order": 2.0, "clip_norm": 100.0}
    >>> round(clipped_mean_bound(rho=0.5, failure_probability=0.1, **args), 4)
    0.2182
    """
    tails = {"moment_order": moment_order, "moment_bound": moment_bound}
    bias = clipping_bias(n_features=n_features, clip_norm=clip_norm, **tails)
    nats = math.log(2.0 / failure_probability) + n_features * math.log(6.0)
    body = moment_scale(moment_bound, moment_order) * math.sqrt(12.0 * nats / n_rows)
    noise = 4.0 * clip_norm / n_rows * math.sqrt(nats / rho)
    return max(body, 8.0 * clip_norm * nats / n_rows) + bias + noise


@checked
def clipped_mean_error(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    clip_norm: float,
    noise_std: float,
    moment_bound: float = 1.0,
) -> float:
    """Error of the clipped mean in expectation: ``sqrt(d M^2 / n + d std^2)`` plus the bias.

    *Reference.* Zhao and others 2024, Theorem 2, in expectation.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "moment_order": 2.0, "clip_norm": 100.0}
    >>> round(clipped_mean_error(noise_std=0.002, **args), 5)
    0.03683
    """
    tails = {"moment_order": moment_order, "moment_bound": moment_bound}
    bias = clipping_bias(n_features=n_features, clip_norm=clip_norm, **tails)
    sampling = moment_scale(moment_bound, moment_order) / math.sqrt(n_rows)
    return math.sqrt(n_features) * math.hypot(sampling, noise_std) + bias


@checked
def convex_bound(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    rho: float,
    diameter: float = 1.0,
    moment_bound: float = 1.0,
    nats: float | None = None,
) -> float:
    """Excess risk of descent on clipped means.

    ``sqrt(d log(n) / n) + sqrt(d) (sqrt(d) / (n sqrt(rho)))^(1-1/q) + d^(3/2-1/q) log(n) /
    n^(1-1/q)``, times diameter and the root of the moment. ``nats`` stands in for the logarithms:
    1 leaves them out, as Table I does.

    *Constants.* Hidden ones are set to 1; ``sqrt(log(1/delta)) / epsilon`` of the paper is
    ``1 / sqrt(rho)``.

    *Reference.* Zhao and others 2024, Theorem 4.

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 10, "moment_order": 2.0}
    >>> round(convex_bound(rho=0.02, **args), 5)
    0.16486
    """
    nats = nats or math.log(n_rows)
    sampling = math.sqrt(n_features * nats / n_rows)
    private = tail_power(math.sqrt(n_features / rho) / n_rows, moment_order)
    tails = n_features * nats * tail_power(n_features / n_rows, moment_order)
    scale = diameter * moment_scale(moment_bound, moment_order)
    root = math.sqrt(n_features)
    return scale * (sampling + root * private + tails / root)


@checked
def iterative_convex_bound(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    epsilon: float,
    delta: float,
    diameter: float = 1.0,
    moment_bound: float = 1.0,
    nats: float | None = None,
) -> float:
    """Excess risk of descent on iterative means, with amplification by the groups.

    ``sqrt(d/n) + sqrt(d) (sqrt(d) / (n epsilon))^(1-1/q) log(1/delta) log(n d)``, times diameter
    and the root of the moment. ``nats`` stands in for the logarithms.

    *Constants.* Hidden ones are set to 1.

    *Correction.* The paper's amplification is false for fixed groups. It needs
    ``epsilon <= c sqrt(log(1/delta) / n_groups)`` in every step, which the paper does not check.
    Its constants make it a loss for any realistic number of groups. Without it the private term is
    ``sqrt(n_groups)`` times larger.

    *Reference.* Zhao and others 2024, Theorem 7.

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 10, "moment_order": 2.0}
    >>> round(iterative_convex_bound(epsilon=1.0, delta=1e-5, **args), 4)
    1.0467
    """
    nats = nats or -math.log(delta) * math.log(n_rows * n_features)
    private = nats * tail_power(math.sqrt(n_features) / (n_rows * epsilon), moment_order)
    scale = diameter * moment_scale(moment_bound, moment_order)
    return scale * math.sqrt(n_features) * (1.0 / math.sqrt(n_rows) + private)


@checked
def iterative_mean_bound(
    *,
    n_rows: int,
    n_features: int,
    n_groups: int,
    moment_order: float,
    clip_norm: float,
    rho: float,
    failure_probability: float,
    moment_bound: float = 1.0,
) -> float:
    """Error of the iterative mean, with rho-zCDP for each group.

    ``M sqrt((d + L) / n) + (R / n) sqrt(k / rho) sqrt(d + L) + d^(q/2) M^q / R^(q-1)`` for ``k``
    groups, with ``L = log(1/fp)``; it fails with at most ``failure_probability``.

    *Constants.* Hidden ones are set to 1; :func:`iterative_radius` has those of the proof. Needs
    ``800 L`` groups (E41).

    *Correction.* The paper prints no ``M``, the root of the moment.

    *Reference.* Zhao and others 2024, equation (31).

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 10, "n_groups": 100, "moment_order": 2.0}
    >>> noise = {"clip_norm": 100.0, "rho": 0.02, "failure_probability": 0.1}
    >>> round(iterative_mean_bound(**args, **noise), 5)
    0.12831
    """
    nats, root = -math.log(failure_probability), moment_scale(moment_bound, moment_order)
    private = clip_norm / n_rows * math.sqrt(n_groups / rho)
    bias = _printed_bias(n_features, moment_order, clip_norm, moment_bound)
    return math.sqrt(n_features + nats) * (root / math.sqrt(n_rows) + private) + bias


@checked
def iterative_mean_bound_amplified(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    clip_norm: float,
    epsilon: float,
    delta: float,
    failure_probability: float,
    moment_bound: float = 1.0,
) -> float:
    """Error of the iterative mean with the amplification that the paper assumes.

    :func:`iterative_mean_bound` with ``(log(1/delta) + sqrt(log(1/delta) log log(1/fp))) /
    epsilon`` in place of ``sqrt(k / rho)``.

    *Constants.* Hidden ones are set to 1, and ``log log(1/fp)`` to 0 if it is negative.

    *Correction.* The amplification is false for fixed groups (E40): this is a number of the paper,
    and no method here uses it.

    *Reference.* Zhao and others 2024, Theorem 5, equation (21).

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 10, "moment_order": 2.0, "clip_norm": 100.0}
    >>> budget = {"epsilon": 0.5, "delta": 1e-6, "failure_probability": 0.1}
    >>> round(iterative_mean_bound_amplified(**args, **budget), 5)
    0.11558
    """
    nats, log_nats = -math.log(delta), math.log(-math.log(failure_probability))
    spread = nats + math.sqrt(nats * max(0.0, log_nats))
    return iterative_mean_bound(
        n_rows=n_rows,
        n_features=n_features,
        n_groups=1,
        moment_order=moment_order,
        clip_norm=clip_norm,
        rho=(epsilon / spread) ** 2,
        failure_probability=failure_probability,
        moment_bound=moment_bound,
    )


@checked
def clipped_gradient_errors(
    *,
    n_rows: int,
    n_features: int,
    n_steps: int,
    moment_order: float,
    clip_norm: float,
    rho: float,
    moment_bound: float = 1.0,
) -> tuple[float, float]:
    """Bias and root mean squared error of a step's clipped gradient, at all points at once.

    ``B = M sqrt(d log(n) / n) + R d log(n) / n + d^(q/2) M^q / R^(q-1)``; the square of the error
    is the sum of the squares of these and ``d T R^2 / (rho n^2)``. Both are arguments of
    :func:`tailguard.papers.common.descent.descent_bound`, for any clip norm and steps.

    *Constants.* Hidden ones are set to 1.

    *Correction.* The printed second term of the bias has one factor ``log(n)`` too many (E59).

    *Reference.* Zhao and others 2024, Lemma 5.

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 10, "n_steps": 20, "moment_order": 2.0}
    >>> bias, error = clipped_gradient_errors(**args, clip_norm=100.0, rho=0.5)
    >>> round(bias, 4), round(error, 4)
    (0.1256, 0.1017)
    """
    nats, scale = math.log(n_rows), moment_scale(moment_bound, moment_order)
    body = scale * math.sqrt(n_features * nats / n_rows)
    terms = body, clip_norm * n_features * nats / n_rows
    bias = _printed_bias(n_features, moment_order, clip_norm, moment_bound)
    noise = clip_norm / n_rows * math.sqrt(n_features * n_steps / rho)
    return sum(terms) + bias, math.hypot(*terms, bias, noise)


@checked
def iterative_gradient_errors(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    clip_norm: float,
    epsilon: float,
    delta: float,
    moment_bound: float = 1.0,
) -> tuple[float, float]:
    """Bias and root mean squared error of a step's iterative mean, at this privacy of each step.

    ``B = M sqrt(d/n) + d^(q/2) M^q / R^(q-1)``; the square of the error is the sum of the squares
    of these and ``d (R / (n epsilon))^2 (L + sqrt(L log(d)))`` for ``L = log(1/delta)``.

    *Constants.* Hidden ones are set to 1.

    *Correction.* The amplification is false for fixed groups (E40): this is a number of the paper,
    and no method here uses it.

    *Reference.* Zhao and others 2024, Lemma 9.

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 10, "moment_order": 2.0, "clip_norm": 100.0}
    >>> bias, error = iterative_gradient_errors(**args, epsilon=0.1, delta=1e-6)
    >>> round(bias, 4), round(error, 4)
    (0.1032, 0.101)
    """
    nats = -math.log(delta)
    body = moment_scale(moment_bound, moment_order) * math.sqrt(n_features / n_rows)
    bias = _printed_bias(n_features, moment_order, clip_norm, moment_bound)
    spread = math.sqrt(n_features * (nats + math.sqrt(nats * math.log(n_features))))
    return body + bias, math.hypot(body, bias, clip_norm / (n_rows * epsilon) * spread)


def _printed_bias(size: int, moment_order: float, clip_norm: float, moment_bound: float) -> float:
    """Return the bias of the l2-clipped mean with a constant of 1."""
    return float(moment_bound * size ** (moment_order / 2.0) / clip_norm ** (moment_order - 1.0))


@checked
def iterative_radius(
    *, n_rows: int, n_features: int, n_groups: int, clip_norm: float, rho: float, scale: float
) -> float:
    """Radius around the clipped mean that holds nine in ten group means in every direction.

    The largest of ``160 M sqrt(d/n)``, ``160 sqrt(2) (R/n) sqrt(k d / rho)`` and
    ``40 sqrt(2 R^2 k^2 / (rho n^2) + M^2 k / n)`` for ``k`` groups with rho-zCDP each and data of
    scale ``M``; the iterative mean ends within six radii. Constants are those of the proof, and
    generous.

    *Reference.* Zhao and others 2024, Lemmas 6 and 8.

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 10, "n_groups": 100, "clip_norm": 100.0}
    >>> round(iterative_radius(rho=0.02, scale=1.0, **args), 4)
    5.0596
    """
    noise = clip_norm / n_rows * math.sqrt(2.0 * n_groups / rho)
    sampling = scale / math.sqrt(n_rows)
    together = math.hypot(noise, sampling) * math.sqrt(n_groups)
    return max(160.0 * math.sqrt(n_features) * max(sampling, noise), 40.0 * together)


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
    """Least excess risk of rho-zCDP algorithms under moments in every direction.

    ``sqrt(d/n) + min(1, (sqrt(d) / (n sqrt(rho)))^((q-1)/q))``, times half the diameter and the
    root of the moment.

    *Constants.* Hidden ones are set to 1.

    *Correction.* The paper prints ``sqrt(d)`` before the second term and ``log(1/delta)`` after
    it, quoting Kamath, Liu and Zhang. Their hardest laws put ``p^(-1/q)`` times a word of weight
    ``d/2`` at chance ``p``: along the word their moment is ``(d/2)^(q/2)``, outside of the class
    of this paper. Scaled by ``sqrt(2/d)`` they are in the class, and prove this bound. Other linear
    losses cannot prove the quoted bound either: under such moments there are private means of error
    ``(d / (n sqrt(rho)))^((q-1)/q)`` (Kamath, Singhal and Ullman 2020). The factor
    ``log(1/delta)`` is unproved, and the source is for zCDP.

    *Reference.* Zhao and others 2024, Theorem 1; Kamath, Liu and Zhang 2022, Theorem 6.4.

    Examples
    --------
    >>> args = {"n_rows": 10**6, "n_features": 10, "moment_order": 2.0}
    >>> round(convex_lower_bound(rho=0.02, **args), 6)
    0.007891
    """
    private = min(1.0, tail_power(math.sqrt(n_features / rho) / n_rows, moment_order))
    scale = moment_scale(moment_bound, moment_order) * diameter / 2.0
    return scale * (math.sqrt(n_features / n_rows) + private)
