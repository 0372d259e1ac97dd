"""Statistical tests with a stated false-alarm rate and a stated power.

Every test here takes ``false_alarm``, the probability that it rejects what is right, and reports
``power``, the probability that it rejects the wrong thing named in the call. A test without power
proves nothing, so callers assert the power too.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta, binom, chi2, ncx2, norm

from tailguard.array_types import FloatArray


@dataclass(frozen=True)
class Verdict:
    """What a test said: whether it accepts, the number it judged, and its power."""

    accepted: bool
    statistic: float
    power: float


def smallest_sample(power_at: Callable[[int], float], power: float) -> int:
    """Smallest sample size, to one percent, whose ``power_at`` reaches ``power``."""
    high = 16
    while power_at(high) < power:
        high *= 2
    low = high // 2
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if power_at(middle) >= power else (middle, high)
    return high


# Scale of noise: sums of squares or of magnitudes follow a chi-square law.


def gaussian_scale_test(
    draws: ArrayLike, std: float, *, false_alarm: float, ratios: Iterable[float] = (0.9, 1.1)
) -> Verdict:
    """Two-sided test that ``draws`` are centred Gaussian with ``std``, not ``ratio * std``."""
    scaled = np.asarray(draws, dtype=np.float64).ravel() / std
    powers = [gaussian_scale_power(scaled.size, ratio, false_alarm) for ratio in ratios]
    return _chi_square_verdict(float(scaled @ scaled), scaled.size, min(powers), false_alarm)


def gaussian_scale_power(n_draws: int, ratio: float, false_alarm: float) -> float:
    """Probability that :func:`gaussian_scale_test` rejects noise of ``ratio * std``."""
    return _chi_square_power(n_draws, ratio**2, false_alarm)


def laplace_scale_test(
    draws: ArrayLike, scale: float, *, false_alarm: float, ratios: Iterable[float] = (0.9, 1.1)
) -> Verdict:
    """Two-sided test that ``draws`` are Laplace with ``scale``, not ``ratio * scale``."""
    scaled = np.abs(np.asarray(draws, dtype=np.float64).ravel()) / scale
    powers = [laplace_scale_power(scaled.size, ratio, false_alarm) for ratio in ratios]
    return _chi_square_verdict(2 * float(scaled.sum()), 2 * scaled.size, min(powers), false_alarm)


def laplace_scale_power(n_draws: int, ratio: float, false_alarm: float) -> float:
    """Probability that :func:`laplace_scale_test` rejects noise of ``ratio * scale``."""
    return _chi_square_power(2 * n_draws, ratio, false_alarm)


def _chi_square_verdict(
    statistic: float, degrees: int, power: float, false_alarm: float
) -> Verdict:
    low, high = chi2.ppf(false_alarm / 2, degrees), chi2.isf(false_alarm / 2, degrees)
    return Verdict(bool(low <= statistic <= high), statistic / degrees, power)


def _chi_square_power(degrees: int, ratio: float, false_alarm: float) -> float:
    low, high = chi2.ppf(false_alarm / 2, degrees), chi2.isf(false_alarm / 2, degrees)
    return float(chi2.cdf(low / ratio, degrees) + chi2.sf(high / ratio, degrees))


# Shape of noise: counts of cells against their probabilities.


def goodness_of_fit(
    counts: ArrayLike, probabilities: ArrayLike, *, false_alarm: float, alternative: ArrayLike
) -> Verdict:
    """Pearson's chi-square test of cell counts; power against the ``alternative`` probabilities.

    Every expected count must be at least 50, so that the chi-square law holds far in the tail.
    """
    observed = np.asarray(counts, dtype=np.float64)
    expected = observed.sum() * np.asarray(probabilities, dtype=np.float64)
    assert expected.min() >= 50, "merge cells or draw more"
    assert abs(expected.sum() / observed.sum() - 1) < 1e-9, "probabilities must add up to one"
    statistic = float(((observed - expected) ** 2 / expected).sum())
    critical = float(chi2.isf(false_alarm, observed.size - 1))
    shifted = observed.sum() * np.asarray(alternative, dtype=np.float64)
    noncentrality = float(((shifted - expected) ** 2 / expected).sum())
    power = float(ncx2.sf(critical, observed.size - 1, noncentrality))
    return Verdict(statistic <= critical, statistic, power)


# Privacy: how well two neighbours can be told apart.


def clopper_pearson_upper(successes: ArrayLike, trials: int, false_alarm: float) -> FloatArray:
    """One-sided upper confidence bound on a probability (Clopper and Pearson 1934)."""
    count = np.asarray(successes, dtype=np.float64)
    bound = beta.isf(false_alarm, count + 1, np.maximum(trials - count, 1))
    return np.where(count < trials, bound, 1.0)


def mu_lower_bound(
    false_positives: int, false_negatives: int, n_runs: int, false_alarm: float
) -> float:
    """Lower confidence bound on mu from the two error counts of a distinguisher.

    ``mu >= Phi^-1(1 - FPR) - Phi^-1(FNR)`` (Nasr et al. 2023, Section 5), each rate replaced by its
    upper bound at half the false alarm.
    """
    rates = clopper_pearson_upper([false_positives, false_negatives], n_runs, false_alarm / 2)
    return max(0.0, float(norm.isf(rates[0]) - norm.ppf(rates[1])))


def gdp_audit(
    scores: ArrayLike,
    neighbour_scores: ArrayLike,
    *,
    threshold: float,
    claimed_mu: float,
    true_mu: float,
    false_alarm: float,
) -> Verdict:
    """Accept unless the scores prove that the release is not ``claimed_mu``-GDP.

    A score above ``threshold`` is read as "neighbour". The false alarm holds for any mechanism
    that is ``claimed_mu``-GDP; the power is that against a Gaussian mechanism of ``true_mu`` with
    scores of unit variance around 0 and ``true_mu``.
    """
    null, shifted = np.asarray(scores), np.asarray(neighbour_scores)
    assert null.size == shifted.size
    bound = mu_lower_bound(
        int((null > threshold).sum()), int((shifted <= threshold).sum()), null.size, false_alarm
    )
    power = gdp_audit_power(
        null.size,
        threshold=threshold,
        claimed_mu=claimed_mu,
        true_mu=true_mu,
        false_alarm=false_alarm,
    )
    return Verdict(bound <= claimed_mu, bound, power)


def gdp_audit_power(
    n_runs: int, *, threshold: float, claimed_mu: float, true_mu: float, false_alarm: float
) -> float:
    """Exact probability that :func:`gdp_audit` rejects a Gaussian mechanism of ``true_mu``.

    The sum runs over all counts of false positives; for each, the audit rejects when the false
    negatives stay below a limit, because the bound falls as they grow.
    """
    counts = np.arange(n_runs + 1)
    quantiles = norm.ppf(clopper_pearson_upper(counts, n_runs, false_alarm / 2))
    false_positive = binom.pmf(counts, n_runs, norm.sf(threshold))
    limits = np.searchsorted(quantiles, -quantiles - claimed_mu, side="left")
    rejected = binom.cdf(limits - 1, n_runs, norm.cdf(threshold - true_mu))
    return float(false_positive @ rejected)
