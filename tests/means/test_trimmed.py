"""The trimmed mean as a method: the budget is split for the least error, bias included."""

import numpy as np
import pytest

import tailguard as tg
from support.means import planned, task_of
from tailguard.means import trimmed as module
from tailguard.means.trimmed import SMOOTHNESS_SHARES, Trimmed

TASKS = [
    (task_of(n_rows, n_features, tg.ApproxDP(epsilon, 1e-6)), Trimmed(calibration=calibration))
    for n_rows, n_features in ((5_000, 1), (100_000, 1), (100_000, 10))
    for epsilon in (0.3, 1.0)
    for calibration in ("tight", "numerical")
]


def plans_by_share(task, method, monkeypatch):
    for share in SMOOTHNESS_SHARES:
        with monkeypatch.context() as patch:
            patch.setattr(module, "SMOOTHNESS_SHARES", (share,))
            try:
                yield planned(method, task)
            except tg.InputError:
                continue


@pytest.mark.parametrize(("task", "method"), TASKS)
def test_the_share_has_the_least_predicted_total(task, method, monkeypatch):
    chosen = planned(method, task)
    totals = [plan.expected.total for plan in plans_by_share(task, method, monkeypatch)]
    assert len(totals) > 5
    assert chosen.expected.total == min(totals)


def test_it_does_not_trim_thousands_for_noise_that_nobody_sees():
    plan = planned(Trimmed(), task_of(100_000, 1, tg.ApproxDP(1.0, 1e-6)))
    assert plan.settings["trimmed at either end"] < 300
    assert plan.expected.total < 0.007
    assert plan.expected.noise > 0.3 * plan.expected.bias


def test_the_numerical_calibration_trims_fewer_and_needs_less_noise():
    task = task_of(100_000, 1, tg.ApproxDP(1.0, 1e-6))
    tight, numerical = (planned(Trimmed(calibration=mode), task) for mode in ("tight", "numerical"))
    trimmed = "trimmed at either end"
    assert numerical.settings[trimmed] < 0.6 * tight.settings[trimmed]
    assert numerical.expected.noise < 0.7 * tight.expected.noise


def test_skewed_columns_are_trimmed_little():
    x = np.random.default_rng(0).pareto(3.0, 100_000)
    errors = [
        tg.mean(x, epsilon=1.0, delta=1e-6, method="trimmed", random_state=seed).value - 0.5
        for seed in range(3)
    ]
    assert np.abs(errors).max() < 0.04  # 0.13 where a fiftieth of the budget buys smoothness
