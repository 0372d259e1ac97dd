"""Speed of the pass that bounds every coordinate and sums by groups, against reading the array.

    python benchmarks/bench_coordinates.py [--quick]

One thread, a plain mean over 22 groups. The soft bound is shown at a scale where every record lies
on its cubic branch and at one where none does. Reading adds up the same array; every case takes
turns with a reading of its own, so that the two share what else the machine does. Figures are
milliseconds, least and median.
"""

import sys
import time

import numpy as np
from numba import njit

from tailguard.data.rows.arrays import ArrayRows
from tailguard.queries.kernels.coordinates import BoundedCoordinateSum, CoordinateBound

REPEATS, QUICK_REPEATS = 9, 3
N_ROWS, QUICK_N_ROWS = 1_000_000, 50_000
N_GROUPS = 22
BOUNDS = {
    "clamped": CoordinateBound("clamped", 2.0),
    "truncated": CoordinateBound("truncated", 2.0),
    "soft, cubic": CoordinateBound("soft", 230.0, smoothing=4.6),
    "soft": CoordinateBound("soft", 1.0, smoothing=4.6),
}


@njit(nogil=True, fastmath={"reassoc", "nsz"})
def add_up(numbers):
    total = 0.0
    for i in range(numbers.size):
        total += numbers[i]
    return total


def milliseconds(repeats, *functions):
    """Least and median time of each function, all taking turns."""
    times = np.zeros((repeats + 1, len(functions)))
    for turn in times:
        for place, function in enumerate(functions):
            start = time.perf_counter()
            function()
            turn[place] = 1e3 * (time.perf_counter() - start)
    warm = times[1:]
    return list(zip(warm.min(axis=0), np.median(warm, axis=0), strict=True))


def plain_numpy(X, bound):
    """Group means of clamped values by whole-array steps, as a reference for the clamp."""
    clamped = np.clip(X, -bound.scale, bound.scale)
    edges = [g * len(X) // N_GROUPS for g in range(N_GROUPS)]
    return np.add.reduceat(clamped, edges)


def compare(n_rows, n_features, dtype, repeats):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features)).astype(dtype)
    rows, flat = ArrayRows(X), X.ravel()
    for name, bound in BOUNDS.items():
        kernel = BoundedCoordinateSum(
            weights=np.zeros(n_features),
            center=np.zeros(n_features),
            inverse_scale=np.ones(n_features),
            intercept=False,
            loss=None,
            bound=bound,
            n_rows=n_rows,
            n_groups=N_GROUPS,
            grid=2.0**-40,
        )
        read, fused = milliseconds(
            repeats, lambda: add_up(flat), lambda kernel=kernel: rows.reduce(kernel, 1)
        )
        print(
            f"{n_features:4d} {X.dtype!s:8s} {name:12s} {read[0]:7.1f} {read[1]:7.1f}"
            f"  {fused[0]:7.1f} {fused[1]:7.1f}"
            f"  {read[0] / fused[0]:6.0%} {read[1] / fused[1]:6.0%}"
            f"  {X.nbytes / fused[1] / 1e6:5.1f}"
        )
    ((least, middle),) = milliseconds(min(repeats, 3), lambda: plain_numpy(X, BOUNDS["clamped"]))
    print(f"{n_features:4d} {X.dtype!s:8s} NumPy clamp  {'':15s}  {least:7.1f} {middle:7.1f}")


def main():
    quick = "--quick" in sys.argv[1:]
    n_rows, repeats = (QUICK_N_ROWS, QUICK_REPEATS) if quick else (N_ROWS, REPEATS)
    print("   d type     bound        ms: reading     | fused           | of reading    | GB/s")
    for n_features, dtype in ((100, np.float64), (100, np.float32), (10, np.float64)):
        compare(n_rows, n_features, dtype, repeats)


if __name__ == "__main__":
    main()
