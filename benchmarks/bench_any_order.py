"""What it costs to round each record to the lattice by itself, and not the sum of each chunk.

    python benchmarks/bench_any_order.py [--quick]

Every kernel of a default fit, and those of the means, over the same float32 records in memory, on
one thread: processor time of a record, median of some turns, in either order by turns. Then the
integers of a permuted copy, cut into small pieces, are compared with those of the whole.
"""

import argparse
import time
from itertools import pairwise

import numpy as np

import tailguard as tg
from tailguard.data.rows.base import RecordBlock
from tailguard.data.rows.threads import one_blas_thread
from tailguard.queries.kernels.clipped_gradient import ClippedGradientSum
from tailguard.queries.kernels.coordinates import BoundedCoordinateSum, CoordinateBound
from tailguard.queries.kernels.whitened import WhitenedRows
from tailguard.queries.kernels.whitened_sums import (
    Bins,
    LevelGradientSum,
    SecondMomentSum,
    Weighting,
    WhitenedHistogramCount,
)

N_ROWS, QUICK_ROWS = 200_000, 5_000
WIDTHS = (10, 20, 100)
TURNS = 9
GRID = 2.0**-20


def kernels(width, n_rows):
    loss = tg.losses.Squared()
    units = {"center": np.zeros(width), "inverse_scale": np.ones(width), "intercept": True}
    weights, square = np.full(width + 1, 0.05), np.eye(width + 1) + 0.1
    model = {**units, "weights": weights, "loss": loss}
    rows = WhitenedRows(**model, whitening=square)
    limits = {"row_limit": 5.0, "row_cap": 5.0, "grid": GRID}
    curved = Weighting(kind="curvature", slope_limit=1.0, half_step=0.5, bound=1.0)
    sizes = {"n_rows": n_rows, "n_groups": 1, "grid": GRID / n_rows}
    return {
        "clipped gradient": ClippedGradientSum(**model, clip_norm=3.0, grid=GRID),
        "clipped gradients": LevelGradientSum(
            rows=rows, row_limit=5.0, levels=(1.0,), shares=(1.0,), grid=GRID
        ),
        "second moments": SecondMomentSum(rows=rows, weighting=Weighting(), **limits),
        "curvature": SecondMomentSum(rows=rows, weighting=curved, **limits),
        "residuals": WhitenedHistogramCount(
            rows=rows, what="residual", bins=Bins("signed", -10.0, 4.0, 80),
            weighting=Weighting(), grid=1.0,
        ),
        "clamped mean": BoundedCoordinateSum(
            **model, bound=CoordinateBound("clamped", 3.0), **sizes
        ),
        "soft mean": BoundedCoordinateSum(**model, bound=CoordinateBound("soft", 3.0), **sizes),
    }  # fmt: skip


def seconds(kernel, block):
    start = time.process_time()
    kernel.sum_block(block)
    return time.process_time() - start


def same_in_pieces(kernel, block, rng):
    """Whether a permuted copy in small pieces has the integers of the whole."""
    order = rng.permutation(block.n_rows)
    moved = block.at(order, first=None)
    edges = [0, *np.sort(rng.integers(block.n_rows, size=200)).tolist(), block.n_rows]
    pieces = [moved.rows(*pair) for pair in pairwise(edges)]
    total = sum(kernel.sum_block(piece) for piece in pieces if piece.n_rows)
    return bool((total == kernel.sum_block(block)).all())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    n_rows = QUICK_ROWS if parser.parse_args().quick else N_ROWS
    rng = np.random.default_rng(0)
    for width in WIDTHS:
        features = rng.standard_t(4, (n_rows, width)).astype(np.float32)
        target = rng.standard_normal(n_rows)
        orders = [RecordBlock(features, target, first=first) for first in (0, None)]
        for name, kernel in kernels(width, n_rows).items():
            with one_blas_thread():
                for block in orders:  # compiles
                    kernel.sum_block(block)
                times = [[seconds(kernel, block) for block in orders] for _ in range(TURNS)]
            of_file, of_any = 1e9 * np.median(times, axis=0) / n_rows
            print(
                f"{width:>4} columns, {name:16}: {of_file:6.1f} ns by chunk, {of_any:6.1f} ns by "
                f"record, {of_any / of_file:4.2f} times; same integers in pieces: "
                f"{same_in_pieces(kernel, orders[1], rng)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
