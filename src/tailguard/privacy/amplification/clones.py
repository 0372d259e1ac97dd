"""Amplification by shuffling, computed exactly: hiding among clones.

Each of ``n_units`` units is released by an epsilon-DP randomiser after a secret uniform shuffle.
Every other unit answers like a clone of the record that differs with probability exp(-epsilon),
and then like one of its two values with equal chances. So the adversary sees at most a pair of
counts: with C ~ Binomial(n_units - 1, exp(-epsilon)) clones, A ~ Binomial(C, 1/2) of them on the
first side, and the record itself, on its own side with probability w = e^epsilon / (e^epsilon + 1).

Given C = c, the hockey stick at exp(e) of that pair is attained on {counts >= a}, and equals

    (w - (1 - w) exp(e)) P(A = a - 1) - (exp(e) - 1) P(A >= a).

The "stronger clones", which answer alike with probability 2 / (e^epsilon + 1), are not used: for
general randomisers their bound is not proved.

Reference
---------
Feldman, McMillan and Talwar 2021 (clones, and their numerical form); Kairouz, Oh
and Viswanath 2015, Theorem 3.4 (the record's own answer).
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import stats
from scipy.special import betainc, expit

from tailguard.array_types import FloatArray
from tailguard.checks import (
    check_integer,
    check_positive,
)
from tailguard.privacy.roots import ROUNDING, crossing, step_until, up

# Counts of clones within so many standard deviations and so many clones of their mean are summed;
# what lies below is added to delta (below 1e-25), what lies above is counted with the last ones.
SPREAD, MARGIN = 12.0, 30.0

# At most so many groups of counts, the finest near the mean; a group counts as its smallest, which
# hides the least. Up to a few thousand units every count near the mean is a group of its own.
MOST_GROUPS = 512

# Rounding of the two terms, relative to the first one, and what a clone adds to it: binomial tails
# of scipy agree with 40-digit arithmetic to 5e-14 at 6e5 clones, and to 1.1e-12 at 1e7.
TERM_ROUNDING, ROUNDING_PER_CLONE = 1e-12, 1e-18

# Beyond this the exponential would overflow: delta there is bounded by that here, as it never rises
# with epsilon, and a unit of larger epsilon is not hidden by others.
LARGEST_EPSILON = 600.0


@dataclass(frozen=True)
class Clones:
    """The worst pair of outputs of shuffled ``unit_epsilon``-DP releases."""

    n_units: int
    unit_epsilon: float

    def __post_init__(self) -> None:
        check_integer("n_units", self.n_units, minimum=1)
        check_positive("unit_epsilon", self.unit_epsilon)

    @cached_property
    def _counts(self) -> tuple[FloatArray, FloatArray, float]:
        """Numbers of clones, how likely each is, and how likely fewer are."""
        others, chance = self.n_units - 1, math.exp(-self.unit_epsilon)
        mean = others * chance
        reach = SPREAD * math.sqrt(mean * (1.0 - chance)) + MARGIN
        place = np.linspace(-1.0, 1.0, MOST_GROUPS)
        counts = np.floor(mean + reach * (place + 2.0 * place**3) / 3.0)
        counts = np.unique(np.clip(counts, 0.0, others))
        below = np.asarray(stats.binom.cdf(counts - 1.0, others, chance))
        return counts, np.diff(below, append=1.0), float(below[0])

    def delta(self, e: FloatArray) -> FloatArray:
        """Bound delta at every one of an array of epsilons."""
        counts, chances, missed = self._counts
        inside = e < self.unit_epsilon
        gamma = np.exp(np.minimum(np.where(inside, e, 0.0), LARGEST_EPSILON))[..., None]
        own = float(expit(self.unit_epsilon))
        # The loss exceeds e where the first side holds more than this share of all c + 1 answers.
        share = (gamma * own - (1.0 - own)) / ((2.0 * own - 1.0) * (1.0 + gamma))
        least = np.minimum(np.floor(share * (counts + 1.0)) + 1.0, counts + 1.0)
        gain = (own - (1.0 - own) * gamma) * stats.binom.pmf(least - 1.0, counts, 0.5)
        left = np.maximum(counts + 1.0 - least, 0.0)
        tail = np.where(left > 0.0, betainc(least, np.maximum(left, 1.0), 0.5), 0.0)
        rounding = TERM_ROUNDING + ROUNDING_PER_CLONE * counts
        sticks = gain * (1.0 + rounding) - (gamma - 1.0) * tail
        found = np.maximum(sticks, 0.0) @ chances + missed
        return np.where(inside, np.minimum(found, 1.0), 0.0)

    def delta_at(self, e: float) -> float:
        """Bound delta at one epsilon."""
        return float(self.delta(np.asarray(e)))

    def epsilon(self, delta: float) -> float:
        """Return the smallest epsilon at ``delta``, rounded up; at most that of a unit."""
        if delta <= 0.0 or self.unit_epsilon > LARGEST_EPSILON:
            return self.unit_epsilon
        target = math.log(delta)

        def excess(e: float) -> float:
            """Tell how far below the target log(delta) is."""
            return target - math.log(max(self.delta_at(e), 1e-300))

        if excess(0.0) >= 0.0:
            return 0.0
        root = crossing(excess, self.unit_epsilon / 2.0, rtol=1e-12)
        return min(
            step_until(lambda e: excess(e) >= 0.0, up(root), 1.0 + ROUNDING), self.unit_epsilon
        )


def failure_variation(n_units: int, unit_epsilon: float, unit_delta: float) -> float:
    """How far shuffled (epsilon, delta)-DP units are, in total variation, from epsilon-DP ones.

    *Reference.* Feldman, McMillan and Talwar 2021, Theorem 3.8.
    """
    return (1.0 + math.exp(-unit_epsilon) / 2.0) * n_units * unit_delta
