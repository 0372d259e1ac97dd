"""Persons as records: a person's rows are weighted so that together they count as one record.

Queries then read persons instead of rows. At most ``max_rows`` rows of each person are kept, with
shares that add up to at most one, and a query multiplies the contribution of a row by its share.

*Privacy.* Let ``K`` be the set of contributions of one record to a query's sum; a void record adds
zero, so ``K`` contains zero. Shares are nonnegative, add up to at most one, and depend only on the
person's own rows. So a person adds ``sum_j w_j q_j``, a point of the convex hull of ``K``. In any
norm the hull has the diameter of ``K``: a distance ``|a - b|`` is convex in ``a`` and in ``b``,
hence largest at extreme points. So replacing all rows of a person, by any number of others, moves a
sum by no more than replacing one record if each row is a record. Each row is rounded to the lattice
separately, so one person's rows do not affect the rounding of others: the gate charges ``max_rows``
roundings.

*Counting.* The count of usable records adds these shares. If all used rows have equal weight, the
weight of a row in all other sums is ``1 / max_rows``, which is at most its share.

*Which rows.* The used rows have the smallest keyed hashes of the key, the row's numbers, and the
number of equal earlier rows of the person. The choice does not depend on other persons, nor on the
order of rows. It is random for accuracy only. Counts of kinds of cells use hashes of the kinds
instead of the numbers: a word and an empty cell are both NaN as numbers, but count differently.

*Pairs.* Persons are paired by places in a secret random order of persons. In a pair the first rows
of both persons meet, then the second rows, until one person has no more rows. Each meeting has the
share one over the number of meetings. So a pair adds a point of the hull as well, whichever person
is replaced.

*Groups* consist of whole persons, by their places in such an order. All rows of a person are in one
group, so the person adds a point of the hull to the sum of that group. A new key may change the
numbers of other persons. The order is uniform, so the orders of neighbouring tables can be coupled
such that all other persons keep their places.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Definition 3 (a neighbour is what it is declared to be);
Agarwal, Kamath, Majid, Mouzakis, Silver and Ullman 2024 and Zhao, Lai, Shen, Li, Wu and Liu 2024
(means where persons have many records each).
"""

import math
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from threading import Lock
from typing import Any, Protocol, TypeAlias

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.data.matrices import NUMBERS_AT_ONCE
from tailguard.data.rows.arrays import ArrayRows
from tailguard.data.rows.base import CHUNK_ROWS, Kernel, RecordBlock, Together, chunks_of
from tailguard.data.rows.keys import NOBODY, Persons
from tailguard.data.rows.threads import added, resolve_threads
from tailguard.noise.keyed_hash import KeyedHash
from tailguard.noise.orders import Order
from tailguard.noise.sources import Source, Words
from tailguard.privacy.unit import Unit

Pieces: TypeAlias = Callable[[int], Iterable[IntArray]]
"""From a number of rows to the places of rows, about so many at a time: all would fill memory."""


class GroupedRows(Protocol):
    """Rows in the order of persons, each rounded to the lattice separately."""

    def piece(self, start: int, stop: int) -> RecordBlock:
        """Return the rows from ``start`` to ``stop``."""
        ...

    def picked(self, pieces: "Pieces") -> "GroupedRows":
        """Return the rows at places that come in pieces, in this order."""
        ...

    def marked(self, share: FloatArray) -> Iterable[RecordBlock]:
        """Yield marks of the cells of all rows with their shares; unused rows have share 0."""
        ...


