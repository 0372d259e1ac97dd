"""The Gaussian release that covers an event up to a small failure; filters use it as its price.

Squares of mu add up even if releases depend on earlier answers; loss distributions do not. So each
event with a loss distribution gets a mu: the smallest one whose Gaussian profile is nowhere below
the profile of the event, up to a small number.

Let ``H_g(P, Q)`` be the hockey-stick divergence at level g, and ``H_g(m)`` that of a Gaussian
release. If each release k meets ``H_g <= H_g(mu_k) + eta_k`` for all g, whatever the answers were
before, and squares of ``mu_k`` and sums of ``eta_k`` stay within ``m**2`` and ``h`` on every path,
then all of them together meet ``H_g(m) + h``. Proof by induction: after the first release, at mu
and eta, the other releases meet ``H_g(r) + h - eta`` with ``r**2 = m**2 - mu**2``. The divergence
of all releases is an expectation over the first answer under P: of the divergence of the other
releases at a level that depends on the answer. So it is at most ``h - eta`` plus the divergence of
the first release together with a Gaussian release at r. By the same argument it is at most ``h``
plus the divergence of two Gaussian releases, at mu and r, which is ``H_g(m)``.

Levels below 1 follow from levels above 1 of the pair in its other order, which profiles cover too.
Between two levels a profile lies below its chord and above its tangents, as both are convex in g.

Reference
---------
Zhu, Dong and Wang 2022, Theorem 10 (its proof, with a sum that may be exceeded); Balle and Wang
2018, Theorem 8 (the profile of Gaussian noise); Dong, Roth and Su 2022, Proposition 2.12 (duality).
"""

import math
from fractions import Fraction

import numpy as np
from scipy.special import log_ndtr, ndtr

from tailguard.array_types import FloatArray
from tailguard.privacy.accounting.accountant import ceiling
from tailguard.privacy.accounting.pld import SMALLEST_DELTA, PldAccountant
from tailguard.privacy.events import Event
from tailguard.privacy.flat_events import flatten
from tailguard.privacy.roots import step_until

COVER_FAILURE = 1.1 * SMALLEST_DELTA
"""The failure probability of a cover: the smallest trusted delta, and a tenth more for rounding."""

# The number of levels that are compared; with 400 the tangents cost less than 1e-4 of mu.
N_LEVELS = 400
# The relative accuracy of the search and its largest mu; no useful guarantee has a larger mu.
ACCURACY, LARGEST_MU = 1e-5, 20.0


def covering_mu(event: Event) -> tuple[float, float] | None:
    """Return a mu that covers the event, and its failure probability; None if no mu is known.

    *Guarantee.* At every level the event's divergence is at most that of a Gaussian release at mu,
    plus the failure probability.

    *Edge cases.* None for events without a loss distribution or without any release, if losses are
    beyond the range in which the distribution is evaluated, and if ``LARGEST_MU`` is too small.

    *Reference.* The module's head.
    """
    accountant = PldAccountant.of(event)
    if accountant is None:
        return None
    deltas = accountant.flat_events.add_up(lambda leaf: Fraction(getattr(leaf, "delta", 0)))
    failure = Fraction(COVER_FAILURE) + deltas
    # Beyond this level the event's divergence is below the failure, so any mu covers it.
    end = accountant.epsilon(float(failure))
    if not flatten(event).kinds or not math.isfinite(end):
        return None
    levels = np.linspace(0.0, end, N_LEVELS)
    profile = np.array([accountant.delta(float(level)) for level in levels])

    def covers(mu: float) -> bool:
        return _covers(mu, levels, profile - float(failure))

    low, high = 0.0, 1e-3
    while not covers(high):
        low, high = high, 2.0 * high
        if high > LARGEST_MU:
            return None
    while high - low > ACCURACY * high:
        middle = (low + high) / 2.0
        low, high = (low, middle) if covers(middle) else (middle, high)
    return step_until(covers, high, 1.0 + ACCURACY), ceiling(failure)


def _covers(mu: float, levels: FloatArray, excess: FloatArray) -> bool:
    """Whether a Gaussian profile lies above the chords of ``excess``, a profile minus a failure."""
    g = np.exp(levels)
    gaussian = ndtr(mu / 2.0 - levels / mu) - np.exp(levels + log_ndtr(-mu / 2.0 - levels / mu))
    slope = -ndtr(-mu / 2.0 - levels / mu)
    if np.any(excess > gaussian):
        return False
    # In each interval the tangents at both ends are furthest below the chord where they meet.
    step, rise = np.diff(g), np.diff(slope)
    with np.errstate(all="ignore"):
        meet = np.where(rise > 0.0, (np.diff(gaussian) - slope[1:] * step) / -rise, 0.0)
    meet = np.clip(np.nan_to_num(meet), 0.0, step)
    lowest = np.maximum(gaussian[:-1] + slope[:-1] * meet, gaussian[1:] + slope[1:] * (meet - step))
    chord = excess[:-1] + np.diff(excess) / step * meet
    return bool(np.all(chord <= lowest))
