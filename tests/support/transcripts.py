"""Audits of whole fits, by all that they release: their privacy loss, and the noise upon it."""

import numpy as np

from support.audits import gdp_audit
from support.statistics import gaussian_scale_test
from tailguard.audit import of_runs
from tailguard.audit.overheard import OverheardGate
from tailguard.privacy import GDP

FALSE_ALARM = 1e-3
N_RUNS = 3_800  # a side: mutants are caught with probability 0.99


def overhear(solver, problem, pair, *, mu, seed, neighbour):
    """Fit once at ``mu``; return what the fit told about the pair."""
    plan = solver.plan(problem, GDP(mu))
    return of_runs.overhear(OverheardGate, solver, plan, pair, seed=seed, neighbour=neighbour)


def audit_fits(fit, *, claimed_mu, true_mu):
    """Audit a claim on many fits, by their privacy loss; ``fit(seed, neighbour=)`` transcribes one.

    The verdict's power is that of catching fits that attain ``true_mu``.
    """
    scores = [
        [fit(seed, neighbour=neighbour).score(neighbour=neighbour) for seed in seeds]
        for neighbour, seeds in ((False, range(N_RUNS)), (True, range(N_RUNS, 2 * N_RUNS)))
    ]
    return gdp_audit(
        *scores,
        threshold=0.6 * claimed_mu,
        claimed_mu=claimed_mu,
        true_mu=true_mu,
        false_alarm=FALSE_ALARM,
    )


def check_claim(fit, too_much, **claim):
    """Many fits show no more than they claim, and ``too_much`` is caught."""
    verdict = audit_fits(fit, **claim)
    assert verdict.power >= 0.99
    assert verdict.accepted
    assert not audit_fits(too_much, **claim).accepted


def check_noises(fit):
    """Noises of many fits are standard normal, and would not pass with less."""
    noises = np.concatenate([fit(seed, neighbour=seed % 2 == 1).noises for seed in range(60)])
    verdict = gaussian_scale_test(noises, 1.0, false_alarm=1e-6, ratios=(1 / 1.3, 1.3))
    assert verdict.accepted
    assert verdict.power >= 0.999
    assert not gaussian_scale_test(noises / 1.3, 1.0, false_alarm=1e-6).accepted
