"""Black-box audits: no run on a worst pair shows more than was claimed.

Lower bounds on mu from runs on two neighbouring data sets (Nasr et al. 2023), at a false-alarm rate
of 1e-6 and with power against noise 1.3 times too small.
"""

import numpy as np
import pytest

import tailguard as tg
from support.statistics import gdp_audit
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent
from tailguard.solvers.scaled_gradient_descent import ScaledGradientDescent

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


def whole_fit_scores(first, seeds):
    """Intercepts of whole fits: bought units, then three steps."""
    X = np.linspace(-1.0, 1.0, N_ROWS)[:, None]
    y = X[:, 0] + target_with(first)
    solver = ScaledGradientDescent(n_steps=3, row_limit=2.0, slope_limit=2.0, units_share=0.1)
    model = tg.LinearRegression(guarantee=tg.GDP(CLAIMED_MU), solver=solver)
    return np.array([model.set_params(random_state=seed).fit(X, y).intercept_ for seed in seeds])


@pytest.mark.audit
def test_a_whole_fit_keeps_its_claim():
    pilot = [whole_fit_scores(first, range(300)) for first in (-1e9, 1e9)]
    threshold = float(np.median(np.concatenate(pilot)))
    verdict = gdp_audit(
        whole_fit_scores(-1e9, range(1_000, 1_000 + N_RUNS)),
        whole_fit_scores(1e9, range(10_000, 10_000 + N_RUNS)),
        threshold=threshold,
        claimed_mu=CLAIMED_MU,
        true_mu=1.3 * CLAIMED_MU,
        false_alarm=FALSE_ALARM,
    )
    assert verdict.accepted
