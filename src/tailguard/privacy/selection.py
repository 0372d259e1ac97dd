"""The cost of the best of a secret, random number of tries, by two derivations.

**By privacy profiles.** Let ``f`` be the generating function of the number of tries, and give every
try its own uniform number, which breaks ties. Then the best try has the density ``f'(F)`` with
respect to one try, where ``F`` is the chance that one try is no better. For neighbours with ``F``
and ``F'``, let ``f'(F) <= exp(c) f'(F')`` everywhere. Take any set S of outcomes: its chance, minus
``exp(e)`` times its chance under the neighbour. This difference is at most the integral over S of
``f'(F)`` with respect to a signed measure: one try, minus ``exp(e - c)`` times one try of the
neighbour. And ``f'`` lies between 0 and ``f'(1)``, the mean. So ``delta(e)`` is at most
``mean * delta_1(e - c)``, where ``delta_1`` is the profile of one try, also at negative arguments.
It remains to bound ``c``, with ``p = 1 - F`` and ``p' <= exp(a) p + delta_1(a)``:

* negative binomial: ``f'(F) / f'(F')`` is ``((g + (1 - g) p') / (g + (1 - g) p))**(1 + shape)``,
  where ``g`` is gamma. If ``(exp(a) - 1) g >= (1 - g) delta_1(a)``, the ratio is at most
  ``exp(a (1 + shape))``;
* Poisson: ``exp(rate (p' - p)) <= exp(rate * delta_1(0))``, whether zero is possible or not.

There is a second bound. The best try is a function of the results of all tries. Given the number
``k`` of tries, which does not depend on records, all tries together are a Gaussian release at
``mu sqrt(k)``. So ``delta(e)`` is also at most the mean of these releases' profiles over ``k``. If
``e`` is small, this is the lower of the two bounds.

Further Gaussian releases add their squares of mu to that of ``delta_1``, and nothing to ``c``: the
divergence of everything is the expectation of ``mean * delta_1(e - c - loss)`` over their losses.

**By Renyi divergences.** The theorems of Papernot and Steinke, as stated there. Their Poisson
number may be zero. Given that it is positive, ``f'`` is larger by one factor; in their Lemma 7 the
logarithm of the mean then replaces that of the rate. The divergences of one order add up with those
of zCDP releases, and the best order is searched for.

*Which is tighter.* For geometric and logarithmic numbers dp-accounting's Renyi divergences give
1.13 to 1.85 times the epsilon of profiles (2 to 100 tries, mu from 0.05 to 1, delta from 1e-9 to
1e-3). For Poisson numbers our Renyi divergences give as little as half of the epsilon of profiles.
There dp-accounting, which tries some orders and lets tries fail more often, gives 1.03 to 1.44
times our epsilon. So both derivations are used.

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
# N_LEVELS levels. Finer settings lower the mu that covers a search by less than 2e-3.
RANGE, N_LEVELS = 1.05, 1_000
DIGITS = 28  # decimal digits of the sums of chances


def tries_of(event: Selected) -> NumberOfTries:
    """Return the law of the number of tries."""
    return NumberOfTries(event.mean_tries, event.law)


@lru_cache(maxsize=4096)
def density_log_ratio(event: Selected) -> float:
    """Return c: by how much log-densities of the best try may differ beyond those of one try.

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
        """Return log((exp(a) - 1) g) minus log((1 - g) delta_1(a))."""
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
        """Return the lower of the two bounds."""
        x = e - shift
        single, below = base.delta(np.abs(x)), np.minimum(x, 0.0)
        single = np.where(x < 0.0, np.exp(below) * single - np.expm1(below), single)
        return np.minimum(mean * single, _all_tries_profile(event, e))

    end = shift + epsilon_of(event.mu, TAIL / mean)
    if 2.0 * end >= LARGEST_SPAN:  # too wide for a convex hull; the bounds hold without it
        return Profile(delta, end)
    levels = np.linspace(0.0, end, N_LEVELS)
    hull, scaled = mirrored_hull(levels, delta(levels)), np.exp(levels - end)
    # Between levels the chord lies above the curve, which is convex in exp(e).
    return Profile(lambda e: np.asarray(np.interp(np.exp(e - end), scaled, hull)), end)


