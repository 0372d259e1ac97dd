"""Cost of lattice noise per coordinate, and of floating-point normals, which are not private.

Run ``python benchmarks/bench_noise.py``. Each figure is a median over repeats, in microseconds per
coordinate, including secret random words from the operating system.
"""

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from tailguard.noise.discrete_gaussian import discrete_gaussian, gaussian_table
from tailguard.noise.discrete_laplace import discrete_laplace
from tailguard.noise.sources import make_source

SIZES, QUICK_SIZES = (10, 100, 1000, 100_000), (10, 1000)
SECONDS_PER_FIGURE = 0.2


def seconds(draw: Callable[[], object]) -> float:
    """Time one call."""
    start = time.perf_counter()
    draw()
    return time.perf_counter() - start


def median_seconds(draw: Callable[[], object]) -> float:
    """Median over as many repeats as fit in the time for one figure, at least five."""
    repeats = max(5, int(SECONDS_PER_FIGURE / max(seconds(draw), 1e-7)))
    return statistics.median(seconds(draw) for _ in range(repeats))


def main() -> None:
    """Print the table; ``--quick`` leaves sizes out."""
    sizes = QUICK_SIZES if "--quick" in sys.argv[1:] else SIZES
    source = make_source(None)
    generator = np.random.default_rng()
    samplers: dict[str, Callable[[int], object]] = {
        "discrete Gaussian, 5 levels": lambda size: discrete_gaussian(size, 5, source),
        "discrete Laplace, scale 2**26": lambda size: discrete_laplace(size, 26, source),
        "words alone, 5 a coordinate": lambda size: source.words(5 * size),
        "baseline: numpy default_rng normal": lambda size: generator.normal(size=size),
    }
    print(f"table: {1e3 * seconds(gaussian_table):.1f} ms, once per process")
    for name, draw in samplers.items():
        print(f"first call, {name}: {1e3 * seconds(lambda draw=draw: draw(2)):.1f} ms")
    print(f"\n{'microseconds per coordinate':36}" + "".join(f"{size:>10}" for size in sizes))
    for name, draw in samplers.items():
        costs = [median_seconds(lambda d=draw, n=size: d(n)) * 1e6 / size for size in sizes]
        print(f"{name:36}" + "".join(f"{cost:10.3f}" for cost in costs))


if __name__ == "__main__":
    main()
