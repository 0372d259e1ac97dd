"""Two derivations of what the best of a random number of tries costs, in place of one try.

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
into the logarithm of the mean in place of that of the rate.

Reference
---------
Koskela, Redberg and Wang 2024 (profiles of private selection); Papernot and Steinke 2022, Theorems
2 (negative binomial) and 6 (Poisson), Lemma 7; Liu and Talwar 2019.
"""

import math
from bisect import bisect_left
from decimal import Decimal
from functools import lru_cache

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.privacy.accounting.gaussian import delta_of, epsilon_of, log_delta
from tailguard.privacy.accounting.profiles import (
    TAIL,
    Profile,
    mirrored_hull,
    profile_of,
    told_apart,
)
from tailguard.privacy.events import Gaussian, Selected
from tailguard.privacy.roots import crossing, step_until, up
from tailguard.privacy.selection.tries import NumberOfTries

# Numbers of tries within a factor are not told apart, and profiles are evaluated at so many levels;
# finer ones lower the mu that covers a search by less than 2e-3.
RANGE, N_LEVELS = 1.05, 1_000


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
    base, shift = profile_of(Gaussian(event.mu)), density_log_ratio(event)
    mean = tries_of(event).mean_bound

    def delta(e: FloatArray) -> FloatArray:
        """Take the lower one of both bounds."""
        x = e - shift
        alone, below = base.delta(np.abs(x)), np.minimum(x, 0.0)
        alone = np.where(x < 0.0, np.exp(below) * alone - np.expm1(below), alone)
        return np.minimum(mean * alone, _all_tries_told(event, e))

    end = shift + epsilon_of(event.mu, TAIL / mean)
    if not told_apart(2.0 * end):  # no hull is worked out, and both bounds hold without one
        return Profile(delta, end)
    levels = np.linspace(0.0, end, N_LEVELS)
    hull, scaled = mirrored_hull(levels, delta(levels)), np.exp(levels - end)
    # Between levels the chord lies above the curve, which is convex in exp(e).
    return Profile(lambda e: np.asarray(np.interp(np.exp(e - end), scaled, hull)), end)


def _all_tries_told(event: Selected, e: FloatArray) -> FloatArray:
    """Return the profile of all tries together."""
    ends, chances = _number_chances(tries_of(event))
    profiles = [profile_of(Gaussian(event.mu * math.sqrt(end))).delta(e) for end in ends]
    return np.asarray(np.array(chances) @ np.array(profiles))


@lru_cache(maxsize=256)
def _number_chances(tries: NumberOfTries) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return ends of ranges of numbers of tries, and chances to be in each; the last one is more.

    Numbers in a range count as its end, which costs more.
    """
    ends = [1]
    while ends[-1] < tries.limit:
        ends.append(min(math.ceil(ends[-1] * RANGE), tries.limit))
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
