"""One run of a task: a plan is reserved, carried out on a gate's answers, and certified.

Reference
---------
Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023: the reserved event bounds the cost of
all questions of the run, even if they depend on earlier answers (``privacy/books/books.py`` has the
proof). Dwork and Roth 2014, Proposition 2.1 (post-processing): what a solver computes from the
gate's answers costs nothing in addition.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import require, warn_before_spending
from tailguard.gate import Gate
from tailguard.gate.plan import INTERCEPT, Plan, Problem, Solution
from tailguard.gate.record_check import RecordCheck
from tailguard.privacy.accounting.total_cost import total_cost
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.events import Composed, Event
from tailguard.privacy.guarantees import Guarantee, weak_promise
from tailguard.progress import LISTENER
from tailguard.report.content import Report, Reported, ReportedEstimate, Stated
from tailguard.sets.base import ConstraintSet
from tailguard.sets.l2_ball import L2Ball

CONDITION = "private only if "
"""The beginning of a note on what privacy rests on beside the run."""


@dataclass(frozen=True)
class SolverExample:
    """How contract tests run a solver: the value of its class attribute ``example``.

    Attributes
    ----------
    constraint
        A constraint set that it accepts, for any number of weights.
    intercept
        Whether tests fit an intercept.
    exact
        Options with which every weight is within 1e-6 of the optimum if there is no noise; None if
        the solver reads each record once, or depends on released numbers.
    shown
        Options, of at most three steps, for the audit in which one record has the largest allowed
        influence and the others are zero; None if another pair is a stronger test.
    skips
        Whether it may skip stages after looking at released numbers.
    """

    constraint: ConstraintSet | None = field(default_factory=lambda: L2Ball(1.0))
    intercept: bool = False
    exact: Mapping[str, Any] | None = None
    shown: Mapping[str, Any] | None = None
    skips: bool = False


class Solver(Protocol):
    """An algorithm: first a plan from public numbers, then a run with the gate's answers.

    Examples
    --------
    >>> from tailguard.solvers.registry import make_solver
    >>> solver: Solver = make_solver("whitened-newton")
    """

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Compute stages, shares and step sizes from public numbers only, or refuse."""
        ...

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Carry out the plan with the gate's answers."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Solved(Reported):
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
    record_notes: tuple[str, ...] = ()

    @property
    def coef(self) -> FloatArray:
        """The released coefficients."""
        return self.solution.coef

    @property
    def intercept(self) -> float:
        """The released intercept."""
        return self.solution.intercept

    @property
    def trace(self) -> FloatArray:
        """All iterates, one per row, in the units of the descent; they are also released."""
        return self.solution.trace

    @property
    def feature_bounds(self) -> FloatArray | None:
        """The bounds at which features were clipped; None if they were not clipped."""
        return self.solution.feature_bounds

    @property
    def plan(self) -> Plan:
        """The plan that was run."""
        return self.solution.plan

    @property
    def notes(self) -> tuple[str, ...]:
        """Assumptions about the records, how many are usable, and decisions of the solver."""
        conditions = (f"{CONDITION}{each}" for each in self.certificate.conditions)
        return (*self.assumptions, *conditions, *self.record_notes, *self.solution.notes)

    def _rows(self) -> list[tuple[str, float, float]]:
        """Return name, value and privacy noise of each coefficient."""
        solution = self.solution
        values = np.ravel(solution.coef)
        noises = np.ravel(solution.coef_noise_std)
        if noises.size != values.size:  # one number for all, or noise of other quantities
            noises = np.full(values.size, noises[0] if noises.size == 1 else np.nan)
        names = [f"x{place}" for place in range(values.size)]
        rows = [*zip(names, map(float, values), map(float, noises), strict=True)]
        if self.plan.problem.intercept:
            rows.append((INTERCEPT, solution.intercept, solution.intercept_noise_std))
        return rows

    def _subject(self) -> str:
        loss = self.plan.problem.loss
        return f"run of {self.plan.solver}" if loss is None else f"minimum of {type(loss).__name__}"

    def __repr__(self) -> str:
        certificate, rows = self.certificate, self._rows()
        width = max((len(name) for name, _, _ in rows), default=0)
        lines = [
            f"{self._subject()}, {certificate.unit.size(certificate.n_rows)}, mode: "
            f"{certificate.mode}",
            certificate.guarantee.describe(),
            f"{'':{width}}  {'coef':>14}  {'privacy noise':>14}",
        ]
        lines += [f"{name:{width}}  {value:14.6g}  {noise:14.3g}" for name, value, noise in rows]
        return "\n".join(lines)

    def _report(self, stated: Stated) -> Report:
        """Return the report of the run."""
        return Report(
            subject=self._subject(),
            certificate=self.certificate,
            quantity="coefficient",
            estimates=tuple(
                ReportedEstimate(name, value, noise_std=noise)
                for name, value, noise in self._rows()
            ),
            notes=self.notes,
            stated=stated,
        )


