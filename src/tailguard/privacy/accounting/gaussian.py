"""Gaussian differential privacy: conversions of mu, epsilon and delta, and sums of mu squared.

If the worst pair of neighbours of a release looks like N(0, 1) and N(mu, 1), the smallest delta at
epsilon is

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu).

Every result is rounded to the safe side: delta and epsilon are never below the truth, and mu is
never above it. dp-accounting's closed forms agree to 11 digits, but the delta of their results may
exceed the promised delta by up to a fraction of 8e-10; so they are not used.

Totals are exact if every release is Gaussian. Any other release is replaced by the Gaussian release
with the smallest mu that covers it.

Reference
---------
Balle and Wang 2018, Theorem 8; Dong, Roth and Su 2022, Corollary 3.3 (adaptive composition) and
Corollary 2.13 (conversion).
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from scipy.special import erfcx, erfinv, log_expit, log_ndtr, ndtri_exp

from tailguard.checks import check_cost, check_open_unit
from tailguard.privacy.accounting.accountant import AdditiveAccountant, Prices, ceiling
from tailguard.privacy.events import Approximate, BoundedRange, Gaussian, Laplace, Pure
from tailguard.privacy.roots import ROUNDING, crossing, down, step_until, up

# Constants of the normal density, exp(-x**2 / 2) / sqrt(2 pi).
SQRT_2 = math.sqrt(2.0)
SQRT_HALF_PI = math.sqrt(math.pi / 2.0)
LOG_SQRT_2_PI = math.log(2.0 * math.pi) / 2.0

# Below this mu the two terms of delta nearly cancel; the difference is then found by integration.
SMALL_MU = 0.01

# Three-point Gauss-Legendre rule on [0, 1]. On an interval of length SMALL_MU its relative error is
# below 1e-18.
NODES = ((5 / 18, 0.5 - math.sqrt(0.15)), (8 / 18, 0.5), (5 / 18, 0.5 + math.sqrt(0.15)))


def log_delta(mu: float, epsilon: float) -> float:
    """Return the natural logarithm of the smallest delta of a mu-GDP release at ``epsilon``.

    *Guarantee.* Never below the truth, and above it by about 1e-12.

    *Edge cases.* ``mu = 0`` gives minus infinity; ``mu = inf`` gives 0.

    *Reference.* Balle and Wang 2018, Theorem 8.
    """
    return _log_delta(check_cost("mu", mu), check_cost("epsilon", epsilon))


def delta_of(mu: float, epsilon: float) -> float:
    """Return the smallest delta of a mu-GDP release at ``epsilon``, rounded up.

    *Guarantee.* Never below the truth.

    *Edge cases.* A delta below 1e-323 underflows to 0; ``log_delta`` does not underflow.

    *Reference.* Balle and Wang 2018, Theorem 8.
    """
    return min(1.0, math.exp(log_delta(mu, epsilon)))


def epsilon_of(mu: float, delta: float) -> float:
    """Return the smallest epsilon of a mu-GDP release at ``delta``, rounded up.

    *Guarantee.* Never below the truth.

    *Edge cases.* 0 if the total variation distance is already at most ``delta``.

    *Reference.* Dong, Roth and Su 2022, Corollary 2.13.
    """
    return _epsilon_of(check_cost("mu", mu), check_open_unit("delta", delta))


@lru_cache(maxsize=1024)  # as below
def _epsilon_of(mu: float, delta: float) -> float:
    target = math.log(delta)
    if math.isinf(mu):
        return math.inf
    if _log_delta(mu, 0.0) <= target:
        return 0.0
    guess = mu * mu / 2.0 + mu * math.sqrt(-2.0 * target)
    root = crossing(lambda epsilon: target - _log_delta(mu, epsilon), guess)
    return step_until(lambda epsilon: _log_delta(mu, epsilon) <= target, up(root), 1.0 + ROUNDING)


def mu_of(epsilon: float, delta: float) -> float:
    """Return the largest mu for which releases are (epsilon, delta)-DP, rounded down.

    *Guarantee.* Never above the truth, and ``epsilon_of(mu_of(epsilon, delta), delta)`` is never
    above ``epsilon``.

    *Reference.* Balle and Wang 2018, Algorithm 1 (the analytic Gaussian mechanism).
    """
    return _mu_of(check_cost("epsilon", epsilon), check_open_unit("delta", delta))


@lru_cache(maxsize=1024)  # plans and runs convert the same guarantee repeatedly
def _mu_of(epsilon: float, delta: float) -> float:
    target = math.log(delta)
    if math.isinf(epsilon):
        return math.inf
    # Solves epsilon = mu^2 / 2 + mu sqrt(2 log(1 / delta)), the simple bound of zCDP.
    guess = 2.0 * epsilon / (math.sqrt(2.0 * epsilon - 2.0 * target) + math.sqrt(-2.0 * target))
    root = crossing(lambda mu: _log_delta(mu, epsilon) - target, guess or 1e-3)
    return step_until(lambda mu: _log_delta(mu, epsilon) <= target, down(root), 1.0 - ROUNDING)


def _log_delta(mu: float, epsilon: float) -> float:
    """Return ``log_delta`` for parameters that were checked before."""
    if mu == 0.0 or math.isinf(epsilon):
        return -math.inf
    if math.isinf(mu):
        return 0.0
    a, b = mu / 2.0 - epsilon / mu, -mu / 2.0 - epsilon / mu
    if a < -1e150:
        return -math.inf
    value = _log_difference(mu, a, b)
    # The second term covers the rounding of a^2 / 2 if delta is far below the smallest float.
    return value + ROUNDING + 1e-15 * abs(value)


def _log_difference(mu: float, a: float, b: float) -> float:
    """Return log(Phi(a) - exp(epsilon) Phi(b)); exp(epsilon) phi(b) = phi(a) and a = b + mu."""
    if mu < SMALL_MU:
        integral = mu * sum(weight * _mills_drop(mu * node - a) for weight, node in NODES)
        return -a * a / 2.0 - LOG_SQRT_2_PI + math.log(integral)
    if a <= 0:
        first, second = erfcx(-a / SQRT_2), erfcx(-b / SQRT_2)
        # Far out the two terms may be equal floats; the first alone then bounds the difference.
        return -a * a / 2.0 + math.log((first - second if second < first else first) / 2.0)
    log_first = float(log_ndtr(a))
    log_second = -a * a / 2.0 + math.log(erfcx(-b / SQRT_2) / 2.0)
    return log_first + math.log1p(-math.exp(log_second - log_first))


def _mills_drop(x: float) -> float:
    """Return minus the slope of Mills' ratio R, 1 - x R(x); a bound if x > 1e4 (Gordon 1941)."""
    if x > 1e4:
        return 1.0 / (1.0 + x * x)
    return float(1.0 - x * SQRT_HALF_PI * erfcx(x / SQRT_2))


