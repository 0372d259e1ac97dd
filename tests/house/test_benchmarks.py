"""``make bench QUICK=1`` hands the same option to every benchmark."""

from pathlib import Path

import pytest

BENCHMARKS = sorted((Path(__file__).parents[2] / "benchmarks").glob("bench_*.py"))


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)
def test_a_benchmark_takes_a_glance(path):
    assert '"--quick"' in path.read_text()
