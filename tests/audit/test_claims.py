"""Claims: what is true is never disproved by exact errors, and its mutants are."""

import numpy as np
import pytest
from scipy.stats import laplace, norm

import tailguard as tg
from tailguard.audit.bounds import audit_power, judge, mean_upper, runs_for
from tailguard.audit.claims import (
    ConcentratedClaim,
    EpsilonClaim,
    GaussianClaim,
    ProfileClaim,
    claim_of,
)
from tailguard.privacy.accounting.gaussian import delta_of, epsilon_of

THRESHOLDS = np.linspace(-4.0, 6.0, 401)


def gaussian_errors(mu):
    return norm.sf(THRESHOLDS), norm.cdf(THRESHOLDS - mu)


@pytest.mark.parametrize(
    ("claim", "attained"),
    [
        (GaussianClaim(1.0), 1.0),
        (EpsilonClaim(epsilon_of(1.0, 0.01), 0.01), 0.99),
        (ProfileClaim(0.5, delta_of(1.0, 0.5)), 0.99),
        (ConcentratedClaim(0.5), 0.6),  # no event shows all of a Renyi divergence
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
    for claim in (EpsilonClaim(1.0, 0.1), ProfileClaim(1.0, 0.1), ConcentratedClaim(0.5)):
        one, other = np.array([0.02]), np.array([0.4])
        assert claim.least(one, other) == pytest.approx(claim.least(other, one))


@pytest.mark.parametrize(
    "claim", [GaussianClaim(1.0), EpsilonClaim(1.0, 0.1), ProfileClaim(0.0, 0.38292)]
)
def test_a_claim_that_is_kept_is_rejected_no_oftener_than_is_said(claim):
    rates = float(norm.sf(0.5)), float(norm.cdf(-0.5))
    assert audit_power(claim, 500, rates=rates, false_alarm=1e-2) <= 1e-2


def test_power_is_that_of_simulated_audits():
    claim, rates, generator = GaussianClaim(1.0), (0.2, 0.25), np.random.default_rng(0)
    facts = {"rates": rates, "false_alarm": 0.05}
    counts = generator.binomial(200, rates, size=(1_000, 2))
    rejected = np.mean([not judge(claim, *pair, 200, **facts).accepted for pair in counts])
    power = audit_power(claim, 200, **facts)
    assert 0.1 < power < 0.95
    assert rejected == pytest.approx(power, abs=0.06)


def test_the_planned_runs_have_the_planned_power():
    claim, facts = GaussianClaim(2.5), {"rates": (0.06, 0.06), "false_alarm": 1e-5}
    n_runs = runs_for(claim, power=0.95, **facts)
    assert audit_power(claim, n_runs, **facts) >= 0.95
    assert audit_power(claim, int(0.9 * n_runs), **facts) < 0.95


def test_means_of_numbers_and_of_coins_have_valid_bounds():
    generator = np.random.default_rng(1)
    for draw in (generator.random, lambda size: (generator.random(size) < 0.5).astype(float)):
        missed = np.mean([mean_upper(draw(60), 0.05) < 0.5 for _ in range(1_000)])
        assert missed <= 0.07
    assert mean_upper(np.ones(9), 0.05) == 1.0


def test_what_claims_nothing_is_refused():
    with pytest.raises(tg.InputError, match="claim must be"):
        claim_of(1.0)
