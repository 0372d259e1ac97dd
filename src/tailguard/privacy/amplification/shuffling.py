"""Amplification by shuffling, computed exactly: hiding among clones.

Each of ``n_units`` units is released by an epsilon-DP randomiser after a secret uniform shuffle.
One record differs between neighbours. With probability exp(-epsilon) another unit answers like a
clone of it, and then like either of its two values with equal chances. So the adversary learns at
most a pair of counts. There are C ~ Binomial(n_units - 1, exp(-epsilon)) clones, and
A ~ Binomial(C, 1/2) of them are on the first side. The record itself is on its own side with
probability w = e^epsilon / (e^epsilon + 1).

Given C = c, the hockey-stick divergence of that pair at exp(e) is attained on {counts >= a}, and
equals

    (w - (1 - w) exp(e)) P(A = a - 1) - (exp(e) - 1) P(A >= a).

The "stronger clones", which answer alike with probability 2 / (e^epsilon + 1), are not used: for
general randomisers their bound is not proved.

A Gaussian release is (epsilon0, delta0)-DP for a whole curve of pairs. Each pair gives a bound by
hiding among clones. Without the shuffle there is one more bound. All of them hold, so the smallest
is used.

Reference
---------
Feldman, McMillan and Talwar 2021 (clones, their numerical form, and Theorem 3.8); Kairouz, Oh and
Viswanath 2015, Theorem 3.4 (the record's own answer); Dong, Roth and Su 2022, Corollary 2.13 (the
curve); Zhu, Dong and Wang 2022, Theorem 10 (repetition).
"""

import math
from functools import lru_cache
from itertools import pairwise

import numpy as np
from scipy.special import betainc, expit

from tailguard.array_types import FloatArray
from tailguard.checks import check_integer, check_open_unit, check_positive
from tailguard.privacy.accounting.gaussian import epsilon_of, mu_of
from tailguard.privacy.accounting.profiles import Profile, convexified, gaussian_profile
from tailguard.privacy.roots import ROUNDING, crossing, step_until, up

# The sum runs over counts of clones within SPREAD standard deviations plus MARGIN clones of their
# mean. The chance of lower counts (less than 1e-25) is added to delta; higher counts are treated as
# the last one in the sum.
SPREAD, MARGIN = 12.0, 30.0

# Counts form at most this many groups, the smallest ones near the mean. A group is treated as its
# lowest count, which hides least. Up to a few thousand units, each count near the mean is a group.
MOST_GROUPS = 512

# Rounding error of the two terms, relative to the first one, and its growth per clone. Binomial
# tails of scipy agree with 40-digit arithmetic to 5e-14 at 6e5 clones, and to 1.1e-12 at 1e7.
TERM_ROUNDING, ROUNDING_PER_CLONE = 1e-12, 1e-18

# Larger exponentials would overflow. At larger e, delta is bounded by its value here, since it
# never rises with e. A unit with a larger epsilon gets no amplification.
LARGEST_EPSILON = 600.0


@lru_cache(maxsize=64)
def _clone_counts(n_units: int, unit_epsilon: float) -> tuple[FloatArray, FloatArray, float]:
    """Return counts of clones, the chance of each, and the chance of fewer than the first."""
    from scipy import stats  # noqa: PLC0415 (it takes a while to load)

    others, chance = n_units - 1, math.exp(-unit_epsilon)
    mean = others * chance
    half_width = SPREAD * math.sqrt(mean * (1.0 - chance)) + MARGIN
    positions = np.linspace(-1.0, 1.0, MOST_GROUPS)
    counts = np.floor(mean + half_width * (positions + 2.0 * positions**3) / 3.0)
    counts = np.unique(np.clip(counts, 0.0, others))
    below = np.asarray(stats.binom.cdf(counts - 1.0, others, chance))
    return counts, np.diff(below, append=1.0), float(below[0])


