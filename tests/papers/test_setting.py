"""Public facts: ranges, what follows from a promise, and what papers read into a moment."""

import math
from functools import partial

import pytest

import tailguard as tg
from tailguard.papers.common.setting import Facts
from tailguard.papers.xu2025.setting import DoubledNorms, Norms

MOMENT = tg.Moment(4.0, 16.0, kind="norm")


def facts(of=Facts, guarantee=None, **options):
    arguments = {"n_rows": 1000, "n_features": 4, "moment": MOMENT, "diameter": 2.0} | options
    return of(guarantee=guarantee or tg.GDP(0.5), **arguments)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_rows": 0},
        {"n_features": 1.5},
        {"diameter": math.inf},
        {"gradient_bound": 0.0},
        {"smoothness": -1.0},
        {"strong_convexity": math.nan},
        {"n_steps": 0},
        {"calibration": None},
    ],
)
def test_a_fact_out_of_its_range_is_named(wrong):
    with pytest.raises(tg.InputError, match=next(iter(wrong))):
        facts(**wrong)


def test_curvature_is_the_mean_of_what_is_stated():
    assert facts(gradient_bound=3.0).curvature == 1.5
    assert facts(smoothness=4.0).curvature == 4.0
    assert facts(smoothness=4.0, strong_convexity=1.0).curvature == pytest.approx(2.0)


def test_printed_formulas_want_epsilon_and_delta():
    assert facts(guarantee=tg.ApproxDP(1.0, 1e-5)).terms == (1.0, 1e-5)
    assert facts(guarantee=tg.PureDP(1.0)).terms == (1.0, math.exp(-1.0))
    epsilon, delta = facts().terms  # rho = epsilon^2 / (4 log(1/delta))
    assert epsilon**2 / (4.0 * math.log(1.0 / delta)) == pytest.approx(facts().rho)


def test_papers_read_higher_moments_as_lower_ones():
    fourth, second, first = (
        partial(
            tg.papers.wang2020.smoothed_convex, 1000, 4, tg.GDP(0.5), diameter=2.0, smoothness=1.0,
            moment=tg.Moment(order, 2.0**order, kind="raw"),
        )
        for order in (4.0, 2.0, 1.5)
    )  # fmt: skip
    assert fourth().explain() == second().explain()
    with pytest.raises(tg.InputError, match=r"order must be at most 1\.5"):
        first()
    assert (facts(Norms).order, facts(DoubledNorms).order) == (4.0, 2.0)
    with pytest.raises(tg.InputError, match="order at least 4"):
        facts(DoubledNorms, moment=tg.Moment(3.0, 1.0, kind="norm"))
    with pytest.raises(tg.InputError, match="clip_norm"):
        facts(Norms, clip_norm=0.0)


def test_the_guarantee_is_spent_and_a_printed_noise_refused_where_there_is_none():
    assert facts().spent() == tg.GDP(0.5)
    printed = facts(calibration="printed")
    with pytest.raises(tg.InputError, match="the paper prints no noise"):
        printed.spent()
    with pytest.raises(tg.InputError, match="calibration must be one of 'tight', 'printed'"):
        facts(calibration="loose")


@pytest.mark.parametrize("of", [Norms, DoubledNorms])
def test_the_least_risk_of_a_moment_is_that_of_a_growth_without_end_whatever_order_enters_rates(of):
    told = facts(of, n_rows=10**6)
    assert told.least == pytest.approx(told.least_growing(1e9) * told.diameter / 2.0, rel=1e-6)


@pytest.mark.parametrize("wrong", [{"exponent": 0.5}, {"exponent": "p"}, {"lipschitz_bound": 0.0}])
def test_numbers_of_the_printed_schedule_are_checked_before_it_is_asked_for(wrong):
    moment = tg.Moment(4.0, 1.0, kind="norm")
    with pytest.raises(tg.InputError, match=next(iter(wrong))):
        DoubledNorms(1000, 3, tg.GDP(0.5), moment, diameter=2.0, **wrong)
