"""Black-box audits: no run on a worst pair shows more than was claimed.

Lower bounds on mu from runs on two neighbouring data sets (Nasr et al. 2023), at a false-alarm rate
of 1e-6: with power against half the noise by default, and in the audit against noise that is 1.3
times too small.
"""

import numpy as np
import pytest

import tailguard as tg
from support.audits import POWER, gdp_audit, runs_for_mu
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent

N_ROWS = 16
CLAIMED_MU = 1.0
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


@pytest.mark.long
@pytest.mark.parametrize(
    "too_much", [2.0, pytest.param(1.3, marks=pytest.mark.audit)], ids=["gross", "slight"]
)
def test_one_step_keeps_its_claim_and_noise_that_is_too_small_is_caught(too_much):
    true_mu = too_much * CLAIMED_MU
    claim = {"claimed_mu": CLAIMED_MU, "true_mu": true_mu, "threshold": 0.65 * true_mu}
    n_runs = runs_for_mu(**claim, false_alarm=FALSE_ALARM)
    for mu in (CLAIMED_MU, true_mu):
        scores = [
            one_step_scores(first, mu, range(side * n_runs, (side + 1) * n_runs))
            for side, first in enumerate((-1e9, 1e9))
        ]
        verdict = gdp_audit(*scores, **claim, false_alarm=FALSE_ALARM)
        assert verdict.accepted is (mu == CLAIMED_MU)
    assert verdict.power >= POWER
