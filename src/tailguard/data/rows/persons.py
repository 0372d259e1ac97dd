"""Persons as records: each is her rows, weighted so that they count as one record or less.

From here on a query reads persons and not rows. Of each person at most ``max_rows`` rows are kept,
with shares that add up to at most one, and a query multiplies what a row adds by its share.

*Privacy.* Let ``K`` be the set of what a record may add to a query's sum; a void record adds zero,
so ``K`` holds it. Shares are at least zero, add up to at most one, and depend on the person's own
rows alone. So a person adds ``sum_j w_j q_j``, a point of the convex hull of ``K``. In any norm the
hull is as wide as ``K``: a distance ``|a - b|`` is convex in either end, hence largest at extreme
points. So to replace all rows of a person, by any others and any number of them, moves a sum by no
more than to replace a record does where each row is one. Each row is rounded to the lattice by
itself, so that no other person's rounding depends on how many rows she has: the gate charges
``max_rows`` roundings for one.

*What counts.* Usable records are counted by these shares. Where each used row counts alike, a row
adds to all else ``1 / max_rows`` in place of its share, which is never more.

*Which rows.* Those with the smallest values of a keyed hash of the key, the row's numbers, and how
many equal rows of the person come before. No other person and no order of rows enters. That the
draw is random serves accuracy alone.

*Pairs.* Persons are paired by places in a secret random order of persons. Of a pair the first row
of one meets the first row of the other, and so on until one has no more; each counts one over the
number of these meetings. So a pair adds a point of the hull as well, whichever person is replaced.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Definition 3 (a neighbour is what it is declared to be);
Agarwal, Kamath, Majid, Mouzakis, Silver and Ullman 2024 and Zhao, Lai, Shen, Li, Wu and Liu 2024
(means where persons have many records each).
"""

import math
from copy import copy
from dataclasses import replace
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError
from tailguard.data.rows.arrays import ArrayRows
from tailguard.data.rows.base import CHUNK_ROWS, Kernel, RecordBlock
from tailguard.data.rows.keys import NOBODY, Persons
from tailguard.data.rows.threads import added, resolve_threads
from tailguard.data.sparse import NUMBERS_AT_ONCE
from tailguard.noise.keyed_hash import KeyedHash
from tailguard.noise.orders import Order
from tailguard.noise.sources import Source, Words


