"""Persons on disk: memory and time of a fit that protects persons, and of one that protects rows.

    python benchmarks/bench_person_engines.py [--quick] [--persons 100000 1000000] [--folder DIR]
                                              [--out FILE.json]

Float32 rows of ten columns in one Parquet file, unordered, of persons who have one to nineteen
rows, ten on average. Each fit runs in a process of its own; the output gives its peak memory, and
that after the imports. Times are wall-clock time and processor time of all threads. The files are
removed.
"""

import argparse
import json
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import tailguard as tg
from bench_engines import alone, peak_megabytes, seconds, told_of

N_FEATURES, ROWS_EACH, MAX_ROWS = 10, 10, 10
PERSONS, QUICK_PERSONS = (100_000, 1_000_000), (2_000,)
ROWS_AT_ONCE = 500_000
BUDGET = {"epsilon": 1.0, "delta": 1e-7}
COLUMNS = [f"x{j}" for j in range(N_FEATURES)]


def write(path, n_persons):
    """Write the rows of these persons, whose keys are scattered over the file."""
    rng = np.random.default_rng(0)
    keys = np.repeat(np.arange(n_persons), rng.integers(1, 2 * ROWS_EACH, n_persons))
    rng.shuffle(keys)
    floats = [(name, pa.float32()) for name in [*COLUMNS, "target"]]
    schema = pa.schema([*floats, ("key", pa.int64())])
    with parquet.ParquetWriter(path, schema, compression="snappy") as writer:
        for first in range(0, len(keys), ROWS_AT_ONCE):
            key = keys[first : first + ROWS_AT_ONCE]
            X = rng.standard_t(4, (len(key), N_FEATURES)).astype(np.float32)
            y = X @ np.linspace(-1, 1, N_FEATURES) + np.sin(key) + rng.standard_t(3, len(key))
            table = pa.table([*X.T, y.astype(np.float32), key * 7919], schema=schema)
            writer.write_table(table)
    return len(keys)


def fit(path, **persons):
    start = peak_megabytes()
    model = tg.LinearRegression(**BUDGET, **persons)
    taken = seconds(lambda: model.fit(path, target="target", columns=COLUMNS))
    return {"fit": taken, "megabytes": peak_megabytes(), "before": start}


WORK = {"rows": fit, "persons": partial(fit, person="key", max_rows=MAX_ROWS)}


def report(n_persons, folder):
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = Path(place) / "visits.parquet"
        n_rows = write(path, n_persons)
        size = path.stat().st_size / 2**20
        print(f"{n_rows:,} rows of {n_persons:,} persons, {size:.0f} MB on disk", flush=True)
        told, clock, processor = [], [], []
        for work in WORK:
            found = alone(work, path, __file__)
            told.append(
                {"rows": n_rows, "persons": n_persons, "on disk": size, "work": work, **found}
            )
            clock.append(found["fit"][0])
            processor.append(found["fit"][1])
            print(f"  {told_of(work, found)}", flush=True)
    ratios = clock[1] / clock[0], processor[1] / processor[0]
    print("  persons take {:.2f} times the clock, {:.2f} times the processor".format(*ratios))
    return told


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--persons", type=int, nargs="+", help="persons of each file")
    parser.add_argument("--folder", default=None, help="where files are written")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.alone:
        work, path = chosen.alone
        print(json.dumps(WORK[work](path)))
        return
    rows = []
    for n_persons in chosen.persons or (QUICK_PERSONS if chosen.quick else PERSONS):
        rows += report(n_persons, chosen.folder)
    if chosen.out and not chosen.quick:
        chosen.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
