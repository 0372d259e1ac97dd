"""A theorem as an object to run: a solver with the theorem's parameters, and its statement.

The theorems assume bounded moments for accuracy and promise privacy for every input. Here the gate
ensures privacy even if the assumptions fail. By default the noise is calibrated exactly. It can
also be as the paper prints it; the plan then states the true cost of the printed noise.

Reference
---------
The theorems' own papers; Dong, Roth and Su 2022, Theorem 2.7 (what Gaussian noise costs).
"""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from typing import Any

from tailguard.checks import InputError
from tailguard.gate import Gate
from tailguard.gate.engine import Solved, Solver
from tailguard.gate.plan import Plan, Problem, Solution, beyond_floats
from tailguard.means.formulas import check_facts
from tailguard.moments import MomentKind, check_moment
from tailguard.papers.common.setting import Facts
from tailguard.privacy.accounting.total_cost import satisfies, smallest_epsilon
from tailguard.privacy.events import Event, Unbounded
from tailguard.privacy.guarantees import ApproxDP, Guarantee, resolve_guarantee
from tailguard.sets.base import ConstraintSet, check_set
from tailguard.sets.l2_ball import L2Ball
from tailguard.solvers.minimize import minimize

SIZES = ("n_rows", "n_features", "guarantee")
SET = ("diameter", "constraint")
SHAPE = ("strong_convexity", "smoothness")


def minimize_by(
    self: "Theorem | UnsizedTheorem", loss: Any, X: Any, y: Any = None, **options: Any
) -> Solved:
    """Minimise the mean loss over the records, privately, by the theorem's algorithm.

    Sizes are those of the table. Guarantee and set are the theorem's; a theorem with a diameter has
    a ball around zero. ``options`` and the result are those of ``tg.minimize``: ``intercept``,
    ``exposure``, ``classes``, ``ledger``, ``random_state``.
    """
    fixed: dict[str, Any] = {"constraint": self.constraint, "solver": self, "check_records": False}
    if self.guarantee is not None:
        fixed["guarantee"] = self.guarantee
    return minimize(loss, X, y, **fixed, **options)


