"""What is claimed of a release, and confidence bounds on what it tells, from counted errors.

A test that tells two neighbours apart errs in two ways: it takes the first for the second (wrong),
or misses the second. Upper bounds on both chances prove that at least so much privacy is lost. The
chances that a claim allows are a convex set, and stay one where both are exchanged: either
neighbour may be the first.

A verdict rejects a claim where errors are so few that the claim is disproved, with a stated chance
of a false alarm, whatever the release is. Its power is the chance that it rejects a release at
which the errors have stated chances; a verdict without power says nothing.

Reference
---------
Kairouz, Oh and Viswanath 2015, Theorem 2.1 (errors under epsilon and delta); Dong, Roth and Su
2022, Section 2 (under mu); van Erven and Harremoes 2014, Theorem 9 (data processing for Renyi
divergences) and Theorem 13 (their quasi-convexity); Clopper and Pearson 1934 (bounds on a chance);
Jagielski, Ullman and Oprea 2020 (bounds on epsilon); Nasr, Hayes, Steinke, Balle, Tramer,
Jagielski, Carlini and Terzis 2023, Section 5 (bounds on mu); Hoeffding 1956, Theorem 4 (sums of
coins that are not alike).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from scipy.stats import beta, binom

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_finite, check_positive, shown
from tailguard.privacy.guarantees import Guarantee

ORDERS = 1.0 + np.geomspace(0.01, 63.0, 60)
"""Renyi orders at which a claim in rho is tested: any of them is valid, more are sharper."""


Least = Callable[[FloatArray, FloatArray], FloatArray]
"""From bounds on the chances of both errors to the least amount that is possible with them."""


@dataclass(frozen=True)
class PrivacyClaim:
    """What is claimed: an amount in some unit, which counted errors may prove to be too small.

    Attributes
    ----------
    unit, amount
        One of mu, epsilon, rho or delta, and how much of it is claimed.
    least
        What errors prove.
    given
        What else the claim states, in words.
    """

    unit: str
    amount: float
    least: Least
    given: str = ""

    def describe(self) -> str:
        """Describe the claim in words."""
        return f"{self.unit} = {self.amount:.4g}{self.given}"


def gaussian_claim(mu: float) -> PrivacyClaim:
    """Claim ``mu``-GDP: both errors lie above the curve of N(0, 1) against N(mu, 1)."""

    def least(wrong: FloatArray, missed: FloatArray) -> FloatArray:
        """Return ``Phi^-1(1 - wrong) - Phi^-1(missed)``, which is exact for Gaussian noise."""
        return np.maximum(-ndtri(wrong) - ndtri(missed), 0.0)

    return PrivacyClaim("mu", mu, least)


def epsilon_claim(epsilon: float, delta: float) -> PrivacyClaim:
    """Claim (``epsilon``, ``delta``)-DP; the audit bounds epsilon at that delta."""

    def least(wrong: FloatArray, missed: FloatArray) -> FloatArray:
        """Return the least epsilon, of the event and of its complement."""
        one = np.maximum(1.0 - delta - missed, 1e-300) / wrong
        other = np.maximum(1.0 - delta - wrong, 1e-300) / missed
        return np.asarray(np.log(np.maximum(np.maximum(one, other), 1.0)))

    return PrivacyClaim("epsilon", epsilon, least, f" at delta = {delta:.4g}")


def concentrated_claim(rho: float) -> PrivacyClaim:
    """Claim ``rho``-zCDP: no event has a larger Renyi divergence than the whole release."""

    def least(wrong: FloatArray, missed: FloatArray) -> FloatArray:
        """Return the largest of the event's divergences over their orders, in either direction."""
        q, r = np.broadcast_arrays(np.asarray(wrong, float), np.asarray(missed, float))
        found = np.zeros(q.shape)
        for first, second in (((1.0 - r), q), ((1.0 - q), r)):
            found = np.maximum(found, np.where(first > second, _divergence(first, second), 0.0))
        return found

    return PrivacyClaim("rho", rho, least)


def _divergence(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the largest Renyi divergence over its order, of two coins."""
    order = ORDERS[:, None]
    p, q = (np.clip(np.ravel(chance), 1e-300, 1.0 - 1e-16) for chance in (first, second))
    heads = order * np.log(p) + (1.0 - order) * np.log(q)
    tails = order * np.log1p(-p) + (1.0 - order) * np.log1p(-q)
    divergences = np.logaddexp(heads, tails) / (order - 1.0) / order
    found: FloatArray = divergences.max(axis=0).reshape(np.shape(first))
    return found


def profile_claim(epsilon: float, delta: float) -> PrivacyClaim:
    """Claim one point of a privacy profile: ``delta`` at ``epsilon``, which may be 0."""

    def least(wrong: FloatArray, missed: FloatArray) -> FloatArray:
        """Return the least delta, of the event and of its complement."""
        ratio = np.exp(epsilon)
        one, other = 1.0 - missed - ratio * wrong, 1.0 - wrong - ratio * missed
        return np.asarray(np.maximum(np.maximum(one, other), 0.0))

    return PrivacyClaim("delta", delta, least, f" at epsilon = {epsilon:.4g}")


# What a guarantee of each kind claims; a pure one has no delta.
KINDS: dict[str, Callable[[Any], PrivacyClaim]] = {
    "gdp": lambda guarantee: gaussian_claim(guarantee.mu),
    "pure": lambda guarantee: epsilon_claim(guarantee.epsilon, 0.0),
    "approx": lambda guarantee: epsilon_claim(guarantee.epsilon, guarantee.delta),
    "zcdp": lambda guarantee: concentrated_claim(guarantee.rho),
}


def claim_of(guarantee: Guarantee) -> PrivacyClaim:
    """Return what a guarantee claims."""
    kind = getattr(guarantee, "kind", None)
    if kind not in KINDS:
        raise InputError(
            f"claim must be a tg.ApproxDP, PureDP, ZCDP or GDP; got {shown(guarantee)}."
        )
    claim = KINDS[kind](guarantee)
    check_positive("claim", check_finite("claim", claim.amount))
    return claim


@dataclass(frozen=True)
class Judgement:
    """What a test said: whether it accepts, the number it judged, and its power."""

    accepted: bool
    statistic: float
    power: float


def clopper_pearson_upper(successes: ArrayLike, trials: int, false_alarm: float) -> FloatArray:
    """Return the one-sided upper confidence bound on a chance.

    *Reference.* Clopper and Pearson 1934.
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
    (Hoeffding 1956, Theorem 4). A sum with a chance of 0.05 is, unless the mean error is near 1,
    which proves nothing.
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
    """Return the fewest runs a side, to one per cent, at which a verdict has that power."""
    return smallest_sample(
        lambda n_runs: audit_power(
            claim, n_runs, rates=rates, false_alarm=false_alarm, summed=summed
        ),
        power,
    )


def smallest_sample(power_at: Callable[[int], float], power: float) -> int:
    """Return the smallest sample size, to one per cent, whose ``power_at`` reaches ``power``."""
    high = 16
    while power_at(high) < power:
        high *= 2
    low = high // 2
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if power_at(middle) >= power else (middle, high)
    return high
