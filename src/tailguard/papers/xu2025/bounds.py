"""Bounds of Xu, Ding, Xiang, Xu and Wang (2025).

"Beyond ordinary Lipschitz constraints: differentially private stochastic optimization with Tsybakov
noise condition".

The condition, of ``growth`` theta and ``growth_constant`` lambda, is
``F(w) - F(w*) >= lambda ||w - w*||^theta``.

*Needed for privacy.* Theorems 1 to 3 need more than the paper states: losses of a score with
bounded rows, and steps within its stability bound. Theorems 6 and 7 need nothing of the loss, but
their noise must be calibrated over batches and not as printed.

*Needed for accuracy.* ``E sup_w ||gradient||^k <= moment_bound``, where ``k`` is twice the
``moment_order`` in Theorems 1 to 3 and equal to it in the others; convexity, a bounded set,
smoothness.

*Symbols.* ``n``, ``d``, ``q`` and ``D`` are ``n_rows``, ``n_features``, ``moment_order`` and
``diameter``; ``r`` is the root of the moment bound, a scale of the gradient.
"""

import math

from tailguard.checks import InputError, check_finite, shown
from tailguard.means.formulas import checked, moment_scale, tail_power
from tailguard.papers.xu2025.parameters import localized_phases, localized_sensitivity


@checked
def localized_bound(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    epsilon: float,
    delta: float,
    diameter: float,
    moment_bound: float = 1.0,
) -> float:
    """Excess risk of the localised method for convex losses.

    ``r D (n^(-1/2) + (sqrt(d log(1/delta)) / (n epsilon))^((q-1)/q))``, with ``r`` for the moment
    of order ``2 q``.

    *Constants.* Hidden constants and logarithms of the O-notation are set to 1.

    *Correction.* The paper adds ``D sqrt(log(1/beta)) / (2^(p+1) sqrt(n))`` with the failure
    probability beta, which is omitted here: it is not proved, and lacks the units of a gradient.

    *Reference.* Xu and others 2025, Theorem 1.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "moment_order": 2.0}
    >>> round(localized_bound(epsilon=1.0, delta=1e-5, diameter=2.0, **args), 5)
    0.02704
    """
    scale = moment_scale(moment_bound, 2.0 * moment_order) * diameter
    return scale * _rate(n_rows, n_features, moment_order, epsilon, delta)


@checked
def tsybakov_bound(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    epsilon: float,
    delta: float,
    growth: float,
    growth_constant: float = 1.0,
    moment_bound: float = 1.0,
) -> float:
    """Excess risk under the noise condition, ``lambda^(-1/(theta-1)) a^(theta/(theta-1))``.

    ``a`` is :func:`localized_bound` without its diameter.

    *Constants.* Hidden constants and logarithms are set to 1. Algorithm 4 has this bound for
    ``growth >= 2``. Algorithm 5 has it if the growth exceeds a known number above 1; its constant
    explodes as that number falls to 1.

    *Correction.* As in :func:`localized_bound`.

    *Reference.* Xu and others 2025, Theorems 2 and 3.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "moment_order": 2.0}
    >>> round(tsybakov_bound(epsilon=1.0, delta=1e-5, growth=2.0, **args), 6)
    0.000183
    """
    check_growth(growth, 1.0)
    rate = _rate(n_rows, n_features, moment_order, epsilon, delta)
    scale = moment_scale(moment_bound, 2.0 * moment_order)
    return _growth_power(scale * rate, growth, growth_constant)


@checked
def accelerated_bound(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    epsilon: float,
    delta: float,
    diameter: float,
    moment_bound: float = 1.0,
) -> float:
    """Excess risk of the accelerated method: :func:`localized_bound` with moments of order q.

    *Constants.* Hidden constants are set to 1.

    *Correction.* The paper claims it for ``epsilon`` of the order ``sqrt(log(n/delta) / n)``, from
    shuffling. With noise that is private without the shuffle, the term of the noise is
    ``2 C sqrt(d T) / (n mu)`` for T steps with clip norm C; it grows with T.

    *Reference.* Xu and others 2025, Theorem 6.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "moment_order": 2.0}
    >>> round(accelerated_bound(epsilon=0.01, delta=1e-5, diameter=2.0, **args), 4)
    0.2135
    """
    scale = moment_scale(moment_bound, moment_order) * diameter
    return scale * _rate(n_rows, n_features, moment_order, epsilon, delta)


@checked
def accelerated_tsybakov_bound(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    epsilon: float,
    delta: float,
    growth: float,
    growth_constant: float = 1.0,
    moment_bound: float = 1.0,
) -> float:
    """Excess risk of the accelerated method, run in phases, under the noise condition.

    :func:`tsybakov_bound` with moments of order q.

    *Constants.* Hidden constants and logarithms are set to 1.

    *Correction.* As in :func:`accelerated_bound`, for the smallest phase.

    *Reference.* Xu and others 2025, Theorem 7.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "moment_order": 2.0}
    >>> round(accelerated_tsybakov_bound(epsilon=0.01, delta=1e-5, growth=2.0, **args), 6)
    0.011395
    """
    check_growth(growth, 1.0)
    rate = _rate(n_rows, n_features, moment_order, epsilon, delta)
    return _growth_power(moment_scale(moment_bound, moment_order) * rate, growth, growth_constant)


