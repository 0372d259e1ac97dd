"""Localisation on the population: its numbers, recursion, groups, noise and bound."""

import math
from itertools import pairwise

import numpy as np
import pytest

import tailguard as tg
from support.recursions import consecutive, data, penalised, without_noise
from tailguard.data.rows.arrays import make_rows
from tailguard.gate.plan import Problem
from tailguard.gate.stage import usable_mu
from tailguard.papers.asi2024 import PopulationLocalised
from tailguard.papers.instances.heavy_laws import ParetoLaw
from tailguard.papers.solvers.localised import nearest_to_most

LIMITS = {"clip_norm": 0.7, "row_limit": 2.0}
BALL = tg.sets.L2Ball(1.0)


def problem(n_rows, n_features=3):
    return Problem(tg.losses.Squared(), n_rows, n_features, constraint=BALL)


def derived(sizes, d, mu, k, r, spread, diameter):
    """Clip norms, and the risk as a function of the first strength, typed anew."""
    clips, errors = [], []
    for m in sizes:
        grid = r * np.geomspace(1e-3, 1e4, 200_001)
        bias = (k - 1) ** (k - 1) / k**k * r**k / grid ** (k - 1)
        a = np.sqrt(r**2 / m + bias**2 + d * (2 * grid / (m * mu)) ** 2)
        clips.append(grid[np.argmin(a)])
        errors.append(spread * a.min())
    strengths = [2 ** ((3 - 2 / k) * i) for i in range(len(sizes))]

    def risk(first):
        found = first * diameter**2 / 2
        for i, error in enumerate(errors[:-1]):
            found += strengths[i + 1] * first * (error / (strengths[i] * first)) ** 2 / 2
        return found + r * errors[-1] / (strengths[-1] * first)

    return clips, risk


