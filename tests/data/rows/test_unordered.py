"""Records in no order: one sum wherever they lie, samples by identifiers, refusals without them."""

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

from support.loops import gathered, loop
from tailguard.checks import InputError
from tailguard.data.readers.lazy import of_polars
from tailguard.data.rows import streams, unordered
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.reader import RecordReader
from tailguard.data.rows.streams import StreamRows
from tailguard.data.rows.unordered import UnorderedRows
from tailguard.data.schema import Schema
from tailguard.losses import Squared
from tailguard.noise.keyed_hash import KeyedHash
from tailguard.noise.sources import SimulationSource, make_source
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.clipped_minimiser import ClippedMinimiser
from tailguard.queries.units import Units

N_ROWS, COUNT = 5_000, 700
RNG = np.random.default_rng(5)
X = np.where(RNG.random((N_ROWS, 2)) < 0.3, RNG.standard_t(3, (N_ROWS, 2)), 0.0)
Y = RNG.standard_normal(N_ROWS)
IDS = RNG.permutation(10**6)[:N_ROWS]
RAW = Units.raw(2, intercept=False)
GRADIENT = loop(MeanClippedGradient(Squared(), RAW, clip_norm=1.0), np.array([0.3, -0.7]), 2.0**-20)
SAMPLE = gathered(COUNT, 3)


def arrays(features=X, ids=IDS):
    return UnorderedRows(make_rows(features, Y), make_source(3), ids)


def stream(order=slice(None)):
    table = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y, "id": IDS})[order]
    reader = RecordReader(Schema(features=["a", "b"], target="y", row_id="id"), alone=True)
    return UnorderedRows(StreamRows(of_polars(table.lazy()), reader), make_source(3))


def test_sums_are_the_same_for_sparse_and_dense_records_arrays_and_batches(monkeypatch):
    expected = arrays().reduce(GRADIENT)
    np.testing.assert_array_equal(arrays(csr_array(X), None).reduce(GRADIENT), expected)
    np.testing.assert_array_equal(arrays().reduce(GRADIENT, n_threads=3), expected)
    turned = make_rows(X, Y).in_order(RNG.permutation(N_ROWS)).without_order()
    np.testing.assert_array_equal(turned.reduce(GRADIENT), expected)
    np.testing.assert_array_equal(stream().reduce(GRADIENT), expected)  # read once and kept
    monkeypatch.setattr(streams, "NUMBERS_KEPT", 0)
    for order in (slice(None), RNG.permutation(N_ROWS)):
        np.testing.assert_array_equal(stream(order).reduce(GRADIENT), expected)


@pytest.mark.parametrize("place", ["memory", "file"])
def test_a_sample_is_that_of_the_smallest_values_in_their_order(place, monkeypatch):
    monkeypatch.setattr(streams, "NUMBERS_KEPT", 0)
    if place == "file":
        monkeypatch.setattr(unordered, "NUMBERS_GATHERED", 0)
    values = KeyedHash(SimulationSource(8)).of(IDS)
    chosen = np.argsort(values)[:COUNT]
    expected = np.column_stack([X, Y])[chosen]
    for rows in (arrays(), stream(), stream(RNG.permutation(N_ROWS))):
        sample = rows.sample(KeyedHash(SimulationSource(8)), COUNT)
        assert sample.n_rows == COUNT
        found = sample.reduce(SAMPLE).view(np.float64).reshape(COUNT, 3)
        np.testing.assert_array_equal(found, expected)
        # A sample has an order, and so places and chunks.
        whole = sample.reduce(GRADIENT)
        again = make_rows(expected[:, :2].copy(), expected[:, 2].copy()).reduce(GRADIENT)
        np.testing.assert_array_equal(whole, again)


@pytest.mark.parametrize("rows", [arrays(ids=None)])
def test_without_identifiers_there_are_no_places(rows):
    asks = [
        lambda: rows.restricted(np.arange(3)),
        lambda: rows.in_order(np.arange(N_ROWS)),
        lambda: rows.sample(KeyedHash(make_source(0)), 3),
        lambda: rows.reduce(gathered(N_ROWS, 3)),
        lambda: rows.check_places(["scale"], whole=False),
    ]
    for ask in asks:
        with pytest.raises(InputError, match="row_id must name a column that identifies rows"):
            ask()
    rows.check_places([], whole=False)
    with pytest.raises(InputError, match="records without an order have no chunks"):
        ClippedMinimiser(Squared(), RAW, 1.0, 1.0, 1.0).sum_block(
            make_rows(X, Y).without_order().block(), np.zeros(2), 1.0
        )


def test_rows_that_change_between_counting_and_choosing_are_told(monkeypatch):
    monkeypatch.setattr(streams, "NUMBERS_KEPT", 0)
    rows = stream()
    table, calls = rows._rows._table, []
    read = table.read

    def fewer(names, n_rows):
        calls.append(0)
        yield from (batch.slice(0, len(batch) - (len(calls) > 1)) for batch in read(names, n_rows))

    object.__setattr__(table, "read", fewer)
    with pytest.raises(InputError, match="same rows"):
        rows.sample(KeyedHash(make_source(0)), N_ROWS // 2).reduce(GRADIENT)
