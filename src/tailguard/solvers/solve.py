"""From public facts and a gate to a solution with its certificate: plan, reserve, run.

Reference
---------
Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023: the reserved event bounds whatever the
run asks adaptively (``privacy/books/books.py`` has the proof).
"""

from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import warn_before_spending
from tailguard.gate import Gate
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.guarantees import Guarantee, Unprotected, weak_promise
from tailguard.solvers.base import Plan, Problem, Solution, Solver, require
from tailguard.solvers.registry import solver_for
from tailguard.solvers.reproduction import promises_nothing

__all__ = ["Solved", "solve"]


@dataclass(frozen=True, eq=False)
class Solved:
    """A solution and its certificate.

    Examples
    --------
    >>> import tailguard as tg
    >>> solved = tg.minimize(
    ...     tg.losses.Squared(), np.eye(100)[:, :1], np.ones(100), guarantee=tg.GDP(1.0),
    ...     constraint=tg.sets.L2Ball(2.0), random_state=0,
    ... )
    >>> solved.certificate.mode
    'simulation: NOT PRIVATE'
    """

    solution: Solution
    certificate: Certificate
    assumptions: tuple[str, ...] = ()

    @property
    def coef(self) -> FloatArray:
        """The released coefficients."""
        return self.solution.coef

    @property
    def intercept(self) -> float:
        """The released intercept."""
        return self.solution.intercept

    @property
    def feature_bounds(self) -> FloatArray | None:
        """Bounds within which each feature was read; None where features were read as they are."""
        return self.solution.feature_bounds

    @property
    def plan(self) -> Plan:
        """The plan that was run."""
        return self.solution.plan

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed of the records, and decided on released numbers."""
        return (*self.assumptions, *self.solution.notes)


def solve(
    problem: Problem,
    gate: Gate,
    *,
    guarantee: Guarantee,
    solver: str | Solver = "auto",
    assumptions: tuple[str, ...] = (),
) -> Solved:
    """Plan, reserve the whole planned spend, run, certify.

    ``assumptions`` are the caller's own, for accuracy; the certificate lists them with the plan's.

    *Edge cases.* A solver that was made with ``unsafe_reproduction=True`` and promises nothing is
    refused, unless ``guarantee`` says that too.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> X, y = np.tile(np.eye(4), (100, 1)), np.ones(400)
    >>> problem = Problem(tg.losses.Squared(), n_rows=400, n_features=4)
    >>> gate = Gate.over(X, y, guarantee=tg.GDP(1.0), loss=problem.loss, random_state=0)
    >>> solve(problem, gate, guarantee=tg.GDP(1.0)).solution.coef.shape
    (4,)
    """
    chosen = solver_for(solver, problem)
    require(
        isinstance(guarantee, Unprotected) or not promises_nothing(chosen),
        "guarantee must be theorem.guarantee, or tailguard.privacy.guarantees.Unprotected("
        f"{guarantee!r}), in tg.minimize, for a solver that was made with unsafe_reproduction=True "
        f"and promises nothing; got {guarantee!r}.",
    )
    with np.errstate(all="ignore"):  # a warning would tell of released values what they tell
        plan = chosen.plan(problem, guarantee)
        warn_before_spending(*plan.warnings, *weak_promise(guarantee, problem.n_rows))
        gate.reserve(plan.event, coordinates=plan.coordinates)
        solution = chosen.run(plan, gate)
    certificate = gate.certificate(assumptions=(*assumptions, *plan.assumptions))
    return Solved(solution, certificate, assumptions)
