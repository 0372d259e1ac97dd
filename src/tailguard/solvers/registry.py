"""Every solver by name, and what ``"auto"`` stands for. Contract tests run over each line here.

Reference
---------
The solvers cite their own; that any of them is private is Dwork and Roth 2014, Proposition 2.1.
"""

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from tailguard.checks import check_choice, check_methods, class_called, require
from tailguard.gate.engine import Solver
from tailguard.gate.plan import RIDGE, Plan, Problem, beyond_floats
from tailguard.gate.stage import WEIGHT
from tailguard.ledger.cap import within_filter
from tailguard.privacy.guarantees import Guarantee

SOLVERS = {
    "hard-thresholding": "tailguard.solvers.hard_thresholding:HardThresholding",
    "whitened-newton": "tailguard.solvers.newton.solver:WhitenedNewton",
    "noisy-gradient-descent": "tailguard.solvers.noisy_gradient_descent:NoisyGradientDescent",
    "sample-and-aggregate": "tailguard.solvers.sample_and_aggregate:SampleAndAggregate",
}
"""Name -> ``"module:Class"``."""


WEIGHTLESS = "sample_weight must be None"
"""How the error begins for a solver that takes no weights."""


def make_solver(name: str, **options: Any) -> Solver:
    """Build a solver by its name."""
    return class_called(name, SOLVERS, "solver")(**options)


def solver_for(choice: str | Solver, problem: Problem) -> Solver:
    """Return the solver that the user chose; ``"auto"`` picks by the public facts."""
    if not isinstance(choice, str):
        allowed = f"'auto', one of {', '.join(map(repr, SOLVERS))}, or a solver object"
        return check_methods("solver", choice, ("plan", "run"), allowed)
    check_choice("solver", choice, ("auto", *SOLVERS))
    if choice == "auto" and problem.constraint is not None and not problem.constraint.convex:
        choice = "hard-thresholding"
    if choice == "auto":
        descends = problem.constraint is not None or problem.scored is None
        choice = "noisy-gradient-descent" if descends else "whitened-newton"
    return make_solver(choice)


def planned_guarantee(solver: object, asked: Guarantee, ledger: object) -> Guarantee:
    """Return the guarantee that a fit plans with and promises.

    It is the one that was asked for, with one exception: a fit that asks for the whole cap of a
    ledger gets the largest guarantee that the ledger's privacy filter admits. A solver object has
    no exception, as a theorem derives its noise from its own guarantee.
    """
    no_filter = ledger is None or not isinstance(solver, str)
    return asked if no_filter else within_filter(asked, ledger)


def plan_for(choice: str | Solver, problem: Problem, guarantee: Guarantee) -> tuple[Solver, Plan]:
    """Choose a solver and let it plan, from public numbers alone."""
    solver = solver_for(choice, problem)
    try:
        with np.errstate(all="ignore"):
            plan = solver.plan(problem, guarantee)
    except ArithmeticError:  # the error may show its numbers: a plan has public ones only
        raise beyond_floats(
            {**_stated(solver), **_numbers(problem), **_stated(guarantee)}
        ) from None
    require(
        problem.ridge == 0.0 or RIDGE in plan.settings,
        "alpha must be 0 unless solver 'whitened-newton' fits the model, which adds the ridge; got "
        f"{problem.ridge!r}.",
    )
    require(
        not problem.by_person or plan.takes_persons,
        f"person must be None for {type(solver).__name__} with these options, which is proved for "
        "single rows only; the default method, descent on clipped gradients and hard thresholding "
        "take persons.",
    )
    weightless = f"{WEIGHTLESS} and weight must be 'person'" if problem.by_person else WEIGHTLESS
    require(
        not problem.has_weights or WEIGHT in plan.by_name,
        f"{weightless} unless the default method, 'whitened-newton', fits without a constraint; "
        f"got weights for {type(solver).__name__}.",
    )
    return solver, plan


def _numbers(problem: Problem) -> dict[str, float]:
    """Return the public numbers of a problem."""
    sizes: dict[str, float] = {"n_rows": problem.n_rows, "n_features": problem.n_features}
    if problem.constraint is None:
        return sizes
    return {**sizes, "constraint.diameter()": problem.constraint.diameter()}


def _stated(stated: Any) -> dict[str, Any]:
    """Return those options of a solver, or numbers of a guarantee, that are not defaults."""
    if not is_dataclass(stated):
        return {}
    defaults = {each.name: each.default for each in fields(stated)}
    values = {name: getattr(stated, name) for name in defaults}
    return {name: value for name, value in values.items() if value is not defaults[name]}
