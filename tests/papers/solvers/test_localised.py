"""Localised descent: its recursion, its schedules and what it refuses."""

import math

import numpy as np
import pytest

import tailguard as tg
from support.recursions import clipped_slope, consecutive, data, in_ball, penalised, without_noise
from support.spy import GENEROUS
from tailguard.gate.plan import Problem
from tailguard.papers.solvers.localised import Localised
from tailguard.papers.solvers.phased_growth import ShrinkingLocalised
from tailguard.papers.solvers.phases import halving_sizes, printed_halving_sizes

LIMITS = {"clip_norm": 0.7, "row_limit": 2.0}
SETS = {
    "inside": (tg.sets.L2Ball(5.0), lambda z: z),
    "edge": (tg.sets.L2Ball(0.4), lambda z: z / max(1.0, np.linalg.norm(z) / 0.4)),
}


def recursion(X, y, sizes, first_strengths, project, penalty=0.0):
    w = np.zeros(X.shape[1])
    points = []
    for (rows, targets), strength in zip(consecutive(X, y, sizes), first_strengths, strict=True):
        w = penalised(w, rows, targets, strength, project, penalty=penalty, **LIMITS)
        points.append(w)
    return np.array(points)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("penalty", [0.0, 0.3])
def test_without_noise_it_is_the_recursion_of_penalised_minimisers(name, penalty, monkeypatch):
    constraint, project = SETS[name]
    X, y = data(300)
    solver = Localised(step_parameter=0.2, penalty=penalty, **LIMITS)
    solution = without_noise(solver, X, y, constraint, monkeypatch=monkeypatch)
    sizes = halving_sizes(300, 32)
    pulls = [4.0**i / (0.2 * n) for i, n in enumerate(sizes, start=1)]
    points = recursion(X, y, sizes, pulls, project, penalty)
    assert len(points) == 3
    np.testing.assert_allclose(solution.trace, points, atol=1e-9)
    np.testing.assert_allclose(solution.coef, points[-1], atol=1e-9)


@pytest.mark.long
def test_the_printed_schedule_goes_down_to_single_records(monkeypatch):
    X, y = data(40)
    solver = Localised(schedule="printed", step_parameter=0.05, exponent=1.5, **LIMITS)
    solution = without_noise(solver, X, y, tg.sets.L2Ball(5.0), monkeypatch=monkeypatch)
    sizes = printed_halving_sizes(40)
    assert sizes == (20, 10, 5, 2, 1)
    powers = (3.0, 1.5, 1.5, 1.5, 1.5)
    pulls = [4.0 ** (i + 1) / (0.05 * n ** powers[i]) for i, n in enumerate(sizes)]
    points = recursion(X, y, sizes, pulls, lambda z: z)
    np.testing.assert_allclose(solution.trace, points, atol=1e-9)


def algorithm_2(w, X, y, eta, pull, n_steps, *maps):
    """Clipped regularised steps, each followed by the maps."""
    start = w
    for _ in range(n_steps):
        w = w - eta * (clipped_slope(w, X, y, **LIMITS) + pull * (w - start))
        for project in maps:
            w = project(w)
    return w


@pytest.mark.parametrize("bound", [50.0, 0.05])
def test_printed_steps_are_those_of_algorithm_2_in_balls_around_their_starts(bound):
    """Halves of the clip norm, 0.7, are above the second bound on slopes: its balls cut."""
    X, y = data(40)
    known = {"schedule": "steps", "step_parameter": 0.4}
    solver = Localised(**known, lipschitz_bound=bound, **LIMITS)
    found = without_noise(solver, X, y, tg.sets.L2Ball(0.4)).trace
    w, cuts = np.zeros(3), 0
    sizes = (20, 10, 5, 2, 1)
    for i, (rows, targets) in enumerate(consecutive(X, y, sizes), start=1):
        n = sizes[i - 1]
        eta, pull = 0.4 / 4**i, 4**i / (0.4 * n ** (2 if i == 1 else 1))
        reach = 2 * bound / pull
        maps = in_ball(np.zeros(3), 0.4), in_ball(w, reach)
        moved = algorithm_2(w, rows, targets, eta, pull, n**2 if i == 1 else n, *maps)
        cuts += np.linalg.norm(moved - w) > 0.99 * reach
        w = moved
        np.testing.assert_allclose(found[i - 1], w, atol=1e-7)
    assert (cuts > 0) == (bound < 0.35)


@pytest.mark.long
def test_printed_steps_in_rounds_stay_in_the_ball_of_the_round():
    X, y = data(301)
    known = {"schedule": "steps", "step_parameter": 0.4, "radius": 0.05}
    solver = ShrinkingLocalised(**known, lipschitz_bound=50.0, **LIMITS)
    found = iter(without_noise(solver, X, y, tg.sets.L2Ball(0.4)).trace)
    sizes, w = (75, 37, 18, 9, 4, 2, 1), np.zeros(3)  # of each of two rounds of 150 records
    parts = iter(consecutive(X, y, sizes * 2))
    for radius in (0.05, 0.025):
        maps = in_ball(np.zeros(3), 0.4), in_ball(w, radius)
        middle = w
        for i, n in enumerate(sizes, start=1):
            part = next(parts)
            eta, pull = 0.4 / 4**i, 4**i / (0.4 * n ** (2 if i == 1 else 1))
            w = algorithm_2(w, *part, eta, pull, n**2 if i == 1 else n, *maps)
            np.testing.assert_allclose(next(found), w, atol=1e-7)
        assert np.linalg.norm(w - middle) == pytest.approx(radius, rel=0.01)
    assert not [*found]


