"""What a mean may spend, in the currency of its noise, and how it is shared out.

Gaussian releases spend mu, whose squares add up; Laplace releases spend epsilon, which adds up
itself. A share is a part of what adds up.

Reference
---------
Dong, Roth and Su 2022, Corollary 3.3; Dwork and Roth 2014, Theorem 3.16 (basic composition).
"""

import math
from dataclasses import dataclass, replace

from tailguard.plans.budget import BUDGET_MARGIN, usable_mu
from tailguard.plans.stage import PureStage, Stage
from tailguard.privacy.accounting.gaussian import epsilon_of
from tailguard.privacy.events.calibration import Calibration
from tailguard.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP
from tailguard.queries.base import Query

LAPLACE_TAIL = 1.8
"""Laplace noise passes 8 deviations as rarely as Gaussian noise passes 4.5."""


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

    @classmethod
    def of_stage(cls, stage: Stage) -> "Budget":
        """Return what each release of a stage spends."""
        return cls(stage.mu, isinstance(stage, PureStage))

    def share(self, part: float, *, times: int = 1) -> "Budget":
        """Return the amount of each of ``times`` releases that together spend a part of this."""
        portion = part / times
        return replace(self, amount=self.amount * (portion if self.pure else math.sqrt(portion)))

    def calibrate(self, query: Query, n_rows: int, n_features: int) -> Calibration:
        """Work out the noise of a query that spends all of this; no record is read."""
        calibrated = query.calibrate_pure if self.pure else query.calibrate
        return calibrated(n_rows, n_features, self.amount)

    def tail_noise(self, query: Query, n_rows: int, n_features: int) -> float:
        """Return the noise of a query, as Gaussian noise that is as rarely large."""
        noise_std = self.calibrate(query, n_rows, n_features).noise_std
        return noise_std * (LAPLACE_TAIL if self.pure else 1.0)

    def stage(
        self, name: str, purpose: str, times: int, size: int, *, by_place: bool = False
    ) -> Stage:
        """Return a stage whose releases spend all of this each."""
        kind = PureStage if self.pure else Stage
        return kind(name, purpose, self.amount, times, size, by_place=by_place)


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
