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

from tailguard.checks import InputError
from tailguard.gate import Gate
from tailguard.queries.base import Query
from tailguard.queries.view import LARGEST_ENTRY, View
from tailguard.solvers.base import Plan

__all__ = ["BEYOND_FLOATS", "Purse", "usable"]

FloatArray = NDArray[np.float64]


class UnusableError(ArithmeticError):
    """Released numbers that floats cannot carry on with; the run stops where it stands."""


# What released numbers may raise in arithmetic, in linear algebra, and where a question is built
# from them. Budgets are another matter: a BudgetError is none of these.
BEYOND_FLOATS = (ArithmeticError, np.linalg.LinAlgError, InputError)


def usable(weights: FloatArray) -> FloatArray:
    """Return weights that records can be read with.

    Examples
    --------
    >>> usable(np.ones(2))
    array([1., 1.])
    """
    if not (np.abs(weights) <= LARGEST_ENTRY).all():
        raise UnusableError
    return weights


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
        """Ask one query at ``mu``, unless earlier answers left nothing to read records with."""
        view = getattr(query, "view", None)
        if isinstance(view, View) and not view.reads(state):
            raise UnusableError
        self._spent += mu**2
        return self.gate.ask(query, state, mu=mu)

    def left(self, reserve: float = 0.0) -> float:
        """Return the mu that is left when ``reserve`` is kept for later stages."""
        # A hair below, since sums of squares are rounded.
        left = self.plan.total_mu**2 * (1.0 - 1e-12) - self._spent - reserve**2
        return math.sqrt(max(left, 0.0)) * (1.0 - 1e-12)