@dataclass(frozen=True)
class Theorem:
    """A solver with a theorem's parameters, its bounds, its assumptions and a prediction.

    It is a solver itself: call its :meth:`minimize`, or pass it to an estimator.

    Attributes
    ----------
    statement
        Authors, year and number.
    solver
        The algorithm with its parameters.
    n_rows, n_features
        The sizes for which parameters are chosen; ``n_features`` counts all weights, intercept
        included.
    guarantee
        The promised guarantee.
    spent
        What the run spends: the guarantee, or the cost of the printed noise.
    printed
        Whether the noise is as printed. If it costs more than the guarantee, a run takes
        ``random_state`` and no ledger, and is not private.
    bound
        Excess risk by the analysis of the theorem, for the worst risk that it admits, with the
        noise that is really added. Constants are included if the analysis has them.
    bound_covers
        The points at which the bound counts errors: only a theorem that says "at all points of the
        set at once" covers steps that read the same records again.
    lower_bound
        A lower bound for every method, with hidden constants 1.
    noise_std
        Noise on every coordinate of a step's gradient, or of a release: of the first one if they
        differ. NaN if it depends on the records.
    n_passes
        How often every record is read.
    for_privacy, for_accuracy
        The assumptions for privacy, and those for accuracy.
    deviations
        Every difference from the printed paper.
    curvature
        The curvature of the risk, as far as it is known.
    cost
        The true cost of printed noise; None for tight noise.
    knows_noise
        Whether the solver derives printed noise from the guarantee, and not from ``spent``.
    constraint
        The set of weights of :meth:`minimize`.

    Examples
    --------
    >>> import tailguard as tg
    >>> theorem = tg.papers.kamath2022.convex(
    ...     10_000, 3, tg.ZCDP(0.5), moment=tg.Moment(2.0, 1.0), diameter=2.0
    ... )
    >>> theorem.statement, theorem.predicted_excess(curvature=1.0) < theorem.bound
    ('Kamath, Liu and Zhang 2022, Theorem 5.2', True)
    """

    statement: str
    solver: Solver
    n_rows: int
    n_features: int
    guarantee: Guarantee
    spent: Guarantee
    bound: float
    bound_covers: str
    lower_bound: float
    noise_std: float
    n_passes: float
    for_privacy: tuple[str, ...]
    for_accuracy: tuple[str, ...]
    deviations: tuple[str, ...]
    curvature: float
    _prediction: Callable[[float], float] = field(repr=False)
    printed: bool = False
    cost: Event | None = None
    knows_noise: bool = False
    constraint: ConstraintSet | None = None

    minimize = minimize_by

    def predicted_excess(self, curvature: float | None = None) -> float:
        """Predict the excess risk with the planned noise on a quadratic risk.

        The model is that of :mod:`tailguard.papers.common.prediction`. The default ``curvature`` is
        that of the stated risk. ``tg.plan`` ranks methods by this prediction.
        """
        return self._prediction(self.curvature if curvature is None else curvature)

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Plan by the theorem; sizes and guarantee must be those of its call."""
        for name, stated, actual in (
            ("n_rows", self.n_rows, problem.n_rows),
            ("n_features", self.n_features, problem.size),
        ):
            if stated != actual:
                raise InputError(
                    f"{name} must be {actual}, as in the data (an intercept counts as a feature), "
                    f"in the call of the theorem, or be left out; got {stated}."
                )
        if guarantee != self.guarantee:
            raise InputError(
                f"guarantee must be {self.guarantee!r}, that of the theorem; got {guarantee!r}."
            )
        plan = self.solver.plan(problem, guarantee if self.knows_noise else self.spent)
        return replace(
            plan,
            guarantee=self.guarantee,
            settings={"theorem": self.statement, **plan.settings},
            assumptions=self.for_accuracy,
            admits_check=False,
            printed=self.printed,
        )

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Carry the plan out."""
        return self.solver.run(plan, gate)

    def explain(self) -> str:
        """Describe the solver, its assumptions, its bounds, and its differences from the paper."""
        known = math.isfinite(self.noise_std)
        noise = f"{self.noise_std:.3g} on every coordinate" if known else "follows the records"
        lines = [
            f"{self.statement}: {self.guarantee.describe()}, n = {self.n_rows}, "
            f"{self.n_features} coefficients",
            f"  solver: {self.solver!r}",
            f"  spends: {self._spending()}",
            f"  bound on the excess risk {self.bound:.3g}, by the theorem's analysis of this noise "
            f"(lower bound {self.lower_bound:.3g}, constants 1); it {self.bound_covers}",
            f"  predicted excess risk {self.predicted_excess():.3g}, on a quadratic risk of "
            f"curvature {self.curvature:.3g}",
            f"  noise {noise}, {self.n_passes:g} passes",
        ]
        lines += [f"  needed for privacy: {line}" for line in self.for_privacy]
        lines += [f"  needed for accuracy: {line}" for line in self.for_accuracy]
        lines += [f"  differs from the paper: {line}" for line in self.deviations]
        return "\n".join(lines)

    def _spending(self) -> str:
        """Describe what a run spends, and whether that exceeds the guarantee."""
        words = self.spent.describe()
        if self.cost is None:
            return words
        if isinstance(self.cost, Unbounded):
            words = "no finite amount"
        elif isinstance(self.guarantee, ApproxDP):
            delta = self.guarantee.delta
            words = f"epsilon = {smallest_epsilon(self.cost, delta).epsilon:.4g}, delta = {delta:g}"
        kept = satisfies(self.cost, self.guarantee)
        return words if kept else f"{words}: MORE than promised, and a run is a simulation"


@dataclass(frozen=True)
class UnsizedTheorem:
    """A theorem that takes its sizes from the records, and its guarantee from the fit if not given.

    Attributes
    ----------
    call, facts
        The theorem, and the facts that it was given.
    guarantee
        The promised guarantee; None takes that of the fit.
    constraint
        The set of weights of :meth:`minimize`.

    Examples
    --------
    >>> import tailguard as tg
    >>> theorem = tg.papers.kamath2022.convex(moment=tg.Moment(2.0, 1.0), diameter=2.0)
    >>> theorem.sized(10_000, 3, tg.ZCDP(0.5)).solver.n_steps
    907
    """

    call: Callable[..., Any]
    guarantee: Guarantee | None
    constraint: ConstraintSet | None
    facts: Mapping[str, Any]

    minimize = minimize_by

    def sized(self, n_rows: int, n_features: int, guarantee: Guarantee | None = None) -> Theorem:
        """Return the theorem for these sizes; an intercept counts as a feature."""
        return self.call(n_rows, n_features, self.guarantee or guarantee, **self.facts)

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Plan by the theorem, with the sizes of the problem."""
        return self._of(problem, guarantee).plan(problem, guarantee)

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Carry the plan out."""
        return self._of(plan.problem, plan.guarantee).run(plan, gate)

    def _of(self, problem: Problem, guarantee: Guarantee) -> Theorem:
        return self.sized(problem.n_rows, problem.size, guarantee)


