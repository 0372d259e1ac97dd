import math

import mpmath
import pytest

from support.means import task_of
from tailguard.checks import InputError
from tailguard.means.clamped import clamping_bias
from tailguard.means.formulas import (
    check_facts,
    check_order,
    clipping_bias,
    cut_factor,
    group_count,
    moment_scale,
    tail_power,
    whole_groups,
)
from tailguard.privacy.guarantees import GDP


@pytest.mark.parametrize(
    "facts",
    [
        {"n_rows": 0},
        {"n_rows": 10.0},
        {"n_features": True},
        {"n_features": 10**19},
        {"delta": 0.0},
        {"delta": 1.0},
        {"failure_probability": 0.6},
        {"epsilon": -1.0},
        {"rho": math.nan},
        {"diameter": math.inf},
    ],
)
def test_a_fact_out_of_range_is_named(facts):
    with pytest.raises(InputError, match=next(iter(facts))):
        check_facts(**facts)


@pytest.mark.parametrize(
    ("order", "limits"),
    [
        (1.9, {}),
        (math.inf, {}),
        (1.0, {"minimum": 1.0, "maximum": 2.0}),
        (2.1, {"minimum": 1.0, "maximum": 2.0}),
    ],
)
def test_orders_outside_of_a_theorem_are_refused(order, limits):
    with pytest.raises(InputError, match="moment_order"):
        check_order(order, **limits)


def test_the_two_powers_of_every_rate():
    assert moment_scale(8.0, 3.0) == pytest.approx(2.0)
    assert tail_power(0.01, 2.0) == pytest.approx(0.1)
    assert tail_power(0.01, 1e9) == pytest.approx(0.01)


@pytest.mark.parametrize("order", [1.0, 1.5, 2.0, 140.0, 140.1, 143.5, 200.0, 1e6, 1e300])
def test_the_part_beyond_a_cut_is_right_for_moments_of_any_order(order):
    with mpmath.workdps(400):
        k = mpmath.mpf(order)
        exact = mpmath.exp((k - 1) * mpmath.log((k - 1) / k)) / k if order > 1.0 else 1.0
    assert cut_factor(order) == pytest.approx(float(exact), rel=1e-12)


def test_formulas_take_what_they_name_of_a_task():
    task = task_of(1_000, 5, GDP(1.0))
    assert task.into(group_count, failure_probability=0.5) == pytest.approx(4.0 * math.log(20.0))
    assert [whole_groups(each, n_rows=9) for each in (0.5, 2.1, 99.0)] == [2, 4, 4]


def test_facts_that_a_formula_cannot_take_are_named():
    with pytest.raises(InputError, match="that computations overflow"):
        clipping_bias(n_features=10, moment_order=1e6, clip_norm=1.0)
    with pytest.raises(InputError, match="threshold must be a number above mean_bound / 3 = 1;"):
        clamping_bias(moment_order=2.0, threshold=1.0, mean_bound=3.0)
