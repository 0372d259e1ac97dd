"""Which method: the one of least predicted error, from public facts, with the reasons.

Reference
---------
The predictions are those of each method's plan; the choice costs nothing, since no record is read.
"""

from dataclasses import dataclass
from typing import Any

from tailguard.checks import InputError
from tailguard.means.base import MeanMethod, MeanPlan, Task
from tailguard.means.registry import MEANS, make_method

__all__ = ["Choice", "choose"]


@dataclass(frozen=True)
class Choice:
    """A chosen method and its plan, the other plans, and why some methods cannot be used.

    Examples
    --------
    >>> import tailguard as tg
    >>> choose("auto", Task(100_000, 10, tg.ApproxDP(1.0, 1e-6))).plan.method
    'clipped'
    """

    method: MeanMethod
    plan: MeanPlan
    others: tuple[MeanPlan, ...] = ()
    refusals: tuple[tuple[str, str], ...] = ()

    def explain(self) -> str:
        """Say in plain words what was planned, and what the candidates promised."""
        lines = [self.plan.explain()]
        if self.others or self.refusals:
            lines.append(f"chosen for the least predicted error ({self.plan.unit}):")
            plans = sorted((self.plan, *self.others), key=lambda plan: plan.expected.total)
            lines.append(f"  {'method':10} {'error':>9} {'noise':>9} {'bias':>9} {'sampling':>9}")
            for plan in plans:
                error = plan.expected
                numbers = (error.total, error.noise, error.bias, error.sampling)
                lines.append(f"  {plan.method:10} " + " ".join(f"{x:9.3g}" for x in numbers))
            lines += [f"  {name:10} not possible: {reason}" for name, reason in self.refusals]
        return "\n".join(lines)


def choose(name: str, task: Task, **options: Any) -> Choice:
    """Plan the method of that name; with ``"auto"``, plan all and take the best.

    Examples
    --------
    >>> import tailguard as tg
    >>> choice = choose("auto", Task(100_000, 10, tg.PureDP(1.0)))
    >>> [name for name, _ in choice.refusals]
    ['clipped', 'trimmed', 'iterative']
    """
    if name != "auto":
        if name not in MEANS:
            known = ", ".join(map(repr, ("auto", *MEANS)))
            raise InputError(f"method must be one of {known}; got {name!r}.")
        method = make_method(name, **options)
        return Choice(method, method.plan(task))
    if options:
        raise InputError(
            f"{next(iter(options))} must be given with a method by name; got method='auto', which "
            "chooses every option itself."
        )
    return _best(task)


def _best(task: Task) -> Choice:
    found: list[tuple[MeanMethod, MeanPlan]] = []
    refusals: list[tuple[str, str]] = []
    for name in MEANS:
        method = make_method(name)
        try:
            found.append((method, method.plan(task)))
        except InputError as refusal:
            refusals.append((name, str(refusal)))
    if not found:
        raise InputError(f"method must be possible here, and none is; {refusals[0][1]}")
    found.sort(key=lambda pair: pair[1].expected.total)
    (method, plan), *others = found
    return Choice(method, plan, tuple(other for _, other in others), tuple(refusals))
