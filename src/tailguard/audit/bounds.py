"""Privacy claims about a release, and confidence bounds on its privacy loss from counted errors.

A test that distinguishes two neighbours makes two kinds of errors: it takes the first for the
second (wrong), or the second for the first (missed). Upper bounds on both probabilities prove a
lower bound on the privacy loss. The pairs of error probabilities that a claim allows are a convex
set. This set is symmetric, since either neighbour may be the first.

A verdict rejects a claim if the test makes too few errors for the claim to hold. The probability of
a false alarm is stated, and holds for every release. The power is the probability of rejecting a
release if its errors have stated probabilities; a verdict without power proves nothing.

Reference
---------
Kairouz, Oh and Viswanath 2015, Theorem 2.1 (errors under epsilon and delta); Dong, Roth and Su
2022, Section 2 (under mu); van Erven and Harremoes 2014, Theorem 9 (data processing for Renyi
divergences) and Theorem 13 (their quasi-convexity); Clopper and Pearson 1934 (bounds on a
probability); Jagielski, Ullman and Oprea 2020 (bounds on epsilon); Nasr, Hayes, Steinke, Balle,
Tramer, Jagielski, Carlini and Terzis 2023, Section 5 (bounds on mu); Hoeffding 1956, Theorem 4
(sums of coins with different biases).
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
"""Renyi orders at which a claim in rho is tested. Each order is valid; more give a sharper test."""


Least = Callable[[FloatArray, FloatArray], FloatArray]
"""Maps upper bounds on both error probabilities to the least privacy loss that they allow."""


@dataclass(frozen=True)
class PrivacyClaim:
    """A claimed amount of privacy loss; counted errors may prove that it is too small.

    Attributes
    ----------
    unit, amount
        The unit, one of mu, epsilon, rho or delta, and the claimed amount.
    least
        Maps upper bounds on the errors to the lower bound on the amount that they prove.
    given
        Further conditions of the claim, in words.
    """

    unit: str
    amount: float
    least: Least
    given: str = ""

    def describe(self) -> str:
        """Describe the claim in words."""
        return f"{self.unit} = {self.amount:.4g}{self.given}"


def gaussian_claim(mu: float) -> PrivacyClaim:
    """Claim ``mu``-GDP: the errors lie on or above the trade-off curve of N(0, 1) and N(mu, 1)."""

    def least(wrong: FloatArray, missed: FloatArray) -> FloatArray:
        """Return ``Phi^-1(1 - wrong) - Phi^-1(missed)``, which is exact for Gaussian noise."""
        return np.maximum(-ndtri(wrong) - ndtri(missed), 0.0)

    return PrivacyClaim("mu", mu, least)


def epsilon_claim(epsilon: float, delta: float) -> PrivacyClaim:
    """Claim (``epsilon``, ``delta``)-DP; the audit bounds epsilon at that delta."""

    def least(wrong: FloatArray, missed: FloatArray) -> FloatArray:
        """Return the least epsilon that both the event and its complement allow."""
        one = np.maximum(1.0 - delta - missed, 1e-300) / wrong
        other = np.maximum(1.0 - delta - wrong, 1e-300) / missed
        return np.asarray(np.log(np.maximum(np.maximum(one, other), 1.0)))

    return PrivacyClaim("epsilon", epsilon, least, f" at delta = {delta:.4g}")


def concentrated_claim(rho: float) -> PrivacyClaim:
    """Claim ``rho``-zCDP: no event has a larger Renyi divergence than the whole release."""

    def least(wrong: FloatArray, missed: FloatArray) -> FloatArray:
        """Return the event's largest ratio of divergence to order, in either direction."""
        q, r = np.broadcast_arrays(np.asarray(wrong, float), np.asarray(missed, float))
        largest = np.zeros(q.shape)
        for first, second in (((1.0 - r), q), ((1.0 - q), r)):
            largest = np.maximum(largest, np.where(first > second, _divergence(first, second), 0.0))
        return largest

    return PrivacyClaim("rho", rho, least)


