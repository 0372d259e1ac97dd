"""Public numbers of minimisers: float errors, accuracy, steps and searches; what is refused."""

import math
from dataclasses import replace

import numpy as np
import pytest

import tailguard as tg
from support.known import outcome
from tailguard.kernels.chunks import CHUNK_ROWS
from tailguard.queries import certified
from tailguard.queries.accuracy import accuracy_of
from tailguard.queries.block_minimiser import BlockMinimiser, no_estimate
from tailguard.queries.certified import StepFacts, certified_point, descended
from tailguard.queries.clipped_minimiser import ClippedMinimiser
from tailguard.queries.float_error import gradient_error, is_cut_by_ball, point_roundoff
from tailguard.queries.units import Units
from tailguard.rows.arrays import make_rows

BALL, BOX, L1 = tg.sets.L2Ball(2.0), tg.sets.Box([-1.0] * 3, [0.5] * 3), tg.sets.L1Ball(1.5)
SETS = {
    "space": tg.sets.WholeSpace(),
    "ball": BALL,
    "box": BOX,
    "l1": L1,
    "simplex": tg.sets.Simplex(),
    "far ball": tg.sets.L2Ball(1.0, center=[5.0, 0.0, 0.0]),
    "cut": tg.sets.IntersectionWithBall(L1, [0.5, 0.0, 0.0], radius=0.25),
}
NUMBERS = {"move": 0.01, "curvature_ratio": 9.0, "gradient_travel": 1.0}
BAD = (0.0, -1.0, math.inf, math.nan, None)
HALF = Units.raw(3, intercept=False)


def test_float_errors(known):
    losses = (tg.losses.Squared(), tg.losses.Logistic(), tg.losses.LpLoss(3.0))
    sizes = {"size": 5, "clip_norm": 1.5, "row_limit": 2.0, "grid": 2.0**-36}
    known(
        [
            [point_roundoff(size) for size in (1, 2, 10, 1000)],
            [
                gradient_error(loss, n_rows=n, **sizes)
                for loss in losses
                for n in (1, 50, CHUNK_ROWS, CHUNK_ROWS + 1, 10**7)
            ],
            [outcome(is_cut_by_ball, each) for each in SETS.values()],
            outcome(is_cut_by_ball, tg.sets.Intersection(BALL, L1)),
            outcome(is_cut_by_ball, tg.sets.SparseBall(1)),
            outcome(
                is_cut_by_ball,
                tg.sets.IntersectionWithBall(tg.sets.Intersection(BALL, L1), [0.0] * 3, 1.0),
            ),
            outcome(is_cut_by_ball, None),
        ]
    )


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("shortening", [0.5, 0.01, 1e-7])
def test_accuracy(known, name, shortening):
    facts = StepFacts(shortening, min(3.0, SETS[name].diameter()))
    known(
        [
            accuracy_of(facts, SETS[name], size=3, gradient_off=off, most_steps=most,
                        **NUMBERS | {"move": move})
            for off in (1e-12, 1e-4) for most in (5, 1000, 10**6) for move in (1e-8, 0.3)
        ]
    )  # fmt: skip


def test_steps(known):
    facts = [StepFacts(s, t) for s in (1e-9, 0.2, 0.999) for t in (1e-3, 2.0)]
    known(
        [
            [[each.steps_to(d) for d in (1e-9, 0.5, 1.999, 2.0, 3.0)] for each in facts],
            [[each.progress(n) for n in (0, 1, 7, 10**6)] for each in facts],
        ]
    )
    two = StepFacts(0.25, 2.0)
    step = np.array([3.0, 4.0])
    ends = (15.0, math.nextafter(15.0, 0.0), math.nan)
    assert [two.reached(step, end) for end in ends] == [True, False, False]
    points = (4.0, math.nextafter(4.0, 5.0), math.nan)
    assert [two.allows(np.array([point])) for point in points] == [True, False, False]


def towards(matrix, goal, rate):
    return lambda point: point - rate * (matrix @ (point - goal))


SKEWED = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 0.1]])
GOAL = np.array([0.5, -1.0, 2.0])


@pytest.mark.parametrize("search", ["_mixed", "_accelerated"])
@pytest.mark.parametrize("distance", [1e-1, 1e-4, 1e-9])
def test_searches(known, search, distance):
    facts = StepFacts(0.4 * float(np.linalg.eigvalsh(SKEWED)[0]), 3.0)
    step, visited = towards(SKEWED, GOAL, 0.4), []

    def counted(point):
        visited.append(point)
        return step(point)

    found = getattr(certified, search)(counted, np.zeros(3), facts, distance)
    assert np.linalg.norm(found - GOAL) <= distance
    n_first = min(len(visited), 12)
    known([len(visited), visited[:n_first]], rel=1e-6, absolute=1e-9)


