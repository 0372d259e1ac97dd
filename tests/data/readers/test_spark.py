"""A Spark data frame has the bits of the array, however it is cut, shuffled and tried again.

They need pyspark and a Java: ``make test-spark`` runs them in an environment of their own.
"""

import faulthandler
import json
import os
import signal
from pathlib import Path
from threading import Timer

import numpy as np
import pandas as pd
import pytest

import tailguard as tg
from support.batched import small_memory
from support.loops import loop
from tailguard.cli.app import run
from tailguard.data.readers import spark as spark_table
from tailguard.data.readers.spark import SparkTable
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.reader import RecordReader
from tailguard.data.rows.streams import StreamRows
from tailguard.data.schema import Schema
from tailguard.privacy.books import MemoryBooks
from tailguard.queries.histograms import Bins, ColumnHistograms
from tailguard.solvers.newton import allocation

__all__ = ["small_memory"]
pytestmark = [
    pytest.mark.spark,
    pytest.mark.usefixtures("small_memory"),
    # What pyspark and its bridge to Java warn of is their own.
    pytest.mark.filterwarnings("default"),
]

BUDGET = {"guarantee": tg.ApproxDP(8.0, 1e-6), "random_state": 0}
COLUMNS = ["a", "b"]
N_ROWS = 6000
# A default fit asks 74 times, and Spark takes a good part of a second for each: most tests fit so.
SHORT = {**BUDGET, "solver": tg.solvers.NoisyGradientDescent(n_steps=3, step_size=0.1)}
SECONDS = 600
"""What a test may take, many times what it takes on an idle machine."""
BINS = Bins("octaves", -8.0, 4.0, 64)
COUNT = loop(ColumnHistograms((0, 1), BINS, paired=True), (np.zeros(2), np.ones(2)))


def started(master):
    from pyspark.sql import SparkSession

    options = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "localhost",
        "spark.sql.shuffle.partitions": "3",
        "spark.log.level": "OFF",
    }
    builder = SparkSession.builder.master(master)
    for name, value in options.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


# One worker, and two; a task may fail three times.
@pytest.fixture(scope="module", params=["local[1,4]", "local[2,4]"])
def spark(request):
    session = started(request.param)
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def on_time(spark):
    """Cancel the jobs of a test that takes too long; end the run if it then goes on as long."""
    late = []

    def end():
        late.append(True)
        spark.sparkContext.cancelAllJobs()

    timer = Timer(SECONDS, end)
    timer.start()
    faulthandler.dump_traceback_later(2 * SECONDS, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
    timer.cancel()
    if late:
        pytest.fail(f"Spark took over {SECONDS} seconds for this test; its jobs were cancelled.")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.standard_t(3, (N_ROWS, 3)), columns=[*COLUMNS, "cost"])
    frame.loc[7, "b"] = np.nan
    return frame.assign(policy=rng.permutation(N_ROWS))


def cut(spark, frame, n_partitions):
    """The rows in their order, in so many partitions."""
    rows = frame.itertuples(index=False, name=None)
    spread = spark.sparkContext.parallelize([tuple(map(float, row)) for row in rows], n_partitions)
    types = ", ".join(f"{name} double" for name in frame.columns)
    whole = spark.createDataFrame(spread, types)
    return whole.selectExpr(*frame.columns[:-1], "cast(policy as long) policy")


def bits(model):
    return model.coef_.tobytes(), model.intercept_, model.certificate_.to_json()


def fitted(source, told=SHORT, **named):
    return bits(tg.LinearRegression(**told).fit(source, target="cost", columns=COLUMNS, **named))


@pytest.mark.parametrize("n_partitions", [1, 2, 7])
def test_fits_have_the_bits_of_the_array(n_partitions, frame, spark):
    assert fitted(cut(spark, frame, n_partitions)) == fitted(frame)


def test_means_and_minimisers_have_the_bits_of_the_array(frame, spark):
    source = cut(spark, frame, 3)
    for method in ("clipped", "iterative"):
        held, spread = (
            tg.mean(X, columns=COLUMNS, method=method, **BUDGET) for X in (frame, source)
        )
        assert held.value.tobytes() == spread.value.tobytes()
    ball = tg.sets.L2Ball(1.0)
    held, spread = (
        tg.minimize(tg.losses.Huber(), X, target="cost", columns=COLUMNS, constraint=ball, **BUDGET)
        for X in (frame, source)
    )
    assert held.coef.tobytes() == spread.coef.tobytes()


SCHEMA = {"categorical": {"region": ["north", "south"]}}


