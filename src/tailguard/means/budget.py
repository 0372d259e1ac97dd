"""What a mean may spend, in the currency of its noise, and how it is shared out.

Gaussian releases spend mu, whose squares add up; Laplace releases spend epsilon, which adds up
itself. A share is a part of what adds up.

Reference
---------
Dong, Roth and Su 2022, Corollary 3.3; Dwork and Roth 2014, Theorem 3.16 (basic composition).
"""

import math
from dataclasses import dataclass, replace
from typing import Any

from tailguard.array_types import FloatArray
from tailguard.gate import Gate
from tailguard.privacy.accounting.gaussian import epsilon_of
from tailguard.privacy.events import Event, Gaussian, Laplace, Repeated
from tailguard.privacy.events.calibration import Calibration
from tailguard.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP
from tailguard.queries.base import AnyQuery, Query
from tailguard.solvers.base import BUDGET_MARGIN, usable_mu

__all__ = ["Budget", "MeanStage", "promise_of"]


@dataclass(frozen=True)
class Budget:
    """An amount of ``mu``, or of ``epsilon`` where ``pure``.

    Examples
    --------
    >>> Budget(0.5, pure=False).share(0.25), Budget(0.5, pure=True).share(0.25)
    (Budget(amount=0.25, pure=False), Budget(amount=0.125, pure=True))
    """

    amount: float
    pure: bool

    @classmethod
    def of(cls, guarantee: Guarantee, *, coordinates: int) -> "Budget":
        """Return what a guarantee leaves for at most that many released numbers."""
        if isinstance(guarantee, PureDP):
            return cls(guarantee.epsilon * (1.0 - BUDGET_MARGIN), pure=True)
        return cls(usable_mu(guarantee, coordinates), pure=False)

    def share(self, part: float, *, times: int = 1) -> "Budget":
        """Return the amount of each of ``times`` releases that together spend a part of this."""
        portion = part / times
        return replace(self, amount=self.amount * (portion if self.pure else math.sqrt(portion)))

    def part(self, other: "Budget") -> float:
        """Return which part of this another amount is."""
        ratio = other.amount / self.amount
        return ratio if self.pure else ratio**2

    def calibrate(self, query: Query, n_rows: int, n_features: int) -> Calibration:
        """Work out the noise of a query that spends all of this; no record is read."""
        calibrated = query.calibrate_pure if self.pure else query.calibrate
        return calibrated(n_rows, n_features, self.amount)

    def describe(self) -> str:
        """Say it in a few words."""
        return f"{'epsilon' if self.pure else 'mu'} = {self.amount:.4g}"


@dataclass(frozen=True)
class MeanStage:
    """``times`` releases of at most ``size`` numbers at ``budget`` each, and their purpose.

    Releases whose noise follows the records are asked for ``smooth`` and cost ``cost``; ``budget``
    is then for comparison with the other stages.

    Examples
    --------
    >>> MeanStage("mean", "the clipped mean", Budget(0.5, pure=False), times=4, size=3).event
    Repeated(event=Gaussian(mu=0.5), times=4)
    """

    name: str
    purpose: str
    budget: Budget
    times: int
    size: int
    smooth: Event | None = None
    cost: Event | None = None

    @property
    def event(self) -> Event:
        """The stage as a privacy event."""
        amount = self.budget.amount
        one: Event = Laplace(amount) if self.budget.pure else Gaussian(amount)
        return Repeated(self.cost or one, self.times)

    def ask(self, gate: Gate, query: AnyQuery, state: Any = None) -> FloatArray:
        """Ask the gate one of the stage's questions."""
        if self.smooth:
            return gate.ask(query, state, event=self.smooth)
        if self.budget.pure:
            return gate.ask(query, state, epsilon=self.budget.amount)
        return gate.ask(query, state, mu=self.budget.amount)

    def noise_std(self, query: Query, n_rows: int, n_features: int) -> float:
        """Return the standard deviation of the noise on each number that the query releases."""
        return self.budget.calibrate(query, n_rows, n_features).noise_std


def promise_of(guarantee: Guarantee, spent: Budget) -> Guarantee:
    """Return the promise, of the same form, that a spend keeps: never below the truth.

    Examples
    --------
    >>> promise_of(ZCDP(1.0), Budget(2.0, pure=False)).rho
    2.000000008
    """
    outward = 1.0 + 4.0 * BUDGET_MARGIN
    if spent.pure:
        return PureDP(spent.amount * outward)
    if isinstance(guarantee, ApproxDP):
        return ApproxDP(epsilon_of(spent.amount * outward, guarantee.delta), guarantee.delta)
    if isinstance(guarantee, ZCDP):
        return ZCDP(spent.amount**2 / 2.0 * outward)
    return GDP(spent.amount * outward)
