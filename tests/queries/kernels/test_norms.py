"""Histograms of magnitudes against plain NumPy."""

from itertools import pairwise

import numpy as np
import pytest

from tailguard.data.rows.base import RecordBlock
from tailguard.queries.kernels.norms import MagnitudeCount

EDGES = np.array([0.5, 1.0, 2.0, 4.0])


def rows(n_rows=3_000, n_features=3, dtype=np.float64):
    return np.random.default_rng(0).standard_t(2, (n_rows, n_features)).astype(dtype)


def units(n_features=3):
    return {"center": np.full(n_features, 0.5), "inverse_scale": np.full(n_features, 2.0)}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("of", ["norm", "entries", "differences"])
def test_counts_are_those_of_numpy(of, dtype):
    X = rows(3_001, dtype=dtype)  # the last one has no partner
    standard = (X.astype(np.float64) - 0.5) * 2.0
    if of == "differences":
        standard = standard[:-1:2] - standard[1::2]
    magnitudes = np.linalg.norm(standard, axis=1) if of == "norm" else np.abs(standard).ravel()
    expected = [((magnitudes > low) & (magnitudes <= high)).sum() for low, high in _cells()]
    kernel = MagnitudeCount(**units(), edges=EDGES, of=of, multiplier=7)
    np.testing.assert_array_equal(kernel.sum_block(RecordBlock(X)), 7 * np.array(expected))


def _cells():
    return pairwise([0.0, *EDGES, np.inf])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_void_records_count_nowhere(value):
    X = rows(10)
    X[4, 1] = value
    pairs = MagnitudeCount(**units(), edges=EDGES, of="differences", multiplier=1)
    assert pairs.sum_block(RecordBlock(X)).sum() == 4 * 3
    Z = np.delete(X, 4, axis=0)
    for of in ("norm", "entries"):
        kernel = MagnitudeCount(**units(), edges=EDGES, of=of, multiplier=1)
        with_void, without = (kernel.sum_block(RecordBlock(data)) for data in (X, Z))
        np.testing.assert_allclose(with_void, without, atol=1)


@pytest.mark.parametrize("value", [1e308, -1e308, 5e-324])
def test_extreme_records_stay_within_their_limits(value):
    X = np.full((1, 3), value)
    counts = MagnitudeCount(**units(), edges=EDGES, of="entries", multiplier=1)
    assert counts.sum_block(RecordBlock(X)).sum() == 3
