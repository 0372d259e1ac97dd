"""Tables on disk: memory and time of a gradient pass and of a whole fit, and the overhead of Dask.

    python benchmarks/bench_engines.py [--quick] [--sizes 1000000 10000000] [--work passes fit]
                                       [--out FILE.json]

Float32 records of twenty columns in one Parquet file; they repeat after five million, so that long
files are quick to write. Each size runs in a process of its own; the output gives its peak memory
and the size of the file. Three passes take turns: one sums clipped gradients; one only decodes the
same columns with pyarrow; one sums records without an order, which are rounded one by one. Times
are wall-clock time and processor time of all threads of the process. The slope is the slope of log
processor time over log number of rows. With ``row_id`` records have no order, in files or in an
array. Dask runs on the same records in memory, in eight partitions, with threads of this machine.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import cache
from math import log
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

import tailguard as tg
from tailguard.data.readers.opening import opened
from tailguard.data.rows.reader import RecordReader
from tailguard.data.rows.streams import StreamRows
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.loop import LatticeSum
from tailguard.queries.units import Units

N_FEATURES = 20
SIZES, QUICK_SIZES = (1_000_000, 5_000_000, 20_000_000), (20_000,)
DASK_ROWS, QUICK_DASK_ROWS = 1_000_000, 20_000
ROWS_AT_ONCE = 500_000
DISTINCT_ROWS = 5_000_000
TURNS = 3
# Odd, so that no two identifiers below 2**40 are alike.
MULTIPLIER = 0x9E3779B97F
BUDGET = {"epsilon": 1.0, "delta": 1e-7}


@cache
def records(first, n_rows):
    """Some records of one linear model with heavy tails; the same for every size."""
    rng = np.random.default_rng(first)
    features = rng.standard_t(4, (n_rows, N_FEATURES)).astype(np.float32)
    target = features @ np.linspace(-1, 1, N_FEATURES) + rng.standard_t(3, n_rows)
    return features, target.astype(np.float32)


def write(path, n_rows):
    names = [f"x{j}" for j in range(N_FEATURES)]
    schema = pa.schema(
        [*((name, pa.float32()) for name in [*names, "target"]), ("policy", pa.int64())]
    )
    with parquet.ParquetWriter(path, schema, compression="snappy") as writer:
        for first in range(0, n_rows, ROWS_AT_ONCE):
            features, target = records(first % DISTINCT_ROWS, min(ROWS_AT_ONCE, n_rows - first))
            policy = np.arange(first, first + len(target)) * MULTIPLIER % 2**40
            writer.write_table(pa.table([*features.T, target, policy], schema=schema))


def peak_megabytes():
    """The largest memory of this process, which Linux tells; getrusage would tell its parent's."""
    (line,) = [
        line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line
    ]
    return int(line.split()[1]) / 1024


