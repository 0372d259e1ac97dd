"""Solvers that reproduce printed noise which is not private: they promise nothing, and say so.

Reference
---------
Wang, Xiao, Devadas and Xu 2020, Algorithms 1 and 2, whose scales of the noise are not smooth.
"""

__all__ = ["promises_nothing"]


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
