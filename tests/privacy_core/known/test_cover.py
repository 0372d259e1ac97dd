"""The Gaussian release that covers an event."""

from fractions import Fraction

import pytest

from tailguard.privacy.accounting import cover
from tailguard.privacy.accounting.additive import ceiling
from tailguard.privacy.events import (
    Approximate,
    BoundedRange,
    Gaussian,
    Laplace,
    Nothing,
    Repeated,
    Sampled,
    Unbounded,
    ZeroConcentrated,
)

EVENTS = [
    *(Gaussian(0.5), Gaussian(30.0), Laplace(0.2), BoundedRange(0.4), ZeroConcentrated(0.02)),
    *(Approximate(0.2, 1e-7), Repeated(Approximate(0.1, 1e-9), 3), Sampled(1.0, 0.05)),
    *(Nothing(), Unbounded(), Laplace(1e-4)),
]


@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_covering_mu(known, event):
    known(cover.covering_mu(event), rel=1e-6)


def test_constants(known):
    known([cover.COVER_FAILURE, cover.N_LEVELS, cover.ACCURACY, cover.LARGEST_MU])


def test_ceiling(known):
    exact = (Fraction(1, 3), Fraction(2, 3), Fraction(-1, 3), Fraction(10**400), -Fraction(10**400))
    known([ceiling(each) for each in (*exact, Fraction(0), Fraction(1, 4))], rel=0.0)
