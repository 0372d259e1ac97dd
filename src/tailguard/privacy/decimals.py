"""Decimal arithmetic by which noise and costs are worked out, whatever context the user has set.

A user's context may have few digits, a small range, or traps. It would decide the tables of noise,
which a process builds once, or end a run after it was charged.
"""

from contextlib import AbstractContextManager
from decimal import (
    ROUND_HALF_EVEN,
    Context,
    DivisionByZero,
    InvalidOperation,
    Overflow,
    localcontext,
)


def decimals(digits: int) -> AbstractContextManager[Context]:
    """Return a context of this many decimal digits, to be entered.

    Examples
    --------
    >>> from decimal import Decimal
    >>> with decimals(5):
    ...     1 / Decimal(3)
    Decimal('0.33333')
    """
    raising = [DivisionByZero, InvalidOperation, Overflow]  # for what has no result
    context = Context(digits, ROUND_HALF_EVEN, -999_999, 999_999, 1, 0, flags=[], traps=raising)
    return localcontext(context)
