"""Time and memory of one default fit against the number of rows, from arrays and from files.

    python benchmarks/bench_length.py [--quick] [--folder /tmp] [--out FILE.json]

Float32 records of ten columns and a target: in an array, or in a folder of files of a million rows
each. Each fit runs in a process of its own, after a small fit that compiles. The output gives
wall-clock time, processor time, and the peak memory of the process before and after the fit, which
includes all records of an array. A slope is that of log processor time over log number of rows.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from math import log
from pathlib import Path

import numpy as np

import tailguard as tg

N_FEATURES = 10
SIZES, QUICK_SIZES = (1_000_000, 4_000_000, 16_000_000), (20_000, 80_000)
ROWS_OF_A_FILE = 1_000_000
SMALL = 5_000
BUDGET = {"epsilon": 1.0, "delta": 1e-9}


def records(first, n_rows):
    """Some records of one linear model with heavy tails; the same for every size."""
    rng = np.random.default_rng(first)
    features = rng.standard_t(4, (n_rows, N_FEATURES)).astype(np.float32)
    target = features @ np.linspace(-1, 1, N_FEATURES) + rng.standard_t(3, n_rows)
    return features, target.astype(np.float32)


def pieces(n_rows):
    """Where files begin, and how many rows they have."""
    starts = range(0, n_rows, ROWS_OF_A_FILE)
    return [(start, min(ROWS_OF_A_FILE, n_rows - start)) for start in starts]


def write(folder, n_rows):
    import pyarrow as pa  # noqa: PLC0415 (what arrays need is told without it)
    from pyarrow import parquet  # noqa: PLC0415

    names = [*(f"x{j}" for j in range(N_FEATURES)), "target"]
    for first, count in pieces(n_rows):
        features, target = records(first, count)
        place = Path(folder) / f"{first:09}.parquet"
        parquet.write_table(pa.table([*features.T, target], names=names), place)


def peak_megabytes():
    """The largest memory of this process, which Linux tells; getrusage would tell its parent's."""
    (line,) = [
        line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line
    ]
    return int(line.split()[1]) / 1024


def fit(X, y=None, **told):
    """Make one fit, and tell what it took."""
    tg.LinearRegression(**BUDGET, random_state=0).fit(*records(0, SMALL))
    before, clock, processor = peak_megabytes(), time.perf_counter(), time.process_time()
    tg.LinearRegression(**BUDGET).fit(X, y, **told)
    return {
        "seconds": time.perf_counter() - clock,
        "processor": time.process_time() - processor,
        "before": before,
        "after": peak_megabytes(),
    }


def of_arrays(_, n_rows):
    features = np.empty((n_rows, N_FEATURES), np.float32)
    target = np.empty(n_rows, np.float32)
    for first, count in pieces(n_rows):
        features[first : first + count], target[first : first + count] = records(first, count)
    return fit(features, target)


def of_files(folder, _):
    return fit(folder, target="target")


WORK = {"arrays": of_arrays, "files": of_files}


def alone(work, folder, n_rows):
    """Run in a process of its own."""
    command = [sys.executable, __file__, "--work", work, str(folder), str(n_rows)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def report(sizes, folder):
    told, rows = {name: [] for name in WORK}, []
    for n_rows in sizes:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            write(place, n_rows)
            for name in WORK:
                found = alone(name, place, n_rows)
                told[name].append(found["processor"])
                rows.append({"rows": n_rows, "source": name, **found})
                print(
                    f"{n_rows:>11,} rows, {name:6}: {found['seconds']:7.1f} s, "
                    f"{found['processor']:7.1f} s of the processor, "
                    f"peak {found['after']:.0f} MB, {found['before']:.0f} MB before",
                    flush=True,
                )
    for name, times in told.items():
        slope = log(times[-1] / times[0]) / log(sizes[-1] / sizes[0])
        print(f"slope of {name} from {sizes[0]:,} to {sizes[-1]:,} rows: {slope:.2f}")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--folder", default=None)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.work:
        work, folder, n_rows = chosen.work
        print(json.dumps(WORK[work](folder, int(n_rows))))
        return
    rows = report(QUICK_SIZES if chosen.quick else SIZES, chosen.folder)
    if chosen.out and not chosen.quick:
        chosen.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
