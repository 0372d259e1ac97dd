"""Find the theorems for a task, and rank them for public facts, by one model for all.

The bounds of theorems are not comparable: each holds for the worst risk that its theorem allows.
The ranking uses the predicted excess of :mod:`tailguard.papers.common.prediction`, with the planned
noise.

Reference
---------
Kamath, Liu and Zhang 2022; Tao and others 2022; Wang and others 2020; Zhao and others 2024; Xu and
others 2025.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

from tailguard.checks import InputError
from tailguard.moments import Moment
from tailguard.papers import kamath2022, tao2022, wang2020, xu2025, zhao2024
from tailguard.papers.common.setting import mean_curvature
from tailguard.papers.common.statement import sentences
from tailguard.papers.common.theorem import SHAPE, Theorem
from tailguard.privacy.guarantees import Guarantee

# A method that saves less of the excess of a point without records is not worth its noise.
IDLE_SHARE = 0.5
FIRST = "the default method comes first; its error is in other units than those of theorems."
PACKAGES = (kamath2022, tao2022, wang2020, xu2025, zhao2024)
PAPERS = {each.__name__.rpartition(".")[2]: each for each in PACKAGES}  # by name
# Kind of risk -> the theorems for it, by their public names below ``tg.papers``.
THEOREMS: dict[str, dict[str, Callable[..., Theorem]]] = {
    kind: {
        f"{paper}.{name}": getattr(package, name)
        for paper, package in PAPERS.items()
        for name, own in sentences(paper).items()
        if isinstance(own, dict) and own.get("risk") == kind
    }
    for kind in ("convex", "strongly-convex", "sparse")
}


@dataclass(frozen=True)
class Ranking:
    """Theorems by predicted excess, refused ones with the reason, and the model.

    Attributes
    ----------
    theorems
        Name, theorem and its predicted excess, at most that of any point; the best one first.
    refusals
        Name and reason.
    curvature
        The curvature of the quadratic risk of the model.
    centre
        Excess of the centre of the set in the model, which needs no record.
    idle
        Whether no theorem is expected to save half of that excess.
    """

    theorems: tuple[tuple[str, Theorem, float], ...]
    refusals: tuple[tuple[str, str], ...]
    curvature: float
    centre: float
    idle: bool

    def notes(self, *, alone: bool) -> list[str]:
        """Describe the ranking; unless ``alone``, also the default method, which comes first."""
        notes = [] if alone else [FIRST]
        if alone and self.idle:
            notes.append(
                "no method saves half of the excess of a point that is chosen without records: the "
                f"centre of the set has {self.centre:.3g} in the model."
            )
        notes.append(
            f"theorems are ranked by one model, a quadratic risk of curvature {self.curvature:.3g} "
            "with the planned noise and no bias; the bound that explain() shows is each one's own, "
            "which is larger."
        )
        return notes


def theorem_called(name: str) -> Callable[..., Theorem]:
    """Return the public function of a theorem by its name, such as ``kamath2022.convex``."""
    return {name: call for calls in THEOREMS.values() for name, call in calls.items()}[name]


def rank(
    kind: str,
    n_rows: int,
    n_features: int,
    guarantee: Guarantee,
    *,
    moment: Moment,
    diameter: float,
    facts: Mapping[str, float],
) -> Ranking:
    """Call every theorem for a kind of risk with the facts that it needs, and rank them.

    *Edge cases.* The curvature is the smoothness, or its geometric mean with the strong convexity.
    If neither is stated, it is the slope's bound over the diameter.
    """
    slope = min(facts.get("gradient_bound", math.inf), _slope_bound(n_features, moment))
    smoothness = facts.get("smoothness", math.inf)
    trivial = min(slope * diameter, smoothness * diameter**2 / 2.0)
    fallback = slope / diameter if math.isfinite(slope / diameter) else 1.0
    curvature = mean_curvature([facts[each] for each in SHAPE if each in facts], fallback)
    possible, refusals, known = [], [], {**facts, "diameter": diameter}
    for name, call in THEOREMS[kind].items():
        try:
            theorem = _theorem(call, moment, known, n_rows, n_features, guarantee)
            possible.append((name, theorem, theorem.predicted_excess(curvature)))
        except InputError as refusal:
            refusals.append((name, str(refusal)))
        except ArithmeticError:
            refusals.append((name, "the facts of the task leave the range of floats."))
    centre = curvature * diameter**2 / 8.0
    possible.sort(key=lambda each: each[2])
    return Ranking(
        tuple((name, theorem, min(excess, trivial)) for name, theorem, excess in possible),
        tuple(refusals),
        curvature,
        centre,
        idle=all(excess > IDLE_SHARE * centre for *_, excess in possible),
    )


def _slope_bound(n_features: int, moment: Moment) -> float:
    """Return the bound on the norm of the mean gradient that follows from the moment."""
    if moment.kind == "central":
        return math.inf
    spread = 1.0 if moment.kind == "norm" else n_features ** max(0.5, 1.0 / moment.order)
    return moment.scale * spread


def _theorem(
    call: Callable[..., Theorem], moment: Moment, facts: Mapping[str, float], *sizes: Any
) -> Theorem:
    """Call a theorem with the facts that it needs: those without a default, and the growth."""
    takes = signature(call).parameters
    needed = [
        each
        for each, parameter in takes.items()
        if each == "growth_constant" or (each != "moment" and parameter.default is Parameter.empty)
    ]
    missing = [each for each in needed if each not in facts]
    if missing:
        raise InputError(f"{missing[0]} must be given.")
    asked = {*needed, "diameter", "gradient_bound"} & {*takes}
    options: dict[str, Any] = {each: facts[each] for each in asked if each in facts}
    try:
        return call(*sizes, moment=moment, **options)
    except InputError:
        if moment.order <= 2.0:
            raise
        # Second moments follow from higher ones, and imply more kinds of moments.
        return call(*sizes, moment=moment.at_order(2.0), **options)
