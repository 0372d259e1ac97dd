"""The best of a secret, random number of tries, as one release.

A try draws one of the candidates, runs its solver on a separate gate, and asks that gate for a
score. A try's result and score together are one mechanism, with that gate's budget. The number and
order of the tries, and the scores and results of all but the best try, are discarded here. A failed
try counts as worse than any other.

Guarantee
---------
If solvers keep nothing from one run to the next, the result of ``best`` costs at most the
``Selected`` event that it books, however solvers use the answers of their gates. The running time
depends on the number of tries: an attacker who can measure it learns something about that number.

Reference
---------
Liu and Talwar 2019; Papernot and Steinke 2022 (repeated selection); Dwork and Roth 2014,
Proposition 2.1 (post-processing within a try).
"""

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from pkgutil import iter_modules
from typing import Protocol

import numpy as np

from tailguard import losses, noise, queries
from tailguard.array_types import FloatArray
from tailguard.checks import ReleaseError
from tailguard.gate import Gate
from tailguard.gate.engine import Solver
from tailguard.gate.plan import Plan, Solution
from tailguard.gate.stage import Stage
from tailguard.machine_code import BUILDERS
from tailguard.noise.tries import draw_number_of_tries, draw_place
from tailguard.privacy.accounting.total_cost import COORDINATE_DISTANCE
from tailguard.privacy.books import Release
from tailguard.privacy.events import Composed, Selected
from tailguard.privacy.guarantees import GDP
from tailguard.privacy.selection import tries_of
from tailguard.progress import Listener, listening
from tailguard.queries.base import Query
from tailguard.quiet import quietly

STORED = np.dtype(np.float64), np.dtype(np.float32)
"""The types in which features are stored."""


def compile_all_loops() -> None:
    """Compile every loop that any run may use, or load its machine code, before the first try.

    Otherwise a loop is compiled when it first runs, and its machine code is stored on the disk. The
    stored loops would reveal which candidates were tried and what their runs did: both are secret.
    A user's own gradient is compiled when its loss is made, and is not stored.
    """
    for room in (losses, noise, queries):
        for module in iter_modules(room.__path__):
            import_module(f"{room.__name__}.{module.name}")
    for build in BUILDERS:
        for types in [(each,) for each in STORED] if signature(build).parameters else [()]:
            build(*types)


@dataclass(frozen=True, eq=False)
class PlannedSolver:
    """A candidate: a solver and its plan."""

    solver: Solver
    plan: Plan


class Score(Protocol):
    """The score of a try: one noised number; lower is better."""

    @property
    def stage(self) -> Stage:
        """The stage of the score, with its cost."""
        ...

    def question(self, solution: Solution) -> tuple[Query, FloatArray]:
        """Return the query and the state for the score of a solution."""
        ...


@dataclass(frozen=True, eq=False)
class BestTry:
    """The try that was chosen.

    Attributes
    ----------
    candidate
        The index of its candidate.
    solution
        Its solution.
    score
        Its released score.
    """

    candidate: int
    solution: Solution
    score: float


def selection_coordinates(candidates: Sequence[PlannedSolver], event: Selected) -> int:
    """Return the largest number of noised numbers in all tries, plus one for their count."""
    largest = max(candidate.plan.coordinates for candidate in candidates) + 1
    return tries_of(event).limit * largest + 1


class SelectionGate(Gate):
    """A gate that can also release the best of many secret tries.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> x = np.arange(2000.0)
    >>> search = tg.PrivateSearch(
    ...     tg.LinearRegression(), {"alpha": [0.0, 0.1]},
    ...     epsilon=1.0, delta=1e-6, random_state=0,
    ... )
    >>> search.fit(x[:, None], x).certificate_.releases[-1].mechanism
    'selected-gaussian'
    """

    def best(self, candidates: Sequence[PlannedSolver], score: Score, event: Selected) -> BestTry:
        """Book the selection, make the tries and return the best of them.

        *Edge cases.* Among tries with equal scores the first is returned. ``ReleaseError`` if every
        try failed.
        """
        compile_all_loops()
        coordinates = selection_coordinates(candidates, event)
        self._record(
            Release(
                name="best of a secret number of tries",
                kind="Selection",
                mechanism="selected-gaussian",
                norm="l2",
                sensitivity=event.mu,
                noise_std=1.0,
                parameters={
                    "mean_tries": event.mean_tries,
                    "law": event.law,
                    "n_candidates": len(candidates),
                },
                stage="search",
            ),
            coordinates,
            COORDINATE_DISTANCE.times(coordinates),
        )
        best: BestTry | None = None
        interrupted = False
        with quietly(), listening(Listener()):  # progress would reveal the number of tries
            try:
                best = self._best_of_tries(candidates, score, event)
            except KeyboardInterrupt:
                interrupted = True
        if interrupted:  # raised outside the handler, since a traceback would tell of a secret try
            raise KeyboardInterrupt
        if best is None:
            raise ReleaseError(
                "the search must be repeated: every try failed, it stays charged, and nothing of "
                "it leaves; with random_state=<int>, a simulation, the cause is shown."
            )
        return best

    def _best_of_tries(
        self, candidates: Sequence[PlannedSolver], score: Score, event: Selected
    ) -> BestTry | None:
        """Make all tries and return the best of them; None if every try failed.

        An interruption shows none of the tries so far: only this function holds them.
        """
        best: BestTry | None = None
        for _ in range(draw_number_of_tries(tries_of(event), self._source)):
            result = self._try(candidates, score, event.mu)
            if result is not None and (best is None or result.score < best.score):
                best = result
        return best

    def _try(self, candidates: Sequence[PlannedSolver], score: Score, mu: float) -> BestTry | None:
        """Make one try; return None if it fails, but raise the cause in a simulation."""
        candidate = draw_place(len(candidates), self._source)
        plan = candidates[candidate].plan
        gate = Gate(self._rows, guarantee=GDP(mu), source=self._source)
        try:
            # Solvers and losses must not carry anything from one try to another.
            solver, plan = deepcopy((candidates[candidate].solver, plan))
            event = Composed((plan.event, score.stage.event))
            gate.reserve(event, coordinates=plan.coordinates + 1)
            solution = solver.run(plan, gate)
            query, state = score.question(solution)
            (value,) = gate.ask(query, state, score.stage)
        except KeyboardInterrupt:
            raise
        except BaseException:
            if not self._source.private:
                raise
            return None
        charged = COORDINATE_DISTANCE.times(plan.coordinates + 1)
        within = gate.certificate().sampler_distance.within(charged)
        usable = within and math.isfinite(value)
        return BestTry(candidate, solution, float(value)) if usable else None
