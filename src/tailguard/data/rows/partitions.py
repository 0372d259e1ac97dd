"""The rows of a gate, and secret partitions and a secret random order of them.

Reference
---------
McSherry 2009, Theorem 4 (disjoint blocks); Feldman, McMillan and Talwar 2021 (shuffles).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any

import numpy as np

from tailguard.array_types import IntArray
from tailguard.checks import BudgetError, InputError, shown
from tailguard.data.inputs import Inputs
from tailguard.data.rows.arrays import ArrayRows, make_rows
from tailguard.data.rows.base import Rows
from tailguard.data.rows.keys import PersonKeys, Persons
from tailguard.data.rows.person_file import FiledPersons
from tailguard.data.rows.persons import PersonRows
from tailguard.data.rows.reader import RecordReader
from tailguard.data.rows.streams import StreamRows
from tailguard.data.rows.unordered import UnorderedRows
from tailguard.data.schema import Schema
from tailguard.data.table import Table
from tailguard.noise.keyed_hash import KeyedHash
from tailguard.noise.orders import (
    Order,
    order_of_places,
    random_permutation,
    random_sample,
    sample_of_places,
)
from tailguard.noise.sources import Source
from tailguard.privacy.books.blocks import Block, Blocks


def rows_over(inputs: Inputs, loss: Any, classes: Any, source: Source) -> Rows:
    """Return the rows of a user's inputs, for this loss and these classes of the target."""
    unordered = inputs.order == "any"
    if isinstance(inputs.records, Table):
        schema = Schema.of(inputs.schema)
        unordered = unordered or schema.row_id is not None
        # ``alone``: each record is rounded to the lattice by itself, since there is no order.
        reader = RecordReader(schema, loss, classes, alone=unordered or inputs.persons is not None)
        streamed = StreamRows(inputs.records, reader)
        if isinstance(inputs.persons, PersonKeys):
            return FiledPersons(streamed, inputs.persons, source)
        rows: ArrayRows | StreamRows = streamed
    else:
        unordered = unordered or inputs.row_ids is not None
        rows = make_rows(inputs, loss=loss, classes=classes)
        if isinstance(inputs.persons, Persons):  # they have their own order
            return PersonRows(rows, inputs.persons, source)
    return UnorderedRows(rows, source, inputs.row_ids) if unordered else rows


@dataclass(eq=False, repr=False)
class _Cut:
    """A partition: places in random order, and blocks as consecutive runs of them.

    A sample is a single block of at most half of the places. Its copied rows are kept, since they
    are read many times. For records without an order, ``hashed`` chooses the sample, without
    places.
    """

    blocks: Blocks
    order: Order
    ends: IntArray
    used: set[int] = field(default_factory=set)
    sample: bool = False
    hashed: KeyedHash | None = None
    rows: Rows | None = None

    def places(self, index: int) -> IntArray:
        """Return the places of a block as drawn, in random order.

        The proof for a shuffle compares a block with one that has another record at the *same
        place*. Sorting would move records between chunks, and would pair and group adjacent records
        of the data.
        """
        end = self.ends[index]
        return self.order[end - self.blocks.sizes[index] : end]


