"""Speed of the fused clipped-gradient pass against two matrix-vector products and the memory.

    python benchmarks/bench_kernels.py [--quick]

The NumPy version is the usual one: score by ``X @ w``, slope, clip by row norms that it is given
for free, sum by ``X.T @ a``. It neither standardises, nor survives overflow, nor gives reproducible
bits. Bandwidth is that of adding up the same features and targets. The three take turns, so that
they share what else the machine does. Figures are milliseconds, least and median.
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product

import numpy as np
from numba import njit
from threadpoolctl import threadpool_limits

from tailguard.data.rows.arrays import ArrayRows
from tailguard.losses import Logistic, Squared
from tailguard.queries.kernels.clipped_gradient import ClippedGradientSum
from tailguard.queries.kernels.coordinates import BoundedCoordinateSum, CoordinateBound

REPEATS, QUICK_REPEATS = 15, 3
N_ROWS, QUICK_N_ROWS = 1_000_000, 50_000
CLIP_NORM = 1.0
REST = 0.15  # seconds before a call: threads of the BLAS library spin on a core after their product


@njit(nogil=True, fastmath={"reassoc", "nsz"})
def add_up(numbers):
    total = 0.0
    for i in range(numbers.size):
        total += numbers[i]
    return total


def read_all(X, y, n_threads):
    with ThreadPoolExecutor(n_threads) as pool:
        parts = [np.array_split(numbers, n_threads) for numbers in (X.ravel(), y)]
        return sum(pool.map(lambda x, y: add_up(x) + add_up(y), *parts))


def two_products(X, y, weights, loss, norms):
    slope = X @ weights.astype(X.dtype)
    slope = loss.slope(slope, y).astype(X.dtype)
    limit = CLIP_NORM / norms
    np.clip(slope, -limit, limit, out=slope)
    return slope @ X


def milliseconds(repeats, *functions):
    """Least and median time of each function, all taking turns."""
    times = np.zeros((repeats + 1, len(functions)))
    for turn in times:
        for place, function in enumerate(functions):
            time.sleep(REST)
            start = time.perf_counter()
            function()
            turn[place] = 1e3 * (time.perf_counter() - start)
    warm = times[1:]
    return list(zip(warm.min(axis=0), np.median(warm, axis=0), strict=True))


def make_kernel(n_features, loss):
    return ClippedGradientSum(
        weights=np.full(n_features, 1 / n_features),
        center=np.zeros(n_features),
        inverse_scale=np.ones(n_features),
        intercept=False,
        loss=loss,
        clip_norm=CLIP_NORM,
        grid=2.0**-40,
    )


def compare(n_rows, n_features, dtype, loss, n_threads, repeats):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features)).astype(dtype)
    y = (rng.standard_normal(n_rows) > 0).astype(float)
    norms = np.linalg.norm(X.astype(float), axis=1)
    rows, kernel = ArrayRows(X, y), make_kernel(n_features, loss)
    with threadpool_limits(n_threads):
        product, read, fused = milliseconds(
            repeats,
            lambda: two_products(X, y, kernel.weights, loss, norms),
            lambda: read_all(X, y, n_threads),
            lambda: rows.reduce(kernel, n_threads),
        )
    gap = rows.reduce(kernel, n_threads) * kernel.grid
    gap = np.abs(gap - two_products(X.astype(float), y, kernel.weights, loss, norms)).max()
    assert gap < 1e-6, gap
    figures = "  ".join(f"{least:6.1f} {middle:6.1f}" for least, middle in (product, read, fused))
    print(
        f"{n_features:4d} {X.dtype} {loss.name:9s} {n_threads:7d}  {figures}"
        f"  {product[1] / fused[1]:5.2f}"
        f"  {read[1] / fused[1]:5.0%}  {(X.nbytes + y.nbytes) / fused[1] / 1e6:5.1f}"
    )


def softened(n_rows, n_features, repeats):
    """What share of the memory's bandwidth the soft truncation of every entry leaves."""
    X = np.random.default_rng(0).standard_t(3, (n_rows, n_features))
    rows = ArrayRows(X)
    kernel = BoundedCoordinateSum(
        weights=np.zeros(n_features),
        center=np.zeros(n_features),
        inverse_scale=np.ones(n_features),
        intercept=False,
        loss=None,
        bound=CoordinateBound("soft", 1.0),
        n_rows=n_rows,
        n_groups=1,
        grid=2.0**-40,
    )
    read, soft = milliseconds(repeats, lambda: add_up(X.ravel()), lambda: rows.reduce(kernel, 1))
    figures = "  ".join(f"{least:6.1f} {middle:6.1f}" for least, middle in (read, soft))
    print(f"{n_features:4d} soft truncation, reading and pass  {figures}  {read[1] / soft[1]:5.0%}")


def adversarial(n_rows, n_features, repeats):
    """How much longer hostile records take: every one of them on the careful path, or void."""
    rng = np.random.default_rng(0)
    kernel = make_kernel(n_features, Squared())
    X, y = rng.standard_normal((n_rows, n_features)), rng.standard_normal(n_rows)
    hostile = {"1e200": 1e200, "subnormal": 1e-310, "NaN": np.nan}
    passes = [partial(ArrayRows(X, y).reduce, kernel, 1)]
    passes += [
        partial(ArrayRows(np.full_like(X, value), y).reduce, kernel, 1)
        for value in hostile.values()
    ]
    (_, usual), *taken = milliseconds(repeats, *passes)
    for name, (_, middle) in zip(hostile, taken, strict=True):
        print(f"records of {name}: {middle / usual:.2f} times the usual time")


def main():
    quick = "--quick" in sys.argv[1:]
    n_rows, repeats = (QUICK_N_ROWS, QUICK_REPEATS) if quick else (N_ROWS, REPEATS)
    print(
        "   d stored  loss   threads | ms: products | reading | fused | ratio | of reading | GB/s"
    )
    for n_features, dtype in product((100, 10), (np.float64, np.float32)):
        for loss, n_threads in product((Squared(), Logistic()), (1, 2)):
            compare(n_rows, n_features, dtype, loss, n_threads, repeats)
    for n_features in (100, 10):
        softened(n_rows, n_features, repeats)
    adversarial(n_rows // 10, 100, repeats)


if __name__ == "__main__":
    main()
