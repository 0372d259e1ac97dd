"""Searches for a fixed point: what is returned is certified, whatever the steps do."""

import math
from dataclasses import replace

import numpy as np
import pytest

from support.attack import attack
from support.examples import query_examples
from tailguard.queries import certified_descent as descent
from tailguard.queries.certified_descent import StepFacts, certified_point, descended

HESSIAN = np.diag([1.0, 20.0, 99.0])
OPTIMUM = np.array([0.5, -0.25, 0.125])
STRENGTH = 1.0
STEP_SIZE = 1.0 / 100.0
FACTS = StepFacts(shortening=STEP_SIZE * STRENGTH, travel=2.0)
DISTANCE = 1e-9


def step(point):
    return point - STEP_SIZE * (HESSIAN @ (point - OPTIMUM))


def test_every_search_ends_as_close_as_it_says(monkeypatch):
    searches = ("_mixed", "_accelerated")
    for forgotten in range(len(searches) + 1):
        for name in searches[:forgotten]:
            monkeypatch.setattr(descent, name, lambda *_: None)
        found = certified_point(step, 3, FACTS, DISTANCE)
        assert np.linalg.norm(found - OPTIMUM) <= DISTANCE


@pytest.mark.parametrize("search", [descent._mixed, descent._accelerated])
def test_fast_searches_take_far_fewer_steps_than_plain_descent(search):
    taken = []

    def counted(point):
        taken.append(point)
        return step(point)

    assert search(counted, np.zeros(3), FACTS, DISTANCE) is not None
    assert len(taken) < FACTS.steps_to(DISTANCE) / 5


def test_two_steps_along_a_line_tell_where_it_ends_and_a_third_one_certifies_it():
    asked = []

    def halved(point):
        asked.append(point)
        return (point + 1.0) / 2.0

    found = descent._mixed(halved, np.zeros(1), StepFacts(0.5, 2.0), DISTANCE)
    assert abs(found[0] - 1.0) <= DISTANCE
    assert len(asked) == 3


def test_after_a_step_uphill_the_next_one_has_no_momentum():
    asked, ends = [], [np.zeros(3)]

    def noted(point):
        asked.append(point)
        ends.append(step(point))
        return ends[-1]

    descent._accelerated(noted, ends[0], FACTS, DISTANCE)
    moves = zip(asked, ends, ends[1:], asked[1:], strict=False)
    after = [
        np.array_equal(then, end) for at, old, end, then in moves if (at - end) @ (end - old) > 0
    ]
    assert after
    assert all(after)


def test_the_steps_of_plain_descent_suffice_and_half_of_them_do_not():
    """Along the flattest direction the bound is attained."""
    start = np.array([FACTS.travel, 0.0, 0.0])
    n_steps = FACTS.steps_to(1e-3)
    ends = [
        descended(lambda v: step(v + OPTIMUM - start) - OPTIMUM + start, 3, n) - start
        for n in (n_steps, n_steps // 2)
    ]
    assert np.linalg.norm(ends[0]) <= 1e-3 < np.linalg.norm(ends[1])
    assert FACTS.progress(n_steps) == pytest.approx(1 - np.linalg.norm(ends[0]) / FACTS.travel)


def test_as_many_steps_as_shorten_the_way_enough():
    """Each halves the rest of a way of 2: so ``ceil(log2(2 / distance))``, and one at least."""
    facts = StepFacts(0.5, 2.0)
    assert [facts.steps_to(each) for each in (3.0, 2.0, 1.9, 0.9, 0.3)] == [1, 1, 1, 2, 3]


def erratic(point):
    """Looks like progress towards nothing: a step of random length and direction."""
    seed = abs(hash(point.tobytes())) % 2**32
    return point + np.random.default_rng(seed).standard_normal(point.size)


@pytest.mark.parametrize(
    "bad", [lambda v: v * np.nan, lambda v: v + np.inf, lambda v: v * 1e300 + 1e300, erratic]
)
def test_steps_that_lead_nowhere_never_raise_and_are_not_believed(bad):
    with np.errstate(all="ignore"):
        for search in (descent._mixed, descent._accelerated):
            assert search(bad, np.zeros(3), FACTS, DISTANCE) is None
        assert certified_point(bad, 3, StepFacts(0.5, 1.0), 0.1).shape == (3,)


def test_steps_that_all_agree_have_no_changes_to_mix():
    """All differences of steps are zero; nothing is to be cancelled."""
    assert descent._mixed(lambda v: v + 1e-3, np.zeros(3), StepFacts(1e-3, 2.0), 1e-9) is None


def test_a_certificate_is_believed_only_up_to_its_distance():
    facts = StepFacts(shortening=0.1, travel=1.0)
    assert facts.reached(np.array([0.001, 0.0]), 0.009000001)
    assert not facts.reached(np.array([0.001, 0.0]), 0.008999)
    assert not facts.reached(np.array([np.nan, 0.0]), 1.0)
    assert facts.steps_to(1.0) == facts.steps_to(5.0) == 1


@pytest.mark.parametrize(
    ("search", "limit"),
    [
        (descent._mixed, "MIXED_STEPS"),
        (descent._accelerated, "ACCELERATED_STEPS"),
    ],
)
def test_a_search_that_runs_out_of_steps_finds_nothing(search, limit, monkeypatch):
    monkeypatch.setattr(descent, limit, 2)
    assert search(step, np.zeros(3), FACTS, DISTANCE) is None


def test_moves_that_cannot_be_solved_for_end_the_mixing_alone(monkeypatch):
    def singular(*_, **options):
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(np.linalg, "lstsq", singular)
    assert descent._mixed(step, np.zeros(3), FACTS, DISTANCE) is None
    found = certified_point(step, 3, FACTS, DISTANCE)
    assert np.linalg.norm(found - OPTIMUM) <= DISTANCE


def test_the_ends_of_what_facts_allow():
    """A step of 5 may lie ``5 / 0.25 - 5`` from the fixed point; a point ``2 * travel`` off."""
    facts = StepFacts(0.25, 2.0)
    ends = (15.0, math.nextafter(15.0, 0.0), math.nan)
    assert [facts.reached(np.array([3.0, 4.0]), end) for end in ends] == [True, False, False]
    points = (4.0, math.nextafter(4.0, 5.0), math.nan)
    assert [facts.allows(np.array([point])) for point in points] == [True, False, False]


def test_lengths_whose_squares_vanish_are_lengths_all_the_same():
    facts = StepFacts(shortening=0.5, travel=1e-160)
    assert not facts.reached(np.array([3e-170, 4e-170]), 4e-170)
    assert facts.reached(np.array([3e-170, 4e-170]), 6e-170)
    assert not facts.allows(np.array([3e-160]))
    (squared,) = (each for each in query_examples() if each.name == "clipped-minimiser/squared")
    tiny = replace(squared, query=replace(squared.query, clip_norm=1e-100))  # the least allowed
    assert attack(tiny, 50, seed=3) <= 1.0