def seconds(work):
    """On the clock, and of the processor, of all threads together."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - processor


def gradient_kernel():
    """What one gradient pass adds up."""
    units = Units.raw(N_FEATURES, intercept=False)
    query = MeanClippedGradient(tg.losses.Squared(), units, clip_norm=10.0)
    return LatticeSum(query, np.zeros(N_FEATURES), 2.0**-20, N_FEATURES)


def passes(path):
    """One gradient pass and one reading, by turns; the least time of each."""
    table = opened(path)
    schema = tg.Schema(target="target", drop=["policy"]).settled(table.names, table.where)
    reader = RecordReader(schema)
    rows, unordered = (StreamRows(table, replace(reader, alone=alone)) for alone in (False, True))
    kernel = gradient_kernel()

    def read():
        for _ in parquet.ParquetFile(path).iter_batches(50_000, columns=reader.names):
            pass

    rows.reduce(kernel)
    largest = peak_megabytes()
    unordered.reduce(kernel)
    works = [lambda: rows.reduce(kernel), lambda: unordered.reduce(kernel), read]
    times = np.array([[seconds(work) for work in works] for _ in range(TURNS)])
    of_pass, of_any, of_read = np.median(times, axis=0).tolist()
    return {"pass": of_pass, "any": of_any, "read": of_read, "megabytes": largest}


def fit(path, row_id=None):
    start, columns = peak_megabytes(), [f"x{j}" for j in range(N_FEATURES)]
    named = {"target": "target", "columns": columns, "row_id": row_id}
    taken = seconds(lambda: tg.LinearRegression(**BUDGET).fit(path, **named))
    return {"fit": taken, "megabytes": peak_megabytes(), "before": start}


def keyed(path):
    return fit(path, "policy")


def array(path, row_id=None):
    frame = pd.read_parquet(path)
    start, columns = peak_megabytes(), [f"x{j}" for j in range(N_FEATURES)]
    named = {"target": "target", "columns": columns, "row_id": row_id}
    taken = seconds(lambda: tg.LinearRegression(**BUDGET).fit(frame, **named))
    return {"fit": taken, "megabytes": peak_megabytes(), "before": start}


def keyed_array(path):
    return array(path, "policy")


def dask(n_rows):
    import dask.dataframe as dd  # noqa: PLC0415 (not where Spark is)

    features, target = records(0, n_rows)
    frame = pd.DataFrame(features, columns=[f"x{j}" for j in range(N_FEATURES)])
    frame = frame.assign(target=target, policy=np.arange(n_rows) * MULTIPLIER % 2**40)
    parts = dd.from_pandas(frame, npartitions=8)
    columns = list(frame.columns[:N_FEATURES])
    model = tg.LinearRegression(**BUDGET, random_state=0)
    model.fit(features[:5000], target[:5000])
    of_array = seconds(lambda: model.fit(features, target))
    coef = model.coef_
    of_dask = seconds(lambda: model.fit(parts, target="target", columns=columns))
    found = {"array": of_array, "dask": of_dask, "same bits": bool((coef == model.coef_).all())}
    named = {"target": "target", "columns": columns, "row_id": "policy"}
    found["array by row_id"] = seconds(lambda: model.fit(frame, **named))
    coef = model.coef_
    found["dask by row_id"] = seconds(lambda: model.fit(parts, **named))
    return found | {"same bits by row_id": bool((coef == model.coef_).all())}


WORK = {"passes": passes, "fit": fit, "keyed": keyed, "array": array, "keyed-array": keyed_array}
OF_FILES = tuple(WORK)
WORK["dask"] = lambda n_rows: dask(int(n_rows))


def alone(work, argument, script=__file__):
    """Run in a process of its own."""
    command = [sys.executable, script, "--alone", work, str(argument)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def told_of(work, found):
    """What there is to say of one measurement of a file."""
    memory = f"peak {found['megabytes']:.0f} MB"
    if work == "passes":
        (clock, processor), (read_clock, read_processor) = found["pass"], found["read"]
        any_clock, any_processor = found["any"]
        return (
            f"pass {clock:.2f} s, {processor:.2f} s of the processor; without an order "
            f"{any_clock:.2f} s, {any_processor:.2f} s: {any_processor / processor:.2f} times; "
            f"pyarrow alone {read_clock:.2f} s, {read_processor:.2f} s of the processor: "
            f"{read_clock / clock:.2f} of its throughput, {read_processor / processor:.2f} of that "
            f"of the processor; {memory}"
        )
    clock, processor = found["fit"]
    return (
        f"{work:11} {clock:.1f} s, {processor:.1f} s of the processor; "
        f"{memory}, {found['before']:.0f} MB of it before"
    )


def report_files(sizes, works, folder):
    times, rows = {work: [] for work in works}, []
    with tempfile.TemporaryDirectory(dir=folder) as place:
        for n_rows in sizes:
            path = Path(place) / f"{n_rows}.parquet"
            write(path, n_rows)
            size = path.stat().st_size / 2**20
            print(f"{n_rows:,} rows, {size:.0f} MB on disk", flush=True)
            for work in works:
                found = alone(work, path)
                rows.append({"rows": n_rows, "on disk": size, "work": work, **found})
                times[work].append(found["pass" if work == "passes" else "fit"][1])
                print(f"  {told_of(work, found)}", flush=True)
            path.unlink()
    for work, taken in times.items():
        if len(sizes) > 1:
            slope = log(taken[-1] / taken[0]) / log(sizes[-1] / sizes[0])
            print(f"slope of {work} from {sizes[0]:,} to {sizes[-1]:,} rows: {slope:.2f}")
    return rows


def report_dask(n_rows):
    found = alone("dask", n_rows)
    for words in ("", " by row_id"):
        (held, of_held), (spread, of_spread) = found["array" + words], found["dask" + words]
        print(
            f"fit of {n_rows:,} rows{words}: array {held:.1f} s, {of_held:.1f} s of the processor; "
            f"Dask {spread:.1f} s, {of_spread:.1f} s of the processor: {spread / held:.2f} and "
            f"{of_spread / of_held:.2f} times; same bits: {found['same bits' + words]}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="+", help="rows of each file, rising")
    parser.add_argument("--work", nargs="+", choices=WORK, default=list(WORK))
    parser.add_argument("--dask-rows", type=int)
    parser.add_argument("--folder", default=None, help="where files are written")
    parser.add_argument("--out", type=Path, help="keep what is measured of files")
    parser.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.alone:
        work, argument = chosen.alone
        print(json.dumps(WORK[work](argument)))
        return
    of_files = [work for work in OF_FILES if work in chosen.work]
    if of_files:
        sizes = chosen.sizes or (QUICK_SIZES if chosen.quick else SIZES)
        rows = report_files(sizes, of_files, chosen.folder)
        if chosen.out and not chosen.quick:
            chosen.out.write_text(json.dumps(rows, indent=1) + "\n")
    if "dask" in chosen.work:
        report_dask(chosen.dask_rows or (QUICK_DASK_ROWS if chosen.quick else DASK_ROWS))


if __name__ == "__main__":
    main()