def test_searches_that_fail(known):
    wild, nowhere = (lambda point: 9.0 * np.abs(point) + 1.0), (lambda point: point * math.nan)
    facts = StepFacts(0.5, 2.0)
    searches = (certified._mixed, certified._accelerated)
    found = [search(step, np.zeros(2), facts, 1e-9) for search in searches
             for step in (wild, nowhere)]  # fmt: skip
    assert [each is None for each in found] == [True] * 4
    slow = StepFacts(1e-12, 1e9)
    asked = []
    creep = lambda point: asked.append(1) or point + 1.0  # noqa: E731
    assert certified._accelerated(creep, np.zeros(1), slow, 1e-9) is None
    known([len(asked), certified_point(nowhere, 2, facts, 0.5), descended(wild, 2, 5)])


def test_a_point_is_found_by_descent_where_no_search_ends():
    """Steps of one length all round: nothing to mix, and momentum runs away."""
    asked = []

    def turning(point):
        asked.append(point)
        return np.array([0.3, 0.1]) + 0.5 * np.array([-point[1], point[0]])

    found = certified_point(turning, 2, StepFacts(0.5, 1.0), 1e-6)
    assert np.linalg.norm(found - turning(found)) <= 1e-6


def minimiser(loss=None, **changed):
    given = {"strength": 0.1, "clip_norm": 1.0, "row_limit": 3.0} | changed
    return ClippedMinimiser(loss or tg.losses.Logistic(), HALF, **given)


@pytest.mark.parametrize("name", SETS)
def test_public_numbers(known, name):
    queries = [
        minimiser(constraint=SETS[name], **given)
        for given in ({}, {"strength": 5.0}, {"step_size": 0.1}, {"most_steps": 3})
    ]
    known(
        [
            [q.curvature, q.step, q.facts, q.parameters(), q._widest, q._grid, q.accuracy(50),
             *(q.sensitivity(n, 3) for n in (1, 50, 10**6)),
             q.center(np.array([0.1, 0.2, -0.3]), 50), q.center(np.full(3, 1e9), 50)]
            for q in queries
        ]
    )  # fmt: skip


def test_a_step_never_goes_the_whole_way():
    """Else no error could be told in units of what a step shortens."""
    assert minimiser(strength=1e18).facts.shortening == 1.0 - 2.0**-50
    nearly = minimiser(strength=1e18, step_size=1e-18 * (1.0 - 2.0**-40))
    assert nearly.facts.shortening == pytest.approx(1.0 - 2.0**-40, abs=2.0**-52)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("most_steps", [3, 10**6])
def test_answers(known, name, most_steps):
    query = minimiser(constraint=SETS[name], most_steps=most_steps, strength=0.5)
    rng = np.random.default_rng(1)
    rows = make_rows(rng.standard_t(2.0, (30, 3)), (rng.random(30) < 0.4).astype(float),
                     loss=query.loss)  # fmt: skip
    calibration = query.calibrate(30, 3, 1.0)
    found = [query.answer(rows, state, calibration) * calibration.grid
             for state in (np.zeros(3), np.array([0.3, -2.0, 50.0]))]  # fmt: skip
    tolerance = calibration.sensitivity.ideal * 2e-3 + 1e-9
    known(found, rel=1e-6, absolute=1e-6 if most_steps == 3 else tolerance)


def test_refusals(known):
    limit = 2.0 / (minimiser().curvature + 2.0 * 0.1)
    steps = (limit, math.nextafter(limit, 1.0), 1.001 * limit, *BAD[:-1])
    rows = make_rows(np.ones((4, 3)), np.ones(4), exposure=np.ones(4), loss=tg.losses.Poisson())
    query = minimiser()
    known(
        [
            *(str(outcome(minimiser, **{name: bad}))
              for name in ("strength", "clip_norm", "row_limit") for bad in BAD),
            *(str(outcome(minimiser, step_size=bad)) for bad in steps),
            *(str(outcome(minimiser, most_steps=bad)) for bad in (0, -1, 1.5, None)),
            *(str(outcome(minimiser, loss)) for loss in
              (tg.losses.Poisson(), tg.losses.Quantile(0.5), tg.losses.Multinomial(3), 3)),
            str(outcome(minimiser, constraint=tg.sets.SparseBall(1))),
            outcome(query.answer, rows, np.zeros(3), query.calibrate(4, 3, 1.0)),
            outcome(query.calibrate_pure, 4, 3, 1.0),
        ]
    )  # fmt: skip


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("ridge", [1e-9, 0.3])
def test_minimisers_of_blocks(known, ridge, intercept):
    rng = np.random.default_rng(3)
    features, target = rng.standard_normal((30, 2)), rng.standard_normal(30) + 2.0
    fit = BlockMinimiser(tg.losses.Squared(), intercept=intercept, ridge=ridge)
    found = fit(features, target)
    design = np.column_stack([features, np.ones(30)][: 1 + intercept])
    normal = design.T @ design / 30 + 2.0 * ridge * np.eye(design.shape[1])
    np.testing.assert_allclose(found, np.linalg.solve(normal, design.T @ target / 30), atol=1e-4)
    known(replace(fit, loss=tg.losses.Huber(0.7))(features, target), rel=1e-3, absolute=1e-4)
    assert no_estimate(features, target).shape == (0,)
