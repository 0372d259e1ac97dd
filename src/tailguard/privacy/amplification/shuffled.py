"""Shuffled Gaussian releases: what they cost together, and how strong each may be.

A Gaussian release is (epsilon0, delta0)-DP for a whole curve of pairs. Each pair gives a bound by
hiding among clones, and not to count on the shuffle gives one more; all hold, so the least counts.

Reference
---------
Feldman, McMillan and Talwar 2021, Theorem 3.8; Dong, Roth and Su 2022, Corollary 2.13
(the curve); Zhu, Dong and Wang 2022, Theorem 10 (repetition).
"""

import math
from functools import lru_cache
from itertools import pairwise

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import check_integer, check_open_unit, check_positive
from tailguard.privacy.accounting.gaussian import epsilon_of, mu_of
from tailguard.privacy.accounting.profiles import Profile, convexified, profile_of
from tailguard.privacy.amplification.clones import Clones, failure_variation
from tailguard.privacy.events import Gaussian
from tailguard.privacy.roots import crossing, step_until

# Where units may fail, half of delta pays for the failures and half for the clones.
LARGEST_FACTOR = 1.5  # of 1 + exp(-epsilon0) / 2

# The epsilon at which failures are charged settles by a factor of ten a round, or more.
ROUNDS = 8

# Deltas whose best pairs (epsilon0, delta0) shape the profile, and nodes between them.
DECADES = range(1, 21)
NODES = 30

# With losses beyond this the shuffle is worth nothing, and numbers would overflow.
LARGEST_END = 500.0


def shuffled_epsilon(mu: float, *, n_units: int, delta: float) -> float:
    """Epsilon of ``n_units`` shuffled ``mu``-GDP releases at ``delta``, rounded up.

    *Guarantee.* Never below the truth, never above that of one release which is not shuffled;
    replace-one neighbours. The shuffle is secret, uniform and fresh, and each release is
    ``mu``-GDP for every two values of its unit, given all else.

    *Reference.* Feldman, McMillan and Talwar 2021, Theorem 3.8.
    """
    check_positive("mu", mu)
    check_integer("n_units", n_units, minimum=1)
    return _best_pair(mu, n_units, check_open_unit("delta", delta), ROUNDS)[0]


def shuffled_mu(epsilon: float, *, n_units: int, delta: float) -> float:
    """Largest mu of shuffled Gaussian releases that are (epsilon, delta)-DP together.

    *Guarantee.* Within 1e-6 of the largest, below it; never below ``mu_of(epsilon, delta)``.

    *Reference.* Feldman, McMillan and Talwar 2021, Theorem 3.8.
    """
    check_integer("n_units", n_units, minimum=1)
    return _largest_mu(check_positive("epsilon", epsilon), n_units, check_open_unit("delta", delta))


# A theorem and each fit by it plan alike, and this takes a second.
@lru_cache(maxsize=64)
def _largest_mu(epsilon: float, n_units: int, delta: float) -> float:
    def excess(mu: float) -> float:
        """Tell how far the releases are above the promise."""
        return math.log(max(shuffled_epsilon(mu, n_units=n_units, delta=delta), 1e-9) / epsilon)

    alone = mu_of(epsilon, delta)
    root = crossing(excess, alone, rtol=1e-7)
    found = step_until(lambda mu: mu <= alone or excess(mu) <= 0.0, root, 1.0 - 1e-7)
    return max(found, alone)


def shuffled_profile(mu: float, n_units: int) -> Profile:
    """Profile of ``n_units`` shuffled ``mu``-GDP releases: the best of many pairs at every place.

    *Guarantee.* At least the truth everywhere, so that repetitions may be convolved: failures are
    charged to each step at every epsilon. Never above one release which is not shuffled.

    *Reference.* Feldman, McMillan and Talwar 2021, Theorem 3.8.
    """
    alone = profile_of(Gaussian(mu))
    if alone.end > LARGEST_END:
        return alone
    pairs = [_best_pair(mu, n_units, 10.0**-decade, rounds=2) for decade in DECADES]
    places = [0.0, *(found for found, _, _ in pairs), alone.end]
    stretches = [np.linspace(*ends, NODES) for ends in pairwise(places)]
    e = np.unique(np.concatenate(stretches))
    best = alone.delta(e)
    for index, (_, unit_epsilon, unit_delta) in enumerate(pairs):
        # A pair is sharp where failures are a small part of delta: up to three decades before.
        near = (e >= places[max(index - 2, 0)]) & (e <= places[index + 1])
        bound = Clones(n_units, unit_epsilon).delta(e[near]) if unit_epsilon else 0.0
        variation = failure_variation(n_units, unit_epsilon, unit_delta)
        best[near] = np.minimum(best[near], bound + (1.0 + np.exp(e[near])) * variation)
    return through_nodes(e, best)


def shuffled_pure_profile(epsilon: float, n_units: int) -> Profile:
    """Profile of ``n_units`` shuffled releases of which each is ``epsilon``-DP.

    *Guarantee.* At least the truth everywhere.

    *Reference.* Feldman, McMillan and Talwar 2021 (hiding among the clones).
    """
    pair = Clones(n_units, epsilon)
    e = np.linspace(0.0, epsilon, len(DECADES) * NODES)
    return through_nodes(e, pair.delta(e))


def through_nodes(e: FloatArray, delta: FloatArray) -> Profile:
    """Return the profile that is straight in exp(e) between the nodes of a bound.

    The true profile is convex in exp(e), so it stays below the bound's convex envelope, and that
    below its chords.
    """
    corners = convexified(e, np.minimum.accumulate(delta))
    end = float(e[-1])
    nodes = np.exp(e - end)

    def chords(at: FloatArray) -> FloatArray:
        """Read the chords; beyond the end, the last value stays."""
        x = np.exp(np.minimum(at, end) - end)
        return np.asarray(np.interp(x, nodes, corners), dtype=np.float64)

    return Profile(chords, end)


def _best_pair(mu: float, n_units: int, delta: float, rounds: int) -> tuple[float, float, float]:
    """Return epsilon at ``delta``, and the (epsilon0, delta0) of a unit that proves it."""
    epsilon = epsilon_of(mu, delta)
    unit_epsilon, unit_delta = epsilon, delta
    # Failures are charged at the epsilon of the round before, which is never smaller.
    for _ in range(rounds if epsilon < LARGEST_END else 0):
        allowed = delta / (2.0 * LARGEST_FACTOR * (1.0 + math.exp(epsilon)) * n_units)
        unit = epsilon_of(mu, allowed)
        found = Clones(n_units, unit).epsilon(delta / 2.0) if unit else 0.0
        if found >= epsilon:
            break
        epsilon, unit_epsilon, unit_delta = found, unit, allowed
    return epsilon, unit_epsilon, unit_delta
