"""Kernels treat subnormal numbers as zeros, and only while they run."""

import inspect
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from support.kernels import all_kernels
from tailguard.data.rows.base import RecordBlock
from tailguard.queries.kernels.counts import BelowCount
from tailguard.queries.kernels.record_gradient import RecordGradientSum
from tailguard.queries.kernels.steady import steady

SUBNORMAL = np.array([1e-310, -5e-324])
KERNELS = all_kernels()


def seen():
    """Magnitudes that are kept of numbers that are not zero."""
    return (SUBNORMAL * np.array([2.0, -3.0]) != 0.0).tolist()


class Kernel:
    @steady
    def sum_block(self, block):
        if block is None:
            raise ValueError("none")
        return [seen(), *([self.sum_block([])] if block else []), seen()]


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_is_steady(name):
    assert inspect.unwrap(KERNELS[name].sum_block) is not KERNELS[name].sum_block


def test_subnormal_numbers_are_zeros_inside_and_numbers_again_after():
    zeros, numbers = [False, False], [True, True]
    assert seen() == numbers
    assert Kernel().sum_block([1]) == [zeros, [zeros, zeros], zeros]
    assert seen() == numbers
    with pytest.raises(ValueError, match="none"):
        Kernel().sum_block(None)
    assert seen() == numbers


def test_other_threads_are_left_alone():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(seen).result()  # a thread that starts inside would take over the setting

        class Asker:
            @steady
            def sum_block(self, block):
                return [seen(), pool.submit(seen).result()]

        assert Asker().sum_block(None) == [[False, False], [True, True]]


def test_a_kernel_silences_numpy():
    class Divider:
        @steady
        def sum_block(self, block):
            return np.ones(1) / np.zeros(1)

    assert Divider().sum_block(None) == [np.inf]


def test_a_subnormal_number_counts_as_zero():
    features = np.array([[1e-310], [-1e-310], [1e-300]])
    kernel = BelowCount(thresholds=[0.0], columns=[0], paired=False, multiplier=1)
    np.testing.assert_array_equal(kernel.sum_block(RecordBlock(features)), [2])


@pytest.mark.parametrize("value", [np.nan, np.inf, 1.0])
def test_a_function_is_asked_as_often_whatever_the_records_hold(value):
    asked = []

    def gradient(weights, row, target):
        asked.append((row[0], target))
        return row

    kernel = RecordGradientSum(
        gradient=gradient, weights=np.zeros(1), n_coordinates=1, clip_norm=9.0, grid=2.0**-20
    )
    features, target = np.array([[2.0], [value], [3.0]]), np.array([4.0, 4.0, value])
    total = kernel.sum_block(RecordBlock(features, target))
    used = [(2.0, 4.0), (value, 4.0), (3.0, value)]
    assert asked == [pair if np.isfinite(pair).all() else (0.0, 0.0) for pair in used]
    assert total == [sum(row for row, target in asked) * 2**20]
