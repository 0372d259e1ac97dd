"""Testers: each proves something, none more than is true, and pieces take cells."""

import numpy as np
import pytest
from scipy.stats import norm

from tailguard.audit.bounds import audit_power, clopper_pearson_upper, gaussian_claim, profile_claim
from tailguard.audit.testers import TESTERS

N_PILOT, N_RUNS, FALSE_ALARM = 400, 1_000, 1e-3


def shown(tester, first, second, claim):
    decide = TESTERS[tester](first[:N_PILOT], second[:N_PILOT], claim, N_RUNS, FALSE_ALARM)
    errors = decide(first[N_PILOT:]), ~decide(second[N_PILOT:])
    upper = clopper_pearson_upper([each.sum() for each in errors], N_RUNS, FALSE_ALARM / 2)
    return float(claim.least(upper[:1], upper[1:])[0])


@pytest.mark.parametrize(
    ("tester", "least"), [("threshold", 1.5), ("classifier", 1.4), ("cells", 1.4), ("kernel", 1.4)]
)
def test_each_tester_shows_gaussian_noise_and_nothing_where_nothing_is(tester, least):
    generator = np.random.default_rng(0)
    first, second = generator.standard_normal((2, N_PILOT + N_RUNS, 3))
    assert shown(tester, first, second, gaussian_claim(1.0)) < 0.05
    assert least < shown(tester, first, second + 2.0 / 3**0.5, gaussian_claim(2.0)) <= 2.0


@pytest.mark.parametrize("tester", ["threshold", "kernel"])
def test_a_threshold_that_is_learned_on_any_pilot_sees_less_noise(tester):
    generator, claim = np.random.default_rng(3), gaussian_claim(2.5)
    runs = np.linspace(-4, 8, 2_001)
    for _ in range(20):
        first, second = generator.standard_normal((2, 375, 1))
        decide = TESTERS[tester](first, second + 2.5, claim, 1_500, FALSE_ALARM)
        chosen = decide(runs[:, None])
        first, second = (norm.pdf(runs, at, 0.8) * (runs[1] - runs[0]) for at in (0.0, 2.5))
        rates = float(first[chosen].sum()), float(second[~chosen].sum())
        assert audit_power(claim, 1_500, rates=rates, false_alarm=FALSE_ALARM) > 0.95


def test_events_of_two_pieces_are_seen_by_products_and_cells():
    """The second one is either far to the left or far to the right, where no threshold sees it."""
    generator, claim = np.random.default_rng(1), profile_claim(0.0, 0.5)
    first = generator.standard_normal((N_PILOT + N_RUNS, 1))
    second = generator.choice([-4.0, 4.0], first.shape) + generator.standard_normal(first.shape)
    found = {name: shown(name, first, second, claim) for name in TESTERS}
    assert found["threshold"] < 0.6
    assert min(found["classifier"], found["cells"], found["kernel"]) > 0.8
