"""Exact totals that no float holds are rounded to the safe side."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tailguard.privacy.accounting.accountant import PureAccountant, ceiling
from tailguard.privacy.accounting.gaussian import GdpAccountant
from tailguard.privacy.events import BoundedRange, Gaussian, Selected
from tailguard.privacy.selection import SelectionAccountant


@pytest.mark.parametrize(
    ("exact", "rounded"), [(Fraction(10) ** 400, math.inf), (-(Fraction(10) ** 400), -math.inf)]
)
def test_numbers_beyond_floats_are_infinite(exact, rounded):
    assert ceiling(exact) == rounded


def test_a_total_beyond_floats_protects_nothing():
    composed = GdpAccountant().compose(Gaussian(1e200))
    assert composed.delta(1.0) == 1.0
    assert composed.epsilon(1e-6) == math.inf


@pytest.mark.parametrize(
    ("accountant", "event", "epsilon"),
    [
        (PureAccountant, BoundedRange(0.4), np.float16(0.22)),
        (SelectionAccountant, Selected(0.5, 3.0), np.float32(2.95)),
        (GdpAccountant, Gaussian(0.5), np.float16(0.22)),
    ],
)
def test_narrow_floats_are_computed_with_as_wide_ones(accountant, event, epsilon):
    composed = accountant().compose(event)
    assert composed.delta(epsilon) == composed.delta(float(epsilon))
