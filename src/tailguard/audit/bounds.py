"""Confidence bounds on what a release tells, from counted errors, with exact power.

A verdict rejects a claim where errors are so few that the claim is disproved, with a stated chance
of a false alarm, whatever the release is. Its power is the chance that it rejects a release at
which the errors have stated chances; a verdict without power says nothing.

Reference
---------
Clopper and Pearson 1934 (bounds on a chance); Jagielski, Ullman and Oprea 2020 (bounds on epsilon);
Nasr, Hayes, Steinke, Balle, Tramer, Jagielski, Carlini and Terzis 2023, Section 5 (bounds on mu);
Hoeffding 1956, Theorem 4 (sums of coins that are not alike).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta, binom

from tailguard.array_types import FloatArray
from tailguard.audit.claims import PrivacyClaim


@dataclass(frozen=True)
class Judgement:
    """What a test said: whether it accepts, the number it judged, and its power.

    Examples
    --------
    >>> Judgement(accepted=True, statistic=0.8, power=0.99).accepted
    True
    """

    accepted: bool
    statistic: float
    power: float


def clopper_pearson_upper(successes: ArrayLike, trials: int, false_alarm: float) -> FloatArray:
    """Return the one-sided upper confidence bound on a chance.

    *Reference.* Clopper and Pearson 1934.

    Examples
    --------
    >>> float(clopper_pearson_upper(0, 100, 0.05).round(4))
    0.0295
    """
    count = np.asarray(successes, dtype=np.float64)
    bound = beta.isf(false_alarm, count + 1, np.maximum(trials - count, 1))
    return np.where(count < trials, bound, 1.0)


def judge(
    claim: PrivacyClaim,
    wrong: float,
    missed: float,
    n_runs: int,
    *,
    rates: tuple[float, float],
    false_alarm: float,
    summed: bool = False,
) -> Judgement:
    """Accept a claim unless the errors of ``n_runs`` a side prove more.

    Each kind of error is bounded with half of the false alarm; or, ``summed``, their mean with all
    of it, which proves more where both are equally likely. Which of the two must be settled before
    errors are counted.

    Guarantee
    ---------
    Whatever the release, if the claim holds, the chance of rejecting is at most ``false_alarm``,
    which must be at most 0.05. The power is that against a release at which the errors have the
    chances ``rates``.

    *Proof* for sums. The errors that a claim allows are a convex set that holds the mirror image of
    each of its points, hence the point of their mean. Of all independent coins with that mean those
    that are alike have a sum so small the oftenest, if it is below its mean by one at least
    (Hoeffding 1956, Theorem 4). A sum with a chance of 0.05 is, but where the mean error is near 1,
    which proves nothing.

    Examples
    --------
    >>> from tailguard.audit.claims import GaussianClaim
    >>> judge(GaussianClaim(1.0), 50, 50, 500, rates=(0.1, 0.1), false_alarm=1e-3).accepted
    False
    """
    if summed:
        chances = clopper_pearson_upper([wrong + missed] * 2, 2 * n_runs, false_alarm)
    else:
        chances = clopper_pearson_upper([wrong, missed], n_runs, false_alarm / 2.0)
    proven = float(claim.least(chances[:1], chances[1:])[0])
    power = audit_power(claim, n_runs, rates=rates, false_alarm=false_alarm, summed=summed)
    return Judgement(proven <= claim.amount, proven, power)


def audit_power(
    claim: PrivacyClaim,
    n_runs: int,
    *,
    rates: tuple[float, float],
    false_alarm: float,
    summed: bool = False,
) -> float:
    """Return the exact chance that :func:`judge` rejects where errors have the chances ``rates``.

    For each number of the one error it rejects where few enough of the other, or of both, are made.

    Examples
    --------
    >>> from tailguard.audit.claims import GaussianClaim
    >>> round(audit_power(GaussianClaim(1.0), 900, rates=(0.1, 0.1), false_alarm=1e-3), 3)
    1.0
    """
    counts = np.arange(n_runs + 1)
    if summed:
        both = np.arange(2 * n_runs + 1)
        mean = clopper_pearson_upper(both, 2 * n_runs, false_alarm)
        few = int(np.count_nonzero(claim.least(mean, mean) > claim.amount))  # it falls with counts
        return float(
            binom.pmf(counts, n_runs, rates[0]) @ binom.cdf(few - 1 - counts, n_runs, rates[1])
        )
    upper = clopper_pearson_upper(counts, n_runs, false_alarm / 2.0)
    low, high = np.zeros(n_runs + 1, dtype=np.int64), np.full(n_runs + 1, n_runs + 1)
    while (low < high).any():
        middle = (low + high) // 2
        rejects = claim.least(upper, upper[np.minimum(middle, n_runs)]) > claim.amount
        open_ = low < high
        low = np.where(open_ & rejects, middle + 1, low)
        high = np.where(open_ & ~rejects, middle, high)
    rejected = binom.cdf(low - 1, n_runs, rates[1])
    return float(binom.pmf(counts, n_runs, rates[0]) @ rejected)


def runs_for(
    claim: PrivacyClaim,
    *,
    rates: tuple[float, float],
    false_alarm: float,
    power: float,
    summed: bool = False,
) -> int:
    """Return the fewest runs a side, to one per cent, at which a verdict has that power.

    Examples
    --------
    >>> from tailguard.audit.claims import GaussianClaim
    >>> n_runs = runs_for(GaussianClaim(1.0), rates=(0.1, 0.1), false_alarm=1e-3, power=0.95)
    >>> 50 < n_runs < 200
    True
    """
    return smallest_sample(
        lambda n_runs: audit_power(
            claim, n_runs, rates=rates, false_alarm=false_alarm, summed=summed
        ),
        power,
    )


def smallest_sample(power_at: Callable[[int], float], power: float) -> int:
    """Return the smallest sample size, to one per cent, whose ``power_at`` reaches ``power``.

    Examples
    --------
    >>> smallest_sample(lambda size: 1.0 - 0.5**size, 0.999)
    10
    """
    high = 16
    while power_at(high) < power:
        high *= 2
    low = high // 2
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if power_at(middle) >= power else (middle, high)
    return high
