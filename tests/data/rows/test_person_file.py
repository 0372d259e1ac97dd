"""Persons in a file: flat memory, whatever one person has, and nothing is left of a killed run."""

import os
import signal
import subprocess
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tailguard as tg
from support.person_tables import COLUMNS, filed, on_disk, persons_frame, written
from support.solvers import FEW_ROUNDS
from tailguard.data.readers.lazy import of_arrow_readers
from tailguard.data.readers.parquet import ParquetFiles
from tailguard.data.rows import keys as keys_module
from tailguard.data.rows import record_file
from tailguard.data.rows.keys import PersonKeys
from tailguard.data.rows.person_file import FiledPersons
from tailguard.data.rows.streams import StreamRows
from tailguard.data.schema import Schema
from tailguard.privacy.unit import Unit

__all__ = ["on_disk"]
UNIT = Unit(person="key", max_rows=4)
BATCH = 1_000


def table_of(n_batches, keys_of):
    """Batches that are made as they are read, whose keys a function of row numbers tells."""

    def batches():
        for number in range(n_batches):
            rows = np.arange(number * BATCH, (number + 1) * BATCH)
            yield pa.record_batch({"x": np.sin(rows), "y": np.cos(rows), "key": keys_of(rows)})

    schema = next(batches()).schema
    return of_arrow_readers(lambda: pa.RecordBatchReader.from_batches(schema, batches()))


def persons_of(n_batches, keys_of):
    schema = Schema(features=["x"], target="y", person="key", max_rows=UNIT.max_rows)
    return filed(table_of(n_batches, keys_of), schema, UNIT)


@pytest.fixture
def few_at_once(on_disk, monkeypatch):
    monkeypatch.setattr(keys_module, "KEYS_AT_ONCE", 2**12)
    # How many pieces wait for one another at the peak depends on a busy machine's threads.
    monkeypatch.setenv("TAILGUARD_NUM_THREADS", "1")


def peak(n_batches, keys_of):
    tracemalloc.start()
    used = persons_of(n_batches, keys_of).used()
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used.counts.sum() == 4 * used.counts.size
    return found


@pytest.mark.usefixtures("few_at_once")
def test_memory_is_flat_in_the_number_of_rows():
    short, long = (peak(n, lambda rows: rows % 2_000) for n in (20, 80))
    assert long < short + 4 * 60 * BATCH  # a row has four words of eight bytes


@pytest.mark.usefixtures("few_at_once")
def test_persons_in_another_order_take_no_memory_for_each_row(monkeypatch):
    """Places of the rows of pairs took up to sixty bytes a row, and were kept with the rows."""
    monkeypatch.setattr(record_file, "BYTES_SORTED", 2**16)
    unit = Unit(person="key", max_rows=400)
    schema = Schema(features=["x"], target="y", person="key", max_rows=unit.max_rows)
    used = filed(table_of(200, lambda rows: rows % 500), schema, unit).used()
    assert used.counts.sum() == 200 * BATCH
    order = np.random.default_rng(0).permutation(500)
    for moved in (used.in_pairs, used.of_persons):
        tracemalloc.start()
        kept = moved(order)
        found = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert kept.counts.sum() == 200 * BATCH
        assert max(found) < 4 * 200 * BATCH  # half a word of eight bytes for each row


@pytest.mark.usefixtures("few_at_once")
def test_rows_of_one_person_take_a_few_words_each():
    """Half of all rows are hers: never are all in memory, but their values are."""
    short = peak(20, lambda rows: rows % 2_000)
    long = peak(80, lambda rows: np.where(rows % 2, 0, rows % 2_000))
    assert long < short + 100 * 80 * BATCH


def test_a_person_s_rows_are_those_of_memory_however_many_she_has():
    keys = lambda rows: np.where(rows % 2, 0, rows % 500)  # noqa: E731 (a table's keys)
    used = persons_of(20, keys).used()
    every = keys(np.arange(20 * BATCH))
    assert used.counts.tolist() == [4] * len(np.unique(every))
    values = used.block(0, len(used.counts)).features[:, 0]
    whose = {round(float(np.sin(row)), 9): key for row, key in enumerate(every)}
    assert [whose[round(float(v), 9)] for v in values] == np.repeat(np.unique(every), 4).tolist()


def test_keys_come_in_parts_of_every_type():
    rng = np.random.default_rng(0)
    keys = rng.integers(-5, 60, 500)
    parts = [keys[:200], [str(k) for k in keys[200:300]], [f"t{k}" for k in keys[300:]], [None, ""]]
    found = PersonKeys.of(parts, UNIT)
    whole, counts = np.unique(keys[:300], return_counts=True)
    texts, times = np.unique([f"t{k}" for k in keys[300:]], return_counts=True)
    assert (found.whole.tolist(), list(found.texts)) == (whole.tolist(), texts.tolist())
    assert found.n_rows.tolist() == [*counts, *times]
    told = found.numbers([*map(str, whole), *texts, None, " "])
    assert told.tolist() == [*range(found.count), -1, -1]
    for other in ([999], np.array([999]), ["t999"], [found.whole[-1] + 1]):
        with pytest.raises(tg.InputError, match="the same rows whenever it is read"):
            found.numbers(other)


