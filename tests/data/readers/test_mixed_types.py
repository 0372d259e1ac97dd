"""A column that is float32 in one file and float64 in another: a number is the same in both."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from support.batched import small_memory
from tailguard.data.readers.dask import DaskTable
from tailguard.data.readers.opening import opened
from tailguard.data.readers.parquet import ParquetFiles
from tailguard.data.rows import unordered
from tailguard.data.rows.arrays import ArrayRows
from tailguard.data.rows.reader import RecordReader
from tailguard.data.rows.streams import StreamRows
from tailguard.data.rows.unordered import in_keyed_order
from tailguard.data.schema import Schema
from tailguard.noise.keyed_hash import KeyedHash
from tailguard.noise.sources import make_source
from tailguard.queries.kernels.counts import BelowCount

__all__ = ["small_memory"]
SIZES = 5000, 7000, 3000, 4000
N_ROWS = sum(SIZES)
# Subnormal as float32 and not as float64; counted only if it is not taken for zero.
SMALL = float(np.float32(-1e-40))
COUNT = BelowCount(thresholds=[SMALL / 2], columns=(0,), paired=False, multiplier=1)


def columns(kinds, folder):
    """A file for each type of the first column; of its numbers a third are small."""
    rng, parts = np.random.default_rng(0), []
    for number, (kind, size) in enumerate(zip(kinds, SIZES, strict=True)):
        values = np.where(rng.random(size) < 1 / 3, SMALL, rng.choice([-1.0, 2.0], size))
        first, second = values.astype(kind), rng.standard_normal(size).astype(np.float32)
        ids = np.arange(size) + 10_000 * number
        parts.append((first.astype(np.float64), second, ids))
        table = pa.table({"a": first, "b": second, "id": ids})
        parquet.write_table(table, folder / f"{number}.parquet", row_group_size=700)
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


KINDS = {
    "mixed": (np.float32, np.float64, np.float32, np.float32),
    "single": (np.float32,) * 4,
    "double": (np.float64,) * 4,
}
SCHEMA = Schema(features=["a", "b"], row_id="id")


def streamed(source, **how):
    return StreamRows(source, RecordReader(SCHEMA, **how))


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("kinds", KINDS)
def test_a_small_number_counts_alike_wherever_it_lies(kinds, kept, tmp_path, request):
    if not kept:
        request.getfixturevalue("small_memory")
    a, b, _ = columns(KINDS[kinds], tmp_path)
    array = ArrayRows(np.column_stack([a, b]))
    below = int((a < 0).sum())
    assert array.reduce(COUNT).tolist() == [below]
    order = np.random.default_rng(1).permutation(N_ROWS)
    for alone in (False, True):
        for source in (opened(tmp_path), DaskTable.of_files(ParquetFiles(tmp_path))):
            rows = streamed(source, alone=alone)
            assert rows.reduce(COUNT).tolist() == [below]
            if alone:
                continue
            assert rows.in_order(order).reduce(COUNT).tolist() == [below]
            found = rows.restricted(order[:3000]).reduce(COUNT)
            assert found.tolist() == array.restricted(order[:3000]).reduce(COUNT).tolist()


@pytest.mark.parametrize("place", ["memory", "file"])
@pytest.mark.parametrize("kinds", KINDS)
def test_so_it_does_where_identifiers_order_records(kinds, place, tmp_path, monkeypatch, request):
    request.getfixturevalue("small_memory")
    if place == "file":
        monkeypatch.setattr(unordered, "NUMBERS_GATHERED", 0)
    a, b, ids = columns(KINDS[kinds], tmp_path)
    order = np.argsort(KeyedHash(make_source(1)).of(ids))
    for count in (N_ROWS, 1500):
        rows = in_keyed_order(streamed(opened(tmp_path)), KeyedHash(make_source(1)), count)
        array = ArrayRows(np.column_stack([a, b])).restricted(order[:count])
        assert rows.reduce(COUNT).tolist() == array.reduce(COUNT).tolist()


OTHERS = {
    "as stored": pa.array([1.0], pa.float32()),
    "none": pa.array([None], pa.null()),
    "text": pa.array(["1.0"]),
    "whole": pa.array([1]),
}


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("other", OTHERS)
def test_the_type_of_one_record_does_not_decide_how_others_count(other, kept, tmp_path, request):
    if not kept:
        request.getfixturevalue("small_memory")
    n_rows = 9000
    small = pa.array(np.full(n_rows, SMALL, dtype=np.float32))
    first = pa.table({"a": small, "b": pa.array(np.ones(n_rows, np.float32)), "id": range(n_rows)})
    last = pa.table({"a": pa.array([1.0], pa.float32()), "b": OTHERS[other], "id": [n_rows]})
    for number, table in enumerate((first, last)):
        parquet.write_table(table, tmp_path / f"{number}.parquet", row_group_size=700)
    for source in (opened(tmp_path), DaskTable.of_files(ParquetFiles(tmp_path))):
        for alone in (False, True):
            rows = streamed(source, alone=alone)
            assert rows.reduce(COUNT).tolist() == [n_rows]
        keyed_rows = in_keyed_order(streamed(source), KeyedHash(make_source(1)), 500)
        assert keyed_rows.reduce(COUNT)[0] >= 499
