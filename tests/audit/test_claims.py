"""Claims: what is true is never disproved by exact errors, and its mutants are."""

import numpy as np
import pytest
from scipy.stats import laplace, norm

import tailguard as tg
from tailguard.audit.bounds import (
    audit_power,
    claim_of,
    concentrated_claim,
    epsilon_claim,
    gaussian_claim,
    judge,
    profile_claim,
    runs_for,
)
from tailguard.privacy.accounting.gaussian import delta_of, epsilon_of

THRESHOLDS = np.linspace(-4.0, 6.0, 401)


def gaussian_errors(mu):
    return norm.sf(THRESHOLDS), norm.cdf(THRESHOLDS - mu)


@pytest.mark.parametrize(
    ("claim", "attained"),
    [
        (gaussian_claim(1.0), 1.0),
        (epsilon_claim(epsilon_of(1.0, 0.01), 0.01), 0.99),
        (profile_claim(0.5, delta_of(1.0, 0.5)), 0.99),
        (concentrated_claim(0.5), 0.6),  # no event shows all of a Renyi divergence
    ],
)
def test_no_threshold_shows_more_of_gaussian_noise_than_is_true(claim, attained):
    shown = claim.least(*gaussian_errors(1.0)).max()
    assert attained * claim.amount <= shown <= claim.amount * (1 + 1e-6)
    assert claim.least(*gaussian_errors(1.6)).max() > claim.amount


def test_laplace_noise_shows_its_epsilon():
    claim = claim_of(tg.PureDP(1.5))
    shown = claim.least(laplace.sf(THRESHOLDS), laplace.cdf(THRESHOLDS - 1.5)).max()
    assert shown == pytest.approx(1.5)


def test_what_is_seen_of_one_side_counts_on_the_other_one_as_well():
    for claim in (epsilon_claim(1.0, 0.1), profile_claim(1.0, 0.1), concentrated_claim(0.5)):
        one, other = np.array([0.02]), np.array([0.4])
        assert claim.least(one, other) == pytest.approx(claim.least(other, one))


def test_the_mean_of_both_errors_proves_no_more_than_they_do():
    """As sums of errors take for granted: what a claim allows is convex and symmetric."""
    one, other = np.random.default_rng(2).uniform(0.001, 0.6, (2, 2_000))
    mean = (one + other) / 2.0
    for claim in (
        gaussian_claim(1.0),
        epsilon_claim(1.0, 0.0),
        epsilon_claim(1.0, 0.1),
        profile_claim(0.0, 0.1),
        profile_claim(1.0, 0.1),
        concentrated_claim(0.5),
    ):
        assert (claim.least(mean, mean) <= claim.least(one, other) + 1e-12).all()


@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.parametrize(
    "claim", [gaussian_claim(1.0), epsilon_claim(1.0, 0.1), profile_claim(0.0, 0.38292)]
)
@pytest.mark.parametrize("place", [-4.0, 0.0, 0.5, 2.0])  # errors alike at a half
@pytest.mark.parametrize("n_runs", [20, 500])
def test_a_claim_that_is_kept_is_rejected_no_oftener_than_is_said(claim, summed, place, n_runs):
    rates = float(norm.sf(place)), float(norm.cdf(place - 1.0))
    for false_alarm in (0.05, 1e-2, 1e-5):
        facts = {"rates": rates, "false_alarm": false_alarm, "summed": summed}
        assert audit_power(claim, n_runs, **facts) <= false_alarm


def test_a_sum_of_errors_that_are_alike_proves_more_than_each_of_them():
    claim = gaussian_claim(2.5)
    facts = {"rates": (0.06, 0.06), "false_alarm": 1e-5}
    n_runs = {way: runs_for(claim, power=0.95, summed=way, **facts) for way in (False, True)}
    assert n_runs[True] < 0.7 * n_runs[False]
    verdicts = [judge(claim, 60, 60, 1_000, summed=way, **facts) for way in (False, True)]
    assert verdicts[0].statistic < verdicts[1].statistic < 2.0 * norm.isf(0.06)
    uneven = {"rates": (0.01, 0.5), "false_alarm": 1e-5}
    assert audit_power(claim, 900, **uneven) > audit_power(claim, 900, summed=True, **uneven)


@pytest.mark.parametrize(("summed", "n_runs"), [(False, 200), (True, 100)])
def test_power_is_that_of_simulated_audits(summed, n_runs):
    claim, rates, generator = gaussian_claim(1.0), (0.2, 0.25), np.random.default_rng(0)
    facts = {"rates": rates, "false_alarm": 0.05, "summed": summed}
    counts = generator.binomial(n_runs, rates, size=(300, 2))
    rejected = np.mean([not judge(claim, *pair, n_runs, **facts).accepted for pair in counts])
    power = audit_power(claim, n_runs, **facts)
    assert 0.1 < power < 0.95
    assert rejected == pytest.approx(power, abs=0.06)


def test_the_planned_runs_have_the_planned_power():
    claim, facts = gaussian_claim(2.5), {"rates": (0.06, 0.06), "false_alarm": 1e-5}
    n_runs = runs_for(claim, power=0.95, **facts)
    assert audit_power(claim, n_runs, **facts) >= 0.95
    assert audit_power(claim, int(0.9 * n_runs), **facts) < 0.95


def test_what_claims_nothing_is_refused():
    with pytest.raises(tg.InputError, match="claim must be"):
        claim_of(1.0)