def clones_delta(n_units: int, unit_epsilon: float, e: FloatArray) -> FloatArray:
    """Bound delta of shuffled ``unit_epsilon``-DP releases at each of an array of epsilons.

    *Guarantee.* Never below the truth, for every randomiser of that epsilon.

    *Reference.* The module's head.
    """
    from scipy import stats  # noqa: PLC0415 (it takes a while to load)

    counts, chances, missed = _clone_counts(n_units, unit_epsilon)
    inside = e < unit_epsilon
    gamma = np.exp(np.minimum(np.where(inside, e, 0.0), LARGEST_EPSILON))[..., None]
    own_side = float(expit(unit_epsilon))
    # The loss exceeds e if the first side holds more than this share of all c + 1 answers.
    share = (gamma * own_side - (1.0 - own_side)) / ((2.0 * own_side - 1.0) * (1.0 + gamma))
    fewest = np.minimum(np.floor(share * (counts + 1.0)) + 1.0, counts + 1.0)
    point_term = (own_side - (1.0 - own_side) * gamma) * stats.binom.pmf(fewest - 1.0, counts, 0.5)
    remaining = np.maximum(counts + 1.0 - fewest, 0.0)
    tail = np.where(remaining > 0.0, betainc(fewest, np.maximum(remaining, 1.0), 0.5), 0.0)
    rounding = TERM_ROUNDING + ROUNDING_PER_CLONE * counts
    divergences = point_term * (1.0 + rounding) - (gamma - 1.0) * tail
    delta = np.maximum(divergences, 0.0) @ chances + missed
    return np.where(inside, np.minimum(delta, 1.0), 0.0)


def clones_epsilon(n_units: int, unit_epsilon: float, delta: float) -> float:
    """Return the smallest epsilon at ``delta``, rounded up; at most ``unit_epsilon``.

    *Guarantee.* At the returned epsilon ``clones_delta`` is at most ``delta``.

    *Reference.* The module's head.
    """
    if delta <= 0.0 or unit_epsilon > LARGEST_EPSILON:
        return unit_epsilon
    target = math.log(delta)

    def excess(e: float) -> float:
        """Return how far log(delta) is below the target."""
        bound = float(clones_delta(n_units, unit_epsilon, np.asarray(e)))
        return target - math.log(max(bound, 1e-300))

    if excess(0.0) >= 0.0:
        return 0.0
    root = crossing(excess, unit_epsilon / 2.0, rtol=1e-12)
    return min(step_until(lambda e: excess(e) >= 0.0, up(root), 1.0 + ROUNDING), unit_epsilon)


def failure_variation(n_units: int, unit_epsilon: float, unit_delta: float) -> float:
    """Bound the total variation between shuffled (epsilon, delta)-DP and epsilon-DP units.

    *Reference.* Feldman, McMillan and Talwar 2021, Theorem 3.8.
    """
    return (1.0 + math.exp(-unit_epsilon) / 2.0) * n_units * unit_delta


# If units may fail, half of delta pays for the failures and half for the clones. This is the
# largest value of 1 + exp(-epsilon0) / 2.
LARGEST_FACTOR = 1.5

# Each round brings the epsilon at which failures are charged closer to its limit, by a factor of
# ten or more.
ROUNDS = 8

# Deltas whose best pairs (epsilon0, delta0) shape the profile, and nodes between them.
DECADES = range(1, 21)
NODES = 30

# For losses beyond this the shuffle gives nothing, and numbers would overflow.
LARGEST_END = 500.0


def shuffled_epsilon(mu: float, *, n_units: int, delta: float) -> float:
    """Epsilon of ``n_units`` shuffled ``mu``-GDP releases at ``delta``, rounded up.

    *Guarantee.* Never below the truth, never above the epsilon of one release without a shuffle;
    replace-one neighbours. The shuffle must be secret, uniform and fresh, and each release must be
    ``mu``-GDP for every two values of its unit, with everything else fixed.

    *Reference.* Feldman, McMillan and Talwar 2021, Theorem 3.8.
    """
    check_positive("mu", mu)
    check_integer("n_units", n_units, minimum=1)
    return _best_pair(mu, n_units, check_open_unit("delta", delta), ROUNDS)[0]


def shuffled_mu(epsilon: float, *, n_units: int, delta: float) -> float:
    """Largest mu of shuffled Gaussian releases that are (epsilon, delta)-DP together.

    *Guarantee.* At most the largest mu, by at most 1e-6; never below ``mu_of(epsilon, delta)``.

    *Reference.* Feldman, McMillan and Talwar 2021, Theorem 3.8.
    """
    check_integer("n_units", n_units, minimum=1)
    return _largest_mu(check_positive("epsilon", epsilon), n_units, check_open_unit("delta", delta))