@checked
def tsybakov_lower_bound(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    rho: float,
    growth: float,
    moment_bound: float = 1.0,
) -> float:
    """Least excess risk of rho-zCDP algorithms under the noise condition, ``growth >= 2``.

    ``(r (sqrt(d) / (n sqrt(rho)))^((q-1)/q))^(theta/(theta-1))``; as theta grows, it tends to the
    bound of convex losses.

    *Constants.* Hidden constants, and that of the noise condition, are set to 1. Needs
    ``n >= sqrt(d / rho)``.

    *Correction.* The hard distributions have a rare point. The theorem prints its probability as
    ``d / (n sqrt(rho))``, the proof as ``sqrt(d) / (n sqrt(rho))``; both need a factor of 0.1 to
    prove anything. The radius of the printed set violates the assumption on the moments.

    *Reference.* Xu and others 2025, Theorem 4.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 100, "moment_order": 2.0}
    >>> round(tsybakov_lower_bound(rho=0.5, growth=2.0, **args), 8)
    0.00014142
    """
    check_growth(growth, 2.0)
    private = min(1.0, tail_power(math.sqrt(n_features / rho) / n_rows, moment_order))
    return _growth_power(moment_scale(moment_bound, moment_order) * private, growth, 1.0)


@checked
def tsybakov_lower_bound_sampling(
    *, n_rows: int, moment_order: float, growth: float, moment_bound: float = 1.0
) -> float:
    """Least excess risk of any algorithm, private or not: ``(r / sqrt(n))^(theta/(theta-1))``.

    *Constants.* Hidden constants, and that of the noise condition, are set to 1.

    *Correction.* The proof's bias ``sqrt(d/n)`` would give another rate, but the divergence of
    distributions with this bias is too large for a proof; ``0.1 / sqrt(n)`` proves this rate.

    *Reference.* Xu and others 2025, Theorem 5.

    Examples
    --------
    >>> tsybakov_lower_bound_sampling(n_rows=10**4, moment_order=2.0, growth=2.0)
    0.0001
    """
    check_growth(growth, 2.0)
    scale = moment_scale(moment_bound, moment_order)
    return _growth_power(scale / math.sqrt(n_rows), growth, 1.0)


@checked
def localized_risk(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    diameter: float,
    clip_norm: float,
    step_parameter: float,
    gradient_scale: float,
    mu: float,
    n_minimum: int = 32,
) -> float:
    """Excess risk of the localised method as this library runs it, term by term.

    Distance ``D^2 l_1 / 2``, sampling ``sum 2 r^2 / (l_i n_i)``, noise of earlier phases
    ``sum (l_i / 2) d s_(i-1)^2``, noise of the last phase ``r sqrt(d) s``, and clipping
    ``D r^q / ((q-1) C^(q-1))``. Phase i has ``n_i`` records, regularisation
    ``l_i = 4^i / (eta n_i)`` with the step parameter eta, and noise ``s_i``; C is the clip norm. A
    heuristic: no theorem has these constants.

    *Reference.* Xu and others 2025, Algorithm 3, with the noise for the sensitivity
    ``2 C / (n_i l_i)``.

    Examples
    --------
    >>> args = {"n_rows": 10**4, "n_features": 10, "moment_order": 2.0, "diameter": 2.0}
    >>> clip = {"clip_norm": 30.0, "gradient_scale": 1.0, "mu": 0.2932}
    >>> round(localized_risk(step_parameter=0.003, **args, **clip), 3)
    1.096
    """
    clipped = (moment_order - 1.0) * clip_norm ** (moment_order - 1.0)
    risk = diameter * gradient_scale**moment_order / clipped
    squared_distance = diameter**2  # of a phase's start from the minimiser
    for phase, size in enumerate(localized_phases(n_rows=n_rows, n_minimum=n_minimum), start=1):
        regularisation = 4.0**phase / (step_parameter * size)
        sampling = 2.0 * gradient_scale**2 / (regularisation * size)
        risk += regularisation / 2.0 * squared_distance + sampling
        sensitivity = localized_sensitivity(
            n_rows=size, clip_norm=clip_norm, regularisation=regularisation
        )
        squared_distance = n_features * (sensitivity / mu) ** 2
    return float(risk + gradient_scale * math.sqrt(squared_distance))


def _rate(n_rows: int, n_features: int, order: float, epsilon: float, delta: float) -> float:
    """Add the errors from sampling and from privacy, in units of the gradient's scale."""
    noise = math.sqrt(-n_features * math.log(delta)) / (n_rows * epsilon)
    return 1.0 / math.sqrt(n_rows) + tail_power(noise, order)


def _growth_power(error: float, growth: float, constant: float) -> float:
    """Excess risk below which a gradient error of this size hides the descent direction."""
    power = 1.0 / (growth - 1.0)
    return math.pow(error, growth * power) * math.pow(constant, -power)


def check_growth(growth: float, least: float) -> None:
    """Refuse an exponent of the noise condition that a theorem does not cover."""
    if check_finite("growth", growth) < least or growth == 1.0:
        allowed = "above 1" if least == 1.0 else f"of at least {least:g}"
        raise InputError(f"growth must be a number {allowed}; got {shown(growth)}.")
