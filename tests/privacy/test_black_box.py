"""Black-box audits: no run on a worst pair shows more than was claimed.

Lower bounds on mu from runs on two neighbouring data sets (Nasr et al. 2023), at a false-alarm rate
of 1e-6 and with power against noise 1.5 times too small; the long audits see 1.3 times.
"""

import numpy as np
import pytest

import tailguard as tg
from support.audits import gdp_audit
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent

N_ROWS = 16
CLAIMED_MU = 1.0
# How many times too small noise is, and how many runs a side see that.
QUICK, LONG = (1.5, 1_600), (1.3, 4_500)
every_size = pytest.mark.parametrize(
    ("too_small", "n_runs"), [QUICK, pytest.param(*LONG, marks=pytest.mark.audit)]
)
FALSE_ALARM = 1e-6


def target_with(first):
    y = np.zeros(N_ROWS)
    y[0] = first
    return y


def one_step_scores(first, mu, seeds):
    """Answers of one noisy step on constant rows, in noise deviations from where ``low`` lies."""
    X, y = np.ones((N_ROWS, 1)), target_with(first)
    solver = NoisyGradientDescent(n_steps=1, clip_norm=1.0, step_size=1.0, iterate="last")
    answers = [
        tg.minimize(
            tg.losses.Squared(), X, y, guarantee=tg.GDP(mu), solver=solver, random_state=seed
        ).coef[0]
        for seed in seeds
    ]
    return (np.array(answers) + 1.0 / N_ROWS) / (2.0 / N_ROWS / mu)


def audit_one_step(true_mu, too_small, n_runs):
    return gdp_audit(
        one_step_scores(-1e9, true_mu, range(n_runs)),
        one_step_scores(1e9, true_mu, range(n_runs, 2 * n_runs)),
        threshold=0.65 * true_mu,
        claimed_mu=CLAIMED_MU,
        true_mu=too_small * CLAIMED_MU,
        false_alarm=FALSE_ALARM,
    )


@every_size
def test_one_step_keeps_its_claim(too_small, n_runs):
    verdict = audit_one_step(CLAIMED_MU, too_small, n_runs)
    assert verdict.accepted


@every_size
def test_noise_that_is_too_small_is_caught(too_small, n_runs):
    verdict = audit_one_step(too_small * CLAIMED_MU, too_small, n_runs)
    assert verdict.power >= 0.999
    assert not verdict.accepted