def theorem_on(
    kind: MomentKind,
    *needs: str,
    of: type[Facts] = Facts,
    without: tuple[str, ...] = (),
    orders: tuple[float, float] | None = None,
    in_ball: bool = True,
) -> Callable[[Callable[..., Theorem]], Callable[..., Any]]:
    """Turn a function of :class:`Facts` into the public call of a theorem.

    The call is ``(n_rows, n_features, guarantee, *, moment, diameter, ...)`` with the facts that
    the theorem ``needs``, the function's own arguments and the other facts as options. It returns a
    :class:`Theorem`; without sizes it returns an :class:`UnsizedTheorem`, which takes them from the
    records. ``constraint=``, a set, may replace ``diameter``. The attributes ``moment_kind`` and
    ``doubled`` of the call describe the moment that it needs.

    Parameters
    ----------
    kind
        The kind of the moment of the gradients; a moment that implies it is converted.
    needs, without
        Facts that must be stated, and facts that the call does not take.
    of
        The class of the facts.
    orders
        The lowest and the highest order of the moment. A moment of a higher order is converted to
        the highest, and one of a lower order is refused. None accepts every order.
    in_ball
        Whether ``minimize`` is over the ball of this diameter.
    """

    def decorate(function: Callable[..., Theorem]) -> Callable[..., Any]:
        own = [*inspect.signature(function).parameters.values()][1:]
        signature = _signature(own, ("moment", *needs), of, without)

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Theorem | UnsizedTheorem:
            try:
                given = signature.bind(*args, **kwargs).arguments
            except TypeError as error:
                raise TypeError(f"{function.__name__}() {error}") from None
            n_rows, n_features, guarantee = (given.pop(name, None) for name in SIZES)
            diameter, constraint = _set_of(given.get("diameter"), given.get("constraint"), in_ball)
            if (n_rows is None) != (n_features is None):
                raise InputError("n_rows and n_features must be given together, or left out.")
            if n_rows is None:
                return UnsizedTheorem(call, guarantee, constraint, given)
            facts = {name: given[name] for name in given if name not in SET}
            arguments = {each.name: facts.pop(each.name) for each in own if each.name in facts}
            check_facts(n_rows=n_rows, n_features=n_features)
            for name in set(SHAPE).intersection(needs):
                check_facts(**{name: facts[name]})
            moment = check_moment("moment", facts.pop("moment"))
            moment = moment.convert(kind, n_features=n_features)
            if orders is not None:
                lowest, highest = orders
                moment = moment.at_order(max(lowest, min(moment.order, highest)))
            promise = resolve_guarantee(guarantee=guarantee)
            try:
                known = of(n_rows, n_features, promise, moment, diameter, **facts)
                return replace(function(known, **arguments), constraint=constraint)
            except ArithmeticError:
                raise beyond_floats(given) from None

        call.__signature__ = signature  # type: ignore[attr-defined]
        vars(call).update(moment_kind=kind, doubled=of.doubled)
        return call

    return decorate


def _signature(
    own: list[inspect.Parameter], stated: tuple[str, ...], of: type[Facts], without: tuple[str, ...]
) -> inspect.Signature:
    """Return the signature of a public call: sizes, stated facts, own arguments, and options."""
    sizes = [
        inspect.Parameter(x, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None) for x in SIZES
    ]
    left_out = {*SIZES, *stated, *SET, *SHAPE, *without}
    defaults = dict.fromkeys(SET) | {
        x.name: x.default for x in fields(of) if x.name not in left_out
    }
    more = [inspect.Parameter(x, inspect.Parameter.KEYWORD_ONLY) for x in stated]
    options = [
        inspect.Parameter(x, inspect.Parameter.KEYWORD_ONLY, default=defaults[x]) for x in defaults
    ]
    return inspect.Signature([*sizes, *more, *own, *options])


def _set_of(
    diameter: float | None, constraint: ConstraintSet | None, in_ball: bool
) -> tuple[float, ConstraintSet | None]:
    """Return the diameter and the set, given one of them."""
    if constraint is not None and diameter is None:
        return check_set("constraint", constraint).diameter(), constraint
    if diameter is None or constraint is not None:
        raise InputError("diameter must be given, or a constraint in its place and not both.")
    check_facts(diameter=diameter)
    return diameter, L2Ball(diameter / 2.0) if in_ball else None
