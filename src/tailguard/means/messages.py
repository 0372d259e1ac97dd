"""Sentences that the methods share."""

from tailguard.checks import InputError, check_between, check_positive
from tailguard.means.base import Task

IN_PRIVATE_UNITS = "l2, in units of each column's private scale, for tails like Student's t(3)"
IN_USER_UNITS = "l2, in the units of the data, from the assumed moment"
ANY_TAIL = "means exist"


# Products with sizes and budgets must stay far from the ends of the floats.
SMALLEST_LEVEL, LARGEST_LEVEL = 1e-200, 1e200


def check_level(name: str, value: object) -> float:
    """Return a clip norm, a threshold or a bound that the arithmetic of noise can bear.

    Examples
    --------
    >>> check_level("threshold", 3)
    3.0
    """
    check_positive(name, value)
    return check_between(name, value, SMALLEST_LEVEL, LARGEST_LEVEL)


def refuse_numerical(name: str, task: Task) -> None:
    """Refuse retuned constants where there is nothing to retune.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.plans.problem import Problem
    >>> refuse_numerical("soft", Task(Problem(None, 100, 1), tg.GDP(1.0)))
    """
    if task.calibration == "numerical":
        raise InputError(
            f"calibration must be 'tight' or 'paper' with method {name!r}: its tight calibration "
            "is exact, and 'numerical' is for 'trimmed'."
        )


def refuse_paper(name: str, option: str, task: Task) -> None:
    """Refuse a printed noise without what a paper takes for known: it has no private scale.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.plans.problem import Problem
    >>> refuse_paper("soft", "threshold", Task(Problem(None, 100, 1), tg.GDP(1.0)))
    """
    if task.calibration == "paper":
        raise InputError(
            f"calibration='paper' needs moment= or {option}= with method {name!r}: the paper has "
            "no private scale."
        )


def refuse_pure(name: str, task: Task) -> None:
    """Refuse pure DP where noise is Gaussian.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.plans.problem import Problem
    >>> refuse_pure("clipped", Task(Problem(None, 100, 1), tg.GDP(1.0)))
    """
    if task.pure:
        raise InputError(
            f"method {name!r} must not be used with PureDP: its noise is Gaussian; choose "
            "'clamped', 'truncated' or 'soft'."
        )