class PersonRows:
    """Persons of a table in memory, of which each is a record.

    Parameters
    ----------
    rows
        The rows as they lie.
    persons
        Whose they are.
    source
        Of the key by which rows of persons with too many are chosen.

    Attributes
    ----------
    n_rows
        The number of persons, which are the records: how many rows there are says no attribute.
    unit
        What is protected.

    Examples
    --------
    >>> from tailguard.noise.sources import make_source
    >>> from tailguard.privacy.unit import Unit
    >>> rows = ArrayRows(np.arange(5.0)[:, None])
    >>> persons = Persons.of(["a", "a", "a", "b", None], Unit(person="key", max_rows=2))
    >>> PersonRows(rows, persons, make_source(None)).n_rows
    2
    """

    def __init__(self, rows: ArrayRows, persons: Persons, source: Source) -> None:
        self.unit = persons.unit
        self.n_features = rows.n_features
        self.has_offset, self.has_weight = rows.has_offset, rows.has_weight
        self._file = rows
        chosen = _chosen_rows(rows, persons, KeyedHash(source))
        self._use(chosen, np.bincount(persons.numbers[chosen], minlength=persons.count))

    def __repr__(self) -> str:
        return f"PersonRows(n_rows={self.n_rows}, n_features={self.n_features})"

    def _use(self, chosen: IntArray, counts: IntArray) -> None:
        """Take rows of the file, person by person, each of whom has so many of them."""
        self.n_rows = len(counts)
        self._chosen, self._starts = chosen, np.append(0, np.cumsum(counts))
        alike = np.full(len(counts), self.unit.max_rows) if self.unit.weight == "row" else counts
        self._share, counted = (np.repeat(shares_of(each), counts) for each in (counts, alike))
        number = np.repeat(np.arange(len(counts)), counts)
        self._rows = self._file.of_persons(chosen, self._share, number, counted)
        self._order: Order | None = None
        self._paired: tuple[ArrayRows, IntArray] | None = None
        self._lock = Lock()

    def reduce(self, kernel: Kernel, n_threads: int | None = None) -> IntArray:
        """Return the kernel's lattice sum over all persons: the same bits for any ``n_threads``."""
        if kernel.together == "all":
            raise InputError("queries that gather all records must not be asked of persons.")
        if kernel.reads_cells:
            return self._sum_of_marks(kernel)
        rows, starts = self._in_pairs() if kernel.together == "some" else (self._rows, self._starts)
        ends = _piece_ends(starts, max(CHUNK_ROWS, NUMBERS_AT_ONCE // max(1, self.n_features)))
        return added(
            kernel.size,
            lambda piece: kernel.sum_block(_numbered(rows.piece(*piece))),
            pairwise(ends),
            resolve_threads(n_threads) if len(ends) > 2 else 1,
        )

    def _sum_of_marks(self, kernel: Kernel) -> IntArray:
        """Sum over marks of all rows as they lie: those that are not used have no share."""
        share, first, total = np.zeros(self._file.n_rows), 0, np.zeros(kernel.size, dtype=np.int64)
        share[self._chosen] = self._share
        for each in self._file.marks():
            last = first + len(each[0])
            total += kernel.sum_block(RecordBlock(*each, first=None, share=share[first:last]))
            first = last
        return total

    def restricted(self, places: Order) -> "PersonRows":
        """Return the persons at these places alone, in this order, as records of their own."""
        places = places[:] if self._order is None else self._order[places[:]]
        counts, found = np.diff(self._starts)[places], copy(self)
        found._use(self._chosen[_runs(self._starts[places], counts)], counts)
        return found

    def in_order(self, order: Order) -> "PersonRows":
        """Return the persons at these places, in an order that matters to pairs alone."""
        if len(order) < self.n_rows:
            return self.restricted(order)
        found = copy(self)
        found._order = order if self._order is None else self._order[order[:]]
        found._paired, found._lock = None, Lock()
        return found

    def _in_pairs(self) -> tuple[ArrayRows, IntArray]:
        """Return rows that meet side by side, and where the pairs of persons begin."""
        with self._lock:
            if self._paired is None:
                ends = self.n_rows // 2 * 2
                order = np.arange(ends) if self._order is None else self._order[:ends]
                first, second, counts = order[::2], order[1::2], np.diff(self._starts)
                meetings = np.minimum(counts[first], counts[second])
                places = np.empty(2 * int(meetings.sum()), dtype=np.int64)
                places[::2] = self._chosen[_runs(self._starts[first], meetings)]
                places[1::2] = self._chosen[_runs(self._starts[second], meetings)]
                share = np.repeat(shares_of(meetings), 2 * meetings)
                pair = np.repeat(np.arange(len(meetings)), 2 * meetings)
                rows = self._file.of_persons(places, share, pair, share)
                self._paired = rows, np.append(0, 2 * np.cumsum(meetings))
            return self._paired


def shares_of(counts: IntArray) -> FloatArray:
    """Return one over each count, rounded down: so many of them add up to at most one."""
    found, places = np.unique(counts, return_inverse=True)
    return np.array([_share_of(int(count)) for count in found])[places.ravel()]


def _share_of(count: int) -> float:
    part = 1.0 / count
    numerator, denominator = part.as_integer_ratio()
    return part if count * numerator <= denominator else math.nextafter(part, 0.0)


def _chosen_rows(rows: ArrayRows, persons: Persons, hashed: KeyedHash) -> IntArray:
    """Return which rows are used, person by person, in the order of their values."""
    keyed = np.flatnonzero(persons.numbers != NOBODY)
    numbers, values = persons.numbers[keyed], _values(rows, persons, hashed)[keyed]
    order = np.lexsort((values, numbers))
    # Equal rows of a person have equal values: each but the first gets another one.
    copies = np.zeros(len(order))
    copies[order] = _ranks(numbers[order], values[order])
    values = hashed.of_rows(values, [copies])
    order = np.lexsort((values, numbers))
    used = _ranks(numbers[order]) < persons.unit.max_rows
    return keyed[order[used]]


def _values(rows: ArrayRows, persons: Persons, hashed: KeyedHash) -> Words:
    """Return the value of each row under the key: of its person's key and its own numbers."""
    values = hashed.of(persons.keys)
    length = max(CHUNK_ROWS, NUMBERS_AT_ONCE // max(1, rows.n_features))
    with np.errstate(all="ignore"):
        for start in range(0, rows.n_rows, length):
            block = rows.piece(start, start + length)
            beside = (block.target, block.offset, block.weight)
            columns: list[Any] = [*block.features.T, *(v for v in beside if v is not None)]
            floats = (np.ascontiguousarray(column, dtype=np.float64) for column in columns)
            values[start : start + length] = hashed.of_rows(values[start : start + length], floats)
    return values


def _ranks(*columns: Any) -> IntArray:
    """Return how many equal neighbours come right before each entry of sorted columns."""
    count = len(columns[0])
    begins = np.ones(count, dtype=np.bool_)
    if count:
        begins[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    places = np.arange(count)
    return np.asarray(places - np.maximum.accumulate(np.where(begins, places, 0)))


def _runs(starts: IntArray, counts: IntArray) -> IntArray:
    """Return the places of runs, one after the other."""
    before = np.cumsum(counts) - counts
    return np.asarray(np.arange(int(counts.sum())) + np.repeat(starts - before, counts))


def _piece_ends(starts: IntArray, length: int) -> list[int]:
    """Return where pieces of about that length end, each of them of whole persons."""
    wanted = np.arange(0, int(starts[-1]), length)
    ends = np.append(starts[np.searchsorted(starts, wanted)], starts[-1])
    return sorted(set(map(int, ends)))


def _numbered(block: RecordBlock) -> RecordBlock:
    """Return a block of whole persons, who are numbered from 0."""
    assert block.person is not None
    first = block.person[0] if block.n_rows else 0
    return replace(block, person=block.person - first)
