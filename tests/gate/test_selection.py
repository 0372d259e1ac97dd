"""The gate of a search: what fails within a try is not heard of, and nothing is kept."""

import contextlib
import gc
import traceback
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import tailguard as tg
from privacy.searches import LOSS, OneStep, candidate_at, score_at, search_gate
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate, selection
from tailguard.gate.selection import (
    BestTry,
    PlannedSolver,
    SelectionGate,
    selection_coordinates,
)
from tailguard.noise import lattice
from tailguard.noise.discrete_gaussian import lattice_std
from tailguard.noise.sources import CryptographicSource
from tailguard.privacy.events import Selected
from tailguard.progress import LISTENER, listening
from tailguard.queries.loss_differences import LossDifferences

EVENT = Selected(1.0, 4.0)
SECRET = "0.123456789"


@dataclass(frozen=True)
class Odd(OneStep):
    """Does something else before its step, and remembers all answers."""

    before: Any = None
    kept: list[Any] = field(default_factory=list)

    def run(self, plan, gate):
        if self.before is not None:
            self.before(len(self.kept))
        self.kept.append(gate)
        return super().run(plan, gate)


def odd(before=None):
    return PlannedSolver(Odd(before), candidate_at(EVENT.mu).plan)


def private_gate(event=EVENT):
    """A gate whose noise is private, over records that a worst pair has."""
    rows = make_rows(np.ones((16, 1)), np.zeros(16), loss=LOSS)
    gate = SelectionGate(rows, guarantee=tg.ApproxDP(20.0, 1e-6), source=CryptographicSource())
    gate.reserve(event, coordinates=selection_coordinates([odd()], event))
    return gate


def fail(_):
    raise ValueError(SECRET)


def warn(_):
    warnings.warn(SECRET, stacklevel=1)
    np.log(np.zeros(1))


def leave(_):
    raise SystemExit(SECRET)


@pytest.mark.parametrize("before", [fail, leave])
def test_a_try_that_fails_is_the_worst_and_says_nothing(before):
    gates = (private_gate() for _ in range(30))
    found = []
    for gate in gates:
        with contextlib.suppress(tg.ReleaseError):
            found.append(gate.best([odd(before), odd()], score_at(1.0), EVENT).candidate)
    assert set(found) == {1}
    with pytest.raises(tg.ReleaseError) as raised:
        private_gate().best([odd(before)], score_at(1.0), EVENT)
    assert SECRET not in str(raised.value)
    assert raised.value.__cause__ is raised.value.__context__ is None


@pytest.mark.parametrize("score", [np.nan, np.inf, -np.inf])
def test_a_try_whose_score_is_no_finite_number_fails(score, monkeypatch):
    """An infinite score would be the best of all, or be released; NaN would never be beaten."""
    monkeypatch.setattr(LossDifferences, "finish", lambda *_: np.array([score]))
    for gate in (private_gate(), search_gate(0.0, EVENT, 0)):
        with pytest.raises(tg.ReleaseError, match="every try failed"):
            gate.best([odd()], score_at(1.0), EVENT)


@pytest.fixture
def coarse_lattice(monkeypatch):
    """Noise of three table draws, which is further from ideal than any search is charged."""
    monkeypatch.setitem(lattice._LATTICES, "gaussian", ((3, lattice_std(3)),))
    lattice._finest.cache_clear()
    yield
    lattice._finest.cache_clear()


@pytest.mark.usefixtures("coarse_lattice")
def test_a_try_whose_noise_is_further_from_ideal_than_was_charged_fails():
    for gate in (private_gate(), search_gate(0.0, EVENT, 0)):
        with pytest.raises(tg.ReleaseError, match="every try failed"):
            gate.best([odd()], score_at(1.0), EVENT)


def test_a_simulation_shows_the_cause():
    with pytest.raises(ValueError, match=SECRET):
        search_gate(0.0, EVENT, 0).best([odd(fail)], score_at(1.0), EVENT)


