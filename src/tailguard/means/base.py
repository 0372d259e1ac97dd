"""What a private mean is: a plan made of public facts, then a run on the gate's answers.

Reference
---------
Dwork and Roth 2014, Proposition 2.1 (post-processing): whatever a method does with the gate's
answers costs nothing beyond the answers.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeAlias

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, four_digits
from tailguard.gate import Gate
from tailguard.means.budget import Budget, MeanStage, promise_of
from tailguard.moments import Moment
from tailguard.privacy.events import Composed, Event
from tailguard.privacy.guarantees import ApproxDP, Guarantee, PureDP

__all__ = ["Expected", "MeanAnswer", "MeanMethod", "MeanPlan", "Task", "paper_budget"]

CalibrationMode: TypeAlias = Literal["tight", "paper", "numerical"]

# More numbers than any method here releases: histograms of columns, one of magnitudes, four shells.
RELEASES_PER_COLUMN, RELEASES_BESIDES = 1000, 100


@dataclass(frozen=True)
class Task:
    """The public facts of a mean; no record is part of it.

    ``unit`` is a public scale of the columns about zero, for where buying scales is too dear: then
    only the histogram is released, in this unit.

    Examples
    --------
    >>> import tailguard as tg
    >>> Task(n_rows=1000, n_features=3, guarantee=tg.PureDP(1.0)).pure
    True
    """

    n_rows: int
    n_features: int
    guarantee: Guarantee
    moment: Moment | None = None
    calibration: CalibrationMode = "tight"
    unsafe_reproduction: bool = False
    unit: float | None = None

    @property
    def pure(self) -> bool:
        """Whether pure DP is asked for."""
        return isinstance(self.guarantee, PureDP)

    @property
    def budget(self) -> Budget:
        """What may be spent in all."""
        return Budget.of(self.guarantee, coordinates=self.most_coordinates)

    @property
    def most_coordinates(self) -> int:
        """More numbers than any method releases."""
        return RELEASES_PER_COLUMN * self.n_features + RELEASES_BESIDES

    @property
    def approximate(self) -> ApproxDP:
        """The guarantee, for formulas that papers print in epsilon and delta."""
        if not isinstance(self.guarantee, ApproxDP):
            raise InputError(
                "calibration='paper' needs epsilon= and delta= with this method, whose paper "
                f"prints its noise in them; got {self.guarantee!r}."
            )
        return self.guarantee


@dataclass(frozen=True)
class Expected:
    """Predicted error in l2 norm: privacy noise, bias of the threshold, and sampling.

    Examples
    --------
    >>> Expected(noise=3.0, bias=4.0, sampling=12.0).total
    13.0
    """

    noise: float
    bias: float
    sampling: float

    @property
    def total(self) -> float:
        """Root of the sum of squares."""
        return math.hypot(self.noise, self.bias, self.sampling)


@dataclass(frozen=True)
class MeanPlan:
    """Everything that a run will do, worked out before any record is read.

    Attributes
    ----------
    method, task
        Who planned, and for what.
    guarantee
        What the run promises: the task's guarantee, or in a reproduction what the printed noise
        is really worth.
    stages
        What is released.
    expected
        The predicted error, in ``unit``.
    settings
        Public numbers of the method.
    assumptions
        What accuracy rests on.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.means.registry import make_method
    >>> task = Task(n_rows=1000, n_features=1, guarantee=tg.GDP(1.0))
    >>> plan = make_method("clipped").plan(task)
    >>> [stage.name for stage in plan.stages]
    ['typical size', 'location', 'fine location', 'scale', 'tail', 'mean']
    """

    method: str
    task: Task
    guarantee: Guarantee
    stages: tuple[MeanStage, ...]
    expected: Expected
    unit: str
    settings: Mapping[str, float | int | str] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()

    @property
    def event(self) -> Event:
        """The whole plan as a privacy event."""
        return Composed(tuple(stage.event for stage in self.stages))

    @property
    def coordinates(self) -> int:
        """How many numbers the plan releases at most."""
        return sum(stage.times * stage.size for stage in self.stages)

    def stage(self, name: str) -> MeanStage:
        """Return the stage of that name."""
        return next(stage for stage in self.stages if stage.name == name)

    def explain(self) -> str:
        """Say in plain words what the budget is spent on and what error is expected."""
        task = self.task
        lines = [
            f"{self.method}: {self.guarantee.describe()}, n = {task.n_rows}, d = {task.n_features}"
        ]
        total = sum(stage.times * _additive(stage.budget) for stage in self.stages)
        for stage in self.stages:
            part = stage.times * _additive(stage.budget) / total
            lines.append(
                f"  {part:6.1%}  {stage.name}: {stage.purpose} "
                f"({stage.times} releases at {stage.budget.describe()})"
            )
        lines += [f"  {name} = {four_digits(value)}" for name, value in self.settings.items()]
        error = self.expected
        lines.append(
            f"  predicted error {error.total:.3g} ({self.unit}): noise {error.noise:.3g}, "
            f"bias {error.bias:.3g}, sampling {error.sampling:.3g}"
        )
        lines += [f"  assumed for accuracy: {assumption}" for assumption in self.assumptions]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class MeanAnswer:
    """What a run found, in the user's units.

    Attributes
    ----------
    value
        The mean of each column.
    noise_std
        Predicted standard deviation of the privacy noise on each.
    found
        Released numbers that the run decided by.

    Examples
    --------
    >>> import numpy as np
    >>> MeanAnswer(np.zeros(2), np.ones(2)).found
    {}
    """

    value: FloatArray
    noise_std: FloatArray
    found: Mapping[str, float | int | str] = field(default_factory=dict)


class MeanMethod(Protocol):
    """A way to a private mean: first a plan from public facts, then a run on gate answers.

    Examples
    --------
    >>> from tailguard.means.registry import make_method
    >>> method: MeanMethod = make_method("soft")
    """

    def plan(self, task: Task) -> MeanPlan:
        """Work out stages, shares and thresholds, or refuse; numbers only, never a record."""
        ...

    def run(self, plan: MeanPlan, gate: Gate) -> MeanAnswer:
        """Carry the plan out on gate answers."""
        ...


def paper_budget(task: Task, spent: float) -> tuple[Budget, Guarantee]:
    """Return what a printed noise really spends, and the promise that it keeps.

    Guarantee
    ---------
    Where the paper's calibration spends more than it promises, the run is refused unless the task
    says ``unsafe_reproduction``; the promise is then the true one.

    Examples
    --------
    >>> import tailguard as tg
    >>> task = Task(1000, 1, tg.GDP(1.0), calibration="paper", unsafe_reproduction=True)
    >>> paper_budget(task, spent=2.0)[1].describe()
    'Gaussian differential privacy with mu = 2'
    """
    allowed, budget = task.budget, Budget(spent, task.pure)
    if spent <= allowed.amount:
        return budget, task.guarantee
    true = promise_of(task.guarantee, budget)
    if not task.unsafe_reproduction:
        raise InputError(
            "unsafe_reproduction must be True for this calibration='paper': the printed noise "
            f"does not keep {task.guarantee.describe()} but {true.describe()}."
        )
    return budget, true


def with_settings(plan: MeanPlan, **settings: float | int | str) -> MeanPlan:
    """Return a plan with more settings."""
    return replace(plan, settings={**plan.settings, **settings})


def _additive(budget: Budget) -> float:
    """Return what adds up over releases."""
    return budget.amount if budget.pure else budget.amount**2
