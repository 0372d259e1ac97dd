"""Parameters of Xu, Ding, Xiang, Xu and Wang (2025): localised, phased and accelerated descent.

*Needed for privacy.* For the localised method: losses of a score with bounded rows, clipped so that
the gradients stay those of a convex smooth function, and step sizes within the stability bound; the
paper's own proof does not hold. For the accelerated method: nothing of the loss.

*Needed for accuracy.* ``E sup_w ||gradient||^moment_order <= moment_bound`` (the norm, and the
largest over the set), convexity, a bounded set.
"""

import math
from collections.abc import Callable

from tailguard.array_types import FloatArray
from tailguard.checks import check_integer
from tailguard.means.formulas import check_facts, checked, moment_scale, tail_power
from tailguard.means.formulas import gradient_clip_norm as gradient_clip_norm
from tailguard.papers.solvers.acceleration import step_parameter
from tailguard.papers.solvers.gradient_facts import GradientFacts
from tailguard.papers.solvers.phases import (
    SMALLEST_ROUND,
    check_doubling,
    doubling_sizes,
    equal_sizes,
    halving_sizes,
    printed_doubling_sizes,
)


def expected_scale(norms: FloatArray, *, n_rows: int, moment_order: float) -> float:
    """Estimate ``r~_{k,m}`` from simulated records: the root of their expected empirical moment.

    ``norms`` are those of the gradients, with a row for each of some points of the set and a column
    for each simulated record. For each batch of ``n_rows`` records the mean ``k``-th power of the
    norm is maximised over the points; ``r~`` is the ``k``-th root of the average over batches. For
    batches of one record it is the root of the moment itself; larger batches have less (Lemma 2).
    More points raise it towards the paper's value, which is over the whole set. NON-PRIVATE: only
    for simulated or public records.

    *Reference.* Xu and others 2025, Section 3, before Lemma 2.

    Examples
    --------
    >>> import numpy as np
    >>> norms = np.array([[1.0, 3.0], [3.0, 1.0]])
    >>> [round(expected_scale(norms, n_rows=m, moment_order=2.0) ** 2, 1) for m in (1, 2)]
    [9.0, 5.0]
    """
    check_facts(n_rows=n_rows, moment_order=moment_order)
    check_integer("n_rows", n_rows, minimum=1, maximum=norms.shape[1])
    n_batches = norms.shape[1] // n_rows
    powers = norms[:, : n_batches * n_rows] ** moment_order
    means = powers.reshape(len(norms), n_batches, n_rows).mean(axis=2)
    return float(means.max(axis=0).mean() ** (1.0 / moment_order))


def averaged_scale(scale_of: Callable[[int], float], *, n_rows: int) -> float:
    """Average the scales of all phases: ``R~_{k,n} = sqrt(sum_i 2^-i r~_{k,n_i}^2)``.

    ``n_i = n / 2^i`` for the phases ``i = 1 .. log2(n)``; ``scale_of`` maps a number of records to
    ``r~`` (:func:`expected_scale`). The result is at most ``r~`` of one record (Lemma 2), and its
    power ``2 q`` is a ``moment_bound`` for :func:`tailguard.papers.xu2025.localized_bound`.

    *Reference.* Xu and others 2025, Section 3, before Lemma 2.

    Examples
    --------
    >>> round(averaged_scale(lambda n_rows: 2.0, n_rows=2**10) ** 2, 4)
    3.9961
    """
    check_integer("n_rows", n_rows, minimum=2)
    phases = range(1, int(n_rows).bit_length())
    return math.sqrt(sum(scale_of(n_rows >> i) ** 2 / 2**i for i in phases))