class Partitions:
    """The partitions of one gate's records, and one random order of them all.

    *Guarantee.* A partition is uniform over all partitions into labelled blocks of these sizes, and
    over all orders within each block; the unused rest is a uniform sample as well. The random order
    of all records is drawn separately. It is uniform, or pseudo-random if there are many records.
    The same holds for a large sample for which no amplification is claimed. Orders and samples of
    persons are always uniform. Persons are numbered by their keys, so a new key renumbers other
    persons; only uniform orders and samples have the same distribution before and after. Places
    leave this class only as rows that a query reads. The rows of a block of an amplified partition
    leave it once.

    Examples
    --------
    >>> from tailguard.noise.sources import make_source
    >>> from tailguard.data.rows.arrays import make_rows
    >>> partitions = Partitions(make_rows(np.zeros((9, 1))), make_source(None))
    >>> blocks = partitions.cut("halves", sizes=(4, 5))
    >>> [partitions.rows_of(block).n_rows for block in blocks]
    [4, 5]
    """

    def __init__(self, rows: Rows, source: Source) -> None:
        self._rows = rows
        self._has_persons = isinstance(rows, PersonRows)
        self._source = source
        self._cuts: dict[str, _Cut] = {}
        self._order: Order | None = None
        self._shuffled: Rows | None = None
        self._lock = RLock()

    def __contains__(self, name: str) -> bool:
        return name in self._cuts

    def cut(
        self,
        name: str,
        sizes: Sequence[int],
        *,
        amplified: bool = False,
        within: Block | None = None,
    ) -> Blocks:
        """Draw a partition of all records, or of one block."""
        if type(name) is not str or not name:
            raise InputError(f"name must be a non-empty text; got {shown(name)}.")
        within = None if within is None else self.check(within)
        blocks = Blocks(name, tuple(sizes), bool(amplified), within)
        outer_places = None
        if within is not None:
            if within.blocks.amplified or within.blocks.within:
                raise InputError(
                    "within must be a block of a partition of all records that is not amplified."
                )
            outer_places = self._cuts[within.block_map].places(within.index)
            if len(outer_places) < within.n_rows:
                raise InputError("within must not be a sample of records without an order.")
        with self._lock:
            if name in self._cuts:
                raise InputError(
                    f"name must be new for each partition; there is one called {shown(name)}."
                )
            n_places = self._rows.n_rows if outer_places is None else len(outer_places)
            # A single block of at most half of the places needs no order of the other places.
            sample = len(blocks) == 1 and not amplified and 2 * blocks.sizes[0] <= n_places
            hashed: KeyedHash | None = None
            if sample and outer_places is None and isinstance(self._rows, UnorderedRows):
                order: Order = np.zeros(0, dtype=np.int64)
                hashed = KeyedHash(self._source)
            elif sample:
                draw = random_sample if self._has_persons else sample_of_places
                order = draw(n_places, blocks.sizes[0], self._source)
            else:
                order = random_permutation(n_places, self._source)
            order = order if outer_places is None else outer_places[order[:]]
            ends = np.cumsum(blocks.sizes)
            self._cuts[name] = _Cut(blocks, order, ends, sample=sample, hashed=hashed)
        return replace(blocks)

    def check(self, block: Block) -> Block:
        """Return the internal copy of a block, if queries may still read it.

        The caller's object may have been changed, so it is not used.
        """
        is_block = (
            type(block) is Block and type(block.blocks) is Blocks and type(block.index) is int
        )
        cut = self._cuts.get(block.block_map) if is_block else None
        if cut is None or cut.blocks != block.blocks or not 0 <= block.index < len(cut.ends):
            raise InputError("block must come from a partition of this gate.")
        block = cut.blocks[block.index]
        if block.index in cut.used:
            raise BudgetError(
                f"block {block.index} of {block.block_map!r} must be queried at most once: a "
                "secret partition protects its answers, and must be fresh."
            )
        return block

    def all_rows(self, *, random_order: bool) -> Rows:
        """Return all records in their original order, or in the random order of this gate.

        The order is drawn on first use, and depends only on the number of records.
        """
        if not random_order:
            return self._rows
        with self._lock:
            if self._shuffled is None:
                self._shuffled = self._rows.in_order(self.drawn_order())
            return self._shuffled

    def drawn_order(self) -> Order:
        """Return the random order of all records, which is drawn on first use; read no record."""
        with self._lock:
            if self._order is None:
                draw = random_permutation if self._has_persons else order_of_places
                self._order = draw(self._rows.n_rows, self._source)
            return self._order

    def rows_of(self, block: Block) -> Rows:
        """Return the records of a block; only once if its partition is amplified."""
        with self._lock:
            cut = self._cuts[self.check(block).block_map]
            if cut.sample:
                if cut.rows is None:
                    cut.rows = self._sampled(cut)
                return cut.rows
            places = cut.places(block.index)
            if block.blocks.amplified:
                cut.used.add(block.index)
                if len(cut.used) == len(block.blocks):
                    cut.order = np.zeros(0, dtype=np.int64)  # never needed again
        return self._rows.restricted(places)

    def _sampled(self, cut: _Cut) -> Rows:
        """Return the rows of a sample."""
        if cut.hashed is not None and isinstance(self._rows, UnorderedRows):
            return self._rows.sample(cut.hashed, cut.blocks.sizes[0])
        return self._rows.restricted(cut.order)
