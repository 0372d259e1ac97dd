"""Scores: what they say of models, how far one record moves them, and where units come from."""

from dataclasses import replace

import numpy as np
import pytest

import tailguard as tg
from tailguard.data.rows.arrays import make_rows
from tailguard.estimators.search.plan import UNSEEN, LossScore, find_score, score_units_plan
from tailguard.gate import Gate
from tailguard.gate.plan import Problem, Solution
from tailguard.gate.stage import Stage
from tailguard.privacy.calibration import LARGEST_SHARE

RNG = np.random.default_rng(0)
N_ROWS = 600
X = 5.0 + 3.0 * RNG.standard_normal((N_ROWS, 2))
TARGETS = {
    "squared": (tg.losses.Squared(), X @ [1.0, -2.0] + 40.0 + RNG.standard_normal(N_ROWS)),
    "logistic": (tg.losses.Logistic(), (X[:, 0] > RNG.normal(3.0, 2.0, N_ROWS)) * 1.0),
    "poisson": (tg.losses.Poisson(), RNG.poisson(np.exp(0.2 * X[:, 1])) * 1.0),
}
COEF, INTERCEPT = np.array([0.1, 0.2]), -0.3
BOUNDS = np.array([[2.0, 9.0], [-np.inf, np.inf]])
EVERY = pytest.mark.parametrize("name", TARGETS)


def solution_of(coef, intercept, bounds=None):
    nothing = np.full(2, np.nan)
    return Solution(coef, intercept, None, nothing, np.nan, np.zeros((0, 3)), feature_bounds=bounds)


def score_in_units(name):
    loss, _ = TARGETS[name]
    units = {"squared": {"target_center": 36.0, "target_scale": 7.0}, "poisson": {}}
    units["logistic"], units["poisson"] = {"constant": 0.4}, {"target_scale": 3.0}
    return LossScore(loss, Stage("score", "loss", 0.5, 1, 1), 2, **units[name])


def by_hand(name, coef, intercept, bounds):
    """The clipped mean difference, worked out record by record in the user's units."""
    loss, y = TARGETS[name]
    score = score_in_units(name)
    read = X if bounds is None else np.clip(X, bounds[:, 0], bounds[:, 1])
    scores = read @ coef + intercept
    if name == "squared":
        scores, y = (scores - 36.0) / 7.0, (y - 36.0) / 7.0
    if name == "poisson":
        scores, y = scores - np.log(3.0), y / 3.0
    differences = loss.value(scores, y) - loss.value(np.full(N_ROWS, score.constant), y)
    return float(np.clip(differences, -score.limit, score.limit).mean())


def asked(name, solution, mu=1e4):
    """The score with hardly any noise."""
    loss, y = TARGETS[name]
    score = score_in_units(name)
    query, state = score.question(solution)
    calibration = query.calibrate(N_ROWS, 2, mu)
    answer = query.answer(make_rows(X, y, loss=loss), state, calibration)
    return float(query.finish(answer * calibration.grid, N_ROWS)[0])


@EVERY
@pytest.mark.parametrize("bounds", [None, BOUNDS])
def test_a_score_is_the_clipped_mean_difference(name, bounds):
    solution = solution_of(COEF, INTERCEPT, bounds)
    if bounds is not None:
        solution = replace(solution, coef=np.array([0.1, 0.0]))
    expected = by_hand(name, solution.coef, INTERCEPT, bounds)
    assert asked(name, solution) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("bounded", [True, False])