def described(source, **told):
    found = tg.describe(source, columns=[*COLUMNS, "region"], schema=SCHEMA, **BUDGET, **told)
    parts = (found.usable, found.mean, found.mean_high, found.std, found.quantiles)
    correlation = None if found.correlation is None else found.correlation.tolist()
    return [part.tobytes() for part in parts], found.shares, correlation


@pytest.mark.parametrize("by", [None, "region"])
def test_summaries_have_the_bits_of_the_array(by, frame, spark):
    held = frame.assign(region=np.where(frame["policy"] % 3, "north", "elsewhere"))
    region = "if(policy % 3 = 0, 'elsewhere', 'north') region"
    source = cut(spark, frame, 3).selectExpr("*", region)
    assert described(source, by=by) == described(held, by=by)
    moved = source.repartition(4, "a")
    assert described(moved, by=by, row_id="policy") == described(held, by=by, row_id="policy")


def test_with_identifiers_no_shuffle_changes_a_bit(frame, spark):
    from pyspark.sql import functions

    held, source = fitted(frame, row_id="policy"), cut(spark, frame, 3)
    assert held != fitted(frame)
    assert fitted(source.repartition(4, "a"), row_id="policy") == held
    held = descended(frame, row_id="policy")
    for moved in (
        source.repartition(5),
        source.orderBy(functions.hash("policy")),
        source.filter("policy % 2 = 0").union(source.filter("policy % 2 = 1")),
    ):
        assert descended(moved, row_id="policy") == held


def test_persons_scattered_over_partitions_have_the_bits_of_memory(frame, spark):
    visits = frame.assign(policy=frame.policy % 700)
    told = {"person": "policy", "max_rows": 4, **SHORT}
    known = {"target": "cost", "columns": COLUMNS}
    held = bits(tg.LinearRegression(**told).fit(visits, **known))
    source = cut(spark, visits, 3)
    for moved in (source, source.repartition(4, "a")):
        assert bits(tg.LinearRegression(**told).fit(moved, **known)) == held
    assert json.loads(held[2])["n_rows"] == 700


def test_a_killed_worker_changes_no_bit_of_persons(frame, spark, tmp_path):
    visits = frame.assign(policy=frame.policy % 700)
    told = {"columns": COLUMNS, "person": "policy", "max_rows": 4, **BUDGET}
    moved = cut(spark, visits, 3).repartition(4, "a")
    broken = moved.mapInArrow(failing(str(tmp_path), "killed", readings=1), moved.schema)
    assert tg.mean(broken, **told).value.tobytes() == tg.mean(visits, **told).value.tobytes()
    for place in range(4):
        assert (tmp_path / f"{place}-2").exists()


def descended(source, **told):
    return tg.minimize(
        tg.losses.Huber(1.0), source, target="cost", columns=COLUMNS,
        constraint=tg.sets.L2Ball(2.0), solver=tg.solvers.NoisyGradientDescent(n_steps=3),
        **BUDGET, **told,
    ).coef.tobytes()  # fmt: skip


def forbidden(*given, **named):
    raise AssertionError("rows are brought here")


@pytest.mark.parametrize("told", [{"order": "any"}, {"row_id": "policy"}])
def test_sums_of_shuffled_rows_are_made_by_the_workers(told, frame, spark, monkeypatch):
    held, source = descended(frame, **told), cut(spark, frame, 3)
    monkeypatch.setattr(spark_table, "rows_of_answer", forbidden)
    assert descended(source.repartition(4, "a"), **told) == held
    with pytest.raises((AssertionError, tg.ReleaseError)):  # whole chunks of the file need them
        descended(source)


def test_a_sample_is_chosen_by_the_workers(frame, spark, monkeypatch):
    monkeypatch.setattr(allocation, "SMALLEST_SAMPLE", 1000)
    monkeypatch.setattr(allocation, "sample_suffices", lambda *given: True)
    held, brought, read = fitted(frame, BUDGET, row_id="policy"), [], spark_table.rows_of_answer
    columns = set()

    def counted(sent):
        rows = read(sent)
        if rows.column_names != ["policy"]:  # identifiers are compared here, once
            brought.append(len(rows))
        return rows

    def noted(self, names, *given, whole=SparkTable.batches):
        columns.add(tuple(names))
        return whole(self, names, *given)

    monkeypatch.setattr(spark_table, "rows_of_answer", counted)
    monkeypatch.setattr(SparkTable, "batches", noted)
    assert fitted(cut(spark, frame, 3).repartition(4, "a"), BUDGET, row_id="policy") == held
    assert columns == {("policy",)}
    assert 1000 <= sum(brought) <= 1010


