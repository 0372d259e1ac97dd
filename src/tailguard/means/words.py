"""Sentences that the methods share."""

from tailguard.checks import InputError
from tailguard.means.base import Task

__all__ = ["ANY_TAIL", "IN_PRIVATE_UNITS", "IN_USER_UNITS", "refuse_numerical"]

IN_PRIVATE_UNITS = "l2, in units of each column's private scale, for tails like Student's t(3)"
IN_USER_UNITS = "l2, in the units of the data, from the assumed moment"
ANY_TAIL = "means exist; the order of the rows does not depend on their values"


def refuse_numerical(name: str, task: Task) -> None:
    """Refuse retuned constants where there is nothing to retune.

    Examples
    --------
    >>> import tailguard as tg
    >>> refuse_numerical("soft", Task(100, 1, tg.GDP(1.0)))
    """
    if task.calibration == "numerical":
        raise InputError(
            f"calibration must be 'tight' or 'paper' with method {name!r}: its tight calibration "
            "is exact, and 'numerical' is for 'trimmed'."
        )
