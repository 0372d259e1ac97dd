"""Audits of whole fits from all their releases: privacy loss and noise."""

from functools import partial

from support.audits import POWER, gdp_audit, runs_for_mu
from support.statistics import gaussian_scale_test
from tailguard.audit import of_runs
from tailguard.audit.gates import OverheardGate
from tailguard.privacy.guarantees import GDP

FALSE_ALARM = 1e-3
CLAIMED_MU = 2.5  # for whole fits; smaller claims need more fits


def overhear(solver, problem, pair, *, mu, seed, neighbour):
    """Fit once at ``mu``; return the transcript of the pair."""
    plan = solver.plan(problem, GDP(mu))
    return of_runs.overhear(OverheardGate, solver, plan, pair, seed=seed, neighbour=neighbour)


def audit_fits(fit, *, too_much):
    """Audit the claim on many fits by their privacy loss; ``fit(seed, neighbour=)`` overhears one.

    The number of fits is enough to detect fits that attain ``too_much`` times the claim.
    """
    true_mu = too_much * CLAIMED_MU
    claim = {"claimed_mu": CLAIMED_MU, "true_mu": true_mu, "threshold": true_mu / 2.0}
    n_runs = runs_for_mu(**claim, false_alarm=FALSE_ALARM)
    scores = [
        [
            fit(seed, neighbour=neighbour).score(neighbour=neighbour)
            for seed in range(neighbour, 2 * n_runs, 2)
        ]
        for neighbour in (False, True)
    ]
    verdict = gdp_audit(*scores, **claim, false_alarm=FALSE_ALARM)
    assert verdict.power >= POWER
    return verdict


def check_claim(fit, *, factor, attained):
    """Many fits at a budget attain at most it; fits at ``factor`` times it are detected."""
    too_much = factor * attained
    assert audit_fits(partial(fit, CLAIMED_MU), too_much=too_much).accepted
    assert not audit_fits(partial(fit, factor * CLAIMED_MU), too_much=too_much).accepted


def check_noises(noises):
    """Noises of fits are standard normal; smaller noise would fail the test."""
    verdict = gaussian_scale_test(noises, 1.0, false_alarm=1e-6, ratios=(1 / 1.3, 1.3))
    assert verdict.accepted
    assert verdict.power >= 0.999
    assert not gaussian_scale_test(noises / 1.3, 1.0, false_alarm=1e-6).accepted