def test_an_intercept_is_a_feature_of_ones(monkeypatch):
    X, y = data(200)
    y = y + 0.8
    solver = Localised(step_parameter=0.2, **LIMITS)
    ones = np.column_stack([X, np.ones(200)])
    ball = tg.sets.L2Ball(5.0)
    fitted = without_noise(solver, X, y, ball, intercept=True, monkeypatch=monkeypatch)
    by_hand = without_noise(solver, ones, y, ball, monkeypatch=monkeypatch)
    np.testing.assert_allclose([*fitted.coef, fitted.intercept], by_hand.coef, atol=1e-9)


# The numbers of the card.


def test_printed_noise_is_always_enough_and_means_nothing_without_delta():
    problem = Problem(tg.losses.Squared(), 500, 1, constraint=tg.sets.L2Ball(1.0))
    solver = Localised(calibration="printed")
    for epsilon in (0.01, 1.0, 8.0, 30.0):
        guarantee = tg.ApproxDP(epsilon, 1e-5)
        assert solver.plan(problem, guarantee).total_mu < 0.5 * guarantee.gaussian_mu()
    with pytest.raises(tg.InputError, match="calibration must be 'tight' unless"):
        solver.plan(problem, tg.GDP(1.0))


def test_few_records_make_one_phase():
    problem = Problem(tg.losses.Squared(), 1, 1, constraint=tg.sets.L2Ball(1.0))
    for schedule in ("practical", "printed"):
        plan = Localised(schedule=schedule).plan(problem, tg.GDP(1.0))
        assert plan.settings["phase_sizes"] == "1"


def test_a_larger_budget_buys_a_larger_clip_level_up_to_the_largest_gradient():
    problem = Problem(tg.losses.Squared(), 5000, 3, constraint=tg.sets.L2Ball(1.0))
    levels = [
        float(Localised().plan(problem, tg.GDP(mu)).settings["clip_norm"]) for mu in (0.01, 0.1, 1)
    ]
    assert levels == sorted(set(levels))
    bounded = Problem(tg.losses.Logistic(), 5000, 3, constraint=tg.sets.L2Ball(1.0))
    assert Localised().plan(bounded, tg.GDP(100.0)).settings["clip_norm"] == pytest.approx(3.0)


# What is refused, before any budget is reserved.

CUT_BALL = tg.sets.Intersection(tg.sets.L1Ball(1.0), tg.sets.Box(-1, 1))


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        ({"loss": tg.losses.Poisson()}, "single score"),
        ({"loss": tg.losses.RecordGradient(lambda w, x, y: w)}, "single score"),
        ({"constraint": None}, "finite diameter"),
        ({"constraint": tg.sets.Box([0.0], [1.0])}, "vectors of 2 weights"),
        ({"constraint": CUT_BALL}, "projection is exact"),
        ({"has_offset": True}, "offset must be None"),
    ],
)
def test_what_the_proof_does_not_cover_is_refused_by_the_plan(problem, message):
    usual = {"loss": tg.losses.Squared(), "constraint": tg.sets.L2Ball(1.0)}
    with pytest.raises(tg.InputError, match=message):
        Localised().plan(Problem(n_rows=500, n_features=2, **{**usual, **problem}), tg.GDP(1.0))


def test_no_constraint_is_needed_where_the_solver_knows_the_diameter():
    X, y = data(300)
    solver = Localised(diameter=2.0, **LIMITS)
    solved = tg.minimize(
        tg.losses.Squared(), X, y, guarantee=GENEROUS, solver=solver, random_state=0
    )
    assert np.linalg.norm(solved.coef - [0.6, -0.4, 0.2]) < 0.3


def test_the_printed_schedule_without_a_lipschitz_bound_takes_the_largest_that_is_admitted():
    problem = Problem(tg.losses.Logistic(), 4_000, 3, constraint=tg.sets.L2Ball(1.0))
    known = {"schedule": "printed", "gradient_scale": 1.5, "moment_order": 2.0}
    reach = 0.5 * 4_000 / math.sqrt(3 * math.log(1e6) * math.log(4_000))
    steep = math.sqrt(4_000) * 1.5 * (1 / math.sqrt(4_000) + reach**-0.5)
    found, told = (
        Localised(**known, **more).phases(problem, 0.1, tg.ApproxDP(0.5, 1e-6))
        for more in ({}, {"lipschitz_bound": steep})
    )
    assert [each.strength for each in found] == pytest.approx([each.strength for each in told])
