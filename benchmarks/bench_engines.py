"""Tables on disk: memory and time of one gradient pass and of a whole fit, and what Dask adds.

    python benchmarks/bench_engines.py [--quick] [--rows 20000000] [--folder /tmp]

Float32 records of twenty columns in one Parquet file. Each size is measured in a process of its
own, whose largest memory is told beside the file's size. A pass sums clipped gradients; to read
with pyarrow alone decodes the same columns and does nothing with them; both take turns. The slope
is that of the logarithm of the time over that of the number of rows. With ``row_id`` the
records are first brought to places that do not depend on their order. Dask works on the same
records in memory, in eight partitions, by threads of this machine.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from math import log
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

import tailguard as tg
from tailguard.kernels.clipped_gradient import ClippedGradientSum
from tailguard.rows.reader import RecordReader
from tailguard.rows.streams import StreamRows
from tailguard.sources.opening import opened

N_FEATURES = 20
SIZES, QUICK_SIZES = (1_000_000, 5_000_000, 20_000_000), (20_000, 100_000)
DASK_ROWS, QUICK_DASK_ROWS = 1_000_000, 20_000
ROWS_AT_ONCE = 500_000
TURNS = 3
# Odd, so that no two identifiers below 2**40 are alike.
MULTIPLIER = 0x9E3779B97F
BUDGET = {"epsilon": 1.0, "delta": 1e-7}


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
            features, target = records(first, min(ROWS_AT_ONCE, n_rows - first))
            policy = np.arange(first, first + len(target)) * MULTIPLIER % 2**40
            writer.write_table(pa.table([*features.T, target, policy], schema=schema))


def peak_megabytes():
    """The largest memory of this process, which Linux tells; getrusage would tell its parent's."""
    (line,) = [
        line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line
    ]
    return int(line.split()[1]) / 1024


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def passes(path):
    """One gradient pass and one reading, by turns."""
    table = opened(path)
    schema = tg.Schema(target="target", drop=["policy"]).settled(table.names, table.where)
    reader = RecordReader(schema)
    rows = StreamRows(table, reader)
    kernel = ClippedGradientSum(
        loss=tg.losses.Squared(),
        intercept=False,
        center=np.zeros(N_FEATURES),
        inverse_scale=np.ones(N_FEATURES),
        weights=np.zeros(N_FEATURES),
        clip_norm=10.0,
        grid=2.0**-20,
    )

    def read():
        for _ in parquet.ParquetFile(path).iter_batches(50_000, columns=reader.names):
            pass

    rows.reduce(kernel)
    largest = peak_megabytes()
    times = np.array([[seconds(lambda: rows.reduce(kernel)), seconds(read)] for _ in range(TURNS)])
    found = dict(zip(("pass", "read"), times.min(axis=0).tolist(), strict=True))
    return found | {"megabytes": largest}


def fit(path, row_id=None):
    start, columns = peak_megabytes(), [f"x{j}" for j in range(N_FEATURES)]
    named = {"target": "target", "columns": columns, "row_id": row_id}
    taken = seconds(lambda: tg.LinearRegression(**BUDGET).fit(path, **named))
    return {"fit": taken, "megabytes": peak_megabytes(), "before": start}


def keyed(path):
    return fit(path, "policy")


def dask(n_rows):
    features, target = records(0, n_rows)
    frame = pd.DataFrame(features, columns=[f"x{j}" for j in range(N_FEATURES)])
    parts = dd.from_pandas(frame.assign(target=target), npartitions=8)
    model = tg.LinearRegression(**BUDGET, random_state=0)
    model.fit(features[:5000], target[:5000])
    of_array = seconds(lambda: model.fit(features, target))
    coef = model.coef_
    of_dask = seconds(lambda: model.fit(parts, target="target"))
    return {"array": of_array, "dask": of_dask, "same bits": bool((coef == model.coef_).all())}


WORK = {"passes": passes, "fit": fit, "keyed": keyed, "dask": lambda n_rows: dask(int(n_rows))}


def alone(work, argument):
    """Run in a process of its own."""
    command = [sys.executable, __file__, "--work", work, str(argument)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def report(sizes, folder, dask_rows):
    told = []
    with tempfile.TemporaryDirectory(dir=folder) as place:
        for n_rows in sizes:
            path = Path(place) / f"{n_rows}.parquet"
            write(path, n_rows)
            size = path.stat().st_size / 2**20
            once, whole, any_order = (alone(work, path) for work in ("passes", "fit", "keyed"))
            told.append((n_rows, once["pass"], whole["fit"]))
            print(
                f"{n_rows:>11,} rows, {size:7.0f} MB on disk: pass {once['pass']:7.2f} s, "
                f"{once['pass'] / once['read']:4.2f} times pyarrow alone ({once['read']:.2f} s), "
                f"peak {once['megabytes']:.0f} MB; fit {whole['fit']:8.1f} s, "
                f"peak {whole['megabytes']:.0f} MB, {whole['before']:.0f} MB of it before; "
                f"with row_id {any_order['fit']:.1f} s, peak {any_order['megabytes']:.0f} MB",
                flush=True,
            )
            path.unlink()
    (first, *_), (last, *_) = told[0], told[-1]
    for name, column in (("pass", 1), ("fit", 2)):
        slope = log(told[-1][column] / told[0][column]) / log(last / first)
        print(f"slope of the {name} from {first:,} to {last:,} rows: {slope:.2f}")
    found = alone("dask", dask_rows)
    print(
        f"fit of {dask_rows:,} rows: array {found['array']:.1f} s, Dask {found['dask']:.1f} s, "
        f"{found['dask'] / found['array']:.2f} times; same bits: {found['same bits']}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int, help="the largest size")
    parser.add_argument("--folder", default=None)
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.work:
        work, argument = chosen.work
        print(json.dumps(WORK[work](argument)))
        return
    sizes = QUICK_SIZES if chosen.quick else SIZES
    sizes = [size for size in sizes if size <= (chosen.rows or size)]
    report(sizes, chosen.folder, QUICK_DASK_ROWS if chosen.quick else DASK_ROWS)


if __name__ == "__main__":
    main()
