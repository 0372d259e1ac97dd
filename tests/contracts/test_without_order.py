"""Records without an order: every query's integers are the same under any order and any cut.

And one replaced record moves them by no more than what is charged, wherever the others went. Other
promises of queries are held for records without an order, too, in ``test_query.py``.
"""

import numpy as np
import pytest

from support.adversary import datasets, neighbours, replaced
from support.attack import MU, N_ROWS, allowed, lattice, move, norm_of, unordered
from support.examples import query_examples
from support.query_example import N_FEATURES
from tailguard.checks import InputError
from tailguard.data.rows.base import CHUNK_ROWS, RecordBlock
from tailguard.data.rows.unordered import UnorderedRows
from tailguard.noise.sources import make_source

EXAMPLES = {example.name: example for example in query_examples()}
PLAIN = [name for name in EXAMPLES if not EXAMPLES[name].query.by_place]
every_plain_example = pytest.mark.parametrize("name", PLAIN)


class Pieces(UnorderedRows):
    """Records that are cut anywhere, each piece in memory of its own at any address."""

    def __init__(self, rows, rng, sizes):
        super().__init__(rows, make_source(0))
        self._rng, self._sizes = rng, sizes

    def reduce(self, kernel, n_threads=None):
        marked = RecordBlock(*next(iter(self._rows._marks()))) if kernel.reads_cells else None
        block = self._rows.block() if marked is None else marked
        start, total = 0, np.zeros(kernel.size, dtype=np.int64)
        while start < block.n_rows:
            stop = min(start + int(self._rng.choice(self._sizes)), block.n_rows)
            parts = (block.features, block.target, block.offset, block.weight)
            moved = (
                None if part is None else shifted(part[start:stop], self._rng) for part in parts
            )
            total += kernel.sum_block(RecordBlock(*moved, first=None))
            start = stop
        return total


def shifted(values, rng):
    """A copy that begins some floats after where memory is aligned."""
    room = np.zeros(values.size + 8, dtype=values.dtype)
    place = int(rng.integers(8))
    copied = room[place : place + values.size].reshape(values.shape)
    copied[:] = values
    return copied


def hostile(rng, n_rows, width):
    """Heavy-tailed records, some of them as odd as floats can be."""
    data = rng.standard_t(2, (n_rows, width)) * np.exp(3.0 * rng.standard_normal((n_rows, 1)))
    odd = [1e308, -1e300, 5e-324, -1e-310, 1e-160, 0.0, -0.0, 1e16, np.inf, np.nan]
    places = rng.integers(n_rows, size=n_rows // 4), rng.integers(width, size=n_rows // 4)
    data[places] = rng.choice(odd, size=n_rows // 4)
    data[:, N_FEATURES:] = np.abs(data[:, N_FEATURES:])  # a target and an exposure
    return data


@every_plain_example
def test_any_order_and_any_cut_give_the_same_integers(name):
    example, rng = EXAMPLES[name], np.random.default_rng(1)
    data = hostile(rng, 2 * CHUNK_ROWS + 77, example.width)
    expected = lattice(example, data, home=unordered)
    # The huge threshold is far above what these records hold.
    assert np.count_nonzero(expected) > 0 or name == "peeled-step/huge"
    for sizes in ((1, 2, 3, 200), (7, 8, 9, 15, 17, 300), (500, 1023, 1025)):
        moved = data[rng.permutation(len(data))]
        found = lattice(example, moved, home=lambda rows, sizes=sizes: Pieces(rows, rng, sizes))
        np.testing.assert_array_equal(found, expected)


@every_plain_example
def test_the_sum_is_that_of_file_order_but_for_rounding(name):
    example, rng = EXAMPLES[name], np.random.default_rng(2)
    data = hostile(rng, 2 * CHUNK_ROWS + 77, example.width)
    pair = lattice(example, data), lattice(example, data, home=unordered)
    # Half a step a record, and as much again for what differs in the last digits of scores.
    assert move(*pair, "linf") <= len(data)
    assert move(*pair, norm_of(example)) <= 1e-3 * allowed(example, len(data)) + 1.0


@every_plain_example
def test_a_replaced_record_moves_the_integers_by_at_most_the_charge_wherever_all_others_go(name):
    example, rng = EXAMPLES[name], np.random.default_rng(3)
    for n_rows in (N_ROWS, CHUNK_ROWS + 3):
        most = allowed(example, n_rows)
        for data in datasets(rng, 3, n_rows, example.width):
            before = lattice(example, data, home=unordered)
            for slot, record in neighbours(rng, data, 10):
                moved = replaced(data, slot, record)[rng.permutation(n_rows)]
                after = lattice(example, moved, home=lambda rows: Pieces(rows, rng, (1, 5, 500)))
                assert move(before, after, norm_of(example)) <= most * (1.0 + 1e-12)


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - set(PLAIN)))
def test_what_needs_places_is_refused_where_records_have_none(name):
    example = EXAMPLES[name]
    data = np.random.default_rng(6).standard_normal((N_ROWS, example.width))
    order = np.arange(N_ROWS) if example.query.places == "random" else None
    with pytest.raises(InputError, match="row_id must name a column"):
        lattice(
            example, data,
            home=lambda rows: unordered(rows) if order is None else unordered(rows).in_order(order),
        )  # fmt: skip


def test_the_charge_of_a_coarse_lattice_holds_for_records_whose_rounding_is_worst():
    """Entries half a step from a whole number, on either side: each is rounded by half a step."""
    example = EXAMPLES[next(name for name in PLAIN if name.startswith("mean-clipped-gradient"))]
    grid = example.query.calibrate(N_ROWS, N_FEATURES, MU).grid
    data = np.ones((N_ROWS, example.width))
    for nudge in (0.5, 0.4999999, 0.5000001):
        pair = []
        for sign in (1.0, -1.0):
            record = np.full(example.width, sign * nudge * grid)
            pair.append(lattice(example, replaced(data, 0, record), home=unordered))
        assert move(*pair, norm_of(example)) <= allowed(example)
