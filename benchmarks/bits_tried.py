"""The calls of ``bits.py`` for every registry, so that new entries get rows automatically.

Rows are compared with those of earlier states. So the arguments of an existing row must not change;
a new entry uses the example of its class.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

import tailguard as tg
from tailguard.checks import class_called
from tailguard.estimators.registry import ESTIMATORS, estimator_called
from tailguard.gate.engine import SolverExample
from tailguard.means.choice import MEANS as METHODS
from tailguard.means.choice import make_method
from tailguard.papers.audits import KINDS
from tailguard.sets.registry import SETS
from tailguard.solvers.registry import SOLVERS

OF_PAPERS = {kind.name: kind() for kind in KINDS}
MODELS = {
    name: model
    for name, model in ((name, estimator_called(name)) for name in ESTIMATORS)
    if model()._constraint() is None  # sparse models have tables of many columns
}
MEANS = ("auto", *METHODS)


def what_is_known(method: str) -> dict[str, Any]:
    """A moment of the kind that a mean shows in its example, or its options, where it has none."""
    example = make_method(method).example
    if example.moment is None:
        return dict(example.wide)
    kind = "raw" if example.moment.kind == "central" else example.moment.kind
    return {"moment": tg.Moment(2.0, 4e6, kind=kind)}


def set_for(solver: str) -> Any:
    """A set that a solver takes: that of its example, but for one."""
    if solver == "doubling-localised":
        return tg.sets.Box([-1.0] * 3, [1.0] * 3)
    kind = OF_PAPERS.get(solver) or class_called(solver, SOLVERS)
    return getattr(kind, "example", SolverExample()).constraint


def sets() -> Iterable[Any]:
    """A set of every kind: the first of its examples, where none is chosen here."""
    box, small = tg.sets.Box([-1.0] * 3, [1.0] * 3), tg.sets.L2Ball(0.3)
    positive = tg.sets.Box([0.0] * 3, [1.0] * 3)
    chosen = {
        "box": box,
        "l1_ball": tg.sets.L1Ball(0.3),
        "l2_ball": small,
        "simplex": tg.sets.Simplex(),
        "intersection_with_ball": tg.sets.IntersectionWithBall(positive, [0.0] * 3, 1.0),
        "intersection": tg.sets.Intersection(small, tg.sets.L1Ball(0.4)),
        "sparse_ball": tg.sets.SparseBall(2),
    }
    for name in SETS:
        if name in chosen:
            yield chosen[name]
        elif name != "whole_space":  # which is what no constraint stands for
            kind = class_called(name, SETS)
            yield kind(*getattr(kind, "contract_examples", [()])[0])


def solver_over(constraint: Any) -> Any:
    """The default solver; with steps that are given where a set does not tell their length."""
    if not constraint.convex or np.isfinite(constraint.diameter()):
        return "auto"
    return tg.solvers.NoisyGradientDescent(n_steps=20, step_size=0.1)