def test_many_keys_are_collected_without_all_rows(monkeypatch):
    monkeypatch.setattr(keys_module, "KEYS_AT_ONCE", 64)
    rng = np.random.default_rng(1)
    keys = rng.integers(0, 900, 20_000)
    found = PersonKeys.of(np.array_split(keys, 70), UNIT)
    whole, counts = np.unique(keys, return_counts=True)
    assert (found.whole.tolist(), found.n_rows.tolist()) == (whole.tolist(), counts.tolist())


KILLED = """
import os, signal, sys
import tailguard as tg
from support.solvers import FEW_ROUNDS
from tailguard.data.rows import person_file
asked, calls = person_file.FiledPersons.reduce, []

def reduce(*told):
    calls.append(1)
    if len(calls) == 9:
        os.kill(os.getpid(), signal.SIGKILL)
    return asked(*told)

person_file.FiledPersons.reduce = reduce
person_file.NUMBERS_GATHERED = 0
model = tg.LinearRegression(
    person="key", max_rows=3, epsilon=8.0, delta=1e-6, random_state=0, checkpoint=sys.argv[2],
    solver=FEW_ROUNDS,
)
model.fit(sys.argv[1], target="cost", columns=["x0", "x1"])
"""


@pytest.mark.long
def test_a_killed_fit_leaves_no_record_and_goes_on(tmp_path):
    path, point = written(persons_frame(), tmp_path / "visits.parquet"), tmp_path / "point"
    room = tmp_path / "room"
    room.mkdir()
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(path), str(point)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(room)},
        capture_output=True, check=False,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert list(room.iterdir()) == []
    text = point.read_text()
    assert "released" in text or '"key"' in text
    options = {"person": "key", "max_rows": 3, "epsilon": 8.0, "delta": 1e-6, "random_state": 0}
    options["solver"] = FEW_ROUNDS
    known, calls = {"target": "cost", "columns": COLUMNS}, []
    asked = FiledPersons.reduce
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FiledPersons, "reduce", lambda *told: calls.append(1) or asked(*told))
        again = tg.LinearRegression(checkpoint=point, **options).fit(path, **known)
        n_again, calls[:] = len(calls), []
        whole = tg.LinearRegression(**options).fit(path, **known)
    assert again.coef_.tobytes() == whole.coef_.tobytes()
    assert again.certificate_.to_json() == whole.certificate_.to_json()
    assert n_again == len(calls) - 8  # answers that were recorded are not asked again


def test_a_table_that_fails_at_a_key_costs_nothing_and_quotes_no_cell():
    def failing():
        yield pa.record_batch({"x": [1.0], "key": [1]})
        raise ValueError("key 77 is broken")

    schema = pa.schema({"x": pa.float64(), "key": pa.int64()})
    ends = iter([False, True])

    def opened():
        if next(ends, True):
            return pa.RecordBatchReader.from_batches(schema, failing())
        return pa.RecordBatchReader.from_batches(
            schema, [pa.record_batch({"x": [1.0], "key": [1]})]
        )

    ledger = tg.privacy.MemoryBooks()
    with pytest.raises(tg.InputError, match=r"must be readable to its end; reading") as caught:
        tg.mean(
            opened, columns=["x"], person="key", max_rows=1, guarantee=tg.GDP(1.0), ledger=ledger
        )
    assert "77" not in str(caught.value)
    assert caught.value.__context__ is None
    assert not ledger.releases


def test_a_long_column_of_keys_is_the_only_one_that_is_read_for_their_number(tmp_path):
    frame = pd.DataFrame({"x": np.zeros(50), "key": np.arange(50)})
    path, read = written(frame, tmp_path / "rows.parquet"), []
    batches = ParquetFiles.batches
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            ParquetFiles, "batches",
            lambda files, names, n_rows: read.append(tuple(names)) or batches(files, names, n_rows),
        )  # fmt: skip
        filed(path, Schema(features=["x"], person="key", max_rows=4), UNIT)
    assert set(read) == {("key",)}


def test_a_table_that_changed_tells_no_number_of_rows(tmp_path):
    frame = persons_frame()
    persons = filed(
        written(frame, tmp_path / "rows.parquet"),
        Schema(features=["x0"], person="key", max_rows=4), UNIT,
    )  # fmt: skip
    written(frame[:-7], tmp_path / "rows.parquet")
    with pytest.raises(tg.InputError, match="the same rows whenever it is read") as caught:
        persons.used()
    assert str(len(frame)) not in str(caught.value)


@pytest.mark.usefixtures("on_disk")
def test_rows_are_brought_together_once_for_every_order(monkeypatch):
    persons, read = persons_of(20, lambda rows: rows % 2_000), []
    asked = StreamRows.runs
    monkeypatch.setattr(
        StreamRows, "runs", lambda *told, **how: read.append(1) or asked(*told, **how)
    )
    ordered = persons.in_order(np.arange(persons.n_rows)[::-1])
    assert ordered.used() is persons.used()
    assert len(read) == 1
