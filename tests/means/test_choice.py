"""The choice with a stated moment: scales, else a histogram in its unit, else its threshold."""

import numpy as np
import pytest

import tailguard as tg
from support.means import planned, task_of
from tailguard.means.choice import choose
from tailguard.means.registry import make_method
from tailguard.plans.problem import Problem

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


@pytest.mark.parametrize("distribution", ["student", "spikes"])
@pytest.mark.parametrize("scale", [1.0, 1e6])
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
    assert errors[0] < 0.5 * errors[1]
