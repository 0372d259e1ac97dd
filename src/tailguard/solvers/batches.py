"""Which records each step of a descent reads, and what the step may spend on them.

* ``"full"``: all records at every step, so steps share the budget: ``mu / sqrt(n_steps)`` each.
* ``"disjoint"``: a block of its own for every step; a record is read once, so every step may spend
  all of ``mu``, on ``n_steps`` times fewer records.
* ``"shuffled"``: passes over batches of equal size. Where it makes the noise less, every pass has a
  fresh secret partition and its batches are accounted for as a shuffle.
* ``"sampled"``: a secret sample of ``batch_rows`` records for every step, drawn for it alone.

Reference
---------
Dong, Roth and Su 2022, Corollary 3.3 (composition); McSherry 2009, Theorem 4 (disjoint blocks);
Feldman, McMillan and Talwar 2021 (shuffles), as :mod:`tailguard.privacy.amplification.grouped`
applies it; Balle, Barthe and Gaboardi 2018 (samples without replacement).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tailguard.checks import InputError, check_integer, require
from tailguard.gate import Gate
from tailguard.gate.stage import BUDGET_MARGIN, Stage
from tailguard.privacy.accounting.total_cost import calibrate, satisfies
from tailguard.privacy.amplification.grouped import grouped_shuffle
from tailguard.privacy.books.blocks import Block
from tailguard.privacy.events import Composed, Event, Gaussian, Nothing, Repeated, Sampled
from tailguard.privacy.guarantees import ApproxDP, Guarantee
from tailguard.solvers.options import check_ranges

SCHEDULES = ("full", "disjoint", "shuffled", "sampled")

# Relative accuracy of mu where an accountant finds it.
ACCURACY = 1e-5


@dataclass(frozen=True)
class Batches:
    """The records of every step.

    Attributes
    ----------
    schedule
        ``"full"``, ``"disjoint"``, ``"shuffled"`` or ``"sampled"``.
    n_steps
        The number of gradient releases.
    n_batches
        Of a shuffled pass; it divides ``n_steps``. None is one pass.
    batch_rows
        How many records a sample has.
    """

    schedule: str
    n_steps: int
    n_batches: int | None = None
    batch_rows: int | None = None

    def __post_init__(self) -> None:
        check_ranges(self, schedule=SCHEDULES)
        require(
            (self.batch_rows is not None) == (self.schedule == "sampled"),
            "batch_rows must be given where schedule='sampled', and be None elsewhere.",
        )
        require(
            self.n_batches is None or self.schedule == "shuffled",
            "n_batches must be None unless schedule='shuffled'.",
        )
        require(
            self.n_steps % (self.n_batches or 1) == 0,
            f"n_batches must divide n_steps = {self.n_steps}; got {self.n_batches}.",
        )

    @property
    def n_blocks(self) -> int:
        """How many blocks the records are cut into."""
        return self.n_batches or self.n_steps if self.block_map else 1

    @property
    def n_passes(self) -> int:
        """How often a record is read; at most, where samples are drawn."""
        return self.n_steps // self.n_blocks

    @property
    def block_map(self) -> str | None:
        """The name of the partition; None where there is none."""
        cut = self.schedule in ("disjoint", "shuffled")
        return f"batches of {self.schedule} steps" if cut else None

    def rows_per_step(self, n_rows: int) -> int:
        """How many records the smallest step reads."""
        if self.batch_rows is not None:
            return check_integer("batch_rows", self.batch_rows, minimum=1, maximum=n_rows)
        if self.n_blocks > n_rows:
            name = "n_batches" if self.n_batches else "n_steps"
            raise InputError(
                f"{name} must be at most n_rows = {n_rows} for a {self.schedule} schedule; "
                f"got {self.n_blocks}."
            )
        return n_rows // self.n_blocks

    def stage(self, guarantee: Guarantee, spent_mu: float, n_rows: int, size: int) -> Stage:
        """Divide what ``spent_mu`` leaves of the guarantee among the steps."""
        rows, passes = self.rows_per_step(n_rows), self.n_passes
        total = guarantee.gaussian_mu() * (1.0 - BUDGET_MARGIN)
        mu, shuffled = math.sqrt((total**2 - spent_mu**2) / passes), False
        if self.schedule == "shuffled" and isinstance(guarantee, ApproxDP) and spent_mu == 0.0:
            best, pays = grouped_shuffle(guarantee, n_groups=self.n_blocks, times=passes)
            if pays:
                mu, shuffled = best, True
        rate = None if self.batch_rows is None else rows / n_rows
        if rate is not None:
            mu = self._sampled_mu(guarantee, spent_mu, rate, mu)
        return Stage(
            "descent",
            "gradients of the loss",
            mu,
            passes,
            size,
            block_map=self.block_map,
            n_blocks=self.n_blocks,
            shuffled=shuffled,
            sampled=rate,
        )

    def _sampled_mu(
        self, guarantee: Guarantee, spent_mu: float, rate: float, full_mu: float
    ) -> float:
        """Return what a step on a sample may spend, where ``full_mu`` is for all records."""
        spent: Event = Gaussian(spent_mu) if spent_mu else Nothing()

        def event_of(mu: float) -> Event:
            """All steps, and what was spent before."""
            return Composed((spent, Repeated(Sampled(mu, rate), self.n_steps)))

        require(
            satisfies(event_of(full_mu / 2.0), guarantee),
            "schedule must not be 'sampled' for this promise: fresh samples are priced by epsilon "
            f"at a delta of at least 1e-10 only; got {guarantee.describe()}.",
        )
        return calibrate(event_of, guarantee, guess=full_mu, accuracy=ACCURACY)

    def blocks(self, stage: Stage, gate: Gate) -> Iterator[Block | None]:
        """Yield the block of every step; None is all records.

        A shuffled pass has a partition of its own; blocks that only are disjoint may serve again.
        """
        if stage.block_map is None:
            yield from [None] * self.n_steps
            return
        if stage.shuffled:
            for turn in range(stage.times):
                name = f"{stage.block_map}, pass {turn}"
                yield from gate.partition(name, stage.n_blocks, amplified=True)
            return
        fixed = gate.partition(
            stage.block_map, stage.n_blocks, equal_sizes=self.schedule == "shuffled"
        )
        for _ in range(stage.times):
            yield from fixed