def failing(marks, how, readings=0):
    """What gives back what comes, but fails once in every partition, after its first batch.

    That is when the partition was read so many times before; each reading leaves a mark.
    """

    def once(batches):  # of no module, so that workers, which have no tests, can be sent it
        from pyspark import TaskContext

        place = TaskContext.get().partitionId()
        reading = len(list(Path(marks).glob(f"{place}-*")))
        (Path(marks) / f"{place}-{reading}").touch()
        for batch in batches:
            yield batch
            if reading == readings:
                if how == "killed":
                    os.kill(os.getpid(), signal.SIGKILL)
                raise RuntimeError("once")

    return once


@pytest.mark.parametrize("how", ["raised", "killed"])
def test_a_task_that_fails_once_counts_once(how, frame, spark, tmp_path):
    whole = cut(spark, frame, 4)
    broken = whole.mapInArrow(failing(str(tmp_path), how), whole.schema)
    table = SparkTable(whole)
    table._frame = broken  # what fails is the pass, not the counts before it
    streamed = StreamRows(table, RecordReader(Schema(features=COLUMNS)))
    counts = streamed.reduce(COUNT)
    assert all((tmp_path / f"{place}-1").exists() for place in range(4))  # each was read again
    assert counts.tolist() == make_rows(frame[COLUMNS].to_numpy()).reduce(COUNT).tolist()


# Each partition is counted three times, then summed.
@pytest.mark.parametrize("readings", [1, 3], ids=["a count", "a sum"])
@pytest.mark.parametrize("told", [{"order": "any"}, {"row_id": "policy"}])
def test_workers_killed_half_way_change_no_bit(told, readings, frame, spark, tmp_path, monkeypatch):
    moved = cut(spark, frame, 3).repartition(4, "a")
    broken = moved.mapInArrow(failing(str(tmp_path), "killed", readings), moved.schema)
    held = descended(frame, **told)
    monkeypatch.setattr(spark_table, "rows_of_answer", forbidden)
    assert descended(broken, **told) == held
    for place in range(4):  # each partition was killed while it was read, and read again
        assert (tmp_path / f"{place}-{readings + 1}").exists()


def shortened(mark):
    """What gives back what comes, and one row less of each batch once there is a mark."""

    def once_marked(batches):
        for batch in batches:
            yield batch.slice(1) if Path(mark).exists() else batch

    return once_marked


def test_a_frame_that_changes_is_refused(frame, spark, tmp_path):
    whole, mark = cut(spark, frame, 2), tmp_path / "mark"
    table = SparkTable(whole.mapInArrow(shortened(str(mark)), whole.schema))
    mark.touch()
    with pytest.raises(tg.InputError, match="the same rows whenever it is read"):
        StreamRows(table, RecordReader(Schema(features=COLUMNS)))


def test_a_query_that_fails_by_a_cell_fails_before_anything_is_spent(frame, spark):
    """And dates, which a reader may have guessed, are missing cells."""
    whole, ledger = cut(spark, frame, 2), MemoryBooks()
    failing = whole.selectExpr("assert_true(policy < 41) a", "cost")
    with pytest.raises(tg.InputError, match="X must be readable to its end"):
        tg.mean(failing, epsilon=1.0, delta=1e-6, columns=["a"], ledger=ledger)
    assert ledger.reserved == MemoryBooks().reserved
    dated = whole.selectExpr("date'2026-01-01' day", "cost")
    found = StreamRows(SparkTable(dated), RecordReader(Schema(features=["day", "cost"])))
    assert not found.reduce(COUNT).any()


def test_frames_are_refused_by_shape_and_text(frame, spark, tmp_path):
    whole = cut(spark, frame, 1)
    frame.to_csv(tmp_path / "claims.csv", index=False)
    guessed = spark.read.csv(str(tmp_path / "claims.csv"), header=True, inferSchema=True)
    for bad, words in (
        (whole.limit(0), "X must have rows and columns; got 0 and 4"),
        (guessed, "X must come from files that carry types"),
    ):
        with pytest.raises(tg.InputError, match=words):
            tg.LinearRegression(**BUDGET).fit(bad, target="cost")


def test_the_command_has_workers_read_the_files(frame, spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("claims").mkdir()
    for part, size in ((0, 700), (1, 2000)):
        rows = frame[3000 * part : 3000 * (part + 1)]
        rows.to_parquet(f"claims/{part}.parquet", row_group_size=size)
    told = {}
    for engine in ("local", "spark"):
        arguments = ["mean", "claims", "--columns", "a,b", "--epsilon", "1", "--delta", "1e-6"]
        seeded = ["--random-state", "0", "--out", "mean.json", "--engine", engine]
        assert run([*arguments, *seeded]) == 0
        told[engine] = json.loads(Path("mean.json").read_text())
    assert told["spark"] == told["local"]
