"""How much less noise: measured on records of zeros, against what the parameters predict.

On such records every gradient is zero, so what moves the weights is the noise and nothing else. The
same seed draws the same noise for both calibrations, up to its scale.
"""

from dataclasses import dataclass, replace

import numpy as np

import tailguard as tg
from papers.methods import PAPER, TIGHT

HUGE = 1e6  # no projection
STEP_PARAMETER = 1e-3
SEED = 0


@dataclass(frozen=True)
class Ratio:
    """Printed over tight noise of one method: predicted, and measured."""

    task: str
    epsilon: float
    method: str
    predicted: float
    measured: float


def ratio_of(task, method, epsilon):
    """Return the ratio; both runs have the task's sizes and the printed parameters."""
    printed = method.build(task, epsilon, PAPER)
    theorems = {PAPER: printed, TIGHT: replace(printed, spent=printed.guarantee)}
    predicted = theorems[TIGHT].spent.gaussian_mu() / theorems[PAPER].spent.gaussian_mu()
    sizes = {name: _root_mean_square(task, theorem) for name, theorem in theorems.items()}
    return Ratio(task.name, epsilon, method.key, predicted, sizes[PAPER] / sizes[TIGHT])


def _root_mean_square(task, theorem):
    """Size of the noise of the first release."""
    X, y = np.zeros((theorem.n_rows, theorem.n_features)), np.zeros(theorem.n_rows)
    if hasattr(theorem.solver, "radius"):  # balls would cut noise off, and penalties follow it
        free = replace(theorem.solver, radius=HUGE, step_parameter=STEP_PARAMETER)
        theorem = replace(theorem, solver=free)
    solved = tg.minimize(
        tg.losses.Squared(),
        X,
        y,
        guarantee=theorem.guarantee,
        constraint=tg.sets.L2Ball(HUGE),
        solver=theorem,
        random_state=SEED,
    )
    first = solved.solution.trace[0]
    return float(np.sqrt(np.mean(first**2)))


def compares(method):
    """Whether both noises exist, and follow no record."""
    return method.unprinted is None and method.key != "W20 sample-aggregate"
