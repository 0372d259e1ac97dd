"""The task families: fixed by their seeds, and judged against the right optimum."""

import numpy as np
import pytest

from accuracy import families
from accuracy.families import (
    EVALUATION_SEED,
    FORMER_SEEDS,
    TRAINING_SEED,
    draw_law,
    make_judge,
    training_task,
)
from accuracy.laws import CONTINUOUS, DISCRETE, Column, correlation, draw_noise
from accuracy.risks import mean_of

SMALL = {"squared": 32, "logistic": 1, "misspecified": 33, "poisson": 5}  # tasks of few cells


def test_the_evaluation_family_is_the_one_that_was_fixed():
    laws = [draw_law(EVALUATION_SEED, index) for index in (0, 1, 5, 63)]
    facts = [(law.loss, law.n_rows, len(law.columns), law.intercept) for law in laws]
    assert facts == FIXED
    assert families.N_EVALUATION == 64


FIXED = [
    ("squared", 35894, 77, True),
    ("logistic", 79342, 65, False),
    ("poisson", 24232, 5, True),
    ("logistic", 22971, 21, False),
]


def test_the_families_share_no_task(monkeypatch):
    monkeypatch.setattr(families, "PILOT_ROWS", 100)  # weights are scaled by it; no name, no size
    seeds = TRAINING_SEED, *FORMER_SEEDS.values(), EVALUATION_SEED
    assert len({draw_law(seed, 7).n_rows for seed in seeds}) == 12
    assert len({task.name for task in families.former_tasks()}) == 640


def test_a_trial_is_its_seed():
    task = training_task(SMALL["squared"])
    first, again, other = (task.trial(seed) for seed in (3, 3, 4))
    assert np.array_equal(first.features, again.features)
    assert np.array_equal(first.target, again.target)
    assert not np.array_equal(first.features, other.features)
    assert first.features.shape == (task.n_rows, task.n_features)


@pytest.fixture(scope="module", params=SMALL.values(), ids=SMALL)
def judge(request):
    return make_judge(TRAINING_SEED, request.param)


@pytest.mark.long
def test_nothing_beats_the_optimum(judge):
    coef, intercept = judge.raw_optimum()
    assert judge.excess(coef, intercept) == pytest.approx(0.0, abs=1e-12 * judge.constant_gap())
    rng = np.random.default_rng(0)
    for _ in range(20):
        push = 0.01 * rng.standard_normal(len(coef)) / np.std(judge.columns, axis=0) / judge.units
        shift = push @ (judge.units * judge.offsets)
        assert judge.excess(coef + push, intercept - shift) > 0
    assert judge.constant_gap() > 0


def test_the_slope_vanishes_at_the_optimum(judge):
    slopes, constant = judge.optimum
    score = judge.columns @ slopes + constant
    error = (mean_of(judge.loss, score) - judge.mean_target) / np.std(judge.mean_target)
    size = np.sqrt(np.mean(judge.columns**2, axis=0))
    assert np.abs(judge.columns.T @ error / len(error) / size).max() < 1e-6


def test_the_excess_of_squares_is_the_mean_squared_difference_of_raw_scores():
    law, judge = draw_law(TRAINING_SEED, 32), make_judge(TRAINING_SEED, 32)
    coef, intercept = judge.raw_optimum()
    raw = law.units * (law.offsets + judge.columns)
    other = 1.1 * coef
    by_hand = np.mean((raw @ (other - coef)) ** 2)
    assert judge.excess(other, intercept) == pytest.approx(by_hand, rel=1e-6)


def test_targets_have_the_mean_that_the_judge_takes():
    law = draw_law(TRAINING_SEED, SMALL["misspecified"])
    assert not law.true_link
    rng = np.random.default_rng(1)
    columns = np.repeat(law.draw_columns(20, rng), 20_000, axis=0)
    drawn = law.draw_target(columns, rng).reshape(20, -1).mean(axis=1)
    assert np.abs(drawn - law.mean_target(columns[::20_000])).max() < 5 * 0.5 / np.sqrt(20_000)


def test_what_is_not_finite_is_infinitely_bad():
    trial = training_task(SMALL["squared"]).trial(0)
    assert trial.excess(np.full(trial.features.shape[1], np.nan), 0.0) == np.inf
    assert trial.excess(np.full(trial.features.shape[1], 1e300), 0.0) == np.inf


@pytest.mark.parametrize("law", ["gaussian", "student", "pareto", "lognormal", "mixture"])
def test_noise_has_mean_zero_and_variance_one(law):
    shape = 0.5 if law == "lognormal" else 10.0
    noise = draw_noise(law, shape, 400_000, np.random.default_rng(2))
    assert abs(noise.mean()) < 5 / np.sqrt(400_000)
    assert noise.var() == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("law", [*CONTINUOUS, *DISCRETE])
def test_columns_are_finite_and_vary(law):
    rng = np.random.default_rng(3)
    values = Column(law, 0.3 if law in DISCRETE else 3.0).bend(rng.standard_normal(5000), rng)
    assert np.isfinite(values).all()
    assert values.std() > 0
    assert law != "binary" or abs(values.mean() - 0.3) < 0.03


@pytest.mark.parametrize("kind", ["none", "ar", "factor", "block"])
def test_correlations_have_unit_variances(kind):
    mixing = correlation(kind, 0.6, 7, np.random.default_rng(4))
    assert np.allclose(np.diag(mixing.T @ mixing), 1.0)
