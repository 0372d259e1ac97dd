"""Standard normal numbers to 120 decimal digits, for noise on a scale that follows the records.

Noise on a lattice whose step follows the scale would tell the scale. So it has to be real noise,
rounded to a lattice only after it was scaled and added; and floats are no substitute for reals, as
some results are floats from one answer and never from another. Here each number comes from 768
random digits, by the polar form of Box and Muller in decimal arithmetic.

How far that is from the ideal: let the ideal radius and angle be made of infinitely many digits
that begin with those drawn. Unless the uniform number of the radius is within ``2**-120`` of 0 or
``2**-240`` of 1, the two normals differ by less than ``2**-250``. Scaling takes a normal to at
most ``2**80`` times as many lattice steps (38 digits from the smallest scale to the largest, 24
from the smallest shift, 18 from the slope of sinh), so that the results differ by less than
``2**-170`` of a step. They are rounded to the same point of the lattice unless a half-way point
lies in between, which has a probability below ``2**-160``, as the density of the result is below
one per step. In all, the total variation is below ``2**-119`` for each number.

Reference
---------
Box and Muller 1958; Mironov 2012 (why floats are no reals here).
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from decimal import Context, Decimal, localcontext
from functools import cache

from tailguard.noise.sources import Source, Words

NORMAL_VARIATION = 2.0**-119
"""How far a scaled, shifted and rounded number is from the ideal, in total variation."""

WORDS = 6  # 384 binary digits for the radius, and as many for the angle
RANGE = Decimal(2 ** (64 * WORDS))
MIDDLE = sum(2**63 << 64 * place for place in range(WORDS))
CONTEXT = Context(prec=120)


def precisely() -> AbstractContextManager[Context]:
    """Return the decimal context of normals: 120 digits, whatever the user has set."""
    return localcontext(CONTEXT)


def exact_normals(size: int, source: Source) -> list[Decimal]:
    """Draw ``size`` independent standard normal numbers.

    Guarantee
    ---------
    Within ``size * NORMAL_VARIATION`` of the ideal once they are scaled, added to a number and
    rounded to a lattice that is at least as fine as the noise is wide.
    """
    words = source.words(2 * WORDS * size)
    with precisely():
        return [_normal(*pair) for pair in _pairs(words, size)]


def _pairs(words: Words, size: int) -> Iterator[tuple[int, int]]:
    """Yield two whole numbers of 384 uniform binary digits for each normal."""
    width = 8 * WORDS
    data = words.astype(">u8").tobytes()
    for start in range(0, 2 * width * size, 2 * width):
        middle, end = start + width, start + 2 * width
        yield int.from_bytes(data[start:middle]), int.from_bytes(data[middle:end])


def _normal(first: int, second: int) -> Decimal:
    """Return radius times sine; the angle is counted from ``MIDDLE``, which is the angle zero."""
    uniform = (Decimal(first) + Decimal("0.5")) / RANGE
    radius = (-2 * uniform.ln()).sqrt()
    return radius * _sine(2 * _pi() * (second - MIDDLE) / RANGE)


def _sine(angle: Decimal) -> Decimal:
    """Add up the series; angles of at most 3.2 lose a digit or two."""
    square = angle * angle
    term, total, order = angle, angle, 1
    while abs(term) > Decimal("1e-125"):
        order += 2
        term *= -square / (order * (order - 1))
        total += term
    return total


@cache
def _pi() -> Decimal:
    """Add up Machin's formula, 16 arctan(1/5) - 4 arctan(1/239)."""
    with localcontext(Context(prec=140)):
        return 16 * _arctan_of_inverse(5) - 4 * _arctan_of_inverse(239)


def _arctan_of_inverse(whole: int) -> Decimal:
    power, total, order = Decimal(1) / whole, Decimal(0), 1
    while abs(power) > Decimal("1e-140"):
        total += power / order
        power /= -whole * whole
        order += 2
    return total
