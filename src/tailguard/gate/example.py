"""What the contract tests try a solver on, where its class says so by an attribute ``example``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tailguard.sets.base import ConstraintSet
from tailguard.sets.l2_ball import L2Ball


@dataclass(frozen=True)
class SolverExample:
    """A set for the solver, and what it may be expected to do; as here where it says nothing.

    Attributes
    ----------
    constraint
        A set that it takes, of any number of weights.
    intercept
        Whether it is tried with an intercept.
    exact
        Options with which it reaches the optimum of all records to 1e-6 in every weight, once there
        is no noise; None if it reads each record once, or goes by released numbers.
    shown
        Options of at most three steps, with which its answer shows a record that may pull as far as
        it can, beside records that say nothing; None if it shows more on another pair.
    skips
        Whether it leaves out stages on released evidence.

    Examples
    --------
    >>> SolverExample(exact={"clip_norm": 1e3}).constraint
    L2Ball(radius=1.0, center=None)
    """

    constraint: ConstraintSet | None = field(default_factory=lambda: L2Ball(1.0))
    intercept: bool = False
    exact: Mapping[str, Any] | None = None
    shown: Mapping[str, Any] | None = None
    skips: bool = False
