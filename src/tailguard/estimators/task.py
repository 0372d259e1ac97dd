"""What an estimator was given to fit, and what is public of it."""

from dataclasses import dataclass
from typing import Any, TypeVar

from tailguard.gate import Gate
from tailguard.plans.problem import Problem
from tailguard.privacy.books import AnyLedger
from tailguard.privacy.guarantees import Guarantee
from tailguard.sources.given import Given

__all__ = ["Task"]

AnyGate = TypeVar("AnyGate", bound=Gate)


@dataclass(frozen=True, eq=False)
class Task:
    """A table, the two labels of its target if these are labels, and the problem.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> task = tg.LinearRegression()._task(np.zeros((5, 2)), np.zeros(5))
    >>> task.problem.size
    3
    """

    table: Given
    labels: tuple[Any, Any] | None
    problem: Problem

    def gate(
        self,
        kind: type[AnyGate],
        *,
        guarantee: Guarantee,
        ledger: AnyLedger | None,
        random_state: int | None,
    ) -> AnyGate:
        """Wrap the records."""
        return kind.over(
            self.table.records,
            self.table.y,
            guarantee=guarantee,
            exposure=self.table.exposure,
            loss=self.problem.loss,
            classes=self.labels,
            missing=self.table.missing,
            schema=self.table.schema,
            ledger=ledger,
            random_state=random_state,
        )