def _all_tries_profile(event: Selected, e: FloatArray) -> FloatArray:
    """Return the second bound: the profile of all tries together."""
    ends, chances = _number_chances(tries_of(event))
    profiles = [gaussian_profile(event.mu * math.sqrt(end)).delta(e) for end in ends]
    return np.asarray(np.array(chances) @ np.array(profiles))


@lru_cache(maxsize=256)
def _number_chances(tries: NumberOfTries) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the ends of ranges of numbers of tries, and the chance of each range.

    Every number in a range counts as the end of the range, which costs more. The last chance is
    raised so that all chances add up to 1.
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
    """Return the Renyi divergence of order ``1 + excess``, minus that of a Gaussian at ``mu``.

    *Guarantee.* Never below the truth.

    *Reference.* Papernot and Steinke 2022, Theorems 2 and 6.
    """
    tries, rho = tries_of(event), event.mu**2 / 2.0
    if tries.single:
        return 0.0
    mean_term = math.log(tries.mean_bound) / excess
    if event.law == "poisson":
        failure = delta_of(event.mu, math.log1p(1.0 / excess))
        return up(tries.parameter * failure + mean_term)
    log_inverse = -math.log(tries.parameter)
    # The theorem allows any order of at least 1; this one is the best.
    order = max(1.0, math.sqrt(log_inverse / rho))
    return up((1.0 + tries.shape) * ((order - 1.0) * rho + log_inverse / order) + mean_term)


# The means of several searches multiply. Beyond this logarithm the remaining delta underflows.
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
        """The sum of the shifts of epsilon."""
        return _selection_total(self, density_log_ratio)

    @cached_property
    def log_mean(self) -> float:
        """The logarithm of the factor by which delta is multiplied."""
        return _selection_total(self, lambda event: math.log(tries_of(event).mean_bound))

    def _epsilon(self, delta: float) -> float:
        if not delta or self.log_mean > LARGEST_LOG_MEAN:
            return math.inf
        rest = delta * math.exp(-up(self.log_mean))
        alone = epsilon_of(math.sqrt(ceiling(self.total)), rest) if rest > 0.0 else math.inf
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
    """Adds up divergences: rho times the order, and the excess of each selection.

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
        beyond = _selection_total(self, lambda event: excess_divergence(event, excess))
        return (1.0 + excess) * ceiling(self.total) + beyond

    def _epsilon(self, delta: float) -> float:
        # Without a selection, zCDP gives the same epsilon and is the accountant that is reported.
        hopeless = delta == 0.0 or math.isinf(ceiling(self.total))
        return math.inf if hopeless else up(epsilon_of_renyi(self.divergence, delta))

    def _delta(self, epsilon: float) -> float:
        hopeless = math.isinf(ceiling(self.total))
        return 1.0 if hopeless else delta_of_renyi(self.divergence, epsilon)


def _selection_total(accountant: AdditiveAccountant, cost: Callable[[Selected], float]) -> float:
    """Add up exactly what selections cost beyond the price of one try, and round up."""
    return ceiling(
        accountant.flat_events.add_up(
            lambda leaf: Fraction(cost(leaf)) if isinstance(leaf, Selected) else Fraction(0)
        )
    )


# Relative accuracy of the search; results err on the safe side.
ACCURACY = 1e-10


def mu_of_a_try(
    guarantee: ApproxDP, tries: NumberOfTries, beside: float = 0.0, before: float = 0.0
) -> float:
    """Return the largest mu of a try in a search with two further Gaussian releases.

    The first has ``beside`` times the mu of a try; the second has the mu ``before``.

    *Guarantee.* An accountant proves that search and releases together keep the promise.

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
