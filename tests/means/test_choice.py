"""The choice with a stated moment: scales, else a histogram in its unit, else its threshold."""

import numpy as np
import pytest

import tailguard as tg
from support.means import planned, task_of
from tailguard.gate.plan import Problem
from tailguard.means.base import MeanMethod
from tailguard.means.choice import MEANS, choose, make_method
from tailguard.means.clipped import Clipped
from tailguard.means.coordinate_wise import CoordinateWise
from tailguard.means.formulas import CENTRE_LOSS

RAW = tg.Moment(2.0, 6.0, kind="raw")


@pytest.mark.parametrize(
    ("n_rows", "moment", "unit"),
    [(1_000, True, False), (5_000, False, True), (200_000, False, False)],
)
def test_rows_decide_what_is_bought(n_rows, moment, unit):
    problem = choose("auto", Problem(None, n_rows, 10, moment=RAW), tg.PureDP(1.0)).plan.problem
    assert (problem.moment is not None, problem.unit is not None) == (moment, unit)


def test_the_unit_is_the_root_of_the_moment_and_a_norm_is_shared_out():
    for moment in (RAW, tg.Moment(2.0, 60.0, kind="norm")):
        choice = choose("auto", Problem(None, 5_000, 10, moment=moment), tg.PureDP(1.0))
        assert choice.plan.problem.unit == pytest.approx(6.0**0.5)
        assert [stage.name for stage in choice.plan.stages] == ["tail", "mean"]
        assert "by a histogram" in choice.explain()


def test_a_central_moment_does_not_say_where_means_are():
    plan = choose("auto", Problem(None, 5_000, 10, moment=tg.Moment(2.0, 6.0)), tg.PureDP(1.0)).plan
    assert plan.problem.unit is None


def test_trimming_takes_no_unit():
    with pytest.raises(tg.InputError, match="moment must not be given with method 'trimmed'"):
        planned(make_method("trimmed"), task_of(5_000, 10, tg.ZCDP(1.0), unit=1.0))


@pytest.mark.parametrize(("distribution", "scale"), [("student", 1.0), ("spikes", 1e6)])
def test_a_histogram_beats_the_threshold_of_the_worst_law_in_any_unit(distribution, scale):
    rng, n_rows, n_features = np.random.default_rng(0), 20_000, 30
    X = rng.standard_t(3.0, (n_rows, n_features))
    if distribution == "spikes":
        X = np.where(rng.random((n_rows, 1)) < 1e-3, 40.0, 0.0) * np.ones(n_features)
    truth = 0.0 if distribution == "student" else 0.04
    bound = 3.0 if distribution == "student" else 1e-3 * 1600.0 * n_features
    moment = tg.Moment(2.0, scale**2 * bound, kind="directional")
    facts = {"guarantee": tg.PureDP(0.3), "moment": moment, "random_state": 0}
    auto = tg.mean(scale * X, **facts)
    soft = tg.mean(scale * X, method="soft", **facts)
    errors = [np.linalg.norm(found.value / scale - truth) for found in (auto, soft)]
    assert auto.choice.plan.problem.unit is not None
    assert errors[0] < 0.6 * errors[1]


@pytest.mark.parametrize("kind", [None, "norm", "directional", "raw", "central"])
@pytest.mark.parametrize("n_features", [1, 10])
def test_all_methods_count_the_sampling_error_in_the_same_units(n_features, kind):
    """That of the plain mean of columns of one scale; centres of groups know what they lose."""
    scale, moment = 1.0, None
    if kind is not None:
        scale, bound = 3.0, 9.0 * (n_features if kind == "norm" else 1.0)
        moment = tg.Moment(2.0, bound, kind=kind)
    for n_rows in (10**5, 10**7):
        choice = choose("auto", Problem(None, n_rows, n_features, moment=moment), tg.ZCDP(100.0))
        plans = [choice.plan, *choice.others]
        assert {plan.solver for plan in plans} == set(MEANS)
        for plan in plans:
            counted = plan.expected.sampling * np.sqrt(n_rows / n_features) / scale
            assert min(abs(counted - 1.0), abs(counted - CENTRE_LOSS)) < 1e-12


