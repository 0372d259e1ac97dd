import math

import pytest

from tailguard.checks import InputError
from tailguard.means.facts import check_facts, check_order, moment_scale, tail_power


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
