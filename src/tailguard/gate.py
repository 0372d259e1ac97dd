"""The one place where numbers leave: a query's answer, noise, and a line in the books.

A solver holds a gate and asks it queries; what it gets back is noised. The gate refuses a spend
beyond the reserved plan before it draws or reads anything, and writes the books before the answer
exists, so that a crash costs budget and never privacy.

Reference
---------
Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023 (fully adaptive composition: prices may
depend on answers; ``privacy/books/books.py`` has the proof).
"""

from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import Any, Self

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import (
    BudgetError,
    InputError,
    ReleaseError,
    check_finite,
    check_integer,
    check_methods,
    shown,
)
from tailguard.design.columns import BatchedTable
from tailguard.losses.registry import check_known
from tailguard.noise.partition import random_sample
from tailguard.noise.registry import make_mechanism
from tailguard.noise.sources import Source, make_source
from tailguard.plans.stage import Stage
from tailguard.privacy.accounting.distance import COORDINATE_DISTANCE, EXACT, Distance
from tailguard.privacy.accounting.solve import satisfies
from tailguard.privacy.books import AnyLedger, MemoryBooks, ReadOnlyBooks, Release, own_copy
from tailguard.privacy.books.blocks import Block, Blocks, block_sizes
from tailguard.privacy.books.namespaces import namespaced_event, namespaced_release
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.events import Composed, Event
from tailguard.privacy.guarantees import ApproxDP, Guarantee
from tailguard.queries.admission import check_question
from tailguard.queries.base import AnyQuery, Query, calibration_for
from tailguard.quiet import quietly
from tailguard.rows.arrays import make_rows
from tailguard.rows.base import Rows
from tailguard.rows.partitions import Partitions
from tailguard.rows.reader import RecordReader
from tailguard.rows.streams import StreamRows
from tailguard.rows.watched import WatchedRows
from tailguard.schema.schema import Schema

__all__ = ["Gate"]