def test_infinite_variances_count_as_far_as_the_threshold():
    moment = tg.Moment(1.5, 8.0, kind="raw")
    plan = planned(make_method("truncated"), task_of(10_000, 1, tg.ZCDP(0.5), moment))
    within = 8.0 * plan.settings["threshold"] ** 0.5
    assert plan.expected.sampling == pytest.approx(np.sqrt(within / 10_000))


@pytest.mark.parametrize(("n_rows", "n_features", "epsilon"), [(10**6, 2, 1.0), (10**5, 10, 4.0)])
def test_small_noise_does_not_change_the_method(n_rows, n_features, epsilon):
    """``soft`` was taken there, whose noise and bias are two to three times as large."""
    choice = choose("auto", Problem(None, n_rows, n_features), tg.ApproxDP(epsilon, 1e-6))
    assert choice.plan.solver == "clipped"


class Momentless(Clipped):
    """A mean in private units that says nothing of moments."""

    moment_level = MeanMethod.moment_level


def test_a_method_that_takes_no_moment_refuses_one_and_leaves_the_choice_to_others(monkeypatch):
    monkeypatch.setitem(MEANS, "clipped", f"{Momentless.__module__}:Momentless")
    words = "moment must not be given with method 'clipped', which takes clip_norm= or neither"
    few, many = (Problem(None, n_rows, 10, moment=RAW) for n_rows in (200, 10**5))
    with pytest.raises(tg.InputError, match=words):
        choose("clipped", few, tg.ZCDP(0.5))
    choice = choose("auto", few, tg.ZCDP(0.5))
    assert words in dict(choice.refusals)["clipped"]
    assert isinstance(choose("auto", many, tg.ZCDP(0.5)).method, Momentless)


def test_where_no_method_is_possible_the_first_reason_is_told():
    with pytest.raises(tg.InputError, match="none is; the share of the budget must be larger"):
        choose("auto", Problem(None, 10, 3), tg.GDP(1e-12))


@pytest.mark.parametrize("asked", ["run", "private_plan", "public_plan", "query"])
def test_a_method_that_says_too_little_is_told_what_is_missing(asked):
    arguments = {"run": (None, None), "query": (None, 1.0, 1)}.get(asked, (None,))
    with pytest.raises(TypeError, match=r"^(CoordinateWise|MeanMethod) must define "):
        getattr(CoordinateWise() if asked == "query" else MeanMethod(), asked)(*arguments)


def test_a_method_with_its_options_is_planned_as_it_is():
    problem, guarantee = Problem(None, 5_000, 2), tg.ZCDP(0.5)
    chosen = choose("clipped", problem, guarantee, clip_norm=3.0)
    assert chosen.explain() == choose(Clipped(clip_norm=3.0), problem, guarantee).explain()
    assert "chosen for the least" not in chosen.explain()
    with pytest.raises(tg.InputError, match="clip_norm must be an option of the method object"):
        choose(Clipped(), problem, guarantee, clip_norm=3.0)
    with pytest.raises(tg.InputError, match="clip_norm must be given with a method by name"):
        choose("auto", problem, guarantee, clip_norm=3.0)


@pytest.mark.parametrize("name", ["clamped", "truncated"])
def test_the_number_of_groups_may_be_stated(name):
    task = task_of(5_000, 2, tg.ZCDP(0.5))
    plan = planned(make_method(name, n_groups=7), task)
    assert plan.settings["groups"] == 7
    with pytest.raises(tg.InputError, match="n_groups must be a whole number from 1 to 5000"):
        planned(make_method(name, n_groups=5_001), task)


def test_the_smoothing_may_be_stated_and_a_range_needs_both_ends():
    task = task_of(5_000, 2, tg.ZCDP(0.5))
    noise = [
        planned(make_method("soft", threshold=1.0, smoothing=each), task).expected.noise
        for each in (1.0, 4.0)
    ]
    assert noise[0] < noise[1]  # the limit rises with the smoothing
    with pytest.raises(tg.InputError, match="low and high must be given together"):
        planned(make_method("trimmed", low=0.0), task)
