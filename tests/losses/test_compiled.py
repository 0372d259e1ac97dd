import os
import subprocess
import sys

import numpy as np
import pytest
from numba import float64

from support.compiled_slopes import compiled_slopes
from tailguard.losses import Huber, Multinomial
from tailguard.losses.registry import LOSSES, make_loss

TABLE, VECTOR = float64[:, ::1], float64[::1]


@pytest.mark.parametrize("name", LOSSES)
def test_a_loop_writes_slopes_and_nothing_else(name):
    """Bounds of a record's gradient stand in the rows below, and are trusted afterwards."""
    loss = make_loss(name)
    table = np.arange(40.0).reshape(5, 8)
    expected = table.copy()
    expected[2] = compiled_slopes(loss, table[0], table[1])
    loss.slope_loop(table, loss.shape)
    np.testing.assert_array_equal(table, expected)


def test_one_compiled_function_serves_all_losses_of_a_kind():
    assert Huber(1.0).slope_loop is Huber(2.0).slope_loop
    assert Multinomial(2).record_gradient is Multinomial(3).record_gradient


def test_compiled_functions_are_kept_on_disk():
    assert Huber().slope_loop.stats.cache_path
    assert Multinomial(2).record_gradient.stats.cache_path


def test_nothing_is_compiled_for_other_types():
    assert list(Huber().slope_loop.signatures) == [(TABLE, VECTOR)]


TOTALS = """
import sys
import numpy as np
from numba import float64, njit, types
from tailguard.losses.registry import make_loss
TABLE, VECTOR = float64[:, ::1], float64[::1]

@njit(float64(types.FunctionType(types.void(TABLE, VECTOR)), TABLE, VECTOR))
def total_slope(slopes, table, shape):
    slopes(table, shape)
    return table[2].sum()

symbols = set()
for name in sys.argv[1:]:
    loss = make_loss(name)
    (loop,) = loss.slope_loop.overloads.values()
    symbols.add(loop.fndesc.mangled_name)
    table = np.zeros((3, 2))
    table[0] = 0.5, 2.0
    expected = loss.slope(table[0], np.zeros(2)).sum()
    assert abs(total_slope(loss.slope_loop, table, loss.shape) - expected) < 1e-12, name
assert len(symbols) == len(sys.argv) - 1  # the linker takes one name for one code
"""


def test_loops_that_other_processes_have_compiled_stay_apart(tmp_path):
    """Each of two losses is compiled by a process of its own; a third one loads both."""
    folder = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for names in (["huber"], ["poisson"], ["huber", "poisson"], ["poisson", "huber"]):
        subprocess.run([sys.executable, "-c", TOTALS, *names], env=folder, check=True)
