"""Exact totals that no float holds are rounded to the safe side."""

import math
from fractions import Fraction

import pytest

from tailguard.privacy.accounting.additive import ceiling
from tailguard.privacy.accounting.gdp import GdpAccountant
from tailguard.privacy.events import Gaussian


@pytest.mark.parametrize(
    ("exact", "rounded"), [(Fraction(10) ** 400, math.inf), (-(Fraction(10) ** 400), -math.inf)]
)
def test_numbers_beyond_floats_are_infinite(exact, rounded):
    assert ceiling(exact) == rounded


def test_a_total_beyond_floats_protects_nothing():
    composed = GdpAccountant().compose(Gaussian(1e200))
    assert composed.delta(1.0) == 1.0
    assert composed.epsilon(1e-6) == math.inf
