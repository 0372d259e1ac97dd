"""Compiled passes are kept on disk: another process compiles nothing."""

import os
import subprocess
import sys

SCRIPT = """
import numpy as np
from numba.core.dispatcher import Dispatcher

from tailguard.queries.kernels import counts, fused
from tailguard.data.rows.base import RecordBlock
from tailguard.queries.kernels.clipped_gradient import ClippedGradientSum
from tailguard.losses import Logistic, Squared

block = RecordBlock(np.ones((8, 2)), np.ones(8))
for loss in (Squared(), Logistic()):
    ClippedGradientSum(
        weights=np.zeros(2), center=np.zeros(2), inverse_scale=np.ones(2), intercept=False,
        loss=loss, clip_norm=1.0, grid=0.1,
    ).sum_block(block)
counts.BelowCount(thresholds=[1.0], columns=[0], paired=False, multiplier=1).sum_block(block)
compiled = [fused.sum_chunks(np.dtype("f8")), counts._compiled_counts(np.dtype("f8"))]
compiled += [Squared().slope_loop, Logistic().slope_loop]
assert all(isinstance(function, Dispatcher) for function in compiled)
print(sum(sum(function.stats.cache_misses.values()) for function in compiled))
"""


def count_compilations(cache):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
    )
    return int(result.stdout)


def test_a_second_process_compiles_nothing(tmp_path):
    assert count_compilations(tmp_path) == 4
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")}
    assert len(kept) > 4
    assert count_compilations(tmp_path) == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")} == kept
