"""What descents in the user's units share: the set and its checks, gradients, and the answer.

Reference
---------
Nemirovski and Yudin 1983 (methods whose steps follow from the diameter of the set).
"""

import math

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, require
from tailguard.gate.plan import Plan, Problem, Solution
from tailguard.queries.base import Query
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.record_gradient import MeanRecordGradient
from tailguard.queries.units import Units
from tailguard.sets.base import ConstraintSet, as_numbers
from tailguard.sets.whole_space import WholeSpace


def set_of(problem: Problem) -> ConstraintSet:
    """Return the set of allowed weights; all of them where none is stated."""
    return problem.constraint or WholeSpace()


def start_of(problem: Problem, number: float) -> FloatArray:
    """Return where a descent starts: at weights that are all this number, put into the set."""
    return set_of(problem).project(np.full(problem.size, number))


def check_constraint(problem: Problem, diameter: float) -> None:
    """Refuse a set of other vectors, and a search without end; all of it is public."""
    require(
        math.isfinite(diameter),
        "constraint must be a set of finite diameter where the solver states no diameter; got "
        f"{problem.constraint!r}.",
    )
    check_vectors(problem)


def check_vectors(problem: Problem) -> None:
    """Refuse a set of other vectors, and an intercept beside a gradient that covers all weights."""
    require(
        problem.scored is not None or not problem.intercept,
        "intercept must be False for a loss known one record at a time: its gradient covers all "
        "weights, a constant column included.",
    )
    try:
        found = as_numbers(set_of(problem).project(np.zeros(problem.size)))
    except InputError:
        found = np.empty(0)
    if found.shape != (problem.size,) or not np.isfinite(found).all():
        raise InputError(
            f"constraint must be a set of vectors of {problem.size} weights; got "
            f"{problem.constraint!r}."
        )


def clipped_gradients(problem: Problem, clip_norm: float) -> Query:
    """Return the mean of clipped gradients, of records in the user's units."""
    if problem.by_record:
        return MeanRecordGradient(problem.by_record, clip_norm)
    units = Units.raw(problem.n_features, intercept=problem.intercept)
    return MeanClippedGradient(problem.scored, units, clip_norm=clip_norm)


def solved_at(plan: Plan, weights: FloatArray, points: FloatArray) -> Solution:
    """Return weights in the user's units as a solution whose noise nothing predicts."""
    coef, intercept = weights, 0.0
    if not plan.problem.by_record:
        units = Units.raw(plan.problem.n_features, intercept=plan.problem.intercept)
        coef, intercept = units.coefficients(weights)
    return Solution(coef, intercept, plan, np.full(coef.shape, math.nan), math.nan, points)
