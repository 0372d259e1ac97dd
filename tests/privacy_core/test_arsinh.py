"""The cost of arsinh-normal noise, against divergences by quadrature."""

import math
from fractions import Fraction

import numpy as np
import pytest

from support.smooth import renyi
from tailguard.checks import InputError
from tailguard.privacy.arsinh import (
    SCALE_SLOPE,
    SHIFT_SLOPE,
    arsinh_event,
    arsinh_rho,
    arsinh_shift,
    arsinh_smoothness,
)
from tailguard.privacy.events import Unbounded, ZeroConcentrated

# (smoothness, shift, order), then the divergence in either order; two independent evaluations.
DIVERGENCES = [
    ((0.25, 0.25, 2), 0.0794824062, 0.0973423965),
    ((0.25, 0.25, 4), 0.1336756809, 0.2030491583),
    ((0.0625, 0.25, 2), 0.0451983561, 0.0475237728),
    ((0.1, 0.5, 4), 0.2626431117, 0.3012920407),
    ((0.5, 0.1, 2), 0.1744624994, 0.2605526581),
]
CALIBRATIONS = ("tight", "published", "numerical")


@pytest.mark.parametrize(("numbers", "forward", "backward"), DIVERGENCES)
def test_the_quadrature_agrees_with_known_divergences(numbers, forward, backward):
    assert renyi(*numbers) == pytest.approx(forward, abs=1e-10)
    assert renyi(*numbers, reverse=True) == pytest.approx(backward, abs=1e-10)


def worst_ratio(smoothnesses, shifts, orders, calibration):
    """The largest divergence over its bound, for both orders of a pair and both signs."""
    return max(
        renyi(t, sign * s, order, reverse=reverse) / (order * arsinh_rho(t, s, calibration))
        for t in smoothnesses
        for s in shifts
        for order in orders(t)
        for sign in (1, -1)
        for reverse in (False, True)
        if order * t < 60
    )


def few_orders(t):
    return (1.0001, 3.0, 1.0 + 2.0 / t)


def many_orders(t):
    return (1.0001, *(1.0 + x for x in (0.2, 1, 2, 4, 9)), *(1 + x / t for x in (0.5, 1, 2, 3, 10)))


@pytest.mark.parametrize("calibration", ["tight", "numerical"])
def test_no_divergence_exceeds_the_stated_cost(calibration):
    ratio = worst_ratio((0.003, 0.3, 2.0), (0.003, 0.3, 2.0), few_orders, calibration)
    assert 0.4 < ratio <= 1.0


def test_the_numerical_statement_is_rounded_up():
    for smoothness, shift in ((1.0, 1.0), (0.5, 2.0), (0.25, 0.0625)):
        stated = Fraction(arsinh_rho(smoothness, shift, "numerical"))
        assert (
            2 * stated
            > Fraction(3, 4) * Fraction(shift) ** 2 + Fraction("1.14") * Fraction(smoothness) ** 2
        )


def test_the_numerical_statement_has_no_slack_to_speak_of():
    pure_scale = renyi(0.1, 1e-6, 20.0, reverse=True) / (20.0 * arsinh_rho(0.1, 1e-6, "numerical"))
    pure_shift = renyi(1e-6, 0.1, 1.001) / (1.001 * arsinh_rho(1e-6, 0.1, "numerical"))
    assert 0.99 < pure_scale < 0.998
    assert 0.99 < pure_shift < 0.998


@pytest.mark.audit
@pytest.mark.parametrize("calibration", ["tight", "numerical"])
def test_no_divergence_on_a_fine_grid_exceeds_the_stated_cost(calibration):
    grid = np.geomspace(1e-3, 2.0, 12)
    ratio = worst_ratio(grid, grid, many_orders, calibration)
    assert ratio <= (0.998 if calibration == "numerical" else 0.75)


def test_the_proofs_constants_are_suprema():
    y = np.linspace(0.0, 40.0, 400_001)
    with np.errstate(over="ignore"):
        curvature = 1.0 / np.cosh(y) ** 2
    slope_of_density = (y + np.tanh(y)) * np.sqrt(curvature)
    slope_of_loss = np.tanh(y) * (1.0 + 2.0 * curvature) + y * curvature
    assert 1.0 < SHIFT_SLOPE / slope_of_density.max() < 1.0002
    assert 1.0 < SCALE_SLOPE / slope_of_loss.max() < 1.0005


@pytest.mark.parametrize("t", [-1.5, -0.3, -0.01, 0.01, 0.3, 1.5])
def test_the_privacy_loss_is_as_steep_as_the_proof_says_and_no_steeper(t):
    y = np.linspace(1e-4, 30.0, 300_001)
    moved = np.arcsinh(np.exp(-t) * np.sinh(y))
    loss = moved**2 / 2 + np.log(np.cosh(moved)) - y**2 / 2 - np.log(np.cosh(y)) + t
    steepness = np.abs(np.gradient(loss, y)).max()
    assert abs(t) * 0.9 < steepness <= SCALE_SLOPE * math.expm1(abs(t))


@pytest.mark.parametrize("calibration", ["tight", "numerical"])
@pytest.mark.parametrize("rho", [1e-6, 1e-3, 0.5])
@pytest.mark.parametrize("share", [0.05, 0.25, 0.8])
def test_a_budget_is_spent_and_never_exceeded(rho, share, calibration):
    smoothness = arsinh_smoothness(rho, share, calibration)
    shift = arsinh_shift(rho, smoothness, calibration)
    assert rho * (1 - 1e-9) < arsinh_rho(smoothness, shift, calibration) <= rho
    assert arsinh_shift(rho, 2 * smoothness, calibration) < shift


def test_a_large_smoothness_costs_what_the_literature_says():
    assert arsinh_rho(2.0, 1e-9) == pytest.approx(10.0 / 2.0, rel=1e-6)
    assert arsinh_rho(3e4, 1e-9) == pytest.approx(3e4 * (3e4 + 3.0) / 2.0, rel=1e-6)
    assert arsinh_smoothness(rho=50.0, share=0.5) == pytest.approx(3.720, abs=1e-3)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1.0, 3.0, 9.0])
def test_the_published_constants_keep_what_they_promise(epsilon):
    assert arsinh_rho(epsilon**2 / 16, epsilon / 4, "published") <= epsilon**2 / 2


def test_the_numerical_statement_ends_where_it_was_evaluated():
    assert arsinh_shift(rho=100.0, smoothness=1.0, calibration="numerical") == 2.0
    with pytest.raises(InputError, match="at most 2"):
        arsinh_rho(1.0, 2.01, "numerical")


def test_the_event_is_recomputed_from_plain_numbers():
    public = {"smoothness": 0.1, "shift": 0.2, "coordinates": 3}
    for calibration in CALIBRATIONS:
        event = arsinh_event({**public, "calibration": calibration})
        assert event == ZeroConcentrated(3 * arsinh_rho(0.1, 0.2, calibration))
    assert arsinh_event({**public, "calibration": "printed"}) == Unbounded()
    for wrong in ({"calibration": "best"}, {}, {"calibration": "tight", "shift": 0.0}):
        with pytest.raises(InputError, match=r"calibration|shift"):
            arsinh_event({**public, **wrong})


@pytest.mark.parametrize(
    ("name", "facts"),
    [("rho", {"rho": 0.0}), ("rho", {"rho": -1.0}), ("smoothness_share", {"share": 1.0})],
)
def test_no_smoothness_is_bought_with_nothing_or_with_all(name, facts):
    with pytest.raises(InputError, match=name):
        arsinh_smoothness(**{"rho": 0.5, "share": 0.25} | facts)
