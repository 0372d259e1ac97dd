"""The set that a problem allows, and whether a method can search all of it.

Reference
---------
Nemirovski and Yudin 1983 (methods whose steps follow from the diameter of the set).
"""

import math

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, require
from tailguard.plans.problem import Problem
from tailguard.queries.units import Units
from tailguard.sets.base import ConstraintSet
from tailguard.sets.whole_space import WholeSpace


def set_of(problem: Problem) -> ConstraintSet:
    """Return the set of allowed weights; all of them where none is stated.

    Examples
    --------
    >>> import tailguard as tg
    >>> set_of(Problem(tg.losses.Squared(), n_rows=10, n_features=1))
    WholeSpace()
    """
    return problem.constraint or WholeSpace()


def check_constraint(problem: Problem, diameter: float) -> None:
    """Refuse a set of other vectors, and a search without end; all of it is public.

    Examples
    --------
    >>> import tailguard as tg
    >>> check_constraint(Problem(tg.losses.Squared(), n_rows=10, n_features=1), diameter=5.0)
    """
    require(
        math.isfinite(diameter),
        "constraint must be a set of finite diameter where the solver states no diameter; got "
        f"{problem.constraint!r}.",
    )
    try:
        set_of(problem).project(np.zeros(problem.size))
    except InputError:
        raise InputError(
            f"constraint must be a set of vectors of {problem.size} weights; got "
            f"{problem.constraint!r}."
        ) from None


def in_user_units(problem: Problem, weights: FloatArray) -> tuple[FloatArray, float]:
    """Split weights in raw units into coefficients and intercept.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Squared(), n_rows=10, n_features=1, intercept=True)
    >>> in_user_units(problem, np.array([2.0, 0.5]))
    (array([2.]), 0.5)
    """
    if problem.by_record:
        return weights, 0.0
    units = Units.raw(problem.n_features, intercept=problem.intercept)
    return units.coefficients(weights)