# A theorem and each of its fits need the same value, and it takes a second to compute.
@lru_cache(maxsize=64)
def _largest_mu(epsilon: float, n_units: int, delta: float) -> float:
    def excess(mu: float) -> float:
        """Return how far the releases are above the promise."""
        return math.log(max(shuffled_epsilon(mu, n_units=n_units, delta=delta), 1e-9) / epsilon)

    unshuffled = mu_of(epsilon, delta)
    root = crossing(excess, unshuffled, rtol=1e-7)
    mu_found = step_until(lambda mu: mu <= unshuffled or excess(mu) <= 0.0, root, 1.0 - 1e-7)
    return max(mu_found, unshuffled)


# An accountant needs the same profile several times, and it takes a tenth of a second to compute.
@lru_cache(maxsize=64)
def shuffled_profile(mu: float, n_units: int) -> Profile:
    """Profile of ``n_units`` shuffled ``mu``-GDP releases: the best of many pairs at each epsilon.

    *Guarantee.* At least the truth everywhere, and failures are charged to each release at every
    epsilon: so repetitions may be convolved. Never above the profile of one release without a
    shuffle.

    *Reference.* Feldman, McMillan and Talwar 2021, Theorem 3.8.
    """
    unshuffled = gaussian_profile(mu)
    if unshuffled.end > LARGEST_END:
        return unshuffled
    pairs = [_best_pair(mu, n_units, 10.0**-decade, rounds=2) for decade in DECADES]
    ends_of_pieces = [0.0, *(epsilon for epsilon, _, _ in pairs), unshuffled.end]
    pieces = [np.linspace(*ends, NODES) for ends in pairwise(ends_of_pieces)]
    e = np.unique(np.concatenate(pieces))
    best = unshuffled.delta(e)
    for index, (_, unit_epsilon, unit_delta) in enumerate(pairs):
        # A pair is tight where failures are a small part of delta: up to three decades before.
        near = (e >= ends_of_pieces[max(index - 2, 0)]) & (e <= ends_of_pieces[index + 1])
        bound = clones_delta(n_units, unit_epsilon, e[near]) if unit_epsilon else 0.0
        variation = failure_variation(n_units, unit_epsilon, unit_delta)
        best[near] = np.minimum(best[near], bound + (1.0 + np.exp(e[near])) * variation)
    return through_nodes(e, best)


def shuffled_pure_profile(epsilon: float, n_units: int) -> Profile:
    """Profile of ``n_units`` shuffled releases that are each ``epsilon``-DP.

    *Guarantee.* At least the truth everywhere.

    *Reference.* Feldman, McMillan and Talwar 2021 (hiding among the clones).
    """
    e = np.linspace(0.0, epsilon, len(DECADES) * NODES)
    return through_nodes(e, clones_delta(n_units, epsilon, e))


def through_nodes(e: FloatArray, delta: FloatArray) -> Profile:
    """Return the profile that is straight in exp(e) between the nodes of a bound.

    The true profile is convex in exp(e). So it stays below the convex envelope of the bound, and
    the envelope stays below its own chords.
    """
    corners = convexified(e, np.minimum.accumulate(delta))
    end = float(e[-1])
    nodes = np.exp(e - end)

    def chords(at: FloatArray) -> FloatArray:
        """Interpolate between the nodes; beyond the end, keep the last value."""
        x = np.exp(np.minimum(at, end) - end)
        return np.asarray(np.interp(x, nodes, corners), dtype=np.float64)

    return Profile(chords, end)


def _best_pair(mu: float, n_units: int, delta: float, rounds: int) -> tuple[float, float, float]:
    """Return epsilon at ``delta``, and the (epsilon0, delta0) of a unit that proves it."""
    epsilon = epsilon_of(mu, delta)
    unit_epsilon, unit_delta = epsilon, delta
    # Failures are charged at the epsilon of the previous round, which is never smaller.
    for _ in range(rounds if epsilon < LARGEST_END else 0):
        allowed = delta / (2.0 * LARGEST_FACTOR * (1.0 + math.exp(epsilon)) * n_units)
        unit = epsilon_of(mu, allowed)
        smaller = clones_epsilon(n_units, unit, delta / 2.0) if unit else 0.0
        if smaller >= epsilon:
            break
        epsilon, unit_epsilon, unit_delta = smaller, unit, allowed
    return epsilon, unit_epsilon, unit_delta
