"""Pure epsilons add up, and their delta is above the exact one by rounding alone."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

from tailguard.privacy.accounting.accountant import PureAccountant
from tailguard.privacy.events import Approximate, Pure, Repeated


def test_delta_is_above_that_of_randomised_response_and_close():
    """Kairouz, Oh and Viswanath 2015: (exp(total) - exp(epsilon)) / (exp(total) + 1)."""
    generator = np.random.default_rng(0)
    for total, share in zip(generator.exponential(2.0, 200), generator.random(200), strict=True):
        epsilon = float(share * total)
        found = Decimal(PureAccountant().compose(Pure(float(total))).delta(epsilon))
        with localcontext() as context:
            context.prec = 50
            largest = Decimal(float(total)).exp()
            exact = (largest - Decimal(epsilon).exp()) / (largest + 1)
            assert exact <= found <= exact * (1 + Decimal("1.01e-12"))  # its margin, and a float


@pytest.mark.parametrize("total", [0.5, 2.0, 8.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.3])
def test_epsilon_is_above_that_of_randomised_response_and_close(total, delta):
    found = Decimal(PureAccountant().compose(Pure(total)).epsilon(delta))
    with localcontext() as context:
        context.prec = 50
        largest = Decimal(total).exp()
        exact = max((largest - Decimal(delta) * (largest + 1)).ln(), Decimal(0))
        assert exact <= found <= exact + Decimal("2e-12") * (1 + Decimal(total))


def test_nothing_is_likelier_than_one():
    accountant = PureAccountant().compose(Repeated(Approximate(0.1, 0.6), 2))
    assert accountant.delta(0.0) == 1.0
    assert accountant.delta(0.2) == pytest.approx(1.0)