@pytest.mark.parametrize(("k", "chance"), [(2.0, None), (3.0, None), (2.0, 0.1)])
def test_clip_norms_and_strengths_are_those_of_least_bound(k, chance):
    n, d, r, task = 40_000, 5, 1.7, problem(40_000, 5)
    solver = PopulationLocalised(
        row_limit=9.0, gradient_scale=r, moment_order=k, failure_probability=chance
    )
    groups = 1 if chance is None else math.ceil(8 * math.log(16 / chance))  # 16 digits
    assert solver.n_groups(n) == groups
    sizes = solver.phase_sizes(task)
    halves = [n // 2**i for i in range(2, 30) if n // 2**i >= 32 * groups]
    assert sizes == tuple(m // groups for m in (n - sum(halves), *halves))
    promise = tg.GDP(0.3)
    mu = usable_mu(promise, len(sizes) * groups * d)
    clips, risk = derived(sizes, d, mu, k, r, 1 if chance is None else 6, 2.0)
    phases = solver.phases(task, mu, promise)
    assert [each.clip_norm for each in phases] == pytest.approx(clips, rel=2e-4)
    first, bound = phases[0].strength, solver.excess_bound(task, promise)
    assert bound == pytest.approx(risk(first), rel=1e-6)
    assert bound < min(risk(0.9 * first), risk(1.1 * first))
    growth = [b.strength / a.strength for a, b in pairwise(phases)]
    assert growth == pytest.approx([2 ** (3 - 2 / k)] * len(growth))


@pytest.mark.parametrize(("k", "slope"), [(2.0, -0.5), (4.0, -0.75)])
def test_the_bound_has_the_published_rate(k, slope):
    """Where privacy costs, ``(sqrt(d) / (n epsilon))^(1 - 1/k)``; else the root of n."""

    def bound(n, d=4, mu=1e-5, order=k):
        solver = PopulationLocalised(row_limit=1e9, gradient_scale=1.0, moment_order=order)
        return solver.excess_bound(problem(n, d), tg.GDP(mu))

    assert math.log10(bound(10**8) / bound(10**7)) == pytest.approx(slope, abs=0.03)
    assert bound(10**8, mu=1e-6) / bound(10**7) == pytest.approx(1.0, abs=0.05)
    assert bound(10**8, d=400) / bound(10**7) == pytest.approx(1.0, abs=0.05)
    free = math.log10(bound(10**8, mu=100.0) / bound(10**7, mu=100.0))
    assert free == pytest.approx(-0.5, abs=0.02)


def test_without_noise_it_is_the_recursion_of_penalised_minimisers(monkeypatch):
    X, y = data(300)
    solver = PopulationLocalised(step_parameter=0.5, **LIMITS)
    ball = tg.sets.L2Ball(5.0)
    found = without_noise(solver, X, y, ball, monkeypatch=monkeypatch).trace
    w, sizes = np.zeros(3), (300 - 75 - 37, 75, 37)
    assert len(found) == 3
    for i, part in enumerate(consecutive(X, y, sizes)):
        w = penalised(w, *part, 2.0 * 4.0**i, **LIMITS)
        np.testing.assert_allclose(found[i], w, atol=1e-9)


def test_a_phase_goes_on_from_the_group_that_most_are_near_to(monkeypatch):
    X, y = data(200)
    y[::7] += 50.0  # some groups end elsewhere
    monkeypatch.setattr(PopulationLocalised, "n_groups", lambda _self, _n_rows: 5)
    solver, groups = PopulationLocalised(step_parameter=0.5, smallest_phase=5, **LIMITS), 5
    ball = tg.sets.L2Ball(5.0)
    found = without_noise(solver, X, y, ball, monkeypatch=monkeypatch).trace
    sizes = solver.phase_sizes(problem(200))
    assert len(sizes) == len(found) == 3
    parts = iter(consecutive(X, y, [m for m in sizes for _ in range(groups)]))
    w = np.zeros(3)
    for i in range(3):
        ends = [penalised(w, *next(parts), 2.0 * 4.0**i, **LIMITS) for _ in range(groups)]
        spans = [sorted(np.linalg.norm(end - other) for other in ends) for end in ends]
        w = ends[min(range(groups), key=lambda g: spans[g][groups // 2])]
        np.testing.assert_allclose(found[i], w, atol=1e-8)


@pytest.mark.parametrize("count", [1, 2, 5, 24])
def test_the_chosen_point_is_within_three_radii_of_where_most_are(count):
    rng = np.random.default_rng(count)
    for _ in range(300):
        middle, spread = rng.standard_normal(3), rng.exponential(size=2)
        near = rng.standard_normal((count // 2 + 1, 3))
        near *= spread[0] / np.linalg.norm(near, axis=1)[:, None]
        far = rng.choice([-1, 1], (count - len(near), 1)) * spread[1] * 3.0
        points = np.vstack([middle + near, middle + far + 0.0 * near[: len(far)]])
        chosen = nearest_to_most(rng.permutation(points))
        assert np.linalg.norm(chosen - middle) <= 3.0 * spread[0] * (1.0 + 1e-9)


def moved(solver, n_rows):
    """How far one record moves the answer of a group, and what the first phase says of it."""
    task = problem(n_rows, 1)
    (phase, *_) = solver.phases(task, 1.0, tg.GDP(1.0))
    query = solver._query(task, phase, np.zeros(1), np.zeros(1))
    calibration, ends = query.calibrate(phase.n_rows, 1, 1.0), []
    for far in (-1e300, 1e300):
        X, y = np.full((phase.n_rows, 1), 1e-3), np.zeros(phase.n_rows)
        X[5], y[5] = 1.0, far
        answer = query.answer(make_rows(X, y), np.zeros(1), calibration)
        ends.append(float(answer[0]) * calibration.grid)
    return abs(ends[1] - ends[0]), 2.0 * phase.clip_norm / (phase.n_rows * phase.strength)


@pytest.mark.parametrize("chance", [None, 0.1])
def test_one_record_moves_a_group_by_its_sensitivity_and_no_more(chance):
    solver = PopulationLocalised(
        row_limit=1.0, clip_norm=0.5, step_parameter=0.2, failure_probability=chance
    )
    far, stated = moved(solver, 4_000)
    assert 0.95 * stated < far <= stated * (1.0 + 1e-6)


def test_the_noise_of_a_group_has_the_scale_of_its_promise():
    """Zeros show it: 400 coordinates, of which scales of 0.8 and 1.25 would be told."""
    n, d, promise = 3_000, 400, tg.GDP(0.7)
    solver = PopulationLocalised(row_limit=1.0, clip_norm=1.0, diameter=1.0, smallest_phase=n)
    solved = tg.minimize(
        tg.losses.Squared(), np.zeros((n, d)), np.zeros(n), guarantee=promise, random_state=1,
        constraint=tg.sets.L2Ball(10.0), solver=solver, check_records=False,
    )  # fmt: skip
    strength = float(solved.plan.settings["first_strength"])
    scale = 2.0 / (n * strength * 0.7)
    spread = math.sqrt(np.mean(solved.coef**2)) / scale
    assert 0.88 < spread < 1.12  # three standard errors of a root mean square of 400
    assert solved.certificate.total.mu <= 0.7


@pytest.mark.parametrize(("chance", "n_rows"), [(None, 20_000), (0.5, 60_000)])
def test_the_bound_holds_for_heavy_tails(chance, n_rows):
    """Linear regression on signs, with Pareto's residuals: a gradient has the moment 6.5 at most.

    That is twice the mean square of a residual on the ball, ``1 + |w - w*|^2``.
    """
    truth, law, excesses, promise = np.array([0.3, 0.4]), ParetoLaw(2.0), [], tg.GDP(1.0)
    known = {"row_limit": 1.5, "gradient_scale": math.sqrt(6.5), "moment_order": 2.0}
    solver = PopulationLocalised(failure_probability=chance, **known)
    for seed in range(8 if chance is None else 3):
        rows = np.random.default_rng(seed).choice([-1.0, 1.0], (n_rows, 2))
        target = rows @ truth + law.sample(n_rows, 1, seed=seed)[:, 0]
        solved = tg.minimize(
            tg.losses.Squared(), rows, target, guarantee=promise, constraint=BALL, solver=solver,
            random_state=seed, check_records=False,
        )  # fmt: skip
        excesses.append(np.sum((solved.coef - truth) ** 2) / 2.0)
    bound = solver.excess_bound(problem(n_rows, 2), promise)
    found = np.mean(excesses) if chance is None else max(excesses)
    assert found < bound
    assert found < 0.06  # zero weights leave 0.125


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"schedule": "printed"}, "schedule must be one of 'practical'"),
        ({"calibration": "printed"}, "calibration must be one of 'tight'"),
        ({"moment_order": 1.5}, "moment_order must be a number of at least 2"),
        ({"failure_probability": 0.7}, "failure_probability must be a number above 0 and at most"),
    ],
)
def test_what_it_cannot_is_refused(told, words):
    with pytest.raises(tg.InputError, match=words):
        PopulationLocalised(**told)


def test_moments_of_any_order_have_a_finite_bound():
    bounds = [
        PopulationLocalised(row_limit=2.0, moment_order=order).excess_bound(
            problem(10**6), tg.GDP(0.5)
        )
        for order in (100.0, 140.0, 144.0, 1e3, 1e6)
    ]
    assert max(bounds) < 1.01 * bounds[0]
    assert min(bounds) > 0.5 * bounds[0]


def test_a_power_beyond_the_floats_is_one_sentence():
    solver = PopulationLocalised(row_limit=2.0, moment_order=1e3, clip_norm=1e-3)
    for call in (solver.plan, solver.excess_bound):
        with pytest.raises(
            tg.InputError, match=r"overflow.*moment_order = 1000.*clip_norm = 0.001"
        ):
            call(problem(10**6), tg.GDP(0.5))


def test_few_records_make_one_phase_of_small_groups():
    solver = PopulationLocalised(failure_probability=0.1)
    assert solver.n_groups(5) == 5
    assert solver.phase_sizes(problem(5)) == (1,)
    plan = solver.plan(problem(90), tg.GDP(1.0))
    assert plan.stages[0].n_blocks == plan.settings["groups"] == math.ceil(8 * math.log(70))
