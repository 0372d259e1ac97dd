"""Overlapping blocks: public, with every record in few of them, and none where none are likely."""

import math

import numpy as np
import pytest

from tailguard.noise.sources import SimulationSource
from tailguard.queries import sample_aggregate as module
from tailguard.queries.sample_aggregate import largest_overlap, overlapping_blocks


def undrawn(*_):
    raise AssertionError("blocks were drawn")


@pytest.mark.parametrize(("n_rows", "n_blocks"), [(64, 16), (1_000, 100), (5_003, 49)])
def test_every_record_is_in_few_of_the_blocks(n_rows, n_blocks):
    blocks = overlapping_blocks(n_rows, n_blocks, 3)
    times = np.bincount(np.concatenate(blocks), minlength=n_rows)
    assert [np.unique(block).size for block in blocks] == [n_rows // n_blocks] * n_blocks
    assert 1 < times.max() <= largest_overlap(n_blocks) == math.ceil(math.sqrt(n_blocks))
    assert times.min() == 0


def test_the_blocks_follow_from_public_numbers_alone():
    first = overlapping_blocks(1_000, 100, 3)
    other = overlapping_blocks(1_000, 100, 4)  # and forgets the first ones
    again = overlapping_blocks(1_000, 100, 3)
    assert again is not first
    np.testing.assert_array_equal(first, again)
    assert (first[0] != other[0]).any()
    with pytest.raises(ValueError, match="read-only"):
        first[0][0] = 0


@pytest.mark.parametrize(("n_rows", "n_blocks"), [(2_000_000, 36), (10_000, 16), (10**9, 64)])
def test_hopeless_blocks_are_not_drawn(n_rows, n_blocks, monkeypatch):
    monkeypatch.setattr(module, "_draw", undrawn)
    assert overlapping_blocks(n_rows, n_blocks, 0) is None


def test_blocks_that_are_only_unlikely_are_drawn_fifty_times(monkeypatch):
    draws = []
    monkeypatch.setattr(module, "_draw", lambda *x: draws.append(x))
    assert overlapping_blocks(2_000, 16, 77) is None
    assert len(draws) == module.MOST_DRAWS


@pytest.mark.parametrize(("n_rows", "n_blocks"), [(16, 4), (400, 16), (900, 16), (3_000, 25)])
def test_no_more_draws_succeed_than_the_bound_says(n_rows, n_blocks):
    source, n_draws = SimulationSource(5), 200
    found = sum(module._draw(source, n_rows, n_blocks) is not None for _ in range(n_draws))
    bound = module._likely(n_rows, n_blocks)
    assert found / n_draws <= bound + 4.0 * math.sqrt(bound * (1.0 - bound) / n_draws) + 1e-3
    assert found / n_draws >= 0.5 * bound - 0.05  # it is of use
