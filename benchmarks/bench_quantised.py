"""What it costs to round every record to the lattice, beside rounding each chunk's sum.

    python benchmarks/bench_quantised.py [--quick]

Sums of whole numbers are the same under any cut and order of the records if each record is rounded
by itself, without an order by identifiers. The two loops below sum the same clipped gradients of
squared loss: one adds floats and rounds once a chunk, the other rounds each product. They are
compiled alike, on one thread; processor time is told, of the fastest of some turns.
"""

import argparse
import time

import numpy as np
from numba import njit

N_ROWS, QUICK_ROWS = 500_000, 50_000
WIDTHS = (10, 20, 100)
CHUNK_ROWS = 1024
TURNS = 7
CLIP, GRID = 3.0, 2.0**-20


@njit(fastmath={"reassoc", "contract"})
def by_chunk(features, target, weights, clip, grid, total):
    n_rows, n_features = features.shape
    held = np.zeros(n_features)
    for first in range(0, n_rows, CHUNK_ROWS):
        held[:] = 0.0
        for i in range(first, min(n_rows, first + CHUNK_ROWS)):
            score, square = 0.0, 0.0
            for j in range(n_features):
                score += features[i, j] * weights[j]
                square += features[i, j] * features[i, j]
            slope = score - target[i]
            slope *= min(1.0, clip / (abs(slope) * np.sqrt(square) + 1e-300))
            for j in range(n_features):
                held[j] += slope * features[i, j]
        for j in range(n_features):
            total[j] += np.int64(np.rint(held[j] / grid))


@njit(fastmath={"reassoc", "contract"})
def by_record(features, target, weights, clip, grid, total):
    n_rows, n_features = features.shape
    steps = 1.0 / grid
    for i in range(n_rows):
        score, square = 0.0, 0.0
        for j in range(n_features):
            score += features[i, j] * weights[j]
            square += features[i, j] * features[i, j]
        slope = score - target[i]
        slope *= min(1.0, clip / (abs(slope) * np.sqrt(square) + 1e-300)) * steps
        for j in range(n_features):
            total[j] += np.int64(np.rint(slope * features[i, j]))


def seconds(loop, *given):
    times = []
    for _ in range(TURNS):
        total = np.zeros(given[0].shape[1], dtype=np.int64)
        start = time.process_time()
        loop(*given, CLIP, GRID, total)
        times.append(time.process_time() - start)
    return min(times), total


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    n_rows = QUICK_ROWS if parser.parse_args().quick else N_ROWS
    rng = np.random.default_rng(0)
    for width in WIDTHS:
        features = rng.standard_t(4, (n_rows, width)).astype(np.float32)
        target, weights = rng.standard_normal(n_rows), np.full(width, 0.1)
        for loop in (by_chunk, by_record):  # compiles
            seconds(loop, features[:2048], target[:2048], weights)
        (chunk, sums), (record, exact) = (
            seconds(loop, features, target, weights) for loop in (by_chunk, by_record)
        )
        moved, loops = n_rows * width * 4 / 1e9, rng.permutation(n_rows)
        same = (seconds(by_record, features[loops], target[loops], weights)[1] == exact).all()
        print(
            f"{width:>4} columns: by chunk {1e3 * chunk:7.1f} ms ({moved / chunk:5.1f} GB/s), by "
            f"record {1e3 * record:7.1f} ms, {record / chunk:4.2f} times; same whole numbers in "
            f"another order: {same}, {(sums == exact).mean():.0%} alike in both"
        )


if __name__ == "__main__":
    main()
