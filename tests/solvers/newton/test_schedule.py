"""Rounds in phases: how the budget that is left to them is shared out."""

import math
import re

import numpy as np
import pytest

import tailguard as tg
from tailguard.gate.plan import Problem
from tailguard.solvers.newton.allocation import shares_for
from tailguard.solvers.newton.schedule import (
    EARLY_ROUNDS_SHARE,
    Shares,
    stages_before,
    stages_for,
)
from tailguard.solvers.newton.solver import WhitenedNewton

PROBLEM = Problem(tg.losses.Squared(), n_rows=10_000, n_features=5, intercept=True)
every_grouping = pytest.mark.parametrize("rounds", [(1, 1, 2, 4), (8, 8, 16, 32), (3,), (2, 5)])


def rounds_in(shares, total_mu=0.7):
    stages = stages_for(PROBLEM, shares, total_mu)
    phases = {stage.phase: stage for stage in stages}
    return [phases[phase] for phase in range(len(shares.rounds))]


@every_grouping
def test_all_stages_together_spend_the_total_and_rounds_what_is_left(rounds):
    shares = Shares(rounds=rounds, fit_choice=0.04)
    spent = sum(stage.total_mu**2 for stage in stages_for(PROBLEM, shares, 0.7))
    assert spent == pytest.approx(0.7**2)
    before = sum(stage.total_mu**2 for stage in stages_before(PROBLEM, shares, 0.7))
    in_rounds = rounds_in(shares)
    assert sum(stage.total_mu**2 for stage in in_rounds) == pytest.approx(0.7**2 - before)
    assert tuple(stage.times for stage in in_rounds) == rounds


@every_grouping
def test_the_squared_mu_of_a_round_grows_with_its_number(rounds):
    """Within a phase all have the same, in proportion to the middle of the phase."""
    ends = np.cumsum((0, *rounds))
    squared = np.array([stage.mu**2 for stage in rounds_in(Shares(rounds=rounds))])
    np.testing.assert_allclose(squared / squared[0], (ends[:-1] + ends[1:]) / ends[1])
    assert (np.diff(squared) > 0.0).all()


def test_rounds_of_a_sample_get_a_tenth_of_that():
    shares = Shares(rounds=(4, 4, 8, 6), sample=1_000, early=3)
    plain = rounds_in(Shares(rounds=(4, 4, 8, 6)))
    sampled = rounds_in(shares)
    ratios = np.array([a.mu**2 / b.mu**2 for a, b in zip(sampled, plain, strict=True)])
    np.testing.assert_allclose(ratios[:3] / ratios[3], EARLY_ROUNDS_SHARE)


@pytest.mark.parametrize(("mu", "rounds"), [(0.19, 64), (0.21, 32)])
def test_squares_that_are_corrected_take_half_as_many(mu, rounds):
    problem = Problem(tg.losses.Squared(), n_rows=10_000, n_features=5, intercept=True)
    shares = shares_for(problem, mu)
    assert (sum(shares.rounds), shares.correction > 0.0) == (rounds, rounds == 32)


@pytest.mark.parametrize("moments", [0.9, 1.0])
def test_shares_that_leave_nothing_to_the_rounds_are_refused_in_a_sentence(moments):
    with pytest.raises(tg.InputError, match="shares must leave some of the budget to the rounds"):
        stages_for(PROBLEM, Shares(second_moments=moments), 1.0)


@pytest.mark.parametrize(("given", "sentence"), [
    ({"size": 0.0}, "shares.size must be a number strictly between 0 and 1; got 0.0"),
    ({"second_moments": math.nan}, "shares.second_moments must be a number strictly"),
    ({"size_retry": -0.1}, "shares.size_retry must be a number from 0 to 1; got -0.1"),
    ({"curvature": math.inf}, "shares.curvature must be a number from 0 to 1; got inf"),
    ({"total": 7.0}, "shares.total must be a number from 0 to 1; got 7.0"),
    ({"bound": 0.0}, "shares.bound must be a finite number above 0; got 0.0"),
    ({"sample": -1}, "shares.sample must be a whole number of at least 1; got -1"),
    ({"early": 1.5}, "shares.early must be a whole number of at least 1; got 1.5"),
    ({"rounds": 3}, "shares.rounds must be a tuple of whole numbers; got 3"),
    ({"diagnostic_phases": 3}, "shares.diagnostic_phases must be a tuple of whole numbers"),
    ({"rounds": ()}, "shares.rounds must have at least one phase; got none"),
    ({"rounds": (1, 0)}, "shares.rounds must be a whole number of at least 1; got 0"),
    ({"curvature_phases": (2,)}, "shares.curvature must be above 0 where"),
    ({"rounds": (4, 4), "bound_choice": 0.03}, "shares.bound_choice must be 0 where"),
])  # fmt: skip
def test_shares_by_which_a_run_could_not_go_on_are_refused_before_anything_is_spent(
    given, sentence
):
    with pytest.raises(tg.InputError, match=re.escape(sentence)):
        WhitenedNewton(shares=Shares(**given))


def test_a_sample_of_more_records_than_there_are_is_refused_by_the_plan():
    method = WhitenedNewton(shares=Shares(sample=10_001, early=3))
    with pytest.raises(tg.InputError, match=r"shares\.sample must be at most the number"):
        method.plan(PROBLEM, tg.GDP(1.0))


def test_a_stage_that_a_plan_does_not_have_is_refused_with_those_that_it_has():
    plan = WhitenedNewton().plan(PROBLEM, tg.GDP(1.0))
    with pytest.raises(tg.InputError, match=r"name must be one of 'target typical size', .*'rest'"):
        plan.stage("rest")


class Stub:
    def check(self):
        pass

    def settings(self):
        return {}


@pytest.mark.parametrize("given", [0.5, "all", {"size": 0.1}, Shares, Stub()])
def test_what_are_no_shares_is_refused(given):
    with pytest.raises(tg.InputError, match="shares must be Shares or None; got"):
        WhitenedNewton(shares=given)
