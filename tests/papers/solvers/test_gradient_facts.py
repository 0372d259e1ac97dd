"""Public facts about gradients: what is filled in, and what follows."""

import math

import pytest

import tailguard as tg
from tailguard.gate.plan import Problem
from tailguard.papers.solvers.gradient_facts import GradientFacts


def facts_of(loss, **options):
    problem = Problem(loss, n_rows=1000, n_features=4)
    return GradientFacts.of(problem, **{"row_limit": None, "scale": None, "order": 2.0, **options})


def test_columns_of_unit_scale_and_slopes_of_one_are_assumed_where_nothing_is_said():
    assert facts_of(tg.losses.Squared()).row_limit == pytest.approx(math.sqrt(12.0))
    assert facts_of(tg.losses.Squared()).scale == pytest.approx(2.0)
    assert facts_of(tg.losses.Squared(), row_limit=1.5).scale == pytest.approx(1.5)
    assert facts_of(tg.losses.Quantile(0.75)).scale == pytest.approx(1.5)
    assert facts_of(tg.losses.Logistic(), scale=0.3).scale == 0.3


def test_a_clip_level_never_exceeds_the_largest_gradient():
    assert facts_of(tg.losses.Squared()).largest == math.inf
    logistic = facts_of(tg.losses.Logistic(), row_limit=3.0)
    assert logistic.clip_norm(10**9, 1.0) == logistic.largest == 3.0


def test_the_clip_level_minimises_the_predicted_risk_where_noise_dominates():
    facts, n_rows, mu, diameter = facts_of(tg.losses.Squared(), scale=1.0), 10_000, 0.05, 2.0

    def risk(clip):
        eta = facts.step_parameter(n_rows, mu, diameter, clip)
        noise = 16.0 * 4 * (clip / mu) ** 2 / n_rows
        return 4 * diameter**2 / (eta * n_rows) + eta * noise + diameter / clip

    best = facts.clip_norm(n_rows, mu)
    assert all(risk(best) <= 1.01 * risk(best * factor) for factor in (0.5, 0.8, 1.25, 2.0))
