"""The cost of the best of a secret, random number of tries, by two derivations.

**By privacy profiles.** Let ``f`` be the generating function of the number of tries, and give every
try a uniform number of its own, by which ties are broken. Then the best try has the density
``f'(F)`` with respect to one try, where ``F`` is the chance that one try is no better. For
neighbours with ``F`` and ``F'``, let ``f'(F) <= exp(c) f'(F')`` everywhere. For any outcomes S, the
chance of S less ``exp(e)`` times that of the neighbour is at most the integral over S of ``f'(F)``
with respect to one try less ``exp(e - c)`` times the neighbour's try; and ``f'`` lies between 0 and
``f'(1)``, the mean. So ``delta(e) <= mean * delta_1(e - c)``, where ``delta_1`` is the profile of
one try, at negative arguments, too. It remains to bound ``c`` with ``p = 1 - F`` and
``p' <= exp(a) p + delta_1(a)``:

* negative binomial: ``f'(F) / f'(F')`` is ``((g + (1 - g) p') / (g + (1 - g) p))**(1 + shape)``
  with ``g`` for gamma, at most ``exp(a (1 + shape))`` where ``(exp(a) - 1) g >= (1 - g)
  delta_1(a)``;
* Poisson: ``exp(rate (p' - p)) <= exp(rate * delta_1(0))``, whether zero is possible or not.

The best try can be told from all of them. Given their number ``k``, which does not depend on
records, they are a Gaussian release at ``mu sqrt(k)``. So ``delta(e)`` is at most the mean of the
profiles of these, too, which is the lower one of both bounds where ``e`` is small.

Gaussian releases beside it add their squares of mu to that of ``delta_1``, and nothing to ``c``:
the divergence of the whole is an expectation of ``mean * delta_1(e - c - loss)`` over their losses.

**By Renyi divergences.** The theorems of Papernot and Steinke, as stated there. Their Poisson
number may be zero. Given that it is not, ``f'`` is larger by one factor, which their Lemma 7 turns
into the logarithm of the mean in place of that of the rate. The divergences
of one order add up, beside those of zCDP, and the best order is searched for.

What is better. For geometric and logarithmic numbers dp-accounting's Renyi divergences give 1.13 to
1.85 times the epsilon of profiles (2 to 100 tries, mu from 0.05 to 1, delta from 1e-9 to 1e-3). For
Poisson numbers Renyi divergences give down to half of the epsilon of profiles; dp-accounting, which
tries some orders and lets tries fail more often, gives 1.03 to 1.44 times ours. So both stay.

Reference
---------
Koskela, Redberg and Wang 2024 (profiles of private selection); Papernot and Steinke 2022, Theorems
2 (negative binomial) and 6 (Poisson), Lemma 7; Liu and Talwar 2019; Mironov 2017, Proposition 1
(composition); Canonne, Kamath and Steinke 2020, Proposition 12 (conversion).
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from typing import ClassVar

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.privacy.accounting.accountant import AdditiveAccountant, Prices, ceiling
from tailguard.privacy.accounting.gaussian import GdpAccountant, delta_of, epsilon_of, log_delta
from tailguard.privacy.accounting.profiles import (
    LARGEST_SPAN,
    TAIL,
    Profile,
    gaussian_profile,
    mirrored_hull,
)
from tailguard.privacy.accounting.zcdp import ZcdpAccountant, delta_of_renyi, epsilon_of_renyi
from tailguard.privacy.decimals import decimals
from tailguard.privacy.events import Composed, Event, Gaussian, Selected
from tailguard.privacy.guarantees import ApproxDP
from tailguard.privacy.roots import crossing, down, step_until, up
from tailguard.privacy.tries import NumberOfTries

# Numbers of tries within a factor of RANGE are treated as equal, and profiles are evaluated at
# N_LEVELS levels; finer settings lower the mu that covers a search by less than 2e-3.
RANGE, N_LEVELS = 1.05, 1_000
DIGITS = 28  # in which chances are added up


def tries_of(event: Selected) -> NumberOfTries:
    """Return the law of the number of tries."""
    return NumberOfTries(event.mean_tries, event.law)


@lru_cache(maxsize=4096)
def density_log_ratio(event: Selected) -> float:
    """Return c, the most by which log-densities of the best try differ beyond those of one try.

    *Guarantee.* Never below the truth.

    *Reference.* The module's head; Koskela, Redberg and Wang 2024.
    """
    tries, mu = tries_of(event), event.mu
    if tries.single:
        return 0.0
    if event.law == "poisson":
        return up(tries.parameter * delta_of(mu, 0.0))
    log_odds = math.log(tries.parameter) - math.log1p(-tries.parameter)

    def excess(a: float) -> float:
        """Return how far the left side lies above the right one, in logarithms."""
        log_growth = a + math.log(-math.expm1(-a))
        return log_growth + log_odds - log_delta(mu, a)

    root = crossing(excess, guess=mu)
    a = step_until(lambda each: excess(each) >= 0.0, up(root), 1.0 + 1e-12)
    return up((1.0 + tries.shape) * a)


@lru_cache(maxsize=256)
def selected_profile(event: Selected) -> Profile:
    """Return the privacy profile of the best try.

    *Guarantee.* Never below the truth.

    *Reference.* The module's head; Koskela, Redberg and Wang 2024.
    """
    base, shift = gaussian_profile(event.mu), density_log_ratio(event)
    mean = tries_of(event).mean_bound

    def delta(e: FloatArray) -> FloatArray:
        """Take the lower one of both bounds."""
        x = e - shift
        alone, below = base.delta(np.abs(x)), np.minimum(x, 0.0)
        alone = np.where(x < 0.0, np.exp(below) * alone - np.expm1(below), alone)
        return np.minimum(mean * alone, _all_tries_told(event, e))

    end = shift + epsilon_of(event.mu, TAIL / mean)
    if 2.0 * end >= LARGEST_SPAN:  # no convex hull is computed; both bounds hold without one
        return Profile(delta, end)
    levels = np.linspace(0.0, end, N_LEVELS)
    hull, scaled = mirrored_hull(levels, delta(levels)), np.exp(levels - end)
    # Between levels the chord lies above the curve, which is convex in exp(e).
    return Profile(lambda e: np.asarray(np.interp(np.exp(e - end), scaled, hull)), end)


def _all_tries_told(event: Selected, e: FloatArray) -> FloatArray:
    """Return the profile of all tries together."""
    ends, chances = _number_chances(tries_of(event))
    profiles = [gaussian_profile(event.mu * math.sqrt(end)).delta(e) for end in ends]
    return np.asarray(np.array(chances) @ np.array(profiles))


@lru_cache(maxsize=256)
def _number_chances(tries: NumberOfTries) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return ends of ranges of numbers of tries, and chances to be in each; the last one is more.

    Numbers in a range count as its end, which costs more.
    """
    ends = [1]
    while ends[-1] < tries.limit:
        ends.append(min(math.ceil(ends[-1] * RANGE), tries.limit))
    with decimals(DIGITS):
        chance, chances = tries.first_chance(), [Decimal(0)] * len(ends)
        for number in range(1, tries.limit + 1):
            chances[bisect_left(ends, number)] += chance
            chance *= tries.chance_ratio(number)
        chances[-1] += max(1 - sum(chances), Decimal(0))
    return tuple(ends), tuple(map(float, chances))


