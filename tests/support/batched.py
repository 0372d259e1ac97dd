"""Tables that are read in batches and not kept in memory, and arrays of the same rows."""

import hashlib
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tailguard.data.rows import streams


@pytest.fixture
def small_memory(monkeypatch):
    """Limit memory so that a few thousand records do not fit and fill several windows."""
    monkeypatch.setattr(streams, "NUMBERS_KEPT", 0)
    monkeypatch.setattr(streams, "NUMBERS_AT_ONCE", 3 * 2**12)
    monkeypatch.setattr(streams, "NUMBERS_GATHERED", 3 * 2**13)


def digest(model):
    """A hash of everything that a fit lets out."""
    numbers = (model.coef_, model.intercept_, model.coef_noise_std_, model.intercept_noise_std_)
    text = b"".join(np.asarray(number).tobytes() for number in (*numbers, model.coef_std_))
    return hashlib.sha256(text + model.certificate_.to_json().encode()).hexdigest()


def arrow_table(features, **others):
    """A table of float columns x0, x1, ... and of further columns by name."""
    columns = {f"x{j}": features[:, j] for j in range(features.shape[1])}
    return pa.table({name: np.ascontiguousarray(c) for name, c in (columns | others).items()})


def parquet_sources(table, folder):
    """The same rows as files: with three sizes of row groups, and split over a folder."""
    sources = {}
    for size in (100, 1024, 5000):
        sources[f"groups of {size}"] = folder / f"groups-{size}.parquet"
        parquet.write_table(table, sources[f"groups of {size}"], row_group_size=size)
    parts = sources["folder"] = folder / "parts"
    (parts / "rest").mkdir(parents=True)
    edges = [0, 1, 1500, 1500, 4097, len(table)]
    for number, (start, stop) in enumerate(pairwise(edges)):
        place = parts / "rest" if number > 2 else parts
        parquet.write_table(table[start:stop], place / f"part-{number}.parquet")
    sources["pattern"] = f"{folder}/parts/**/part-*.parquet"
    return sources
