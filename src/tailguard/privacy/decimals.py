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

LARGEST_EXPONENT = 999_999
# What has no result raises.
TRAPS = [DivisionByZero, InvalidOperation, Overflow]


def decimals(digits: int) -> AbstractContextManager[Context]:
    """Return a context of this many decimal digits, to be entered.

    Examples
    --------
    >>> from decimal import Decimal
    >>> with decimals(5):
    ...     1 / Decimal(3)
    Decimal('0.33333')
    """
    return localcontext(
        Context(
            prec=digits, rounding=ROUND_HALF_EVEN, Emin=-LARGEST_EXPONENT, Emax=LARGEST_EXPONENT,
            capitals=1, clamp=0, flags=[], traps=TRAPS,
        )
    )  # fmt: skip
