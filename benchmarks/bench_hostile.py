"""CPU time on hostile and on usual records of the same shape: does running time leak?

    python benchmarks/bench_hostile.py [--quick] [--only kernels|fits] [--out FILE.json] [NAME ...]

Usual records are normal numbers. In hostile records every feature, or the target, has one value
(subnormal, 0.5, 1e300, infinite or NaN) in one row, in a random half of the rows or in all rows.
Usual and hostile runs take turns on one core; a ratio is the median over pairs of runs. A row of
the table gives the smallest and the largest ratio over all values, for features and target.
``noise`` is the ratio of usual records to copies of themselves: the accuracy of all other ratios. A
fit that cannot estimate scales ends early, as its certificate states; its time is omitted, and the
number of its released answers is printed instead.
"""

import json
import math
import os
import statistics
import sys
import time
from argparse import ArgumentParser
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from hostile import fits, kernels

PAIRS, QUICK_PAIRS = 20, 1
LEAST_SECONDS = 0.005  # of what is timed at once
ENDED_EARLY = 0.75  # of the answers to usual records
VALUES = {"subnormal": 1e-310, "0.5": 0.5, "1e300": 1e300, "infinite": np.inf, "NaN": np.nan}
SHARES = ("one", "half", "all")


def pin():
    """Run on one core and one thread."""
    os.environ["TAILGUARD_NUM_THREADS"] = "1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def seconds(run, data, repeats):
    start = time.process_time()
    for _ in range(repeats):
        run(*data)
    return time.process_time() - start


def ratio(run, usual, hostile, pairs, repeats):
    """Median ratio of CPU times of runs that take turns."""
    found = []
    for pair in range(pairs):
        order = (hostile, usual) if pair % 2 else (usual, hostile)
        first, second = (seconds(run, data, repeats) for data in order)
        found.append(first / second if pair % 2 else second / first)
    return statistics.median(found)


def hostile_copies(X, y, share):
    """Copies of the records with one value in the features, or in the target, of some rows."""
    count = {"one": 1, "half": len(X) // 2, "all": len(X)}[share]
    rows = np.random.default_rng(1).permutation(len(X))[:count]
    for value in VALUES.values():
        for of_target in (False, True) if y is not None else (False,):
            features, target = X.copy(), None if y is None else y.copy()
            (target if of_target else features)[rows] = value
            yield features, target


def compare(name, run, usual, pairs):
    """Return and print ranges of ratios for each share, and what ended early for lack of scales."""
    asked = run(*usual)
    spent = statistics.median(seconds(run, usual, 1) for _ in range(5))
    repeats = math.ceil(LEAST_SECONDS / spent)
    copies = [tuple(part if part is None else part.copy() for part in usual) for _ in range(8)]
    row, kept = [], {"query": name}
    shares = ("usual", *SHARES)
    groups = (copies, *(hostile_copies(*usual, share) for share in SHARES))
    for share, group in zip(shares, groups, strict=True):
        ratios, ended = [], []
        for other in group:
            questions = run(*other)
            if asked is not None and questions < ENDED_EARLY * asked:
                ended.append(questions)
            else:
                ratios.append(ratio(run, usual, other, pairs, repeats))
        told = f", or {min(ended)} to {max(ended)} of {asked} questions" if ended else ""
        row.append(f"{min(ratios):.2f} to {max(ratios):.2f}{told}")
        kept[share] = {"least": min(ratios), "most": max(ratios), "ended": len(ended)}
    print(f"| {name} | {1e3 * spent:.2f} | {' | '.join(row)} |", flush=True)
    return kept


def main():
    parser = ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=("kernels", "fits"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    pin()
    pairs = QUICK_PAIRS if options.quick else PAIRS
    print("| | ms | noise | in one row | in half | in all |")
    print("|---|---|---|---|---|---|")
    rows = []
    with threadpool_limits(1):
        for module in (kernels, fits):
            if options.only in (None, module.__name__.rpartition(".")[2]):
                for name, run, X, y in module.cases(quick=options.quick):
                    if not options.names or any(part in name for part in options.names):
                        rows.append(compare(name, run, (X, y), pairs))
    if options.out and not options.quick:
        options.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
