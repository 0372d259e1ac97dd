"""The budget of a running fit: the stages that remain, and the mu that each may spend now.

Reference
---------
Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023: shares may move between releases on
released evidence as long as the sum of squares stays within what was reserved.
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

from tailguard.gate import Gate
from tailguard.gate.plan import Plan
from tailguard.gate.stage import WEIGHT, Stage
from tailguard.losses.base import Loss
from tailguard.scaling.units import UNITS
from tailguard.solvers.newton.schedule import AFTER_ROUNDS, Shares
from tailguard.solvers.session import BudgetSession


class FitSession(BudgetSession):
    """A budget session with the problem, its loss, and the shares of the plan.

    After units are released, ``share_out`` gives the unspent budget to rounds and corrections.

    Attributes
    ----------
    stages
        The planned stages by name, with the mu that one release may spend now.
    """

    def __init__(self, plan: Plan, gate: Gate, shares: Shares) -> None:
        super().__init__(plan, gate)
        self.loss = cast(Loss, plan.problem.loss)  # the plan checked the type
        self.shares = shares
        self.stages = dict(plan.by_name)
        self.dropped: frozenset[str] = frozenset()

    def plans(self, name: str) -> bool:
        """Whether a stage of this name was planned and not dropped."""
        return name in self.stages and name not in self.dropped

    @contextmanager
    def by_record(self) -> Iterator[None]:
        """Divide means by the number of records: contributions already include weights."""
        weighed, self.problem = self.problem, self.plan.problem
        try:
            yield
        finally:
            self.problem = weighed

    def stage(self, name: str) -> Stage:
        """Return the stage of this name, with the mu that one release may spend now."""
        return self.stages[name]

    def round(self, phase: int, rounds_left: int = 0) -> Stage:
        """Return the stage of a round; ``rounds_left`` > 0 splits the rest of the budget.

        The stages after the rounds keep their part of the rest. 0 keeps the plan.
        """
        (stage,) = self.rounds([phase])
        if not rounds_left:
            return stage
        remaining = {*AFTER_ROUNDS} - self.dropped
        later_mu = total_mu(each for each in self.stages.values() if each.name in remaining)
        return replace(stage, mu=max(stage.mu, self.left(later_mu) / math.sqrt(rounds_left)))

    def rounds(self, phases: Iterable[int]) -> list[Stage]:
        """Return the rounds of some phases."""
        requested = set(phases)
        return [stage for stage in self.stages.values() if stage.phase in requested]

    def rounds_mu(self, phase: int) -> float:
        """Return the total mu of all rounds that read the same records as those of the phase.

        The last of these rounds also get the budget of dropped stages.
        """
        early, count = self.shares.early, len(self.shares.rounds)
        rounds = self.rounds(range(early) if phase < early else range(early, count))
        dropped = [self.stages[name] for name in self.dropped] if phase >= early else []
        return total_mu([*rounds, *dropped])

    def share_out(self, *others: str) -> None:
        """Give the unspent budget of units, and of ``others``, to rounds and corrections."""
        spent = {*UNITS, WEIGHT, *others}
        later_mu = total_mu(stage for stage in self.plan.stages if stage.name not in spent)
        raised = [stage for stage in self.plan.stages if stage.takes_rest]
        # The factor leaves a little budget, since sums of squares are rounded.
        growth = self.left(reserve=later_mu) ** 2 * (1.0 - 1e-9) / total_mu(raised) ** 2
        for stage in raised:
            self.stages[stage.name] = replace(stage, mu=stage.mu * math.sqrt(1.0 + growth))


def total_mu(stages: Iterable[Stage]) -> float:
    """Return the mu that all releases of some stages spend together."""
    return math.hypot(*[stage.total_mu for stage in stages])