def _divergence(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the largest ratio of Renyi divergence to order between two Bernoulli distributions."""
    order = ORDERS[:, None]
    p, q = (np.clip(np.ravel(chance), 1e-300, 1.0 - 1e-16) for chance in (first, second))
    heads = order * np.log(p) + (1.0 - order) * np.log(q)
    tails = order * np.log1p(-p) + (1.0 - order) * np.log1p(-q)
    divergences = np.logaddexp(heads, tails) / (order - 1.0) / order
    return divergences.max(axis=0).reshape(np.shape(first))


def profile_claim(epsilon: float, delta: float) -> PrivacyClaim:
    """Claim one point of a privacy profile: ``delta`` at ``epsilon``, which may be 0."""

    def least(wrong: FloatArray, missed: FloatArray) -> FloatArray:
        """Return the least delta that both the event and its complement allow."""
        ratio = np.exp(epsilon)
        one, other = 1.0 - missed - ratio * wrong, 1.0 - wrong - ratio * missed
        return np.asarray(np.maximum(np.maximum(one, other), 0.0))

    return PrivacyClaim("delta", delta, least, f" at epsilon = {epsilon:.4g}")


# The claim of each kind of guarantee; pure DP has delta = 0.
KINDS: dict[str, Callable[[Any], PrivacyClaim]] = {
    "gdp": lambda guarantee: gaussian_claim(guarantee.mu),
    "pure": lambda guarantee: epsilon_claim(guarantee.epsilon, 0.0),
    "approx": lambda guarantee: epsilon_claim(guarantee.epsilon, guarantee.delta),
    "zcdp": lambda guarantee: concentrated_claim(guarantee.rho),
}


def claim_of(guarantee: Guarantee) -> PrivacyClaim:
    """Return the claim of a guarantee."""
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
    """The result of a test: whether it accepts, its statistic and its power."""

    accepted: bool
    statistic: float
    power: float


def clopper_pearson_upper(successes: ArrayLike, trials: int, false_alarm: float) -> FloatArray:
    """Return the one-sided upper confidence bound on a probability.

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
    """Accept a claim unless the errors of ``n_runs`` runs per neighbour prove a larger loss.

    Each kind of error gets a confidence bound at half of ``false_alarm``. With ``summed`` their
    mean gets a bound at all of it, which proves more if both errors are equally likely. This choice
    must be made before errors are counted.

    Guarantee
    ---------
    For every release: if the claim holds, the probability of rejecting is at most ``false_alarm``,
    which must be at most 0.05. The power is that against a release whose errors have the
    probabilities ``rates``.

    *Proof* for sums. The error pairs that a claim allows are a convex set that contains the mirror
    image of each of its points, hence also the pair in which both errors equal their mean. Among
    independent coins with that mean, equal coins are the likeliest to have so small a sum, if the
    sum is at least one below its expectation (Hoeffding 1956, Theorem 4). A sum at the 0.05
    quantile is so small, unless the mean error is near 1; but then nothing is proved.
    """
    if summed:
        upper = clopper_pearson_upper([wrong + missed] * 2, 2 * n_runs, false_alarm)
    else:
        upper = clopper_pearson_upper([wrong, missed], n_runs, false_alarm / 2.0)
    proven = float(claim.least(upper[:1], upper[1:])[0])
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
    """Return the exact probability that :func:`judge` rejects at error probabilities ``rates``.

    For each count of wrong guesses, ``judge`` rejects if the count of missed ones, or the sum of
    both counts, is small enough.
    """
    counts = np.arange(n_runs + 1)
    if summed:
        both = np.arange(2 * n_runs + 1)
        mean = clopper_pearson_upper(both, 2 * n_runs, false_alarm)
        few = int(
            np.count_nonzero(claim.least(mean, mean) > claim.amount)
        )  # the bound falls with the count
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
    """Return the fewest runs per neighbour with which a verdict has ``power``, to one per cent."""
    return smallest_sample(
        lambda n_runs: audit_power(
            claim, n_runs, rates=rates, false_alarm=false_alarm, summed=summed
        ),
        power,
    )


def smallest_sample(power_at: Callable[[int], float], power: float) -> int:
    """Return the smallest sample size whose ``power_at`` reaches ``power``, to one per cent."""
    high = 16
    while power_at(high) < power:
        high *= 2
    low = high // 2
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if power_at(middle) >= power else (middle, high)
    return high