def test_an_interrupt_ends_the_search():
    """Its traceback does not tell which candidate was tried, nor what the try did."""

    def interrupt(_):
        try:
            raise ValueError(SECRET)
        except ValueError:
            raise KeyboardInterrupt from None

    with pytest.raises(KeyboardInterrupt) as caught:
        private_gate().best([odd(interrupt)], score_at(1.0), EVENT)
    assert caught.value.__context__ is None
    assert caught.traceback[-1].name == "best"


def test_no_variable_in_the_traceback_of_an_interrupt_holds_a_try(monkeypatch):
    made = BestTry(0, None, 1.0)
    results = iter([made])

    def interrupted(*_):
        for result in results:
            return result
        raise KeyboardInterrupt

    monkeypatch.setattr(selection, "draw_number_of_tries", lambda *_: 2)
    monkeypatch.setattr(SelectionGate, "_try", interrupted)
    gate = private_gate()
    with pytest.raises(KeyboardInterrupt) as caught:
        gate.best([odd(warn)], score_at(1.0), EVENT)
    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)][1:]
    assert frames
    assert not any(value is made for frame in frames for value in frame.f_locals.values())


def test_warnings_of_a_try_are_not_heard():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        private_gate().best([odd(warn)], score_at(1.0), EVENT)


def test_nobody_is_told_how_far_tries_have_come():
    """It would tell how many there are, and by the names of stages which candidates they are."""
    told = []

    class Listener:
        def planned(self, n_answers):
            told.append(n_answers)

        def answered(self, stage, n_rows):
            told.append(stage)

    with listening(Listener()):
        private_gate().best([odd()], score_at(1.0), EVENT)
        assert told == []
        LISTENER.get().planned(1)  # the listener itself is back
    assert told == [1]


def test_a_solver_cannot_remember_other_tries():
    seen = []
    candidate = odd(seen.append)
    search_gate(0.0, Selected(1.0, 9.0, "poisson"), 1).best(
        [candidate], score_at(1.0), Selected(1.0, 9.0, "poisson")
    )
    assert len(seen) > 3
    assert set(seen) == {0}  # every try has a copy of its own
    assert candidate.solver.kept == []


def test_gates_of_tries_are_gone():
    def gates():
        gc.collect()
        return sum(type(thing) is Gate for thing in gc.get_objects())

    before, gate = gates(), private_gate()
    best = gate.best([odd()], score_at(1.0), EVENT)
    assert gates() == before
    assert best.solution.plan.problem.n_rows == 16


def test_a_try_may_not_spend_more_than_its_budget():
    @dataclass(frozen=True)
    class Greedy(OneStep):
        """Asks twice for what was planned once."""

        def run(self, plan, gate):
            super().run(plan, gate)
            return super().run(plan, gate)

    gate = private_gate()
    with pytest.raises(tg.ReleaseError):
        gate.best([PlannedSolver(Greedy(), odd().plan)], score_at(1.0), EVENT)
    with pytest.raises(tg.BudgetError, match="must cost at most"):
        search_gate(0.0, EVENT, 0).best([candidate_at(1.5)], score_at(1.0), EVENT)


def test_a_second_search_needs_a_second_reservation():
    gate = private_gate()
    gate.best([odd()], score_at(1.0), EVENT)
    with pytest.raises(tg.BudgetError, match="among the numbers that were reserved"):
        gate.best([odd()], score_at(1.0), EVENT)
    small = private_gate(Selected(0.9, 4.0))
    with pytest.raises(tg.BudgetError, match="covered by the reserved budget"):
        small.best([odd()], score_at(1.0), EVENT)
    other = private_gate(Selected(1.0, 3.9))
    with pytest.raises(tg.BudgetError):
        other.best([odd()], score_at(1.0), EVENT)


def test_the_best_try_is_the_one_with_the_lowest_score():
    event = Selected(1.0, 200.0, "poisson")
    rows = search_gate(1e9, event, 5)
    best = rows.best([candidate_at(1.0)], score_at(1.0), event)
    assert best.score < -0.3  # the best of 200 noises of 0.35 about -0.13
