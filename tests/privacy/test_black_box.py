"""Black-box audits: no run on a worst pair shows more than was claimed.

Lower bounds on mu from runs on two neighbouring data sets (Nasr et al. 2023), at a false-alarm rate
of 1e-6 and with power against noise 1.3 times too small.
"""

import numpy as np

import tailguard as tg
from support.audits import gdp_audit
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent

N_ROWS = 16
CLAIMED_MU = 1.0
N_RUNS = 4_500
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


def audit_one_step(true_mu, n_runs=N_RUNS):
    return gdp_audit(
        one_step_scores(-1e9, true_mu, range(n_runs)),
        one_step_scores(1e9, true_mu, range(n_runs, 2 * n_runs)),
        threshold=0.65 * true_mu,
        claimed_mu=CLAIMED_MU,
        true_mu=1.3 * CLAIMED_MU,
        false_alarm=FALSE_ALARM,
    )


def test_one_step_keeps_its_claim():
    verdict = audit_one_step(CLAIMED_MU)
    assert verdict.accepted


def test_noise_that_is_too_small_is_caught():
    verdict = audit_one_step(1.3 * CLAIMED_MU)
    assert verdict.power >= 0.999
    assert not verdict.accepted
