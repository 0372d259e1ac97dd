"""Tests of the statistical tests: false alarms and powers are as stated."""

import numpy as np
import pytest
from scipy.stats import norm

from support.audits import gdp_audit, gdp_audit_power, mu_lower_bound
from support.statistics import SCALES, gaussian_scale_power, goodness_of_fit
from tailguard.audit.bounds import clopper_pearson_upper, smallest_sample

# Loose enough that 1000 repetitions measure both rates.
FALSE_ALARM = 0.05
N_REPEATS = 1000


@pytest.mark.parametrize("law", SCALES)
@pytest.mark.parametrize("ratio", [0.9, 1.0, 1.1])
def test_scale_tests_reject_at_the_stated_rate(law, ratio):
    generator, (test, power) = np.random.default_rng(5), SCALES[law]
    draw = {"gaussian": generator.standard_normal, "laplace": generator.laplace}[law]
    draws = ratio * draw(size=(N_REPEATS, 200))
    rejected = np.mean([not test(row, 1.0, false_alarm=FALSE_ALARM).accepted for row in draws])
    stated = power(200, ratio, FALSE_ALARM)
    assert rejected == pytest.approx(stated, abs=5 * np.sqrt(stated * (1 - stated) / N_REPEATS))
    if ratio == 1.0:
        assert stated == pytest.approx(FALSE_ALARM)


def test_goodness_of_fit_rejects_at_the_stated_rate():
    generator = np.random.default_rng(6)
    right, wrong = np.full(8, 1 / 8), np.array([1.15, 0.85] * 4) / 8
    for truth in (right, wrong):
        verdicts = [
            goodness_of_fit(counts, right, false_alarm=FALSE_ALARM, alternative=truth)
            for counts in generator.multinomial(800, truth, size=N_REPEATS)
        ]
        stated = verdicts[0].power
        rejected = np.mean([not verdict.accepted for verdict in verdicts])
        assert rejected == pytest.approx(stated, abs=0.06)
    assert stated > 0.5


def test_clopper_pearson_bound_solves_its_equation():
    # P(at most 3 of 100 successes) = 0.01 at the bound; the value is from the binomial law.
    bound = float(clopper_pearson_upper(3, 100, 0.01))
    binomial = sum(
        norm_comb * bound**k * (1 - bound) ** (100 - k)
        for k, norm_comb in enumerate((1, 100, 4950, 161700))
    )
    assert binomial == pytest.approx(0.01)
    assert float(clopper_pearson_upper(100, 100, 0.01)) == 1.0


def test_mu_lower_bound_tends_to_mu():
    n_runs = 10**9
    errors = round(n_runs * float(norm.sf(0.5)))
    assert mu_lower_bound(errors, errors, n_runs, 1e-6) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(("threshold", "n_runs"), [(0.65, 500), (0.6, 900)])
def test_gdp_audit_power_agrees_with_simulation_and_holds_its_false_alarm(threshold, n_runs):
    """A threshold halfway tests the sum of both errors; any other tests each error."""
    settings = {"threshold": threshold, "claimed_mu": 1.0, "false_alarm": 1e-3}
    generator = np.random.default_rng(7)
    rejected = np.mean(
        [
            not gdp_audit(scores[0], scores[1] + 1.3, true_mu=1.3, **settings).accepted
            for scores in generator.standard_normal((200, 2, n_runs))
        ]
    )
    stated = gdp_audit_power(n_runs, true_mu=1.3, **settings)
    assert 0.1 < stated < 0.9
    assert rejected == pytest.approx(stated, abs=0.12)  # 3.4 standard deviations
    assert gdp_audit_power(n_runs, true_mu=1.0, **settings) <= 1e-3


def test_smallest_sample_is_close_to_the_smallest():
    size = smallest_sample(lambda n: gaussian_scale_power(n, 1.3, 1e-6), 0.999)
    assert gaussian_scale_power(size, 1.3, 1e-6) >= 0.999
    assert gaussian_scale_power(int(0.97 * size), 1.3, 1e-6) < 0.999
