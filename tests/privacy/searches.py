"""A search on a worst pair of neighbours: one record that moves model and score at once."""

import math
from dataclasses import dataclass

import numpy as np

import tailguard as tg
from tailguard.data.rows.arrays import make_rows
from tailguard.estimators.search.plan import LossScore
from tailguard.gate.plan import Plan, Problem, Solution
from tailguard.gate.selection import PlannedSolver, SelectionGate, selection_coordinates
from tailguard.gate.stage import Stage
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.events import Composed, Selected
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.units import Units

N_ROWS, SCORE_SHARE = 16, 0.5
LOSS = tg.losses.Squared()
STEP = MeanClippedGradient(LOSS, Units.raw(1, intercept=False), clip_norm=1.0)


@dataclass(frozen=True)
class OneStep:
    """A noisy step from zero, and nothing else."""

    def plan(self, problem, guarantee):
        stage = Stage("step", "a gradient", guarantee.gaussian_mu() * (1.0 - 1e-9), 1, 1)
        return Plan("one step", problem, guarantee, (stage,))

    def run(self, plan, gate):
        coef = -gate.ask(STEP, np.zeros(1), plan.stages[0])
        nothing = np.full(1, math.nan)
        return Solution(coef, 0.0, plan, nothing, math.nan, np.zeros((0, 1)))


def candidate_at(mu):
    """One noisy step with a try's share for the fit."""
    guarantee = tg.GDP(mu * (1.0 - SCORE_SHARE) ** 0.5)
    return PlannedSolver(OneStep(), OneStep().plan(Problem(LOSS, N_ROWS, 1), guarantee))


def score_at(mu):
    """A score in raw units, with the rest."""
    return LossScore(LOSS, Stage("score", "loss", mu * SCORE_SHARE**0.5 * (1 - 1e-9), 1, 1), 1)


def search_gate(first, event, seed, kind=SelectionGate):
    """A gate over records of which the first has this target, with the search reserved."""
    y = np.zeros(N_ROWS)
    y[0] = first
    rows = make_rows(np.ones((N_ROWS, 1)), y, loss=LOSS)
    # Nothing is promised: audited is what happens, against what the event costs.
    gate = kind(rows, guarantee=tg.GDP(1.0), source=SimulationSource(seed))
    coordinates = selection_coordinates([candidate_at(event.mu)], event)
    gate.reserve(Composed((event,)), coordinates=coordinates, unprotected=True)
    return gate


def coefficients(first, event: Selected, seeds, kind=SelectionGate):
    """The coefficients of best tries, and what the last gate's books say that each cost.

    A step moves towards the first target, and only a coefficient of its sign lowers its loss.
    """
    candidates, score = [candidate_at(event.mu)], score_at(event.mu)
    found = []
    for seed in seeds:
        gate = search_gate(first, event, seed, kind)
        found.append(gate.best(candidates, score, event).solution.coef[0])
    (release,) = gate.books.releases
    return np.array(found), release.event()
