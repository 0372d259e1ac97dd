"""Every float has one bin, and edges are where they say."""

import numpy as np
import pytest

from tailguard.checks import InputError
from tailguard.queries.histograms import Bins, count_below

ALL_BINS = [
    Bins("octaves", -8.0, 1.0, 16),
    Bins("signed", -8.0, 3.0, 48),
    Bins("linear", -2.0, 8.0, 32),
    Bins("signed", -8.0, 3.0, 48, unit=1e-3),
    Bins("octaves", -8.0, 3.0, 38, unit=3.0, narrow=30, wide=5.0),
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


@pytest.mark.parametrize("low", [-1001.0, 999.5])
@pytest.mark.parametrize("transform", ["octaves", "signed"])
def test_ends_whose_powers_leave_the_floats_are_refused(transform, low):
    with pytest.raises(InputError, match="-1000"):
        Bins(transform, low, 1.0, 4)
    assert Bins("linear", low, 1.0, 4).index([low + 2.5]) == 2


@pytest.mark.parametrize("bins", ALL_BINS)
def test_the_index_is_that_of_its_definition(bins):
    values = np.random.default_rng(1).standard_cauchy((3, 4_000))
    with np.errstate(divide="ignore"):
        transformed = {
            "octaves": np.log2(np.abs(values) / bins.unit),
            "signed": np.copysign(np.log2(1.0 + np.abs(values) / bins.unit), values),
            "linear": values / bins.unit,
        }[bins.transform]
    steps = (transformed - bins.low) * bins.per_unit
    beyond = np.maximum(steps - bins.narrow, 0.0) / bins.wide
    places = np.floor(np.minimum(steps, bins.narrow) + beyond)
    np.testing.assert_array_equal(bins.index(values), np.clip(places, 0, bins.count - 1))
    assert bins.index(np.nan) == 0


@pytest.mark.parametrize("n_edges", [1, 2, 3, 4, 7, 8, 9, 100])
def test_edges_below_a_value_are_counted(n_edges):
    rng = np.random.default_rng(n_edges)
    edges = np.sort(rng.standard_normal(n_edges))
    values = np.concatenate([edges, np.nextafter(edges, 9), rng.standard_normal(100), [-9.0, 9.0]])
    expected = np.searchsorted(edges, values, side="left")
    np.testing.assert_array_equal(count_below(edges, values), expected)
    np.testing.assert_array_equal(count_below(edges, [np.inf, -np.inf, np.nan]), [n_edges, 0, 0])


def test_a_unit_is_what_values_are_counted_in():
    plain, fine = Bins("signed", -8.0, 3.0, 48), Bins("signed", -8.0, 3.0, 48, unit=0.01)
    values = np.random.default_rng(0).standard_cauchy(1_000)
    np.testing.assert_array_equal(fine.index(0.01 * values), plain.index(values))
    np.testing.assert_allclose(fine.upper(), 0.01 * plain.upper())
