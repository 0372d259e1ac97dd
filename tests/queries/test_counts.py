"""Counts are exact, whatever the records hold."""

import numpy as np
import pytest

from support.adversary import records
from support.loops import loop
from tailguard.checks import InputError
from tailguard.data.rows.base import RecordBlock
from tailguard.queries.counts import CountBelow

THRESHOLDS = [np.inf, -np.inf, 0.0, -0.5, 5e-324, 1e-310, 1.0, 1e308]


def normal(numbers):
    """The numbers, zero where they are subnormal."""
    return np.where(np.abs(numbers) < np.finfo(np.float64).tiny, 0.0, numbers)


def count_by_hand(data, threshold, column, paired):
    count, data, threshold = 0, normal(data), normal(threshold)
    step = 2 if paired else 1
    for i in range(0, len(data) - step + 1, step):
        group = data[i : i + step]
        if np.isfinite(group).all():
            value = group[0, column]
            with np.errstate(over="ignore"):
                value = abs(value - group[1, column]) if paired else value
            count += bool(value <= threshold)
    return count


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("n_rows", [1, 2, 333])
def test_counts_match_counting_by_hand(dtype, paired, n_rows):
    rng = np.random.default_rng(n_rows)
    data = records(rng, n_rows, 5)
    with np.errstate(over="ignore"):
        data[:, :3] = data[:, :3].astype(dtype)
    columns = np.tile(np.arange(5), len(THRESHOLDS))
    thresholds = np.repeat(THRESHOLDS, 5)
    kernel = loop(CountBelow(tuple(columns.tolist()), paired), thresholds, 1 / 7)
    block = RecordBlock(np.ascontiguousarray(data[:, :3], dtype), *data[:, 3:].T.copy())
    pairs = zip(thresholds, columns, strict=True)
    expected = [7 * count_by_hand(data, t, c, paired) for t, c in pairs]
    np.testing.assert_array_equal(kernel.sum_block(block), expected)


def test_a_difference_that_overflows_counts_below_infinity_only():
    block = RecordBlock(np.array([[1.7e308], [-1.7e308]]))
    kernel = loop(CountBelow((0, 0), paired=True), [np.inf, 1.79e308])
    np.testing.assert_array_equal(kernel.sum_block(block), [1, 0])


def test_finite_values_whose_sum_overflows_are_not_void():
    block = RecordBlock(np.full((4, 33), 1.7e308), np.full(4, 1.7e308))
    kernel = loop(CountBelow((33,)), [np.inf])
    np.testing.assert_array_equal(kernel.sum_block(block), [4])


@pytest.mark.parametrize("wrong", [[np.nan], [1.0, 2.0], [[1.0]], []])
def test_thresholds_that_are_no_number_a_column_are_refused(wrong):
    with pytest.raises(InputError, match="thresholds must be one number per column, 1"):
        CountBelow((0,)).read_state(wrong)


@pytest.mark.parametrize("column", [-1, 3, 4])
def test_a_column_that_is_not_there_is_refused(column):
    kernel = loop(CountBelow((column,)), [1.0])
    with pytest.raises(InputError, match="columns must be among"):
        kernel.sum_block(RecordBlock(np.zeros((4, 2)), np.zeros(4)))
