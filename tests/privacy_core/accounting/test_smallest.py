"""The smallest valid epsilon, and totals with the sampler's imperfection."""

import math

import pytest
from hypothesis import given

from support.events import GAUSSIAN_TREES
from tailguard.checks import InputError
from tailguard.privacy.accounting.gaussian import epsilon_of
from tailguard.privacy.accounting.total_cost import (
    ACCOUNTANTS,
    smallest_epsilon,
    total_cost,
    total_mu,
)
from tailguard.privacy.accounting.zcdp import epsilon_of_zcdp
from tailguard.privacy.events import (
    BoundedRange,
    Composed,
    Event,
    Gaussian,
    Laplace,
    Nothing,
    Pure,
    Repeated,
    ZeroConcentrated,
)

EXAMPLE_A = Composed((Gaussian(1.0), Repeated(Laplace(0.1), 10), BoundedRange(0.3)))


@pytest.mark.parametrize(
    ("event", "delta", "epsilon", "accountant"),
    [
        (Gaussian(1.0), 1e-6, 4.88655412, "gdp"),
        (Gaussian(1.0), 1e-15, 8.1655796955, "gdp"),
        (EXAMPLE_A, 1e-6, 5.21800147, "pld"),
        (
            EXAMPLE_A,
            1e-12,
            epsilon_of(1.0919423064, 1e-12),
            "gdp",
        ),  # below what convolutions can be trusted with
        (Repeated(BoundedRange(0.1), 10), 1e-6, 0.68612897, "pld"),
        (Repeated(BoundedRange(0.05), 50), 1e-6, 0.788736, "zcdp"),
        (Repeated(BoundedRange(0.1), 100), 1e-6, 2.419094, "zcdp"),
        (Laplace(0.5), 1e-6, 0.4999984, "pure"),
        (Repeated(Pure(0.1), 10), 0.0, 1.0, "pure"),
        (ZeroConcentrated(0.5), 1e-12, epsilon_of_zcdp(0.5, 1e-12), "zcdp"),
        (Nothing(), 0.0, 0.0, "gdp"),
        (Gaussian(1.0), 0.0, math.inf, "gdp"),
    ],
)
def test_which_accountant_wins(event, delta, epsilon, accountant):
    bound = smallest_epsilon(event, delta)
    assert bound.epsilon == pytest.approx(epsilon, rel=1e-6)
    assert bound.accountant == accountant


def test_published_totals_of_example_a():
    gdp, zcdp = (ACCOUNTANTS[name]().compose(EXAMPLE_A) for name in ("gdp", "zcdp"))
    assert gdp.mu == pytest.approx(1.0919423064, abs=1e-10)
    assert gdp.epsilon(1e-6) == pytest.approx(5.40266002, rel=2e-9)
    # The published rho of 0.56125 charges epsilon^2 / 2 for a Laplace release.
    assert 0.557 < zcdp.rho < 0.56125
    assert zcdp.epsilon(1e-6) < 5.574941


@given(GAUSSIAN_TREES)
def test_total_mu_is_exact_for_gaussian_trees(tree):
    mu = total_mu(tree)
    assert mu == pytest.approx(math.sqrt(ACCOUNTANTS["gdp"]().compose(tree).total))
    assert total_mu(Composed((tree, Laplace(0.1)))) is None


def test_unknown_events_have_no_epsilon():
    with pytest.raises(InputError, match="known to an accountant"):
        smallest_epsilon(Event(), 1e-6)
    with pytest.raises(InputError, match="delta must be"):
        smallest_epsilon(Gaussian(1.0), 1.0)


def test_totals_in_every_currency():
    total = total_cost(Gaussian(1.0), 1e-6)
    assert (total.mu, total.rho, total.accountant) == (1.0, 0.5, "gdp")
    mixed = total_cost(EXAMPLE_A, None)
    assert (mixed.epsilon, mixed.delta, mixed.mu, mixed.accountant) == (None, None, None, "zcdp")
    assert total_cost(Gaussian(1.0), 0.0).to_dict()["epsilon"] == "infinite"