def excess_divergence(event: Selected, excess: float) -> float:
    """Return the Renyi divergence of order ``1 + excess`` less that of a Gaussian at ``mu``.

    *Guarantee.* Never below the truth.

    *Reference.* Papernot and Steinke 2022, Theorems 2 and 6.
    """
    tries, rho = tries_of(event), event.mu**2 / 2.0
    if tries.single:
        return 0.0
    likely = math.log(tries.mean_bound) / excess
    if event.law == "poisson":
        failure = delta_of(event.mu, math.log1p(1.0 / excess))
        return up(tries.parameter * failure + likely)
    nats = -math.log(tries.parameter)
    order = max(1.0, math.sqrt(nats / rho))  # any order of at least 1 will do; this one is best
    return up((1.0 + tries.shape) * ((order - 1.0) * rho + nats / order) + likely)


# Means multiply; beyond this logarithm no delta is left that floats hold.
LARGEST_LOG_MEAN = 600.0


class SelectionAccountant(AdditiveAccountant):
    """Adds up squares of mu, logarithms of means and shifts.

    *Guarantee.* Replace-one neighbours, adaptive composition.

    *Reference.* Koskela, Redberg and Wang 2024.

    Examples
    --------
    >>> from tailguard.privacy.events import Gaussian
    >>> one = SelectionAccountant().compose(Gaussian(mu=0.2367))
    >>> best_of_ten = SelectionAccountant().compose(Selected(mu=0.2367, mean_tries=10.0))
    >>> round(one.epsilon(delta=1e-6), 3), round(best_of_ten.epsilon(delta=1e-6), 3)
    (1.0, 1.541)
    """

    prices: ClassVar[Prices] = {
        **GdpAccountant.prices,
        Selected: lambda event: Fraction(event.mu) ** 2,
    }

    @cached_property
    def shift(self) -> float:
        """By how much epsilon is shifted."""
        return _of_selections(self, density_log_ratio)

    @cached_property
    def log_mean(self) -> float:
        """The logarithm of the factor of delta."""
        return _of_selections(self, lambda event: math.log(tries_of(event).mean_bound))

    def _epsilon(self, delta: float) -> float:
        if not delta or self.log_mean > LARGEST_LOG_MEAN:
            return math.inf
        left = delta * math.exp(-up(self.log_mean))
        alone = epsilon_of(math.sqrt(ceiling(self.total)), left) if left > 0.0 else math.inf
        return up(self.shift + alone)

    def _delta(self, epsilon: float) -> float:
        if self.log_mean > LARGEST_LOG_MEAN:
            return 1.0
        mu, x = math.sqrt(ceiling(self.total)), epsilon - self.shift
        alone = delta_of(mu, abs(x))
        if x < 0.0:
            alone = math.exp(x) * alone - math.expm1(x)
        return min(1.0, up(alone * math.exp(self.log_mean)))


