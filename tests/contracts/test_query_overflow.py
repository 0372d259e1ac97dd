"""Sums of billions of records at their largest stay exact in one lane of 64 bits.

Whether each chunk of them is rounded, or each record by itself.
"""

from dataclasses import replace

import numpy as np
import pytest

from support.attack import MU
from support.examples import query_examples
from support.query_example import N_FEATURES
from tailguard.data.rows.base import CHUNK_ROWS
from tailguard.data.rows.threads import added
from tailguard.noise.lattice import LARGEST_TOTAL

EXAMPLES = {example.name: example for example in query_examples()}
# Groups of records are told by their places, and those of a crowd have none. Nor is a minimiser a
# sum over records, or one mean of several.
PLAIN = [
    name
    for name, example in EXAMPLES.items()
    if example.query.places != "random"
    and name.split("/")[0] not in {"clipped-minimiser", "iterative-mean"}
]
ALONE = [name for name in PLAIN if not EXAMPLES[name].query.by_place]
PARTS = 64  # of a table, summed apart


class Crowd:
    """So many records that are all the same."""

    n_features = N_FEATURES

    def __init__(self, example, record, n_chunks, *, alone):
        data = np.tile(record, (CHUNK_ROWS, 1))
        self.block = example.read(data).block()
        self.block = replace(self.block, first=None) if alone else self.block
        self.has_target, self.has_offset = True, self.block.offset is not None
        self.n_rows = n_chunks * CHUNK_ROWS
        self.n_chunks = n_chunks
        self.largest = 0

    def reduce(self, kernel, n_threads=None):
        """Sum them in parts of many chunks, and check the sum against integers of any size."""
        chunk = kernel.sum_block(self.block)
        each = self.n_chunks // PARTS
        shares = [each] * (PARTS - 1) + [self.n_chunks - each * (PARTS - 1)]
        total = added(kernel.size, lambda times: times * chunk, shares, n_threads=2)
        exact = [self.n_chunks * int(entry) for entry in chunk]
        assert total.tolist() == exact
        self.largest = max(self.largest, *map(abs, exact))
        return total


def largest_sum(name, n_chunks, *, alone=False):
    """The largest sum of copies of either record of the worst pair."""
    example, found = EXAMPLES[name], []
    calibration = example.query.calibrate(n_chunks * CHUNK_ROWS, N_FEATURES, MU)
    for record in (example.old, example.new):
        crowd = Crowd(example, record, n_chunks, alone=alone)
        with np.errstate(all="ignore"):
            example.query.answer(crowd, example.state, calibration)
        found.append(crowd.largest)
    return max(found)


# A billion records; thirty, near the end of the finest lattice; and 2e12, on a coarser one.
MANY = (10**6, 3 * 10**7, 2 * 10**9)


@pytest.mark.parametrize("name", PLAIN)
def test_sums_of_billions_at_their_largest_are_exact(name):
    for n_chunks in MANY:  # each chunk is rounded by less than a step
        assert largest_sum(name, n_chunks) <= int(LARGEST_TOTAL) + n_chunks


@pytest.mark.parametrize("name", ALONE)
def test_so_are_sums_of_records_that_are_rounded_one_by_one(name):
    for n_chunks in MANY:  # each record is rounded by half a step at most
        largest = largest_sum(name, n_chunks, alone=True)
        assert largest <= int(LARGEST_TOTAL) + n_chunks * CHUNK_ROWS // 2


@pytest.mark.long
def test_such_a_sum_comes_near_the_end_of_the_lane():
    largest = max(largest_sum(name, 3 * 10**7) for name in PLAIN)
    assert largest > 2**59
