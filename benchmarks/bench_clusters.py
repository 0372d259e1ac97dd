"""The overhead of other processes: one file read by workers of Dask or Spark, or as an array.

    python benchmarks/bench_clusters.py [--quick] [--sizes 1000000] [--engine dask spark]

Float32 records of twenty columns in one Parquet file of eight row groups. Dask reads it with two
processes, which stay alive and get one task at a time, and Spark with ``local[2]``; the array is
in memory. They take turns: some gradient passes each, then one default fit each. The output gives
medians of wall-clock time and of processor time. Processor time includes all child processes, also
the Java machine and the workers. Engines that are not installed are skipped: pyspark has its own
environment (``make test-spark``), whose Python can run this file as well.
"""

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
from pyarrow import parquet

import tailguard as tg
from bench_engines import BUDGET, N_FEATURES, gradient_kernel, records
from tailguard.data.readers.opening import opened
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.reader import RecordReader
from tailguard.data.rows.streams import StreamRows

SIZES, QUICK_SIZES = (1_000_000,), (20_000,)
PARTS = 8
N_WORKERS = 2
TURNS, FEW_TURNS = 5, 3
# Passes of a turn: the system counts processor time in hundredths of a second.
PASSES = 10
NAMES = [f"x{j}" for j in range(N_FEATURES)]
TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds():
    """Of this process and of all below it that live, with those of theirs that have ended."""
    times, below = {}, {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        number = int(place.parent.name)
        times[number] = sum(map(int, fields[11:15])) / TICKS
        below.setdefault(int(fields[1]), []).append(number)
    waiting, total = [os.getpid()], 0.0
    while waiting:
        number = waiting.pop()
        total += times.get(number, 0.0)
        waiting += below.get(number, [])
    return total


def seconds(work):
    """On the clock, and of all processors."""
    clock, processor = time.perf_counter(), processor_seconds()
    work()
    return time.perf_counter() - clock, processor_seconds() - processor


@contextmanager
def dask(path):
    """The file as a data frame of Dask, whose workers are two processes."""
    import dask.dataframe as dd  # noqa: PLC0415 (not where Spark is)
    from dask import config  # noqa: PLC0415

    pool = ProcessPoolExecutor(N_WORKERS, get_context("spawn"))
    with pool, config.set(scheduler="processes", pool=pool, chunksize=1):
        yield dd.read_parquet(path, split_row_groups=1)


@contextmanager
def spark(path):
    """The file as a data frame of Spark, whose workers are two threads and their processes."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 (an environment of its own)

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    options = {
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        "spark.ui.showConsoleProgress": "false",
        # As many partitions as there are row groups.
        "spark.sql.files.maxPartitionBytes": str(path.stat().st_size // PARTS),
        "spark.sql.files.openCostInBytes": "0",
    }
    builder = SparkSession.builder.master(f"local[{N_WORKERS}]")
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session.read.parquet(str(path))
    session.stop()


ENGINES = {"dask": dask, "spark": spark}
NEEDED = {"dask": "dask", "spark": "pyspark"}


def by_turns(n_turns, **works):
    """The medians of some works, and how often as long as the first the others took."""
    for work in works.values():
        work()  # workers begin, and plans are made
    taken = np.array([[seconds(work) for work in works.values()] for _ in range(n_turns)])
    ratios = np.median(taken / taken[:, :1], axis=0)
    return dict(zip(works, zip(np.median(taken, axis=0), ratios, strict=True), strict=True))


def report(what, found):
    words = [
        f"{name} {clock:.2f} s, {processor:.2f} s of the processor"
        + ("" if name == "array" else f" ({of_clock:.3g} and {of_processor:.3g} times)")
        for name, ((clock, processor), (of_clock, of_processor)) in found.items()
    ]
    print(f"  {what}: {'; '.join(words)}", flush=True)


def measure(name, path, features, target, n_turns):
    """Passes and fits of one engine, of the same file read here, and of the array."""
    kernel = gradient_kernel()
    model = tg.LinearRegression(**BUDGET, random_state=0)
    reader = RecordReader(tg.Schema(features=NAMES, target="target"))
    held, read = make_rows(features, target), StreamRows(opened(path), reader)
    bits = set()

    def passes(rows):
        for _ in range(PASSES):
            rows.reduce(kernel)

    def fitted(source, *y, **named):
        bits.add(model.fit(source, *y, **named).coef_.tobytes())

    with ENGINES[name](path) as frame:
        rows, named = StreamRows(opened(frame), reader), {"target": "target", "columns": NAMES}
        found = by_turns(
            n_turns,
            array=lambda: passes(held),
            file=lambda: passes(read),
            **{name: lambda: passes(rows)},
        )
        report(f"{PASSES} passes", found)
        found = by_turns(
            min(n_turns, FEW_TURNS),
            array=lambda: fitted(features, target),
            file=lambda: fitted(path, **named),
            **{name: lambda: fitted(frame, **named)},
        )
        report("fit", found)
    print(f"  same bits: {len(bits) == 1}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="+", help="rows of each file")
    parser.add_argument("--engine", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--turns", type=int, default=TURNS)
    chosen = parser.parse_args()
    for n_rows in chosen.sizes or (QUICK_SIZES if chosen.quick else SIZES):
        features, target = records(0, n_rows)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "records.parquet"
            frame = pd.DataFrame(features, columns=NAMES).assign(target=target)
            frame.to_parquet(path, row_group_size=-(-n_rows // PARTS))
            del frame
            groups = parquet.ParquetFile(path).num_row_groups
            print(f"{n_rows:,} rows in {groups} row groups", flush=True)
            for name in chosen.engine:
                if find_spec(NEEDED[name]) is None:
                    print(f"  {name} is not installed here")
                    continue
                measure(name, path, features, target, chosen.turns)


if __name__ == "__main__":
    main()