@checked
def localized_sensitivity(*, n_rows: int, clip_norm: float, regularisation: float) -> float:
    """How far one record moves a clipped regularised minimiser: ``2 C / (n lambda)``.

    *Correction.* It holds for scores with bounded rows and small enough steps, but not for every
    convex loss, as the paper claims: there one record can move the minimiser 5 times as far or
    more.

    *Reference.* Xu and others 2025, Theorem 1; the bound is proved by the contraction of clipped
    gradient steps, not by the paper's argument.

    Examples
    --------
    >>> localized_sensitivity(n_rows=5000, clip_norm=1.0, regularisation=0.1)
    0.004
    """
    return 2.0 * clip_norm / (n_rows * regularisation)


@checked
def printed_localized_noise_std(*, sensitivity: float, epsilon: float, delta: float) -> float:
    """Noise of a phase as Algorithm 3 prints it: ``4 sensitivity sqrt(log(1/delta)) / epsilon``.

    It is enough for ``epsilon <= 20.7 log(1/delta)`` if the sensitivity holds, and 3.6 times too
    much at (1, 1e-5): ``sensitivity / mu_of(epsilon, delta)`` is exact.

    *Reference.* Xu and others 2025, Algorithm 3, line 7.

    Examples
    --------
    >>> round(printed_localized_noise_std(sensitivity=0.004, epsilon=1.0, delta=1e-5), 10)
    0.0542891234
    """
    return 4.0 * sensitivity * math.sqrt(-math.log(delta)) / epsilon


@checked
def localized_phases(*, n_rows: int, n_minimum: int = SMALLEST_ROUND) -> tuple[int, ...]:
    """Rows of each phase: halves, quarters, and so on to ``n_minimum``; the first has the rest.

    *Correction.* The paper goes down to phases of one record, whose step sizes break its own
    condition.

    *Reference.* Xu and others 2025, Algorithm 3.

    Examples
    --------
    >>> localized_phases(n_rows=1000)
    (563, 250, 125, 62)
    """
    return halving_sizes(n_rows, n_minimum)


@checked
def localized_step_parameter(
    *,
    n_rows: int,
    n_features: int,
    diameter: float,
    clip_norm: float,
    gradient_scale: float,
    mu: float,
) -> float:
    """Parameter ``eta``, which sets the regularisation of phase i, ``4^i / (eta n_i)``.

    ``2 D / sqrt(n (2 r^2 / 3 + 16 d C^2 / (mu^2 n)))`` minimises the predicted risk of distance,
    sampling and noise (:func:`tailguard.papers.xu2025.localized_risk`).

    *Correction.* The paper prints three different powers of n in its eta, one of them with the
    wrong units; this is derived for regularisation ``1 / (eta_i n_i)`` in all phases.

    *Reference.* Xu and others 2025, Algorithm 3, at its p = 1.

    Examples
    --------
    >>> args = {"n_rows": 10**4, "n_features": 10, "diameter": 2.0, "clip_norm": 1.0}
    >>> round(localized_step_parameter(gradient_scale=1.0, mu=0.2932000118, **args), 7)
    0.0433152
    """
    facts = GradientFacts(n_features, math.inf, gradient_scale, order=2.0, largest=math.inf)
    return facts.step_parameter(n_rows, mu, diameter, clip_norm)


@checked
def shrinking_phases(*, n_rows: int) -> int:
    """How many phases to run, each in a ball around the last answer with half the last radius.

    ``floor(log2(2 n / log2(n)) / 2) - 1``, and at least 1.

    *Reference.* Xu and others 2025, Algorithm 4.

    Examples
    --------
    >>> [shrinking_phases(n_rows=n_rows) for n_rows in (10**3, 10**4, 3 * 10**4, 10**6)]
    [2, 4, 4, 7]
    """
    return len(equal_sizes(n_rows))


def printed_phase_sizes(*, n_rows: int, growth_bound: float) -> tuple[int, ...]:
    """Rows of each phase as Algorithm 5 prints them: they double, and some rows are not used.

    ``growth_bound`` is a known lower bound above 1 on the exponent of the noise condition. The
    first phases may be empty.

    *Correction.* Logarithms are to base 2 and the exponent is that of the proof; the algorithm
    prints its square.

    *Reference.* Xu and others 2025, Algorithm 5.

    Examples
    --------
    >>> printed_phase_sizes(n_rows=10**4, growth_bound=2.0)
    (752, 1505, 3010)
    """
    check_doubling(n_rows, growth_bound)
    return printed_doubling_sizes(n_rows, growth_bound)


