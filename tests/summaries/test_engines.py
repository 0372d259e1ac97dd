"""Summaries of files and of clusters are those of the table in memory, to the last bit."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tailguard as tg
from support.batched import parquet_sources, small_memory

__all__ = ["small_memory"]  # a fixture

N_ROWS = 5_000
SCHEMA = {"categorical": {"region": ["north", "south"]}}
PROMISE = {"schema": SCHEMA, "guarantee": tg.GDP(1.0), "random_state": 1}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    cost = np.where(rng.random(N_ROWS) < 0.1, np.nan, np.exp(2.0 * rng.normal(size=N_ROWS)))
    region = rng.choice(["north", "south", "moon"], N_ROWS)
    return pd.DataFrame({"cost": cost, "age": rng.normal(40.0, 9.0, N_ROWS), "region": region})


def numbers(source, **options):
    found = tg.describe(source, **PROMISE, **options)
    parts = [found.usable, found.mean, found.std, found.quantiles, found.quantiles_low]
    return [part.tobytes() for part in parts] + [repr(found.shares), repr(found.correlation)]


@pytest.mark.long
@pytest.mark.usefixtures("small_memory")
@pytest.mark.parametrize("by", [None, "region"])
def test_a_description_has_the_same_bits_from_files_and_from_dask(frame, by, tmp_path):
    expected = numbers(frame, by=by)
    files = parquet_sources(pa.Table.from_pandas(frame, preserve_index=False), tmp_path)
    for name in ("groups of 1024", "folder"):
        assert numbers(str(files[name]), by=by) == expected, name
    assert numbers(dd.from_pandas(frame, npartitions=3), by=by) == expected