def run(
    solver: Solver,
    plan: Plan,
    gate: Gate,
    *,
    assumptions: tuple[str, ...] = (),
    conditions: tuple[str, ...] = (),
    check: RecordCheck | None = None,
) -> Solved:
    """Warn, reserve the whole plan, run the solver, and certify the result.

    The certificate lists the caller's ``assumptions`` for accuracy and those of the plan, and the
    ``conditions`` beside the run under which it is private, which are notes as well. A
    ``check`` runs before the solver, and ``plan`` must be made for the budget that remains.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.registry import make_solver
    >>> problem = Problem(tg.losses.Squared(), n_rows=400, n_features=4)
    >>> solver = make_solver("whitened-newton")
    >>> plan = solver.plan(problem, tg.GDP(1.0))
    >>> X, y = np.tile(np.eye(4), (100, 1)), np.ones(400)
    >>> gate = Gate.over(X, y, guarantee=tg.GDP(1.0), loss=problem.loss, random_state=0)
    >>> run(solver, plan, gate).coef.shape
    (4,)
    """
    planned = plan.problem.n_rows, plan.problem.n_features
    require(
        planned == (gate.n_records, gate.n_features),
        f"plan must be for the gate's {gate.n_records} records of {gate.n_features} features; got "
        f"one for {planned[0]} of {planned[1]}.",
    )
    whole = plan if check is None else check.whole(plan)
    coordinates = plan.coordinates + (0 if check is None else check.coordinates)
    try:
        require(
            not (gate.has_checkpoint and plan.cuts_blocks),
            f"checkpoint must be None for {plan.solver!r} as planned, which cuts the records into "
            "secret blocks: blocks that are cut anew after a stop would cost more than planned.",
        )
        gate.check_places(plan.stages_by_place)
        with np.errstate(all="ignore"):  # NumPy would only warn about released values
            weak = weak_promise(whole.guarantee, plan.problem.n_rows)
            warn_before_spending(*plan.warnings, *weak)
            gate.reserve(
                whole.event, coordinates=coordinates, run=(solver, whole), unprotected=whole.printed
            )
            LISTENER.get().planned(sum(stage.times * stage.n_blocks for stage in whole.stages))
            record_notes = () if check is None else (check.ask(gate),)
            solution = replace(solver.run(plan, gate), plan=whole)
            gate.settle()
    finally:
        gate.close()
    estimand = (solution.estimand,) if solution.estimand else ()
    certificate = gate.certificate(
        assumptions=(*assumptions, *record_notes, *plan.assumptions, *estimand),
        conditions=conditions,
    )
    return Solved(solution, certificate, assumptions, record_notes)


def count_fit(fits: list[Event], event: Event, guarantee: Guarantee) -> None:
    """Add a fit to all fits of an object and its clones; at the second, warn of their joint cost.

    The warning depends on plans only: the fits may have used different records.
    """
    if len(fits) == 1:
        cost = total_cost(Composed((*fits, event)), guarantee.delta, bound_mu=True)
        totals = {"epsilon": cost.epsilon, "mu": cost.mu, "rho": cost.rho}
        name, value = next((k, v) for k, v in totals.items() if v is not None)
        at_delta = "" if cost.delta is None or name != "epsilon" else f" at delta = {cost.delta:g}"
        warn_before_spending(
            "an object is fitted a second time, itself or as a clone, and no ledger adds its fits "
            f"up: if the records are the same, both cost {name} = {value:.4g}{at_delta} together, "
            "and each certificate states its own fit alone; pass ledger=tg.Ledger(...) to count "
            "and to cap them."
        )
    fits.append(event)
