"""Conversions and prices in zCDP on a grid, with what they refuse."""

import math

import pytest

from support.known import outcome
from tailguard.privacy.accounting import concentrated

SIZES = (0.0, 1e-9, 9.99e-4, 1e-3, 1.01e-3, 0.04, 0.5, 1.0, 1.0001, 3.0, 40.0, math.inf)
DELTAS = (0.9, 0.3, 1e-3, 1e-6, 1e-12, 1e-40)
PRICES = ("rho_of_pure", "rho_of_laplace", "rho_of_bounded_range", "mu_of_pure",
          "mu_of_bounded_range")  # fmt: skip
PAIRS = ("epsilon_of_zcdp", "rho_of", "rho_of_simple")
BAD = (-1e-9, math.nan, "1", None, True)


@pytest.mark.parametrize("name", PRICES)
def test_prices(known, name):
    known([getattr(concentrated, name)(size) for size in SIZES])


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("delta", DELTAS)
def test_conversions(known, name, delta):
    sizes = SIZES[:-1] if name == "rho_of_simple" else SIZES
    known([getattr(concentrated, name)(size, delta) for size in sizes])


@pytest.mark.parametrize("rho", SIZES)
def test_delta(known, rho):
    known([concentrated.delta_of_zcdp(rho, epsilon) for epsilon in SIZES])


def test_renyi(known):
    known(
        [
            [concentrated.epsilon_of_renyi(divergence, 1e-7),
             concentrated.delta_of_renyi(divergence, 1.5)]
            for divergence in (lambda x: 0.2 + x, lambda x: 0.01 * x**2, lambda x: 0.0 * x)
        ]
    )  # fmt: skip


@pytest.mark.parametrize("name", [*PRICES, *PAIRS, "delta_of_zcdp"])
def test_refusals(known, name):
    call = getattr(concentrated, name)
    given = [(bad,) for bad in BAD] if name in PRICES else [(bad, 0.5) for bad in BAD]
    known([outcome(call, *each) for each in given])
    if name in PAIRS:
        assert "delta must be" in str(outcome(call, 1.0, 1.0))
        assert "delta must be" in str(outcome(call, 1.0, 0.0))