@dataclass(frozen=True, eq=False)
class UsedRows:
    """The used rows of each person, or the rows of each pair of persons that meet.

    Attributes
    ----------
    rows
        The rows, person by person.
    counts
        The number of rows of each person.
    share
        For each person, the share of each of the person's rows.
    factor
        For each person, the number that multiplies the weight of each row.
    """

    rows: GroupedRows
    counts: IntArray
    share: FloatArray
    factor: FloatArray

    @classmethod
    def of(cls, rows: GroupedRows, counts: IntArray, unit: Unit) -> "UsedRows":
        """Compute the shares of the rows of each person."""
        share = shares_of(counts)
        equal_counts = np.full(len(counts), unit.max_rows)
        return cls(rows, counts, share, shares_of(equal_counts) if unit.weight == "row" else share)

    @cached_property
    def starts(self) -> IntArray:
        """The first row of each person, and the end of the last person."""
        return np.append(0, np.cumsum(self.counts))

    def block(self, first: int, last: int, *, grouped: bool = False) -> RecordBlock:
        """Return the rows of persons ``first`` to ``last``.

        Numbers of persons start at 0, or at ``first`` if ``grouped``.
        """
        block = self.rows.piece(int(self.starts[first]), int(self.starts[last]))
        counts, persons = self.counts[first:last], slice(first, last)
        factors = np.repeat(self.factor[persons], counts)
        return replace(
            block,
            weight=factors if block.weight is None else block.weight * factors,
            share=np.repeat(self.share[persons], counts),
            person=np.repeat(np.arange(last - first) + first * grouped, counts),
        )

    def of_persons(self, places: IntArray) -> "UsedRows":
        """Return the rows of the persons at these places, in this order."""
        counts = self.counts[places]

        def pieces(length: int) -> Iterable[IntArray]:
            for persons in _slices(counts, length):
                yield _runs(self.starts[places[persons]], counts[persons])

        return UsedRows(self.rows.picked(pieces), counts, self.share[places], self.factor[places])

    def in_pairs(self, order: IntArray) -> "UsedRows":
        """Return the rows that meet, side by side, for each pair of persons in this order."""
        first, second = order[::2], order[1::2]
        meetings = np.minimum(self.counts[first], self.counts[second])

        def pieces(length: int) -> Iterable[IntArray]:
            for pairs in _slices(2 * meetings, length):
                both = (
                    _runs(self.starts[each[pairs]], meetings[pairs]) for each in (first, second)
                )
                yield np.stack([*both], axis=1).ravel()

        share = shares_of(meetings)
        return UsedRows(self.rows.picked(pieces), 2 * meetings, share, share)

    def marked(self) -> Iterable[RecordBlock]:
        """Yield marks of the cells of all rows with their shares."""
        return self.rows.marked(np.repeat(self.share, self.counts))


