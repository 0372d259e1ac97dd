"""Decimal arithmetic for noise and costs, which does not depend on the user's decimal context.

A user's context may have few digits, a small range, or traps. It would change the tables of noise,
which a process builds once, or end a run after the ledger was charged.
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
    """Return a context manager for arithmetic with this many decimal digits.

    Examples
    --------
    >>> from decimal import Decimal
    >>> with decimals(5):
    ...     1 / Decimal(3)
    Decimal('0.33333')
    """
    traps = [DivisionByZero, InvalidOperation, Overflow]  # raised by operations without a result
    context = Context(digits, ROUND_HALF_EVEN, -999_999, 999_999, 1, 0, flags=[], traps=traps)
    return localcontext(context)
