"""Every float has one bin, and edges are where they say."""

import numpy as np
import pytest

from tailguard.kernels.bins import Bins

ALL_BINS = [
    Bins("octaves", -8.0, 1.0, 16),
    Bins("signed", -8.0, 3.0, 48),
    Bins("linear", -2.0, 8.0, 32),
    Bins("signed", -8.0, 3.0, 48, unit=1e-3),
]
ODD = [np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308]


@pytest.mark.parametrize("bins", ALL_BINS)
def test_every_float_has_a_bin(bins):
    index = bins.index(ODD)
    assert ((index >= 0) & (index < bins.count)).all()


@pytest.mark.parametrize("bins", ALL_BINS)
def test_middles_lie_in_their_bins_and_edges_grow(bins):
    np.testing.assert_array_equal(bins.index(bins.middle()), np.arange(bins.count))
    assert (np.diff(bins.upper()) > 0).all()


def test_a_unit_is_what_values_are_counted_in():
    plain, fine = Bins("signed", -8.0, 3.0, 48), Bins("signed", -8.0, 3.0, 48, unit=0.01)
    values = np.random.default_rng(0).standard_cauchy(1_000)
    np.testing.assert_array_equal(fine.index(0.01 * values), plain.index(values))
    np.testing.assert_allclose(fine.upper(), 0.01 * plain.upper())