def phase_sizes(
    *, n_rows: int, growth_bound: float, n_minimum: int = SMALLEST_ROUND
) -> tuple[int, ...]:
    """Rows of each phase, which double: at least one phase, all rows, none below ``n_minimum``.

    *Correction.* The paper's rule (:func:`printed_phase_sizes`) does not use all rows, has empty
    phases for small bounds, and no phases for large ones.

    *Reference.* Xu and others 2025, Algorithm 5.

    Examples
    --------
    >>> phase_sizes(n_rows=10**4, growth_bound=2.0)
    (1428, 2857, 5715)
    """
    check_facts(n_minimum=n_minimum)
    check_doubling(n_rows, growth_bound)
    return doubling_sizes(n_rows, growth_bound, n_minimum)


@checked
def accelerated_steps(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    epsilon: float,
    delta: float,
    smoothness: float,
    diameter: float,
    moment_bound: float = 1.0,
) -> float:
    """How many steps the accelerated method takes, before rounding.

    ``sqrt(smoothness D / r) min((n eps / sqrt(d log(1/delta)))^((q-1)/(2q)), n^(1/4))``.

    *Reference.* Xu and others 2025, Theorem 6.

    Examples
    --------
    >>> sizes = {"n_rows": 10**4, "n_features": 10, "moment_order": 2.0}
    >>> privacy = {"epsilon": 1.0, "delta": 1e-5}
    >>> round(accelerated_steps(smoothness=1.0, diameter=2.0, **sizes, **privacy), 4)
    7.8139
    """
    reach = n_rows * epsilon / math.sqrt(-n_features * math.log(delta))
    power = min(math.sqrt(tail_power(reach, moment_order)), math.sqrt(math.sqrt(n_rows)))
    return math.sqrt(smoothness * diameter / moment_scale(moment_bound, moment_order)) * power


@checked
def accelerated_step_parameter(
    *, n_steps: int, gradient_std: float, smoothness: float, diameter: float
) -> float:
    """Parameter ``eta``: ``max(2 smoothness, std sqrt(2 T (T+1) (T+2) / 3) / diameter)``.

    ``gradient_std`` is the root of the expected squared error of one noised batch gradient.

    *Reference.* Ghadimi and Lan 2012, on which Xu and others 2025, Algorithm 6, is based.

    Examples
    --------
    >>> args = {"n_steps": 10, "smoothness": 1.0, "diameter": 2.0}
    >>> round(accelerated_step_parameter(gradient_std=0.5, **args), 5)
    7.4162
    """
    return step_parameter(
        n_steps, gradient_error=gradient_std, smoothness=smoothness, diameter=diameter
    )


@checked
def printed_accelerated_noise_std(
    *, n_rows: int, n_steps: int, clip_norm: float, epsilon: float, delta: float
) -> float:
    """Noise as Algorithm 6 prints it, its constant set to 1. It is not private.

    ``C sqrt(T log(1/delta)) / (n epsilon)``. An attack that observes the batch means succeeds at
    every epsilon from 0.03 to 5. For disjoint batches ``2 C / (n // T) / mu_of(epsilon, delta)`` is
    correct.

    *Reference.* Xu and others 2025, Algorithm 6, line 6.

    Examples
    --------
    >>> args = {"n_rows": 10**4, "n_steps": 50, "clip_norm": 1.0}
    >>> round(printed_accelerated_noise_std(epsilon=0.5, delta=1e4**-1.1, **args), 4)
    0.0045
    """
    return clip_norm * math.sqrt(-n_steps * math.log(delta)) / (n_rows * epsilon)
