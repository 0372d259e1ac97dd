"""The gate, which alone releases numbers: it adds noise to answers and books their costs.

A solver asks its gate queries and gets noised answers. The gate refuses a cost beyond the reserved
plan before it draws or reads anything, and writes the books before the answer exists, so that a
crash costs budget and never privacy.

Reference
---------
Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023 (fully adaptive composition: prices may
depend on answers; ``privacy/books/books.py`` has the proof); McSherry 2009, Theorem 4 (blocks);
Feldman, McMillan and Talwar 2021 (shuffles); Balle, Barthe and Gaboardi 2018 (samples without
replacement).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Any, Self

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError, RoomError, check_finite, check_integer, shown
from tailguard.data.inputs import Inputs, read_inputs
from tailguard.data.labels import label_list
from tailguard.data.rows.base import Rows, WatchedRows
from tailguard.data.rows.partitions import Partitions, rows_over
from tailguard.data.rows.persons import PersonRows
from tailguard.data.rows.unordered import UnorderedRows
from tailguard.gate.described import described
from tailguard.gate.run_books import RunBooks, failure
from tailguard.gate.stage import Stage
from tailguard.noise.mechanisms import ALL_MECHANISMS
from tailguard.noise.orders import random_sample
from tailguard.noise.sources import Source, make_source
from tailguard.privacy.accounting.total_cost import Distance
from tailguard.privacy.books import AnyLedger, ReadOnlyBooks, Release
from tailguard.privacy.books.blocks import Block, Blocks, block_sizes
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.certificate.certificate import Mode
from tailguard.privacy.events import Event
from tailguard.privacy.guarantees import Guarantee
from tailguard.privacy.unit import ROWS, Unit
from tailguard.progress import LISTENER
from tailguard.queries.admission import check_known, check_question, check_state
from tailguard.queries.base import Query, calibration_for, release_record
from tailguard.quiet import quietly


class Gate:
    """Holds the records and the books of a ``unit``, a row or a person; answers with noise.

    Guarantee
    ---------
    All answers of ``ask`` so far cost together at most the reserved event, and the reserved event
    costs at most the guarantee, for replace-one neighbours with public ``n_rows``: a row is
    replaced, or all rows of a person.

    Examples
    --------
    >>> import numpy as np
    >>> from tailguard.privacy.guarantees import GDP
    >>> from tailguard.gate.stage import Stage
    >>> from tailguard.queries.usable_records import UsableRecords
    >>> gate = Gate.over(np.zeros((100, 1)), guarantee=GDP(1.0))
    >>> stage = Stage("counts", "usable records", mu=1.0, times=1, size=1)
    >>> gate.reserve(stage.event)
    >>> gate.ask(UsableRecords(), None, stage).shape
    (1,)
    """

    def __init__(
        self,
        rows: Rows,
        *,
        guarantee: Guarantee,
        source: Source,
        ledger: AnyLedger | None = None,
        checkpoint: str | PathLike[str] | None = None,
        facts: Mapping[str, Any] | None = None,
        unit: Unit = ROWS,
    ) -> None:
        self._rows = rows
        self._guarantee = guarantee
        self._source = source
        self.unit = rows.unit if isinstance(rows, PersonRows) else unit
        self._books = RunBooks(guarantee, source, ledger, checkpoint, self.unit)
        self._partitions = Partitions(rows, source)
        self._facts = dict(facts or {})

    @classmethod
    def over(
        cls,
        X: Any,
        y: Any = None,
        *,
        guarantee: Guarantee,
        loss: Any = None,
        classes: Any = None,
        ledger: AnyLedger | None = None,
        checkpoint: str | PathLike[str] | None = None,
        random_state: int | None = None,
        **reading: Any,
    ) -> Self:
        """Wrap the user's data: arrays, tables, or ``Inputs`` that were read already.

        ``loss`` defines which targets are valid; any other target makes its record void.
        ``classes`` declares the labels. ``reading`` holds parameters of ``read_inputs``.
        """
        if loss is not None:
            check_known(loss)
        labels = None if classes is None else label_list(classes)
        source = make_source(random_state)
        inputs = X if isinstance(X, Inputs) else read_inputs(X, y, **reading)
        rows = rows_over(inputs, loss, classes, source)
        return cls(
            rows,
            guarantee=guarantee,
            source=source,
            ledger=ledger,
            checkpoint=checkpoint,
            unit=inputs.unit,
            facts={
                "declarations": (inputs.schema, inputs.missing, labels, loss, inputs.names),
                "weight bound": None if inputs.weight is None else inputs.weight.bound,
                "random state": random_state,
            },
        )

    @property
    def books(self) -> ReadOnlyBooks:
        """The books of this gate: what it reserved and released."""
        return ReadOnlyBooks(self._books.own)

    @property
    def n_records(self) -> int:
        """The public number of records, which are rows or persons; all sizes depend on it."""
        return self._rows.n_rows

    @property
    def n_features(self) -> int:
        """The public number of feature columns."""
        return self._rows.n_features

    @property
    def has_checkpoint(self) -> bool:
        """Whether answers are recorded in a file."""
        return self._books.path is not None

    def reserve(
        self, event: Event, *, coordinates: int = 1000, run: Any = None, unprotected: bool = False
    ) -> None:
        """Reserve the planned event; refuse one that costs more than the guarantee.

        At most ``coordinates`` numbers may be released under it. Each adds the distance between
        sampled and ideal noise, which is charged. A checkpoint must come from the same ``run``.

        ``unprotected`` is for noise as papers print it. A simulation, with ``random_state`` and
        without a ledger, may then reserve more than the guarantee: books and certificate state that
        nothing is protected, and later queries need no proof.
        """
        ordered = not isinstance(self._rows, UnorderedRows)
        public = (self._guarantee, self.n_records, self.n_features, ordered, self.unit)
        facts = self._facts | {"records": public, "plan": run}
        self._books.reserve(event, coordinates, facts, unprotected=unprotected)

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
        Uniform over all partitions into blocks of these sizes, and over the orders within them. The
        gate never reveals which record is in which block. Queries of different blocks cost together
        as much as those of the costliest block. If ``amplified``, blocks are of equal size, and the
        answers, at most one per block and with Gaussian noise, cost one ``Shuffled`` event
        together.

        The sizes are those in ``sizes``, or those of ``n_blocks`` blocks that differ by at most one
        record. With ``equal_sizes`` they do not differ, and the remaining records are unused.
        ``within`` cuts a block of an earlier partition. A name can be used once: two partitions
        with one name would be charged as one.
        """
        n_rows = self.n_records if within is None else self._partitions.check(within).n_rows
        sizes = block_sizes(n_rows, n_blocks, sizes, equal=equal_sizes or amplified)
        if self.has_checkpoint and (len(sizes) > 1 or amplified or within is not None):
            raise InputError("checkpoint must be None where a plan cuts records into blocks.")
        return self._partitions.cut(name, sizes, amplified=amplified, within=within)

    def check_places(self, stages: Sequence[Stage]) -> None:
        """Refuse stages that need places if records have none, or if the disk is too small."""
        if isinstance(self._rows, UnorderedRows):
            reads_all = any(not stage.reads_sample for stage in stages)
            self._rows.check_places([stage.name for stage in stages], whole=reads_all)

    def has_partition(self, name: str) -> bool:
        """Whether a partition has that name already."""
        return name in self._partitions

    def ask(
        self,
        query: Query,
        state: Any,
        stage: Stage,
        *,
        block: Block | None = None,
        blocks: Blocks | None = None,
        total: int | None = None,
    ) -> FloatArray:
        """Answer one query, over all records or one block: calibrate, book, read, draw, finish.

        It costs at most what ``stage`` requests: a mu, with Gaussian noise; an epsilon of pure DP,
        with Laplace noise; or another event, with noise whose scale depends on the records and is
        never released. The query must have that form. The books keep the stage's name.

        ``blocks`` of equal size answer separately, with independent noise; each answer is a row of
        the result. The stage states what one block's answer costs the records of that block. The
        books keep one release for all blocks.

        A stage with ``sampled`` reads a sample of that share of the records, drawn for this answer
        and then discarded: uniform without replacement, in random order. The gate
        never reveals which records were drawn. The answer costs the drawn records ``mu``, and all
        records ``Sampled(mu, sampled)``. Only Gaussian noise is possible.

        Means are divided by ``total``, such as a released total weight; the default is the number
        of records read.
        """
        if self._books.own.unprotected:  # no proof is needed: nothing is protected
            check_state(state)
        else:
            persons = self.unit.person is not None
            check_question(query, state, weighted=self._rows.has_weight, persons=persons)
        if self.has_checkpoint:
            described((query, state))  # before booking, refuse what a checkpoint cannot hold
        n_rows, reads, scope = self._reads(query, stage, block, blocks)
        hidden = "sample" in scope or ("blocks" in scope and scope["blocks"].amplified)
        calibration = self._calibrate(query, n_rows, stage, hidden=hidden)
        total = n_rows if total is None else total
        release = release_record(query, calibration, stage.name, **scope)
        self._book(release, calibration, len(reads))
        answers = []
        for read in reads:
            draw = partial(self._noised, query, state, calibration, read)
            noised = self._books.answered(release, (query, state), draw)
            LISTENER.get().answered(release.stage, n_rows)
            answers.append(query.finish(noised.astype(np.float64) * calibration.grid, total))
        return answers[0] if blocks is None else np.array(answers)

    def _reads(
        self, query: Query, stage: Stage, block: Block | None, blocks: Blocks | None
    ) -> tuple[int, list[Callable[[], Rows]], dict[str, Any]]:
        """Return how many records each answer reads, a reader for each, and their scope."""
        if not isinstance(stage, Stage):
            raise InputError(f"stage must be a stage of a plan; got {shown(stage)}.")
        chosen_blocks = [] if block is None else [self._partitions.check(block)]
        if blocks is not None:
            partition = self._partitions.check(Block(blocks, 0)).blocks
            if len(set(partition.sizes)) > 1:
                raise InputError("blocks must be of equal size to be asked together.")
            chosen_blocks = [self._partitions.check(each) for each in partition]
        if chosen_blocks and stage.sampled is not None:
            raise InputError("block must be None where a stage draws samples.")
        if chosen_blocks or stage.sampled is not None or query.by_place:
            self.check_places([stage])  # the plan may not have checked it
        if chosen_blocks:
            scope: dict[str, Any] = {"blocks": chosen_blocks[0].blocks}
            if blocks is None:
                scope["index"] = chosen_blocks[0].index
            rows_of = self._partitions.rows_of
            n_rows = chosen_blocks[0].n_rows
            return n_rows, [partial(rows_of, each) for each in chosen_blocks], scope
        if stage.sampled is not None:
            share = round(check_finite("sampled", stage.sampled) * self.n_records)
            n_rows = check_integer("sampled times n_rows", share, minimum=1, maximum=self.n_records)
            return n_rows, [partial(self._sample, n_rows)], {"sample": (n_rows, self.n_records)}
        random_order = query.places == "random"
        if self.has_checkpoint and random_order:
            self._partitions.drawn_order()  # a simulation draws it before its recorded answers
        all_records = partial(self._partitions.all_rows, random_order=random_order)
        return self.n_records, [all_records], {}

    def _sample(self, n_rows: int) -> Rows:
        """Draw a sample in random order, so that neighbours differ within one chunk."""
        return self._rows.restricted(random_sample(self.n_records, n_rows, self._source))

    def _calibrate(self, query: Query, n_rows: int, stage: Stage, *, hidden: bool) -> Any:
        """Choose the noise of a stage; only Gaussian noise if ``hidden`` records are read."""
        sizes = n_rows, self.n_features
        calibration = calibration_for(query, *sizes, stage.asked, self.unit.max_rows)
        if hidden and calibration.mechanism != "gaussian":
            raise InputError(
                "query must be one with Gaussian noise to be asked of a sample, or of a block of "
                "an amplified partition."
            )
        return calibration

    def _book(self, release: Release, calibration: Any, n_answers: int) -> None:
        """Write a release of ``n_answers`` answers into the books."""
        distance = ALL_MECHANISMS[calibration.mechanism].distance(calibration).times(n_answers)
        self._record(release, calibration.size * n_answers, distance)

    def _record(self, release: Release, size: int, distance: Distance) -> None:
        self._books.record(release, size, distance)

    def _noised(
        self, query: Any, state: Any, calibration: Any, read: Callable[[], Rows]
    ) -> IntArray:
        """Answer a query with noise; hide errors that occur after the first record is read.

        Earlier errors depend only on the query, and so only on public and released numbers.
        """
        cause: BaseException | None = None
        opened: list[WatchedRows] = []  # stays empty if copying fails, which reads records as well
        try:
            return self._drawn(query, state, calibration, read, opened)
        except BaseException as error:  # SystemExit too
            self._books.forfeit()
            disk_full = isinstance(error, RoomError)
            nothing_read = bool(opened) and not opened[0].read
            interrupted = isinstance(error, KeyboardInterrupt)
            if nothing_read and not (disk_full or interrupted):
                raise
            if not (disk_full or interrupted or self._source.private):
                cause = error
        # Raised outside the handler, so that the error above, or one that it interrupts, is not its
        # context.
        if interrupted:
            raise KeyboardInterrupt
        raise failure(query.name, full=disk_full) from cause

    def _drawn(
        self,
        query: Any,
        state: Any,
        calibration: Any,
        read: Callable[[], Rows],
        opened: list[WatchedRows],
    ) -> IntArray:
        """Answer a query and add noise; put the rows into ``opened`` before they are read.

        Only this function holds the answer without noise, and it is in no traceback of an error
        after the first record was read: some tools print the variables of all functions there.
        """
        with quietly():
            opened.append(WatchedRows(read()))  # copying blocks or samples reads records
            answer = query.answer(opened[0], state, calibration)
        return ALL_MECHANISMS[calibration.mechanism].release(answer, calibration, self._source)

    def settle(self, *, stopped_early: bool = False) -> None:
        """End the run: nothing more is reserved or released, and the ledger is settled.

        The reserved event stays charged, with one exception: if released numbers made the run
        stop early (``stopped_early``) and nothing had failed, the ledger may give back the unspent
        part.
        """
        self._books.settle(stopped_early=stopped_early)

    def close(self) -> None:
        """Close the checkpoint; remove it if nothing was reserved."""
        self._books.close()

    def certificate(
        self,
        *,
        assumptions: tuple[str, ...] = (),
        unused_stages: tuple[str, ...] = (),
        conditions: tuple[str, ...] = (),
    ) -> Certificate:
        """State what was promised, reserved, released and assumed."""
        books = self._books.own
        mode: Mode = "private" if self._source.private else "simulation: NOT PRIVATE"
        if books.unprotected:
            mode = "reproduction: NOT PRIVATE"
        return Certificate(
            self._guarantee,
            self.n_records,
            planned=books.reserved,
            releases=books.releases,
            # Whom the run protects is stated by the unit, and accuracy does not rest on it.
            assumptions_for_accuracy=tuple(
                each for each in assumptions if each not in self.unit.notes
            ),
            unused_stages=unused_stages,
            mode=mode,
            sampler_distance=self._books.distance,
            ledger_entries=self._books.entries,
            charged=self._books.charged,
            unit=self.unit,
            conditions=conditions,
        )
