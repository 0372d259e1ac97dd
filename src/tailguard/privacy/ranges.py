"""The ranges in which privacy parameters live."""

from numbers import Real

from tailguard.checks import InputError, shown


def check_cost(name: str, value: object) -> float:
    """Return ``value`` as a float of at least 0; infinity means no privacy at all.

    Examples
    --------
    >>> check_cost("mu", 0)
    0.0
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not float(value) >= 0:
        raise InputError(f"{name} must be a number of at least 0; got {shown(value)}.")
    return float(value)


def check_failure(name: str, value: object) -> float:
    """Return ``value`` as a probability that is allowed to be 0 but not 1.

    Examples
    --------
    >>> check_failure("delta", 0)
    0.0
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < 1:
        raise InputError(f"{name} must be a number of at least 0 and below 1; got {shown(value)}.")
    return float(value)
