"""Exact coins: a uniform number against a probability, both as binary digits, as many as needed.

A coin of probability p is decided by the first word in which a uniform number and p differ. The
samplers compare the first word themselves; this file serves the draws, one in 2**64, that tie.
"""

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from math import floor

from tailguard.noise.sources import Source

# How many random bits a word of a source has.
WORD_BITS = 64


def binary_digits(probability: Callable[[], Decimal], count: int) -> int:
    """Return ``floor(2**count * p)``, certain to the last digit.

    ``probability`` evaluates an irrational p with a few correctly rounded decimal operations at
    the precision of the moment. The precision grows until both ends of the error interval agree.
    """
    shift = 1 << count
    precision = count // 3 + 16  # a decimal digit holds more than three binary ones
    while True:
        with localcontext() as context:
            context.prec = precision
            value = Fraction(probability())
        error = value * Fraction(1, 10 ** (precision - 4))  # 10**4 roundings, far above the need
        lowest, highest = floor((value - error) * shift), floor((value + error) * shift)
        if lowest == highest:
            return lowest
        precision *= 2


def settle_tie(probability: Callable[[], Decimal], source: Source) -> bool:
    """Toss a coin of probability p, given that the first word equals the first 64 digits of p."""
    count = 2 * WORD_BITS
    while True:
        word = int(source.words(1)[0])
        expected = binary_digits(probability, count) % (1 << WORD_BITS)
        if word != expected:
            return word < expected
        count += WORD_BITS
