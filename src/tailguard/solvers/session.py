"""The budget of a plan during a run: later stages may spend the budget that earlier ones left.

Some stages are planned on one random sample of the records; the first of them draws it. Such a
stage is charged in full, as if it read all records.

Reference
---------
Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023: shares may move between releases,
depending on released numbers, as long as the sum of squares stays within the reserved total
(``privacy/books/books.py`` has the proof). McSherry 2009, Theorem 4: blocks of records.
"""

import math
from dataclasses import replace
from itertools import chain, count
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Solution
from tailguard.gate.stage import SAMPLE, WEIGHT, Stage
from tailguard.privacy.books.blocks import Block
from tailguard.queries.base import Query
from tailguard.queries.usable_records import WeightTotals
from tailguard.queries.view import LARGEST_ENTRY, View
from tailguard.scaling.required_records import light_weights

SAMPLED = "sampled_records"  # the plan's setting with the size of the sample


class UnusableError(ArithmeticError):
    """Raised if released numbers are too large; the run then stops and keeps what it has."""


# Errors that released numbers may cause: in arithmetic, in linear algebra, and in queries made of
# them. Not BudgetError, and not ReleaseError, which hides any failure while records are read.
BEYOND_FLOATS = (ArithmeticError, np.linalg.LinAlgError, InputError)


def usable(weights: FloatArray) -> FloatArray:
    """Return weights that a query accepts; else stop the run."""
    if not (np.abs(weights) <= LARGEST_ENTRY).all():
        raise UnusableError
    return weights


class BudgetSession:
    """Sends queries to the gate, and keeps account of the budget.

    ``stages`` has the planned stages by their names.
    ``sample_dropped`` may be set if released numbers show that the sample is too small: later
    stages then read all records, at the same cost.

    If records have weights, their released total replaces their number in ``problem``: means are
    divided by it, and noise is relative to it. ``evenness`` is the total weight over the sum of
    squared weights: at least 1, and 1 without weights. ``notes`` warn if records weigh little.
    """

    def __init__(self, plan: Plan, gate: Gate) -> None:
        self.plan = plan
        self.gate = gate
        self.problem = plan.problem
        self.stages = dict(plan.by_name)
        self.sample_dropped = False
        self.evenness = 1.0
        self.notes: tuple[str, ...] = ()
        self._spent = 0.0
        self._sample: Block | None = None

    def ask(self, query: Query, state: Any, stage: Stage) -> FloatArray:
        """Release one query; stop the run if earlier answers led to a state that it cannot read.

        ``stage`` is a planned one, with its own mu or another, or the ``rest``.
        """
        view = getattr(query, "view", None)
        if isinstance(view, View) and not view.reads(state):
            raise UnusableError
        self._spent += stage.mu**2
        if not self.reads_sample(stage):
            return self.gate.ask(query, state, stage, total=self.problem.n_rows)
        if self._sample is None:
            # A gate that another run has used may have a sample of that name already.
            names = chain([SAMPLE], (f"{SAMPLE} {number}" for number in count(2)))
            name = next(name for name in names if not self.gate.has_partition(name))
            size = int(self.plan.settings[SAMPLED])
            self._sample = self.gate.partition(name, sizes=(size,))[0]
        return self.gate.ask(query, state, stage, block=self._sample, total=self.n_rows(stage))

    def weigh(self) -> None:
        """Release the total weight, if records have weights; its noise is the least value."""
        if not self.problem.has_weights:
            return
        n_rows, stage, query = self.problem.n_rows, self.stages[WEIGHT], WeightTotals()
        noise_std = query.calibrate(n_rows, self.problem.n_features, stage.mu).noise_std
        total, squares = query.totals(self.ask(query, None, stage), noise_std, n_rows)
        self.problem = replace(self.problem, n_rows=max(1, round(total)))
        self.evenness = total / squares
        by_person = self.problem.by_person
        self.notes = light_weights(total, noise_std, n_rows, by_person=by_person)

    def noted(self, solution: Solution) -> Solution:
        """Return the solution of the run with the notes of the session."""
        return replace(solution, notes=(*self.notes, *solution.notes))

    def histograms(
        self, query: Query, state: Any, stage: Stage, *, columns: int = 1
    ) -> tuple[FloatArray, float]:
        """Release histograms; return counts and their noise, both scaled to all records."""
        factor = self.n_rows() / self.n_rows(stage)
        counts = self.ask(query, state, stage)
        return factor * counts, self.noise_std(columns, stage)

    def noise_std(self, columns: int, stage: Stage) -> float:
        """Return the noise of histograms of this many columns, scaled to all records."""
        return self.n_rows() / self.n_rows(stage) * math.sqrt(2 * columns) / stage.mu

    def noise_of(self, query: Any, stage: Stage) -> Any:
        """Return what ``query.noise_std`` says of its noise at this stage."""
        return query.noise_std(self.n_rows(stage), self.problem.n_features, stage.mu)

    def reads_sample(self, stage: Stage) -> bool:
        """Whether the stage reads the sample: as planned, unless ``sample_dropped`` was set."""
        return stage.block_map == SAMPLE and not self.sample_dropped

    def n_rows(self, stage: Stage | None = None) -> int:
        """Return how many records the stage reads; without a stage, how many there are.

        With weights, it is their total weight.
        """
        if stage is None or not self.reads_sample(stage):
            return self.problem.n_rows
        sampled = int(self.plan.settings[SAMPLED])
        return max(1, sampled * self.problem.n_rows // self.plan.problem.n_rows)

    def rest(self, times: int = 1) -> Stage:
        """Return a stage of ``times`` releases that spends all that is left."""
        return Stage("rest", "all that is left", self.left() / math.sqrt(times), times, 1)

    def left(self, reserve: float = 0.0) -> float:
        """Return the mu left after keeping ``reserve`` for later stages."""
        # Slightly less, since sums of squares are rounded.
        left = self.plan.total_mu**2 * (1.0 - 1e-12) - self._spent - reserve**2
        return math.sqrt(max(left, 0.0)) * (1.0 - 1e-12)
