import numpy as np
import pytest
from numba import float64, njit, types

from support.compiled_slopes import compiled_slopes
from tailguard.losses import Huber, Multinomial
from tailguard.losses.registry import LOSSES, make_loss

TABLE, VECTOR = float64[:, ::1], float64[::1]
LOOPED = [name for name in LOSSES if hasattr(make_loss(name), "slope_loop")]
SLOPES = types.FunctionType(types.void(TABLE, VECTOR))


@njit(float64(SLOPES, TABLE, VECTOR))
def total_slope(slopes, table, shape):
    slopes(table, shape)
    return table[2].sum()


def test_a_kernel_takes_a_compiled_loop_as_an_argument():
    table = np.zeros((3, 4))
    table[0] = [0.5, 7.0, -9.0, 3.0]
    for loss in (Huber(1.0), Huber(2.0)):
        expected = loss.slope(table[0], 0.0).sum()
        assert total_slope(loss.slope_loop, table, loss.shape) == expected


@pytest.mark.parametrize("name", LOOPED)
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
