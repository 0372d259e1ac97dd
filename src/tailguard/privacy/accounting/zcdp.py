"""Zero-concentrated differential privacy: conversions, the rho of each event, and the total.

A mechanism is rho-zCDP if its Renyi divergence of every order a > 1 is at most a * rho, for both
directions of every pair of neighbours. Gaussian differential privacy implies zCDP with
rho = mu^2 / 2; the converse is false. Costs are rounded up and budgets down. The order is
optimised: dp-accounting, which tries some orders, returns up to 1.04 times the epsilon (rho from
1e-4 to 10, delta from 1e-12 to 1e-3).

The rhos add up. Every event below has a rho, even if only its epsilon or delta is known. An
(epsilon, delta) event is priced by its epsilon, and its delta is counted separately (approximate
zCDP).

Reference
---------
Bun and Steinke 2016, Lemma 2.3 (composition) and Section 8 (approximate zCDP); Canonne, Kamath and
Steinke 2020, Proposition 12 (tight conversion).
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar

from scipy.optimize import minimize_scalar

from tailguard.checks import check_cost, check_open_unit
from tailguard.privacy import events
from tailguard.privacy.accounting.accountant import AdditiveAccountant, Prices, ceiling
from tailguard.privacy.accounting.gaussian import mu_of
from tailguard.privacy.roots import ROUNDING, crossing, down, step_until, up

# The range of log(order - 1) in searches: orders from 1 + 4e-18 to 1e26. Every order gives a valid
# bound, so a missed minimum costs tightness and never privacy.
LOG_ORDERS = (-40.0, 60.0)


def epsilon_of_zcdp(rho: float, delta: float) -> float:
    """Return the smallest epsilon that the best known conversion gives for rho-zCDP mechanisms.

    *Guarantee.* Valid for every rho-zCDP mechanism.

    *Reference.* Canonne, Kamath and Steinke 2020, Proposition 12.
    """
    rho, delta = check_cost("rho", rho), check_open_unit("delta", delta)
    if rho == 0.0 or math.isinf(rho):
        return rho
    return epsilon_of_renyi(lambda excess: (1.0 + excess) * rho, delta)


def epsilon_of_renyi(divergence: Callable[[float], float], delta: float) -> float:
    """Return the smallest epsilon that the best known conversion gives for Renyi divergences.

    ``divergence(excess)`` is a bound on the Renyi divergence of order ``1 + excess``.

    *Guarantee.* Valid for every mechanism with these divergences.

    *Reference.* Canonne, Kamath and Steinke 2020, Proposition 12.
    """
    log_delta = math.log(check_open_unit("delta", delta))

    def bound(log_excess: float) -> float:
        """Return the bound of the order 1 + exp(log_excess)."""
        excess = math.exp(log_excess)
        spent = divergence(excess)
        return spent - math.log1p(1.0 / excess) - (log_delta + math.log1p(excess)) / excess

    return up(max(0.0, _minimum(bound)))


def delta_of_zcdp(rho: float, epsilon: float) -> float:
    """Return the smallest delta that the best known conversion gives for rho-zCDP mechanisms.

    *Guarantee.* Valid for every rho-zCDP mechanism.

    *Reference.* Canonne, Kamath and Steinke 2020, Proposition 12.
    """
    rho, epsilon = check_cost("rho", rho), check_cost("epsilon", epsilon)
    if rho == 0.0 or math.isinf(epsilon):
        return 0.0
    if math.isinf(rho):
        return 1.0
    return delta_of_renyi(lambda excess: (1.0 + excess) * rho, epsilon)


def delta_of_renyi(divergence: Callable[[float], float], epsilon: float) -> float:
    """Return the smallest delta that the best known conversion gives for Renyi divergences.

    *Guarantee.* Valid for every mechanism with these divergences.

    *Reference.* Canonne, Kamath and Steinke 2020, Proposition 12.
    """
    epsilon = check_cost("epsilon", epsilon)
    if math.isinf(epsilon):
        return 0.0 if math.isfinite(divergence(1.0)) else 1.0

    def log_bound(log_excess: float) -> float:
        """Return the bound of the order 1 + exp(log_excess)."""
        excess = math.exp(log_excess)
        exponent = excess * (divergence(excess) - epsilon)
        return exponent - (1.0 + excess) * math.log1p(1.0 / excess) - log_excess

    lowest = min(0.0, _minimum(log_bound))
    return min(1.0, math.exp(lowest + ROUNDING * (1.0 + abs(lowest))))


def rho_of(epsilon: float, delta: float) -> float:
    """Return the largest rho for which zCDP mechanisms are (epsilon, delta)-DP, rounded down.

    *Guarantee.* ``epsilon_of_zcdp(rho, delta)`` is never above ``epsilon``.

    *Reference.* Canonne, Kamath and Steinke 2020, Proposition 12, inverted.
    """
    # The rho of the Gaussian mechanism is too large for zCDP in general, but close to the result.
    guess = mu_of(epsilon, delta) ** 2 / 2.0
    if guess == 0.0 or math.isinf(guess):
        return guess
    root = crossing(lambda rho: epsilon_of_zcdp(rho, delta) - epsilon, guess)
    return step_until(
        lambda rho: epsilon_of_zcdp(rho, delta) <= epsilon, down(root), 1.0 - ROUNDING
    )


def rho_of_simple(epsilon: float, delta: float) -> float:
    """Return rho by the textbook's simple conversion, for comparison with papers.

    *Guarantee.* Never above ``rho_of``.

    *Reference.* Bun and Steinke 2016, Proposition 1.3, inverted.
    """
    epsilon, log_term = check_cost("epsilon", epsilon), -math.log(check_open_unit("delta", delta))
    return down((epsilon / (math.sqrt(log_term + epsilon) + math.sqrt(log_term))) ** 2)


def rho_of_pure(epsilon: float) -> float:
    """Price an epsilon-DP mechanism in zCDP: epsilon tanh(epsilon / 2).

    Randomised response is the worst case; with w = (a - 1/2)^2 its Renyi divergence divided by the
    order is the slope of log cosh(epsilon sqrt(w)) between w = 1/4 and w. This function is concave
    in w, so the slope is largest as the order tends to 1.

    *Guarantee.* Never below the truth, and attained by randomised response.

    *Reference.* Steinke 2024, "Tight RDP and zCDP Bounds from Pure DP".
    """
    epsilon = check_cost("epsilon", epsilon)
    return up(epsilon * math.tanh(epsilon / 2.0))


def rho_of_laplace(epsilon: float) -> float:
    """Price Laplace noise in zCDP, for a shift of epsilon scales in l1.

    The Renyi divergence divided by its order is largest as the order tends to 1, where it is the
    Kullback-Leibler divergence x - 1 + exp(-x). This is convex in x, so a shift that is split over
    coordinates costs less than the same shift in one coordinate.

    *Guarantee.* Never below the truth.

    *Reference.* Mironov 2017, Proposition 6 (the divergence of every order); Wang 2022 (the limit).
    """
    epsilon = check_cost("epsilon", epsilon)
    if math.isinf(epsilon):
        return math.inf
    if epsilon < 1e-3:  # the alternating series; its next term is negative
        return up(epsilon**2 / 2.0 * (1.0 - epsilon / 3.0 + epsilon**2 / 12.0))
    return up(epsilon + math.expm1(-epsilon))


def rho_of_bounded_range(eta: float) -> float:
    """Price an eta-bounded-range mechanism in zCDP: eta^2 / 8.

    *Guarantee.* For the exponential mechanism and its Gumbel form; not for Laplace noisy max.

    *Reference.* Cesar and Rogers 2021, Lemma 3.
    """
    return up(check_cost("eta", eta) ** 2 / 8.0)


def _minimum(bound: Callable[[float], float]) -> float:
    """Return the smallest value of a bound over the searched orders."""
    result = minimize_scalar(bound, bounds=LOG_ORDERS, method="bounded", options={"xatol": 1e-9})
    return float(result.fun)


class ZcdpAccountant(AdditiveAccountant):
    """Adds up rhos.

    *Guarantee.* Replace-one neighbours, adaptive composition.

    *Reference.* Bun and Steinke 2016, Lemma 2.3.

    Examples
    --------
    >>> from tailguard.privacy.events import ZeroConcentrated
    >>> accountant = ZcdpAccountant().compose(ZeroConcentrated(rho=0.005), times=100)
    >>> round(accountant.rho, 9), round(accountant.epsilon(delta=1e-6), 8)
    (0.5, 5.22153444)
    """

    prices: ClassVar[Prices] = {
        events.Gaussian: lambda event: Fraction(event.mu) ** 2 / 2,
        events.Laplace: lambda event: Fraction(rho_of_laplace(event.epsilon)),
        events.Pure: lambda event: Fraction(rho_of_pure(event.epsilon)),
        events.BoundedRange: lambda event: Fraction(rho_of_bounded_range(event.eta)),
        events.ZeroConcentrated: lambda event: Fraction(event.rho),
        events.Approximate: lambda event: Fraction(rho_of_pure(event.epsilon)),
    }

    @property
    def rho(self) -> float:
        """The total rho, to the nearest float."""
        return float(self.total)

    def _epsilon(self, delta: float) -> float:
        return epsilon_of_zcdp(ceiling(self.total), delta) if delta else math.inf

    def _delta(self, epsilon: float) -> float:
        return delta_of_zcdp(ceiling(self.total), epsilon)
