"""What caps admit, at their ends, and what they say is left."""

from fractions import Fraction

import pytest

from support.known import outcome
from tailguard.ledger import cap as module
from tailguard.ledger.cap import Cap, Charge, exact_sum, filters_of, fitting, price
from tailguard.ledger.contents import charge_told, coordinates_of
from tailguard.privacy.accounting.gdp import GdpAccountant
from tailguard.privacy.accounting.pure import PureAccountant
from tailguard.privacy.accounting.zcdp import ZcdpAccountant
from tailguard.privacy.events import (
    Approximate,
    BoundedRange,
    Gaussian,
    Laplace,
    Nothing,
    Pure,
    Unbounded,
    ZeroConcentrated,
)
from tailguard.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP, Unprotected

CAPS = {
    "approx": ApproxDP(1.0, 1e-6),
    "wide approx": ApproxDP(8.0, 1e-3),
    "pure": PureDP(1.0),
    "zcdp": ZCDP(0.125),
    "gdp": GDP(0.5),
}
PRICED = [Gaussian(0.1), Laplace(0.2), Pure(0.5), BoundedRange(0.5), ZeroConcentrated(0.01),
          Approximate(0.25, 1e-9), Approximate(0.25, 1e-3), Nothing(), Unbounded()]  # fmt: skip
every_cap = pytest.mark.parametrize("name", CAPS)


def up(x, share=1e-15):
    return x * (1.0 + share)


CHARGES = {
    "none": [],
    "one": [Gaussian(0.1)],
    "one, all of pure": [Pure(1.0)],
    "one above pure": [Pure(up(1.0))],
    "two halves of pure": [Pure(0.5), Pure(0.5)],
    "above two halves of pure": [Pure(0.5), Pure(up(0.5))],
    "all of mu": [Gaussian(0.3), Gaussian(0.4)],
    "above all of mu": [Gaussian(0.3), Gaussian(up(0.4))],
    "all of rho": [Gaussian(0.25), ZeroConcentrated(0.09375)],
    "above all of rho": [Gaussian(0.25), ZeroConcentrated(up(0.09375))],
    "mixed": [Gaussian(0.05), Laplace(0.05), BoundedRange(0.05)],
    "a cover": [Gaussian(0.05), ZeroConcentrated(1e-4)],
    "failures": [Approximate(0.01, 4e-9), Approximate(0.01, 6e-9)],
    "more failures": [Approximate(0.01, 4e-9), Approximate(0.01, 6.1e-9)],
    "unbounded": [Unbounded()],
    "unbounded later": [Gaussian(0.1), Unbounded()],
}


@every_cap
@pytest.mark.parametrize("charges", CHARGES)
def test_admitted(known, name, charges):
    cap = Cap(CAPS[name])
    made = [cap.charge(event) for event in CHARGES[charges]]
    admitted = outcome(cap.admits, made) if made else None
    known(
        [
            admitted,
            [outcome(each.left, made) for each in filters_of(CAPS[name])],
            cap.left(made),
            cap.describe_left(made),
            [cap.agrees(each) for each in made],
        ],
        rel=1e-4,
    )


@every_cap
def test_filters(known, name):
    known(filters_of(CAPS[name]))


def test_what_is_no_cap(known):
    known([outcome(Cap, bad) for bad in (None, 1.0, "gdp", Unprotected(GDP(1.0)))])


@pytest.mark.parametrize("accountant", [PureAccountant, GdpAccountant, ZcdpAccountant],
                         ids=["pure", "gdp", "zcdp"])  # fmt: skip
def test_prices(known, accountant):
    charges = [Charge(event) for event in PRICED] + [Charge(Unbounded(), (0.5, 1e-9))]
    found = [price(accountant, each) for each in charges]
    assert found == [price(accountant, each) for each in charges]
    known([None if each is None else [float(part) for part in each] for each in found])


def test_covers_that_agree():
    cap = Cap(CAPS["approx"])
    mu, missed = cap.charge(ZeroConcentrated(0.01)).cover
    near = [(0.9991, 1.0), (0.9989, 1.0), (1.0, 0.9991), (1.0, 0.9989), (2.0, 2.0)]
    charges = [Charge(ZeroConcentrated(0.01), (a * mu, b * missed)) for a, b in near]
    assert [cap.agrees(each) for each in charges] == [True, False, True, False, True]
    assert not cap.agrees(Charge(ZeroConcentrated(0.01)))
    assert not cap.agrees(Charge(Gaussian(0.1), (0.1, 1e-9)))
    assert cap.agrees(Charge(Gaussian(0.1)))


@every_cap
def test_what_fits(known, name):
    shares = (0, Fraction(1, 10**9), Fraction(11, 10**10), Fraction(1, 7), Fraction(1, 2), 1)
    delta = CAPS[name].delta or None
    known([[fitting(each, delta, share * each.limit) for share in shares]
           for each in filters_of(CAPS[name])])  # fmt: skip


def test_digits(known):
    values = (0.0, 1.0, 1.23456, 0.00012349999, 9.9999, 123456.0, 1e-9, 0.1)
    known([module._four_digits_down(value) for value in values], rel=1e-15)
    numbers = [Fraction(1, 3), Fraction(0.1), Fraction(2, 3), Fraction(5)]
    assert exact_sum(numbers) == sum(numbers)
    assert exact_sum([]) == 0
    constants = (module.FAILURE_SHARE, float(module.ROUNDED), module.USUAL_DELTA)
    assert constants == (0.01, 1e-9, 1e-6)
    assert coordinates_of([]) == 0
    told = charge_told(Charge(Gaussian(0.5), (0.5, 1e-9)), 7)
    assert (told["cover"], told["coordinates"]) == ((0.5, 1e-9), 7)