class RenyiAccountant(AdditiveAccountant):
    """Adds up divergences: rho times the order, and for selections what their theorem adds.

    *Guarantee.* Replace-one neighbours, adaptive composition.

    *Reference.* Papernot and Steinke 2022, Theorems 2 and 6.

    Examples
    --------
    >>> accountant = RenyiAccountant().compose(Selected(mu=0.2367, mean_tries=10.0))
    >>> round(accountant.epsilon(delta=1e-6), 3)
    2.15
    """

    prices: ClassVar[Prices] = {
        **ZcdpAccountant.prices,
        Selected: lambda event: Fraction(event.mu) ** 2 / 2,
    }

    def divergence(self, excess: float) -> float:
        """Return the divergence of the order ``1 + excess``, a number above 0."""
        beyond = _of_selections(self, lambda event: excess_divergence(event, excess))
        return (1.0 + excess) * ceiling(self.total) + beyond

    def _epsilon(self, delta: float) -> float:
        # Without a selection zCDP gives the same, and is named instead.
        hopeless = delta == 0.0 or math.isinf(ceiling(self.total))
        return math.inf if hopeless else up(epsilon_of_renyi(self.divergence, delta))

    def _delta(self, epsilon: float) -> float:
        hopeless = math.isinf(ceiling(self.total))
        return 1.0 if hopeless else delta_of_renyi(self.divergence, epsilon)


def _of_selections(accountant: AdditiveAccountant, cost: Callable[[Selected], float]) -> float:
    """Add up what selections cost, beyond the price of one try, exactly; then round up."""
    return ceiling(
        accountant.flat_events.add_up(
            lambda leaf: Fraction(cost(leaf)) if isinstance(leaf, Selected) else Fraction(0)
        )
    )


# Relative accuracy, lost on the safe side.
ACCURACY = 1e-10


def mu_of_a_try(
    guarantee: ApproxDP, tries: NumberOfTries, beside: float = 0.0, before: float = 0.0
) -> float:
    """Return the largest mu of a try, where Gaussian releases are made beside the search.

    ``beside`` says how large the mu of one release is, as a share of the mu of a try, and
    ``before`` is the mu of another one.

    *Guarantee.* Search and releases together keep the promise, by an accountant.

    *Reference.* The module's head.
    """

    @cache
    def epsilon(mu: float) -> float:
        """Return the joint cost of the search and the releases."""
        parts: list[Event] = [Selected(mu, tries.mean, tries.law)]
        parts += [Gaussian(math.hypot(beside * mu, before))] if beside or before else []
        event = Composed(tuple(parts))
        accountants = (SelectionAccountant(), RenyiAccountant())
        return min(each.compose(event).epsilon(guarantee.delta) for each in accountants)

    guess = guarantee.gaussian_mu()
    root = crossing(lambda mu: epsilon(mu) - guarantee.epsilon, guess, rtol=ACCURACY)
    return step_until(lambda mu: epsilon(mu) <= guarantee.epsilon, down(root), 1.0 - ACCURACY)
