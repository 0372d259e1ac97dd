"""Projected noisy gradient descent: the loop and its average.

Reference
---------
Zhao et al. 2024, Algorithm 1 and Lemma 3 (projected descent over a private mean of gradients);
Bassily, Smith and Thakurta 2014, Algorithm 1 (the same with an average of the iterates).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.gate import Gate
from tailguard.gate.stage import Stage
from tailguard.privacy.books.blocks import Block
from tailguard.queries.base import AnyQuery
from tailguard.sets.base import ConstraintSet

ITERATES = ("average", "tail", "weighted", "last")
DECAYS = ("none", "root")


@dataclass(frozen=True)
class Schedule:
    """A fixed step plan; nothing in it depends on records.

    Attributes
    ----------
    n_steps
        The number of gradient releases.
    step_size
        The first step, and every one unless steps decay.
    iterate
        ``"last"``, ``"average"`` over all points, ``"tail"``: over the second half, or
        ``"weighted"``: by their number, so that later points count more.
    decay
        ``"none"``, or ``"root"``: the step over the root of its number.
    """

    n_steps: int
    step_size: float
    iterate: str
    decay: str = "none"

    @property
    def step_sizes(self) -> FloatArray:
        """The step of every turn."""
        turns = np.arange(1, self.n_steps + 1)
        return self.step_size / (np.sqrt(turns) if self.decay == "root" else np.ones(turns.size))


def averaging_weights(schedule: Schedule) -> FloatArray:
    """Weights of the points ``w_1 .. w_T`` in the answer; they sum to 1."""
    if schedule.iterate == "weighted":
        turns = np.arange(1.0, schedule.n_steps + 1.0)
        return np.asarray(turns / turns.sum())
    weights = np.zeros(schedule.n_steps)
    first = {"last": -1, "tail": schedule.n_steps // 2, "average": 0}[schedule.iterate]
    weights[first:] = 1.0
    total: float = weights.sum()
    return np.asarray(weights / total)


def descend(
    gate: Gate,
    query: AnyQuery,
    stage: Stage,
    schedule: Schedule,
    *,
    start: FloatArray,
    constraint: ConstraintSet,
    blocks: Iterable[Block | None] | None = None,
    gradient_of: Callable[[FloatArray, int], FloatArray] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Run the step plan; return the answer and the released points, one a row.

    ``blocks`` says which records each step reads; None is what ``stage`` says, at every step: all
    of them, or a secret sample. ``gradient_of`` turns an answer into a gradient of so many entries
    where it is none.
    """
    point = constraint.project(start)
    points = np.empty((schedule.n_steps, start.size))
    reads = [None] * schedule.n_steps if blocks is None else blocks
    for step, (size, block) in enumerate(zip(schedule.step_sizes, reads, strict=True)):
        gradient = gate.ask(query, point, stage, block=block)
        if gradient_of is not None:
            gradient = gradient_of(gradient, start.size)
        point = constraint.project(point - size * gradient)
        points[step] = point
    return constraint.project(averaging_weights(schedule) @ points), points
