"""The sets by name. A new set is one file and one line here, which buys the contract tests."""

from typing import Any

from tailguard.checks import class_called

from .base import ConstraintSet

SETS = {
    "box": "tailguard.sets.box:Box",
    "intersection": "tailguard.sets.intersection:Intersection",
    "intersection_with_ball": "tailguard.sets.intersection_with_ball:IntersectionWithBall",
    "l1_ball": "tailguard.sets.l1_ball:L1Ball",
    "l2_ball": "tailguard.sets.l2_ball:L2Ball",
    "simplex": "tailguard.sets.simplex:Simplex",
    "sparse_ball": "tailguard.sets.sparse_ball:SparseBall",
    "whole_space": "tailguard.sets.whole_space:WholeSpace",
}


def make_set(name: str, **parameters: Any) -> ConstraintSet:
    """Make the set called ``name``.

    Examples
    --------
    >>> make_set("l1_ball", radius=2.0)
    L1Ball(radius=2.0)
    """
    constraint: ConstraintSet = class_called(name, SETS)(**parameters)
    return constraint
