"""Statistical tests with a stated false-alarm rate and a stated power.

Every test here takes ``false_alarm``, the probability that it rejects a true hypothesis, and
reports ``power``, the probability that it rejects the false one named in the call. A test without
power proves nothing, so callers assert the power too.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2, ncx2

from tailguard.audit.bounds import Judgement, smallest_sample

# Scale of noise: sums of squares or of magnitudes follow a chi-square law.


def gaussian_scale_test(
    draws: ArrayLike, std: float, *, false_alarm: float, ratios: Iterable[float] = (0.9, 1.1)
) -> Judgement:
    """Two-sided test that ``draws`` are centred Gaussian with ``std``, not ``ratio * std``."""
    scaled = np.asarray(draws, dtype=np.float64).ravel() / std
    powers = [gaussian_scale_power(scaled.size, ratio, false_alarm) for ratio in ratios]
    return _chi_square_verdict(float(scaled @ scaled), scaled.size, min(powers), false_alarm)


def gaussian_scale_power(n_draws: int, ratio: float, false_alarm: float) -> float:
    """Probability that :func:`gaussian_scale_test` rejects noise of ``ratio * std``."""
    return _chi_square_power(n_draws, ratio**2, false_alarm)


def laplace_scale_test(
    draws: ArrayLike, scale: float, *, false_alarm: float, ratios: Iterable[float] = (0.9, 1.1)
) -> Judgement:
    """Two-sided test that ``draws`` are Laplace with ``scale``, not ``ratio * scale``."""
    scaled = np.abs(np.asarray(draws, dtype=np.float64).ravel()) / scale
    powers = [laplace_scale_power(scaled.size, ratio, false_alarm) for ratio in ratios]
    return _chi_square_verdict(2 * float(scaled.sum()), 2 * scaled.size, min(powers), false_alarm)


def laplace_scale_power(n_draws: int, ratio: float, false_alarm: float) -> float:
    """Probability that :func:`laplace_scale_test` rejects noise of ``ratio * scale``."""
    return _chi_square_power(2 * n_draws, ratio, false_alarm)


SCALES = {
    "gaussian": (gaussian_scale_test, gaussian_scale_power),
    "laplace": (laplace_scale_test, laplace_scale_power),
}


def enough_to_tell(law: str, false_alarm: float) -> int:
    """The number of draws at which a tenth more or less noise is rejected, but for 1 in 1000."""
    _, power = SCALES[law]
    return smallest_sample(
        lambda n: min(power(n, ratio, false_alarm) for ratio in (0.9, 1.1)), 0.999
    )


def assert_only_its_own_scale(law: str, noise: ArrayLike, scale: float, false_alarm: float) -> None:
    """Noise is accepted at its scale, and neither at a tenth more nor at a tenth less."""
    test, _ = SCALES[law]
    for ratio, accepted in ((0.9, False), (1.0, True), (1.1, False)):
        verdict = test(ratio * np.asarray(noise), scale, false_alarm=false_alarm)
        assert verdict.power >= 0.999
        assert verdict.accepted is accepted


def _chi_square_verdict(
    statistic: float, degrees: int, power: float, false_alarm: float
) -> Judgement:
    low, high = chi2.ppf(false_alarm / 2, degrees), chi2.isf(false_alarm / 2, degrees)
    return Judgement(bool(low <= statistic <= high), statistic / degrees, power)


def _chi_square_power(degrees: int, ratio: float, false_alarm: float) -> float:
    low, high = chi2.ppf(false_alarm / 2, degrees), chi2.isf(false_alarm / 2, degrees)
    return float(chi2.cdf(low / ratio, degrees) + chi2.sf(high / ratio, degrees))


# Shape of noise: counts of cells against their probabilities.


def goodness_of_fit(
    counts: ArrayLike, probabilities: ArrayLike, *, false_alarm: float, alternative: ArrayLike
) -> Judgement:
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
    return Judgement(statistic <= critical, statistic, power)
