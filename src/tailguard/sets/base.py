"""What a constraint set is: the protocols that every set of this room follows.

A set never sees a record: it moves weights that were already released.
"""

from typing import Any, ClassVar, Protocol, runtime_checkable

from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray
from tailguard.checks import check_cost, check_methods


@runtime_checkable
class ConstraintSet(Protocol):
    """A closed set of weights.

    Projection is total: every finite point gives a finite point of the set, however large, and a
    point that is not finite gives some point of the set. Nothing raises or warns on values. A set
    whose projections of far points end outside by a rounding error, which grows with the distance,
    says so by an attribute of its class, ``approximate = True``; others are right at any distance.

    Examples
    --------
    >>> from tailguard.sets import WholeSpace
    >>> isinstance(WholeSpace(), ConstraintSet)
    True
    """

    name: ClassVar[str]
    convex: ClassVar[bool]

    def project(self, point: ArrayLike) -> FloatArray:
        """Return the nearest point of the set, in Euclidean distance."""
        ...

    def diameter(self) -> float:
        """Largest distance between two points of the set, or an upper bound where it says so."""
        ...

    def contains(self, point: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Whether the point keeps every constraint, up to ``tolerance``.

        What is no vector, and no tolerance, is refused: see ``as_entries`` and ``check_cost``.
        """
        ...


@runtime_checkable
class BoundedSet(ConstraintSet, Protocol):
    """A bounded convex set over which linear functions are easy to minimise.

    Examples
    --------
    >>> from tailguard.sets import L1Ball, WholeSpace
    >>> isinstance(L1Ball(1.0), BoundedSet), isinstance(WholeSpace(), BoundedSet)
    (True, False)
    """

    def minimise_linear(self, direction: ArrayLike) -> FloatArray:
        """Return a point of the set with the smallest inner product with ``direction``."""
        ...


def check_set(name: str, value: Any) -> Any:
    """Return what is a set of weights, refusing anything else."""
    needed = ("project", "diameter", "convex")
    wanted = "a set of tg.sets, or one of your own that has project, diameter and convex"
    check_methods(name, value, needed, wanted)
    check_cost(f"{name}.diameter()", value.diameter())
    return value