def test_a_score_is_of_what_the_model_predicts_within_its_bounds(bounded):
    """As ``predict``, and so ``private_score``: a far row of a log link counts as the bound."""
    loss, y = TARGETS["poisson"]
    solution = solution_of(np.array([0.7, 0.0]), 0.0, BOUNDS)
    solution = replace(solution, score_bounds=(2.5, 3.5))
    score = replace(score_in_units("poisson"), bounded=bounded)
    query, state = score.question(solution)
    calibration = query.calibrate(N_ROWS, 2, 1e4)
    answer = query.answer(make_rows(X, y, loss=loss), state, calibration)
    scores = (np.clip(X, *BOUNDS.T) if bounded else X) @ solution.coef
    scores = np.clip(scores, 2.5, 3.5) if bounded else scores
    differences = loss.value(scores - np.log(3.0), y / 3.0) - loss.value(0.0, y / 3.0)
    expected = np.clip(differences, -score.limit, score.limit).mean()
    assert query.finish(answer * calibration.grid, N_ROWS)[0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("extrapolate", ["bounded", "linear"])
def test_a_search_scores_as_its_models_predict(extrapolate, monkeypatch):
    asked = []
    question = LossScore.question
    monkeypatch.setattr(
        LossScore, "question", lambda *given: asked.append(given[0].bounded) or question(*given)
    )
    search = tg.PrivateSearch(
        tg.LinearRegression(extrapolate=extrapolate), [{}], epsilon=9.0, delta=1e-5, random_state=0
    )
    search.fit(X, TARGETS["squared"][1])
    assert asked
    assert {*asked} == {extrapolate == "bounded"}


@EVERY
def test_one_record_moves_a_score_by_two_limits_over_n_and_one_does(name):
    """Worst replacements: targets and features of any size, and void records."""
    loss, y = TARGETS[name]
    score = score_in_units(name)
    query, state = score.question(solution_of(COEF, INTERCEPT))
    calibration = query.calibrate(N_ROWS, 2, 1.0)
    values = [0.0, 1.0] if name == "logistic" else [0.0, 1.0, 50.0, 1e9, 1e300]
    values += [] if name != "squared" else [-1e9, -1e300]
    answers = []
    for target in (*values, np.nan):
        for x in (0.0, 50.0, -50.0, 1e9, -1e9, 1e300, np.inf):
            rows, targets = X.copy(), y.copy()
            rows[0], targets[0] = x, target
            answer = query.answer(make_rows(rows, targets, loss=loss), state, calibration)
            answers.append(float(answer[0]) * calibration.grid)
    moved = max(answers) - min(answers)
    assert moved <= calibration.charged
    assert moved >= 0.9 * calibration.sensitivity.ideal
    assert calibration.sensitivity.ideal == 2.0


@EVERY
def test_units_come_from_the_records_and_are_booked(name):
    loss, y = TARGETS[name]
    plan = score_units_plan(Problem(loss, N_ROWS, 2, intercept=True), 3.0)
    assert plan.total_mu <= 3.0 * (1 + 1e-9)
    gate = Gate.over(X, y, guarantee=tg.GDP(3.1), loss=loss, random_state=0)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    score, note = find_score(plan, gate, loss, Stage("score", "loss", 0.1, 1, 1))
    assert note is None
    if name == "squared":
        assert abs(score.target_center - np.median(y)) < 3.0
        assert 0.5 < score.target_scale / y.std() < 2.0
    elif name == "poisson":
        assert 0.7 < score.target_scale / y.mean() < 1.4
    else:
        assert abs(score.constant - np.log(y.mean() / (1 - y.mean()))) < 0.3


def test_a_target_that_is_not_seen_is_said():
    loss, y = TARGETS["squared"]
    plan = score_units_plan(Problem(loss, N_ROWS, 2), 1e-3)
    gate = Gate.over(X, y, guarantee=tg.GDP(1.0), loss=loss, random_state=0)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    score, note = find_score(plan, gate, loss, Stage("score", "loss", 0.1, 1, 1))
    assert note == UNSEEN
    assert np.isfinite([score.target_center, score.target_scale, score.limit]).all()


@pytest.mark.parametrize("size", [1e-300, 1e-9, 1e9, 1e90])
def test_models_of_any_size_are_scored_or_refused_as_any_question_is(size):
    solution = solution_of(COEF * size, INTERCEPT * size)
    assert abs(asked("squared", solution, mu=1.0)) <= score_in_units("squared").limit


def test_scores_fit_the_lattice():
    assert score_in_units("squared").stage.mu < LARGEST_SHARE
