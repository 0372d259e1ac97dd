"""One chunk's float arithmetic is charged: sums in any order stay within the slack."""

import math

import numpy as np
import pytest

from tailguard.data.rows.base import CHUNK_ROWS, shrink, summation_slack


def worst_sum():
    """Half the numbers at the bound, the rest just above half an ulp of the partial sum."""
    numbers = np.ones(CHUNK_ROWS)
    numbers[CHUNK_ROWS // 2 :] = 0.51 * np.spacing(CHUNK_ROWS / 2)
    return numbers


@pytest.mark.parametrize("order", ["forward", "backward", "pairwise"])
def test_the_slack_covers_the_error_of_a_chunk_in_any_order(order):
    numbers = worst_sum()
    exact = math.fsum(numbers)
    if order == "pairwise":
        total = float(np.sum(numbers))
    else:
        total = 0.0
        for number in numbers if order == "forward" else numbers[::-1]:
            total += number
    assert abs(total - exact) <= summation_slack(1.0) / 2


def test_the_slack_grows_with_the_bound_and_stays_small():
    assert summation_slack(3.0) == pytest.approx(3 * summation_slack(1.0))
    assert summation_slack(1.0) / 2.0 < 2e-10


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
def test_shrunk_vectors_never_exceed_their_limit(size):
    rng = np.random.default_rng(size)
    for _ in range(2_000):
        vector = rng.standard_normal(size)
        clipped = vector * (1.5 / np.linalg.norm(vector) * shrink(size))
        assert math.sqrt(math.fsum(clipped**2)) <= 1.5
