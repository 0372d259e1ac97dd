"""Hints change no number and reach the machine code; a row is finite if all its numbers are."""

import numba
import numpy as np
import pytest

from tailguard.data.rows import feature_loops
from tailguard.data.rows.feature_loops import finite_rows, prefetch, register_prefetch
from tailguard.queries.reading_loops import score_rows, standardise


def test_a_compiled_loop_gives_the_hint_even_beyond_the_end_and_returns_the_same():
    def add(matrix):
        total = 0.0
        for i in range(len(matrix)):
            prefetch(matrix, i + 1000, 0)
            total += matrix[i, 1]
        return total

    register_prefetch.cache_clear()
    register_prefetch()
    numbers = np.arange(12.0).reshape(4, 3)
    add_compiled = numba.njit(add)
    assert add(numbers) == add_compiled(numbers) == numbers[:, 1].sum()
    (code,) = add_compiled.inspect_llvm().values()
    assert "llvm.prefetch" in code


def test_loops_over_features_give_hints():
    for loop in (standardise, score_rows):
        assert "prefetch" in loop(np.dtype(np.float64)).py_func.__code__.co_names
    assert feature_loops.NUMBERS_IN_LINE * np.dtype(np.float64).itemsize == 64


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 3, 50])
def test_a_row_is_finite_if_all_its_numbers_are(dtype, width):
    largest, smallest = np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal
    odd = [np.nan, -np.nan, np.inf, -np.inf, largest, -largest, smallest, -0.0]
    features = np.random.default_rng(0).standard_normal((200, width)).astype(dtype)
    features[np.arange(8) * 9, np.arange(8) % width] = odd
    expected = np.isfinite(features).all(axis=1)
    assert 0 < expected.sum() == 196
    np.testing.assert_array_equal(finite_rows(features), expected)
    np.testing.assert_array_equal(finite_rows(features[:0]), expected[:0])


def test_rows_without_features_are_finite():
    assert finite_rows(np.empty((3, 0))).tolist() == [True] * 3


def test_the_loop_is_the_function_that_it_is_compiled_from():
    features = np.array([[1.0, -np.inf], [2.0, 3.0], [np.nan, 0.0]])
    finite = np.empty(3, dtype=np.bool_)
    feature_loops._mark_finite(features, finite)
    assert finite.tolist() == finite_rows(features).tolist() == [False, True, False]