class PersonRows:
    """Persons of a table in memory; each person is a record.

    Parameters
    ----------
    rows
        The rows as stored.
    persons
        The person of each row.
    source
        The random source of the key that chooses rows of persons with too many.

    Attributes
    ----------
    n_rows
        The number of persons, which are the records. No attribute reveals the number of rows.
    unit
        The protected unit.

    Examples
    --------
    >>> from tailguard.data.rows.arrays import make_rows
    >>> from tailguard.noise.sources import make_source
    >>> from tailguard.privacy.unit import Unit
    >>> rows = make_rows(np.arange(5.0)[:, None])
    >>> persons = Persons.of(["a", "a", "a", "b", None], Unit(person="key", max_rows=2))
    >>> PersonRows(rows, persons, make_source(None)).n_rows
    2
    """

    def __init__(self, rows: ArrayRows, persons: Persons, source: Source) -> None:
        self._begin(rows, persons.unit, persons.count)
        choose = partial(_chosen_rows, rows, persons, KeyedHash(source))
        chosen = choose()
        counts = np.bincount(persons.numbers[chosen], minlength=persons.count)
        in_memory = RowsInMemory(rows, chosen, partial(choose, marked=True))
        self._used: UsedRows | None = UsedRows.of(in_memory, counts, self.unit)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_rows={self.n_rows}, n_features={self.n_features})"

    def _begin(self, rows: Any, unit: Unit, n_persons: int) -> None:
        """Set all attributes except the used rows."""
        self.unit, self.n_rows, self.n_features = unit, n_persons, rows.n_features
        self.has_offset, self.has_weight = rows.has_offset, rows.has_weight
        self._order: Order | None = None
        self._placed: dict[Together, UsedRows] = {}
        self._lock = Lock()

    def used(self) -> UsedRows:
        """Return the used rows of each person."""
        assert self._used is not None
        return self._used

    def reduce(self, kernel: Kernel, n_threads: int | None = None) -> IntArray:
        """Return the kernel's lattice sum over all persons: the same bits for any ``n_threads``."""
        if kernel.together == "all":  # such queries sort, so the order of persons does not matter
            return kernel.sum_block(self.used().block(0, self.n_rows))
        if kernel.reads_cells:
            return added(kernel.size, kernel.sum_block, self.used().marked(), n_threads=1)
        if kernel.together == "some" and self.n_rows < 2:  # a single person makes no pair
            return np.zeros(kernel.size, dtype=np.int64)
        used = self._rows_of(kernel.together)
        ends = _piece_ends(used.starts, max(CHUNK_ROWS, NUMBERS_AT_ONCE // max(1, self.n_features)))
        return added(
            kernel.size,
            lambda piece: kernel.sum_block(used.block(*piece, grouped=kernel.together == "groups")),
            pairwise(ends),
            resolve_threads(n_threads) if len(ends) > 2 else 1,
        )

    def restricted(self, places: Order) -> "PersonRows":
        """Return the persons at these places, in this order, as new records."""
        places = places[:] if self._order is None else self._order[places[:]]
        rows = copy(self)
        rows._used, rows.n_rows = self.used().of_persons(places), len(places)
        rows._order, rows._placed, rows._lock = None, {}, Lock()
        return rows

    def in_order(self, order: Order) -> "PersonRows":
        """Return the persons at these places; the order affects pairs and groups only."""
        if len(order) < self.n_rows:
            return self.restricted(order)
        rows = copy(self)
        rows._order = order if self._order is None else self._order[order[:]]
        rows._placed, rows._lock = {}, Lock()
        return rows

    def _rows_of(self, together: Together) -> UsedRows:
        """Return used rows, in the order of persons for groups; for pairs, the rows that meet."""
        if together == "none" or (together == "groups" and self._order is None):
            return self.used()
        paired = together == "some"
        with self._lock:
            if together not in self._placed:
                count = self.n_rows // 2 * 2 if paired else self.n_rows
                order = np.arange(count) if self._order is None else self._order[:count]
                used = self.used()
                self._placed[together] = used.in_pairs(order) if paired else used.of_persons(order)
            return self._placed[together]


class RowsInMemory:
    """Some rows of a table in memory, in another order.

    ``marked_places`` returns the places of the rows whose cells are counted by kind.
    """

    def __init__(
        self, rows: ArrayRows, places: IntArray, marked_places: Callable[[], IntArray]
    ) -> None:
        self._all, self._places, self._marked_places = rows, places, marked_places
        self._rows = rows.restricted(places).without_order()

    def piece(self, start: int, stop: int) -> RecordBlock:
        """Return the rows from ``start`` to ``stop``."""
        return self._rows.piece(start, stop)

    def picked(self, pieces: Pieces) -> "RowsInMemory":
        """Return the rows at places that come in pieces, in this order."""
        places = np.concatenate([np.zeros(0, dtype=np.int64), *pieces(NUMBERS_AT_ONCE)])
        return RowsInMemory(self._all, self._places[places], lambda: self._marked_places()[places])

    def marked(self, share: FloatArray) -> Iterable[RecordBlock]:
        """Yield marks of all rows in the table's order; unused rows have share 0."""
        shares, first = np.zeros(self._all.n_rows), 0
        shares[self._marked_places()] = share
        for marks in self._all.marks():
            last = first + len(marks[0])
            yield RecordBlock(*marks, first=None, share=shares[first:last])
            first = last


def shares_of(counts: IntArray) -> FloatArray:
    """Return one over each count, rounded down, so ``count`` shares add up to at most one."""
    distinct, places = np.unique(counts, return_inverse=True)
    return np.array([_share_of(int(count)) for count in distinct])[places.ravel()]


def _share_of(count: int) -> float:
    """Return one over a count, rounded down."""
    part = 1.0 / count
    numerator, denominator = part.as_integer_ratio()
    return part if count * numerator <= denominator else math.nextafter(part, 0.0)


def _chosen_rows(
    rows: ArrayRows, persons: Persons, hashed: KeyedHash, *, marked: bool = False
) -> IntArray:
    """Return the places of the used rows, or of those whose marks are counted, by persons."""
    with_key = np.flatnonzero(persons.numbers != NOBODY)
    values, first = hashed.of(persons.keys), 0
    for block in _marks(rows) if marked else _pieces(rows):
        piece = slice(first, first + block.n_rows)
        values[piece] = row_values(hashed, values[piece], block, marked=marked)
        first += block.n_rows
    numbers, max_rows = persons.numbers[with_key], persons.unit.max_rows
    return with_key[chosen_places(numbers, values[with_key], hashed, max_rows)]


def _pieces(rows: ArrayRows) -> Iterable[RecordBlock]:
    length = max(CHUNK_ROWS, NUMBERS_AT_ONCE // max(1, rows.n_features))
    return (rows.piece(start, start + length) for start in range(0, rows.n_rows, length))


def _marks(rows: ArrayRows) -> Iterable[RecordBlock]:
    return (chunk for marks in rows.marks() for chunk in chunks_of(RecordBlock(*marks)))


def chosen_places(numbers: IntArray, values: Words, hashed: KeyedHash, max_rows: int) -> IntArray:
    """Return the places of the used rows, from the persons' numbers and the rows' hashes."""
    order = np.lexsort((values, numbers))
    # Equal rows of a person have equal hashes, so each gets a new hash with its copy number.
    copies = np.zeros(len(order))
    copies[order] = _ranks(numbers[order], values[order])
    values = hashed.of_rows(values, [copies])
    order = np.lexsort((values, numbers))
    return order[_ranks(numbers[order]) < max_rows]


def row_values(
    hashed: KeyedHash, of_keys: Words, block: RecordBlock, *, marked: bool = False
) -> Words:
    """Return the hash of each row: of its person's key and its numbers, or the kinds of its marks.

    A mark is finite, NaN or infinite, and may be the number itself.
    """
    vectors = (block.target, block.offset, block.weight)
    columns: list[Any] = [*block.features.T, *(v for v in vectors if v is not None)]
    with np.errstate(all="ignore"):
        floats = (np.ascontiguousarray(column, dtype=np.float64) for column in columns)
        if marked:
            floats = (np.where(np.isfinite(each), 0.0, np.abs(each)) for each in floats)
        return hashed.of_rows(of_keys, floats)


def _ranks(*columns: Any) -> IntArray:
    """Return how many equal entries directly precede each entry of sorted columns."""
    count = len(columns[0])
    begins = np.ones(count, dtype=np.bool_)
    if count:
        begins[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    places = np.arange(count)
    return places - np.maximum.accumulate(np.where(begins, places, 0))


def _runs(starts: IntArray, counts: IntArray) -> IntArray:
    """Return the places in all runs, given the start and the length of each run."""
    before = np.cumsum(counts) - counts
    return np.arange(int(counts.sum())) + np.repeat(starts - before, counts)


def _slices(counts: IntArray, length: int) -> Iterable[slice]:
    """Yield runs of persons, or of pairs, with about ``length`` rows each."""
    ends = _piece_ends(np.append(0, np.cumsum(counts)), length)
    return (slice(start, stop) for start, stop in pairwise(ends))


def _piece_ends(starts: IntArray, length: int) -> list[int]:
    """Return the bounds of runs of whole persons with about ``length`` rows each."""
    row_bounds = np.arange(0, int(starts[-1]), length)
    return sorted({*np.searchsorted(starts, row_bounds).tolist(), len(starts) - 1})
