"""Tables of persons with several rows, split over files and partitions in many ways."""

from functools import partial

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from support.shuffled import shuffled
from tailguard.data.readers.lazy import of_arrow_readers
from tailguard.data.readers.parquet import ParquetFiles
from tailguard.data.rows import person_file, streams
from tailguard.data.rows.keys import PersonRule
from tailguard.data.rows.person_file import FiledPersons
from tailguard.data.rows.reader import RecordReader
from tailguard.data.rows.streams import StreamRows
from tailguard.data.schema import Schema
from tailguard.noise.sources import SimulationSource

N_PERSONS = 1_200
COLUMNS = ["x0", "x1"]


def persons_frame(seed=0, n_persons=N_PERSONS):
    """Unordered visits of patients; some visits have no patient, and some cells are missing."""
    rng = np.random.default_rng(seed)
    keys = np.repeat(np.arange(n_persons), rng.integers(1, 9, n_persons))
    n_rows = len(keys)
    X = rng.standard_t(3, (n_rows, 2)) + rng.standard_normal((n_persons, 2))[keys]
    X[[5, 97], [0, 1]] = np.nan, np.inf
    score = np.nan_to_num(X, posinf=0.0) @ [0.5, -0.3]
    cost = score + rng.standard_t(3, n_rows)
    frame = pd.DataFrame(X, columns=COLUMNS).assign(cost=cost, ill=(cost > 0.0).astype(float))
    frame["hours"], frame["shift"] = rng.uniform(0.0, 2.0, n_rows), rng.uniform(-1.0, 1.0, n_rows)
    frame["key"] = pd.array(keys, dtype="Int64")
    frame.loc[frame.key % 7 == 0, [*COLUMNS, "cost"]] = 1.0  # equal rows
    return shuffled(pd.concat([frame, frame[:40].assign(key=pd.NA)]), seed)


def texts(frame):
    """The same persons with keys of text, some of which are numbers."""
    keys = [None if pd.isna(k) else f"p{k}" if k % 3 == 0 else str(k) for k in frame.key]
    return frame.assign(key=pd.array(keys, dtype="string"))


def written(frame, path, **options):
    parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, **options)
    return path


def cuts_of(frame, folder):
    """The same rows in memory, in files of several layouts and types, and in partitions."""
    found = {"pandas": frame, "shuffled": shuffled(frame, 5)}
    for seed, size in enumerate((100, 5000)):
        path = folder / f"{size}.parquet"
        found[f"row groups of {size}"] = written(shuffled(frame, seed), path, row_group_size=size)
    parts = found["folder"] = folder / "parts"
    parts.mkdir()
    for number, part in enumerate(np.array_split(np.arange(len(frame)), [1, 700, 700, 3000])):
        some = frame.iloc[part]
        some = some.assign(key=some.key.astype("string")) if number % 2 else some
        written(some, parts / f"{number}.parquet")
    found["lazy"] = pl.from_pandas(shuffled(frame, 7)).lazy()
    shuffled(frame, 9).to_csv(folder / "rows.csv", index=False, float_format="%.17g")
    found["csv"] = folder / "rows.csv"
    for n in (1, 7):
        found[f"{n} partitions"] = dd.from_pandas(shuffled(frame, n), npartitions=n, sort=False)
    return found


@pytest.fixture
def on_disk(monkeypatch):
    """Limit memory so that tables in files stay on disk, and few rows are read at a time."""
    monkeypatch.setattr(person_file, "NUMBERS_GATHERED", 0)
    monkeypatch.setattr(streams, "NUMBERS_AT_ONCE", 4 * 2**10)


def scattered(rows, keys, unit, *, loss=None, exposed=False, weighted=False, seed=3, cut=37):
    """Persons in numeric batches of ``cut`` rows, under the secret key drawn from ``seed``."""
    width = rows.shape[1] - 1 - exposed - weighted
    names = [f"x{j}" for j in range(width)]
    beside = ["target", *["exposure"] * exposed, *["weight"] * weighted]
    columns = {name: rows[:, j] for j, name in enumerate([*names, *beside])}
    whole = all(key is not None for key in keys)
    told = pa.array(list(map(int, keys)) if whole else [k if k is None else str(k) for k in keys])
    table = pa.table({**columns, "key": told})
    schema = Schema(
        features=names, target="target", person="key", max_rows=unit.max_rows,
        exposure="exposure" if exposed else None,
        weight="weight" if weighted else None, weight_bound=1.0 if weighted else None,
    )  # fmt: skip
    opened = of_arrow_readers(partial(table.to_reader, max_chunksize=cut))
    return filed(opened, schema, unit, loss=loss, seed=seed)


def filed(table, schema, unit, *, loss=None, seed=3):
    """Persons of a table in batches."""
    table = ParquetFiles(table) if not hasattr(table, "batches") else table
    rule = PersonRule.of("key", max_rows=unit.max_rows, weight=unit.weight)
    reader = RecordReader(schema, loss, alone=True)
    return FiledPersons(StreamRows(table, reader), rule.counted(table), SimulationSource(seed))
