"""Localised descent in rounds: balls around the last answer, and rounds of their own records."""

import numpy as np
import pytest

import tailguard as tg
from support.recursions import consecutive, data, in_ball, penalised, without_noise
from tailguard.gate.plan import Problem
from tailguard.papers.solvers.localised import Localised
from tailguard.papers.solvers.phased_growth import DoublingLocalised, ShrinkingLocalised
from tailguard.papers.solvers.phases import doubling_sizes, equal_sizes, halving_sizes

LIMITS = {"clip_norm": 0.7, "row_limit": 2.0}
BOX = tg.sets.Box([-3.0] * 3, [3.0] * 3)
STEP = 2.0


def rounds(X, y, sizes, radii, smallest=32):
    w, points = np.zeros(X.shape[1]), []
    for (rows, targets), radius in zip(consecutive(X, y, sizes), radii, strict=True):
        project = in_ball(w, radius)
        parts = halving_sizes(len(rows), smallest)
        for index, part in enumerate(consecutive(rows, targets, parts), start=1):
            strength = 4.0**index / (STEP * parts[index - 1])
            w = penalised(w, *part, strength, project, **LIMITS)
            points.append(w)
    return np.array(points)


def test_shrinking_rounds_stay_in_balls_of_half_the_radius(monkeypatch):
    X, y = data(1000)
    solver = ShrinkingLocalised(radius=0.3, step_parameter=STEP, **LIMITS)
    solution = without_noise(solver, X, y, BOX, monkeypatch=monkeypatch)
    points = rounds(X, y, equal_sizes(1000), (0.3, 0.15))
    np.testing.assert_allclose(solution.trace, points, atol=1e-9)
    first = len(points) // 2
    assert np.linalg.norm(points[first - 1]) == pytest.approx(0.3)  # the ball is active
    assert np.linalg.norm(points[-1] - points[first - 1]) == pytest.approx(0.15)


@pytest.mark.parametrize("shrinks", [False, True])
def test_doubling_rounds_keep_their_radius_unless_told(shrinks, monkeypatch):
    X, y = data(1000)
    solver = DoublingLocalised(
        growth_bound=1.5, radius=0.3, shrinks=shrinks, step_parameter=STEP, **LIMITS
    )
    solution = without_noise(solver, X, y, BOX, monkeypatch=monkeypatch)
    sizes = doubling_sizes(1000, 1.5, 32)
    radii = [0.3 / 2**i if shrinks else 0.3 for i in range(len(sizes))]
    np.testing.assert_allclose(solution.trace, rounds(X, y, sizes, radii), atol=1e-9)


def test_radii_follow_from_the_set_or_from_what_is_stated():
    problem = Problem(tg.losses.LpLoss(4), 10_000, 3, constraint=tg.sets.L1Ball(1.0))
    radii = [part.radius for part in ShrinkingLocalised(diameter=0.8).rounds(problem)]
    assert radii == [0.8, 0.4, 0.2, 0.1]
    assert {part.radius for part in DoublingLocalised().rounds(problem)} == {2.0}
    halved = DoublingLocalised(growth_bound=1.5, radius=1.0, shrinks=True).rounds(problem)
    assert [part.radius for part in halved] == [1.0 / 2**i for i in range(6)]


def test_answers_stay_in_the_set_under_real_noise():
    X, y = data(600)
    constraint = tg.sets.L1Ball(0.5)
    for solver in (ShrinkingLocalised(), DoublingLocalised(growth_bound=1.5)):
        solved = tg.minimize(
            tg.losses.Huber(1.0),
            X,
            y,
            guarantee=tg.GDP(0.05),
            constraint=constraint,
            solver=solver,
            random_state=2,
        )
        for point in solved.solution.trace:
            assert constraint.contains(point)


def test_a_ball_within_a_ball_is_refused_by_the_plan():
    cut = tg.sets.IntersectionWithBall(tg.sets.L1Ball(1.0), (0.2, 0.0), 0.5)
    problem = Problem(tg.losses.Squared(), 1000, 2, constraint=cut)
    Localised().plan(problem, tg.GDP(1.0))
    with pytest.raises(tg.InputError, match="projection is exact"):
        ShrinkingLocalised().plan(problem, tg.GDP(1.0))


def test_planned_noise_allows_for_the_float_error_at_the_edge_of_a_ball():
    problem = Problem(tg.losses.Squared(), 10**6, 2, constraint=tg.sets.L1Ball(1.0))
    options = {"clip_norm": 1.0, "row_limit": 2.0, "step_parameter": 0.1}
    sizes = DoublingLocalised(**options).rounds(problem)
    inside, cut = (
        float(solver.plan(problem, tg.GDP(1.0)).settings["first_noise_std"])
        for solver in (
            DoublingLocalised(**options),
            DoublingLocalised(radius=0.5, **options),
        )
    )
    assert len(sizes) == 4
    assert inside < cut < 1.2 * inside