def mu_of_pure(epsilon: float) -> float:
    """Price an epsilon-DP mechanism in Gaussian differential privacy.

    *Guarantee.* Never below the truth: the two trade-off curves touch.

    *Reference.* Dong, Roth and Su 2022, Proposition 2.10 and Section 2.3.
    """
    epsilon = check_cost("epsilon", epsilon)
    if epsilon > 1.0:
        return up(-2.0 * float(ndtri_exp(log_expit(-epsilon))))
    return up(2.0 * math.sqrt(2.0) * float(erfinv(math.tanh(epsilon / 2.0))))


def mu_of_bounded_range(eta: float) -> float:
    """Price an eta-bounded-range mechanism in Gaussian differential privacy.

    *Guarantee.* For the exponential mechanism and its Gumbel form; not for Laplace noisy max.

    *Reference.* Dong, Durfee and Rogers 2020, Section 3 (their worst pair, which this mu covers).
    """
    return mu_of_pure(check_cost("eta", eta) / 2.0)


class GdpAccountant(AdditiveAccountant):
    """Adds up squares of mu; zCDP events are refused, because zCDP does not imply GDP.

    *Guarantee.* Replace-one neighbours, adaptive composition.

    *Reference.* Dong, Roth and Su 2022, Corollary 3.3.

    Examples
    --------
    >>> from tailguard.privacy.events import Gaussian
    >>> accountant = GdpAccountant().compose(Gaussian(mu=0.1), times=100)
    >>> round(accountant.mu, 9), round(accountant.epsilon(delta=1e-6), 8)
    (1.0, 4.88655412)
    """

    prices: ClassVar[Prices] = {
        Gaussian: lambda event: Fraction(event.mu) ** 2,
        Laplace: lambda event: Fraction(mu_of_pure(event.epsilon)) ** 2,
        Pure: lambda event: Fraction(mu_of_pure(event.epsilon)) ** 2,
        BoundedRange: lambda event: Fraction(mu_of_bounded_range(event.eta)) ** 2,
        Approximate: lambda event: Fraction(mu_of_pure(event.epsilon)) ** 2,
    }

    @property
    def mu(self) -> float:
        """The total mu, to the nearest float."""
        return math.sqrt(float(self.total))

    def _epsilon(self, delta: float) -> float:
        return epsilon_of(math.sqrt(ceiling(self.total)), delta) if delta else math.inf

    def _delta(self, epsilon: float) -> float:
        return delta_of(math.sqrt(ceiling(self.total)), epsilon)