class Gate:
    """Holds the records and the books; answers queries with noise.

    Guarantee
    ---------
    Everything that ``ask`` returned so far costs, together, at most the reserved event, and the
    reserved event costs at most the guarantee, for replace-one neighbours with public ``n_rows``.

    Examples
    --------
    >>> import numpy as np
    >>> from tailguard.privacy.guarantees import GDP
    >>> from tailguard.plans.stage import Stage
    >>> from tailguard.queries.counts import CountBelow
    >>> gate = Gate.over(np.zeros((100, 1)), guarantee=GDP(1.0))
    >>> stage = Stage("counts", "how many are small", mu=1.0, times=1, size=1)
    >>> gate.reserve(stage.event)
    >>> below = gate.ask(CountBelow(columns=(0,)), np.array([1.0]), stage)
    >>> below.shape
    (1,)
    """

    def __init__(
        self, rows: Rows, *, guarantee: Guarantee, source: Source, ledger: AnyLedger | None = None
    ) -> None:
        if ledger is not None:
            check_methods("ledger", ledger, ("opened",), "a tg.Ledger, or an object like it")
        if ledger is not None and not source.private:
            raise BudgetError(
                "random_state must be None when a ledger is given: a simulation is not private "
                "and cannot be charged to a budget."
            )
        self._rows = rows
        self._guarantee = guarantee
        self._source = source
        self._books = MemoryBooks()
        self._lock = Lock()
        self._reserved_coordinates = 0
        self._coordinates = 0
        self._distance = EXACT
        self._partitions = Partitions(rows, source)
        self._namespace = "" if ledger is None else f"{int(source.words(1)[0]):016x}"
        self._ledger = None if ledger is None else ledger.opened(self._namespace)

    @classmethod
    def over(
        cls,
        X: Any,
        y: Any = None,
        *,
        guarantee: Guarantee,
        exposure: Any = None,
        loss: Any = None,
        classes: Any = None,
        missing: Any = None,
        schema: Schema | None = None,
        ledger: AnyLedger | None = None,
        random_state: int | None = None,
    ) -> Self:
        """Wrap whatever the user brought: arrays, or pandas, polars and pyarrow tables.

        A table in batches is read by its ``schema``, which names its target, exposure and constants
        for missing cells, too. ``loss`` says which targets are valid; records with another one are
        void. ``classes`` declares the labels. ``exposure`` enters the score as its logarithm.
        ``missing`` maps columns to public constants for their missing cells. A ``ledger`` is
        charged beside the gate's own books.
        """
        if loss is not None:
            check_known(loss)
        rows: Rows
        if isinstance(X, BatchedTable):
            rows = StreamRows(X, RecordReader(Schema.of(schema), loss, classes))
        else:
            rows = make_rows(X, y, exposure=exposure, loss=loss, classes=classes, missing=missing)
        return cls(rows, guarantee=guarantee, source=make_source(random_state), ledger=ledger)

    @property
    def books(self) -> ReadOnlyBooks:
        """What this gate reserved and released."""
        return ReadOnlyBooks(self._books)

    @property
    def n_rows(self) -> int:
        """The public number of records."""
        return self._rows.n_rows

    @property
    def n_features(self) -> int:
        """The public number of feature columns."""
        return self._rows.n_features

    def reserve(self, event: Event, *, coordinates: int = 1000) -> None:
        """Reserve the planned event, refusing one that costs more than the guarantee.

        ``coordinates`` says how many numbers may be released against it: each adds the distance of
        sampled from ideal noise, which is charged.
        """
        planned = check_integer("coordinates", coordinates, minimum=0)
        event = own_copy(event)
        with self._lock:
            coordinates = planned + self._reserved_coordinates
            total = Composed((self._books.reserved, event))
            distance = COORDINATE_DISTANCE.times(coordinates)
            if not satisfies(total, self._guarantee, distance=distance):
                raise BudgetError(
                    f"the plan must cost at most {self._guarantee.describe()}; it costs more."
                )
            if self._ledger is not None:
                charged = namespaced_event(event, self._namespace)
                self._ledger.reserve(charged, coordinates=planned)
            self._books.reserve(event)
            self._reserved_coordinates = coordinates

    def partition(
        self,
        name: str,
        n_blocks: int | None = None,
        *,
        sizes: Sequence[int] | None = None,
        equal_sizes: bool = False,
        amplified: bool = False,
        within: Block | None = None,
    ) -> Blocks:
        """Cut the records into blocks at random, by their places and never by their values.

        Guarantee
        ---------
        Uniform over all partitions into blocks of these sizes, and over the orders within them;
        which record is where never leaves the gate. Of what is asked of the blocks, the costliest
        block counts. If ``amplified``, blocks are of equal size, and the answers, at most one a
        block and with Gaussian noise, cost one ``Shuffled`` event together.

        Edge cases
        ----------
        ``n_blocks`` differ in size by one record at most, or not at all with ``equal_sizes``, which
        leaves the rest unused; or ``sizes`` says how large each is. ``within`` cuts one block of an
        earlier partition. A name can be used once: other blocks under it would count as the same.

        Reference
        ---------
        McSherry 2009, Theorem 4; Feldman, McMillan and Talwar 2021 (shuffles).
        """
        n_rows = self.n_rows if within is None else self._partitions.check(within).n_rows
        found = block_sizes(n_rows, n_blocks, sizes, equal=equal_sizes or amplified)
        return self._partitions.cut(name, found, amplified=amplified, within=within)

    def has_partition(self, name: str) -> bool:
        """Whether there is a partition of that name already."""
        return name in self._partitions

    def ask(
        self, query: AnyQuery, state: Any, stage: Stage, *, block: Block | None = None
    ) -> FloatArray:
        """Answer one query, over all records or one block: calibrate, book, read, draw, finish.

        It costs at most what ``stage`` asks for: a mu, with Gaussian noise; an epsilon of pure DP,
        with Laplace noise; or another event, with noise whose scale follows the records and is
        never shown; each where the query has such a form. The books keep the stage's name.

        Guarantee
        ---------
        A stage with ``sampled`` reads a sample of that share of the records, which is drawn for
        this answer and forgotten: uniform over all samples without replacement, in random order;
        which records it has never leaves the gate. The answer costs ``mu`` to the records that are
        drawn, and ``Sampled(mu, sampled)`` to all of them. Only Gaussian noise will do.

        Reference
        ---------
        Balle, Barthe and Gaboardi 2018 (sampling without replacement).
        """
        check_question(query, state)
        block = None if block is None else self._partitions.check(block)
        n_rows = self.n_rows if block is None else block.n_rows
        sample_rows = self._sample_rows(stage, block)
        n_rows = n_rows if sample_rows is None else sample_rows
        hidden = sample_rows is not None or (block is not None and block.blocks.amplified)
        calibration = self._calibrate(query, n_rows, stage, hidden=hidden)
        if block is not None:
            self._book(query, calibration, stage, block.blocks, block.index)
            read = partial(self._partitions.rows_of, block)
        else:
            self._book(query, calibration, stage, sample_rows=sample_rows)
            read = partial(self._partitions.all_rows, random_order=query.random_order)
            if sample_rows is not None:
                read = partial(self._drawn, sample_rows)
        return self._answer(query, state, calibration, n_rows, read)

    def ask_each(self, query: Query, state: Any, stage: Stage, *, blocks: Blocks) -> FloatArray:
        """Answer one query for every block of equal size: an answer a row, booked as one release.

        Each answer has noise of its own and costs at most what ``stage`` asks for to the records of
        its block.
        """
        check_question(query, state)
        blocks = self._partitions.check(Block(blocks, 0)).blocks
        if len(set(blocks.sizes)) > 1:
            raise InputError("blocks must be of equal size to be asked together.")
        n_rows = min(self._partitions.check(block).n_rows for block in blocks)
        self._sample_rows(stage, blocks[0])
        calibration = self._calibrate(query, n_rows, stage, hidden=blocks.amplified)
        self._book(query, calibration, stage, blocks)
        reads = [partial(self._partitions.rows_of, block) for block in blocks]
        return np.array([self._answer(query, state, calibration, n_rows, read) for read in reads])

    def _calibrate(self, query: AnyQuery, n_rows: int, stage: Stage, *, hidden: bool) -> Any:
        """Choose noise for what the stage asks: Gaussian where who is read is ``hidden``."""
        calibration = calibration_for(query, n_rows, self.n_features, stage.asked)
        if hidden and calibration.mechanism != "gaussian":
            raise InputError(
                "query must be one with Gaussian noise to be asked of a sample, or of a block of "
                "an amplified partition."
            )
        return calibration

    def _sample_rows(self, stage: Stage, block: Block | None) -> int | None:
        """Return how many records the stage draws for an answer; None where it draws none."""
        if not isinstance(stage, Stage):
            raise InputError(f"stage must be a stage of a plan; got {shown(stage)}.")
        if stage.sampled is None:
            return None
        if block is not None:
            raise InputError("block must be None where a stage draws samples.")
        n_rows = round(check_finite("sampled", stage.sampled) * self.n_rows)
        return check_integer("sampled times n_rows", n_rows, minimum=1, maximum=self.n_rows)

    def _drawn(self, n_rows: int) -> Rows:
        """Draw a sample. A record and the one in its place of another sample share a chunk."""
        return self._rows.restricted(random_sample(self.n_rows, n_rows, self._source))

    def _book(
        self,
        query: AnyQuery,
        calibration: Any,
        stage: Stage,
        blocks: Blocks | None = None,
        index: int | None = None,
        sample_rows: int | None = None,
    ) -> None:
        """Write down a release: of all records, of one block or every block, or of a sample."""
        drawn = {} if sample_rows is None else {"sample_rows": sample_rows, "of_rows": self.n_rows}
        distance = make_mechanism(calibration.mechanism).distance(calibration)
        n_answers = len(blocks) if blocks is not None and index is None else 1
        self._record(
            Release(
                name=query.name,
                kind=type(query).__name__,
                mechanism=f"sampled-{calibration.mechanism}" if drawn else calibration.mechanism,
                norm=calibration.norm,
                sensitivity=calibration.charged,
                noise_std=calibration.noise_std,
                block_map=None if blocks is None else blocks.name,
                block=index,
                parameters={
                    **query.parameters(),
                    **calibration.parameters(),
                    **({} if blocks is None else blocks.facts()),
                    **drawn,
                },
                stage=stage.name,
            ),
            calibration.size * n_answers,
            distance.times(n_answers),
        )

    def _answer(
        self, query: Any, state: Any, calibration: Any, n_rows: int, read: Callable[[], Rows]
    ) -> FloatArray:
        """Read, add noise, finish; query and mechanism agree on what only passes here."""
        noised = self._noised(query, state, calibration, read)
        finished: FloatArray = query.finish(noised.astype(np.float64) * calibration.grid, n_rows)
        return finished

    def _noised(
        self, query: Any, state: Any, calibration: Any, read: Callable[[], Rows]
    ) -> IntArray:
        """Read and add noise. What goes wrong once records are read is told to nobody.

        Before that, an error speaks of the question, hence of public and released numbers.
        """
        cause: BaseException | None = None
        rows: WatchedRows | None = None  # a block or sample that cannot be copied was read, too
        try:
            rows = WatchedRows(read())
            with quietly():
                answer = query.answer(rows, state, calibration)
            mechanism = make_mechanism(calibration.mechanism)
            noised: IntArray = mechanism.release(answer, calibration, self._source)
            return noised
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit too
            if rows is not None and not rows.read:
                raise
            if not self._source.private:
                cause = error
        # Raised out here, where the error above is no longer its context.
        raise ReleaseError(
            f"release {query.name!r} must be repeated: it failed while records were read, stays "
            "charged, and nothing of it leaves; with random_state=<int>, a simulation, the cause "
            "is shown."
        ) from cause

    def _record(self, release: Release, size: int, distance: Distance) -> None:
        """Write a release down, or refuse it: first for good, then in the gate's own books."""
        with self._lock:
            if self._coordinates + size > self._reserved_coordinates:
                raise BudgetError(
                    f"release {release.name!r} must be among the numbers that were reserved; more "
                    "were released than planned."
                )
            self._check_distance(release, self._distance + distance)
            self._books.check(release)
            if self._ledger is not None:
                self._ledger.record(namespaced_release(release, self._namespace))
            self._books.record(release)
            self._coordinates += size
            self._distance += distance

    def _check_distance(self, release: Release, distance: Distance) -> None:
        """Refuse noise further from what is accounted for than an (epsilon, delta) plan charged."""
        charged = COORDINATE_DISTANCE.times(self._reserved_coordinates)
        if isinstance(self._guarantee, ApproxDP) and not distance.within(charged):
            raise BudgetError(
                f"release {release.name!r} must be on a finer lattice; its noise is further from "
                "ideal than was charged."
            )

    def settle(self) -> None:
        """Tell the ledger that the run is over; what was reserved stays charged."""
        if self._ledger is not None:
            self._ledger.settle()

    def certificate(self, *, assumptions: tuple[str, ...] = ()) -> Certificate:
        """State what was promised, reserved, released and assumed."""
        return Certificate.of(
            guarantee=self._guarantee,
            books=self._books,
            n_rows=self.n_rows,
            assumptions_for_accuracy=assumptions,
            private=self._source.private,
            sampler_distance=self._distance,
            ledger_entries=() if self._ledger is None else tuple(self._ledger.entries),
        )
