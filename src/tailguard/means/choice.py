"""The choice of a method: by its name, or for the least predicted error, with the reasons.

Each method has a file in this folder, with a query that ``queries/registry.py`` lists. The name of
the file is the name of the method.

A stated moment is used only if it lowers the predicted error. A threshold that follows from a
moment must suit the worst distribution with that moment, so it is usually far too wide; a released
threshold fits the records. So with a moment every method is planned twice: with the moment, and
with private scales. The second plan needs enough rows to release scales, unless no method can use
the moment. With fewer rows only a histogram is released before the mean, in units of the root of a
moment about zero.

Reference
---------
The predictions come from each method's plan; the choice costs nothing, since no record is read.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from inspect import cleandoc
from typing import Any, TypeAlias

from tailguard.checks import InputError, check_choice, check_methods, class_called, require
from tailguard.gate.plan import Problem
from tailguard.gate.stage import WEIGHT
from tailguard.means.base import (
    IN_USER_UNITS,
    Expected,
    MeanMethod,
    MeanPlan,
    check_level,
    column_scale,
)
from tailguard.means.private_units import affords_tail, affords_units
from tailguard.moments import Moment
from tailguard.privacy.guarantees import Guarantee, PureDP
from tailguard.queries.registry import QUERIES, SMOOTH_QUERIES

Planned: TypeAlias = tuple[MeanMethod, MeanPlan]


def _methods() -> dict[str, str]:
    """Return the method of each file whose query is registered: the class named after the file."""
    methods = {}
    for place in (QUERIES | SMOOTH_QUERIES).values():
        room, _, file = place.partition(":")[0].rpartition(".")
        if room == "tailguard.means":
            methods[file] = f"{room}.{file}:{file.title().replace('_', '')}"
    return methods


MEANS = _methods()
"""Name of a method -> ``"module:Class"``."""
WEIGHTLESS = (
    "sample_weight must be None unless the method is 'clipped', with neither clip_norm nor moment; "
    "tg.describe takes weights in pure DP as well."
)


def make_method(name: str, **options: Any) -> MeanMethod:
    """Build a method by its name, with its options."""
    check_options(name, options)
    return _class_of(name)(**options)


def check_options(name: str, options: Iterable[str]) -> None:
    """Refuse options that a method does not have."""
    known = own_options(name)
    for option in options:
        if option not in known:
            raise InputError(
                f"{option} must not be given with method {name!r}; it takes {', '.join(known)}."
            )


def own_options(name: str) -> tuple[str, ...]:
    """Return the options of a method."""
    return tuple(field.name for field in fields(_class_of(name)))


def described() -> str:
    """Describe every method by the first line of its docstring."""
    firsts = {name: cleandoc(_class_of(name).__doc__).partition("\n\n")[0] for name in MEANS}
    lines = {name: " ".join(first.split()).rstrip(".") for name, first in firsts.items()}
    return "\n".join(f'``"{name}"``: {each[0].lower()}{each[1:]}' for name, each in lines.items())


def _class_of(name: str) -> Any:
    return class_called(name, MEANS, "method")


@dataclass(frozen=True)
class Choice:
    """A chosen method and its plan, the other plans, and reasons why methods cannot be used."""

    method: MeanMethod
    plan: MeanPlan
    others: tuple[MeanPlan, ...] = ()
    refusals: tuple[tuple[str, str], ...] = ()

    def explain(self) -> str:
        """Describe the plan, and the predictions of the candidates."""
        lines = [self.plan.explain()]
        if self.others or self.refusals:
            lines.append(f"chosen for the least predicted error ({self.plan.unit}):")
            plans = sorted((self.plan, *self.others), key=_expected_total)
            lines.append(f"  {'method':10} {'error':>9} {'noise':>9} {'bias':>9} {'sampling':>9}")
            mixed = len({plan.problem.moment for plan in plans}) > 1
            for plan in plans:
                error = plan.expected
                numbers = (error.total, error.noise, error.bias, error.sampling)
                line = f"  {plan.solver:10} " + " ".join(f"{x:9.3g}" for x in numbers)
                basis = "by private scales" if plan.problem.unit is None else "by a histogram"
                basis = "by the moment" if plan.problem.moment else basis
                lines.append(f"{line}  {basis}" if mixed else line)
            how = "not by the moment" if mixed else "not possible"
            lines += [f"  {name:10} {how}: {reason}" for name, reason in self.refusals]
        return "\n".join(lines)


def choose(
    name: str | MeanMethod,
    problem: Problem,
    guarantee: Guarantee,
    **options: Any,
) -> Choice:
    """Plan one method, a name or an object; with ``"auto"``, plan all and return the best."""
    if problem.moment is not None:
        check_level("moment.bound", problem.moment.bound)
    require(not (problem.has_weights and isinstance(guarantee, PureDP)), WEIGHTLESS)
    if not isinstance(name, str):
        allowed = f"'auto', one of {', '.join(map(repr, MEANS))}, or a method object"
        method = check_methods("method", name, ("plan", "run"), allowed)
        if options:
            raise InputError(
                f"{next(iter(options))} must be an option of the method object itself."
            )
        return Choice(method, _planned(method, problem, guarantee))
    if check_choice("method", name, ("auto", *MEANS)) != "auto":
        method = make_method(name, **options)
        return Choice(method, _planned(method, problem, guarantee))
    if options:
        raise InputError(
            f"{next(iter(options))} must be given with a method by name; got method='auto', which "
            "chooses every option itself."
        )
    return _best_method(problem, guarantee)


def _planned(method: MeanMethod, problem: Problem, guarantee: Guarantee) -> MeanPlan:
    """Plan a method; refuse weights of records if it does not release their total."""
    plan = method.plan(problem, guarantee)
    require(not problem.has_weights or WEIGHT in plan.by_name, WEIGHTLESS)
    return plan


def _best_method(problem: Problem, guarantee: Guarantee) -> Choice:
    """Plan all methods; choose the least predicted error."""
    plans: list[Planned] = []
    refusals: list[tuple[str, str]] = []
    for name in MEANS:
        method = make_method(name)
        try:
            plans.append((method, _planned(method, problem, guarantee)))
        except InputError as refusal:
            refusals.append((name, str(refusal)))
    if problem.moment is not None:
        plans += _released(problem, guarantee, last_resort=not plans)
    if not plans:
        raise InputError(f"method must be possible here, and none is; {refusals[0][1]}")
    plans.sort(key=lambda pair: _expected_total(pair[1]))
    (method, plan), *others = plans
    return Choice(method, plan, tuple(other for _, other in others), tuple(refusals))


def _released(problem: Problem, guarantee: Guarantee, *, last_resort: bool) -> list[Planned]:
    """Plan with releases in place of the moment, if there are enough rows for them.

    The releases are scales or, if rows are too few for these, a histogram.
    """
    moment = problem.moment
    assert moment is not None  # the caller has checked this

    def planned(unit: float | None) -> Iterator[Planned]:
        """Plan the methods with private units, and predict in the units of the moment."""
        for name in MEANS:
            method = make_method(name)
            try:
                plan = _planned(method, replace(problem, moment=None, unit=unit), guarantee)
            except InputError:
                continue
            yield method, _in_units_of(moment, plan)

    released = list(planned(unit=None))
    affordable = [pair for pair in released if affords_units(pair[1])]
    if not affordable and moment.kind != "central":  # a central moment does not bound the mean
        in_unit = planned(unit=column_scale(moment, problem.n_features))
        affordable = [pair for pair in in_unit if affords_tail(pair[1])]
    return affordable or (released if last_resort else [])


def _in_units_of(moment: Moment, plan: MeanPlan) -> MeanPlan:
    """Return a plan whose prediction equates a private scale with the root of the moment.

    The distribution that plans assume has a root mean square of 1 in private scales.
    """
    scale = column_scale(moment, plan.problem.n_features)
    error = plan.expected
    expected = Expected(error.noise * scale, error.bias * scale, error.sampling * scale)
    moment_assumption = () if plan.problem.unit is None else (moment.describe(),)
    assumptions = (*plan.assumptions, *moment_assumption)
    return replace(plan, expected=expected, unit=IN_USER_UNITS, assumptions=assumptions)


def _expected_total(plan: MeanPlan) -> float:
    return plan.expected.total
