"""The plan's budget while it is spent: what a stage leaves over may go to the last round.

Reference
---------
Dong, Roth and Su 2022, Corollary 3.3: shares may move between releases on released evidence as long
as the sum of squares stays within what was reserved.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailguard.gate import Gate
from tailguard.queries.base import Query
from tailguard.solvers.base import Plan

__all__ = ["Purse"]

FloatArray = NDArray[np.float64]


class Purse:
    """Asks the gate and remembers what was asked for.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.gate import Gate
    >>> from tailguard.solvers.base import Plan, Problem, Stage
    >>> problem = Problem(tg.losses.Squared(), n_rows=4, n_features=1)
    >>> plan = Plan("example", problem, tg.GDP(1.0), (Stage("rounds", "scores", 1.0, 1, 1),))
    >>> purse = Purse(plan, Gate.over(np.zeros((4, 1)), guarantee=tg.GDP(1.0), random_state=0))
    >>> round(purse.left(reserve=0.6), 9)
    0.8
    """

    def __init__(self, plan: Plan, gate: Gate) -> None:
        self.plan = plan
        self.gate = gate
        self._spent = 0.0

    def ask(self, query: Query, state: Any, mu: float) -> FloatArray:
        """Ask one query at ``mu``."""
        self._spent += mu**2
        return self.gate.ask(query, state, mu=mu)

    def left(self, reserve: float = 0.0) -> float:
        """Return the mu that is left when ``reserve`` is kept for later stages."""
        # A hair below, since sums of squares are rounded.
        left = self.plan.total_mu**2 * (1.0 - 1e-12) - self._spent - reserve**2
        return math.sqrt(max(left, 0.0)) * (1.0 - 1e-12)
