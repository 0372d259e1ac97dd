"""Time per record of the loops of queries, by chunk and by record, and of two plain products.

    python benchmarks/bench_loops.py [--quick]

Records are simulated in memory and read on one thread. Figures are processor time per record in
nanoseconds, medians over turns in alternating order. The products are the usual NumPy version of a
clipped gradient: score by ``X @ w``, slope, clip by precomputed row norms, sum by ``a @ X``. They
do not standardise, fail on overflow and give no reproducible bits. Then the integers of a permuted
copy, cut into small pieces, are compared with those of the whole.
"""

import argparse
import time
from itertools import pairwise

import numpy as np

import tailguard as tg
from tailguard.data.rows.base import RecordBlock
from tailguard.data.rows.threads import one_blas_thread
from tailguard.means.clamped import ClampedMean
from tailguard.means.soft import SoftMean
from tailguard.queries.clip_levels import LevelGradients
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.histograms import Bins, WhitenedHistogram
from tailguard.queries.loop import LatticeSum
from tailguard.queries.second_moments import SecondMoments
from tailguard.queries.units import Units
from tailguard.queries.view import View

N_ROWS, QUICK_ROWS = 100_000, 5_000
WIDTHS = (10, 50)
TURNS = 9
GRID = 2.0**-20


def loops(width, n_rows):
    """The loops of a default fit, of descents and of means, by name."""
    units, square = Units.raw(width, intercept=True), np.eye(width + 1) + 0.1
    weights, zeros = np.full(width + 1, 0.05), np.zeros(width + 1)
    squared, logistic = tg.losses.Squared(), tg.losses.Logistic()
    view = View(squared, units, square)
    found = {
        "levels of gradients": LevelGradients(view, 5.0, (1.0,)),
        "second moments": SecondMoments(view, 5.0, 5.0),
        "residuals": WhitenedHistogram(view, "residual", Bins("signed", -10.0, 4.0, 80)),
        "clipped gradients, squared": MeanClippedGradient(squared, units, clip_norm=3.0),
        "clipped gradients, logistic": MeanClippedGradient(logistic, units, clip_norm=3.0),
    }
    kernels = {name: LatticeSum(query, weights, GRID, 0) for name, query in found.items()}
    for name, query in (
        ("clamped mean", ClampedMean(None, units, 1.0, 1)),
        ("soft mean", SoftMean(None, units, 3.0)),
    ):
        kernels[name] = LatticeSum(query, (zeros, n_rows), GRID / n_rows, 0)
    return kernels


def seconds(function, *given):
    """Processor time of a call."""
    start = time.process_time()
    function(*given)
    return time.process_time() - start


def two_products(X, y, weights, limits):
    """The usual sum of clipped gradients of a squared loss."""
    return np.clip(X @ weights - y, -limits, limits) @ X


def same_in_pieces(kernel, block, rng):
    """Whether a permuted copy in small pieces has the integers of the whole."""
    moved = block.at(rng.permutation(block.n_rows), first=None)
    edges = [0, *np.sort(rng.integers(block.n_rows, size=200)).tolist(), block.n_rows]
    pieces = [moved.rows(*pair) for pair in pairwise(edges)]
    total = sum(kernel.sum_block(piece) for piece in pieces if piece.n_rows)
    return bool((total == kernel.sum_block(block)).all())


def main():
    """Print a line a loop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    n_rows = QUICK_ROWS if parser.parse_args().quick else N_ROWS
    rng = np.random.default_rng(0)
    for width in WIDTHS:
        X, y = rng.standard_t(4, (n_rows, width)), (rng.random(n_rows) < 0.5).astype(float)
        limits = 3.0 / np.linalg.norm(X, axis=1)
        orders = [RecordBlock(X, y, first=first) for first in (0, None)]
        with one_blas_thread():
            usual = [
                seconds(two_products, X, y, np.full(width, 0.05), limits) for _ in range(TURNS)
            ]
            print(f"{width:>4} columns, two products: {1e9 * np.median(usual) / n_rows:6.1f} ns")
            for name, kernel in loops(width, n_rows).items():
                for block in orders:  # compiles
                    kernel.sum_block(block)
                times = [[seconds(kernel.sum_block, b) for b in orders] for _ in range(TURNS)]
                of_file, of_any = 1e9 * np.median(times, axis=0) / n_rows
                print(
                    f"{width:>4} columns, {name:27}: {of_file:6.1f} ns by chunk, {of_any:6.1f} ns "
                    f"by record; same integers in pieces: {same_in_pieces(kernel, orders[1], rng)}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
