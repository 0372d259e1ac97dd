"""Printed noise that breaks its promise: who asks for it, and what is promised in its place.

Reference
---------
Wang, Xiao, Devadas and Xu 2020, Algorithms 1 and 2, whose scales of the noise are not smooth.
"""

from tailguard.checks import require
from tailguard.privacy.guarantees import Guarantee, Unprotected


def promises_nothing(solver: object) -> bool:
    """Whether a solver was made with ``unsafe_reproduction=True`` for noise that is not private.

    Such a solver says so by an attribute of its own, ``unprotected``.

    Examples
    --------
    >>> import tailguard as tg
    >>> printed = {"calibration": "paper", "unsafe_reproduction": True}
    >>> [promises_nothing(tg.solvers.SampleAndAggregate(**x)) for x in ({}, printed)]
    [False, True]
    """
    return getattr(solver, "unprotected", False) is True


def kept_promise(solver: object, guarantee: Guarantee) -> Guarantee:
    """Return what a solver keeps of a guarantee that it was asked for: all of it, or nothing.

    Examples
    --------
    >>> import tailguard as tg
    >>> kept_promise(tg.solvers.SampleAndAggregate(), tg.ApproxDP(1.0, 1e-6))
    ApproxDP(epsilon=1.0, delta=1e-06)
    """
    said = isinstance(guarantee, Unprotected) or not promises_nothing(solver)
    return guarantee if said else Unprotected(guarantee)


def admit_printed(asked: Guarantee, kept: Guarantee, *, unsafe: bool) -> Guarantee:
    """Return what printed noise keeps, where ``unsafe_reproduction`` asks for it; else refuse it.

    Examples
    --------
    >>> import tailguard as tg
    >>> admit_printed(tg.GDP(1.0), tg.GDP(2.0), unsafe=True)
    GDP(mu=2.0)
    """
    require(
        unsafe,
        "unsafe_reproduction must be True for this calibration='paper': the printed noise does "
        f"not keep {asked.describe()} but {kept.describe()}.",
    )
    return kept
