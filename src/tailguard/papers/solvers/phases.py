"""Cutting the records into phases, and what a localised method does in each.

Reference
---------
Xu et al. 2025, Algorithms 3, 4 and 5.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Round:
    """A run of the localised method on records of its own, within ``radius`` of where it starts."""

    n_rows: int
    radius: float


@dataclass(frozen=True)
class Phase:
    """One minimisation of a clipped loss with a penalty, on records of its own.

    Attributes
    ----------
    n_rows
        How many records it reads.
    strength
        Of the penalty on the distance from where it starts.
    clip_norm
        The bound on one record's gradient.
    radius
        How far from the start of the round it may go.
    opens_round
        Whether the round starts here.
    """

    n_rows: int
    strength: float
    clip_norm: float
    radius: float
    opens_round: bool


def halving_sizes(n_rows: int, smallest: int) -> tuple[int, ...]:
    """Halves, quarters and so on, down to ``smallest``; what is left over goes to the first."""
    rest = [size for size in printed_halving_sizes(n_rows)[1:] if size >= smallest]
    return (n_rows - sum(rest), *rest)


def printed_halving_sizes(n_rows: int) -> tuple[int, ...]:
    """Halves, quarters and so on, down to one record, as Algorithm 3 has it."""
    return tuple(n_rows // 2**i for i in range(1, n_rows.bit_length())) or (n_rows,)


def equal_sizes(n_rows: int) -> tuple[int, ...]:
    """Cut into floor(log2(2 n / log2(n)) / 2) - 1 equal rounds, at least 1; the last has most."""
    count = 1
    if n_rows > 1:
        count = max(1, math.floor(math.log2(2.0 * n_rows / math.log2(n_rows)) / 2.0) - 1)
    return (*[n_rows // count] * (count - 1), n_rows - (count - 1) * (n_rows // count))


def doubling_sizes(n_rows: int, growth_bound: float, smallest: int) -> tuple[int, ...]:
    """Cut into rounds that double, none below ``smallest`` if there is more than one.

    Their number is ``log2(log2(n)) / log2(growth_bound)``, at most, where ``growth_bound`` is above
    1 and at most the exponent of the noise condition.
    """
    printed = math.floor(math.log2(max(1.0, math.log2(n_rows))) / math.log2(growth_bound))
    count = max(1, min(printed, math.floor(math.log2(n_rows / smallest + 1.0))))
    sizes = [2**i * n_rows // (2**count - 1) for i in range(count)]
    return (*sizes[:-1], n_rows - sum(sizes[:-1]))


def strengths(
    sizes: tuple[int, ...], step_parameter: float, *, first_power: float = 1.0, power: float = 1.0
) -> tuple[float, ...]:
    """Strength of the penalty of each phase, ``4^i / (eta n_i^power)``.

    The paper has the powers ``2 p`` in the first phase and ``p`` later, with ``p`` at least 1.
    """
    powers = (first_power, *[power] * (len(sizes) - 1))
    return tuple(
        4.0**i / (step_parameter * size**exponent)
        for i, (size, exponent) in enumerate(zip(sizes, powers, strict=True), start=1)
    )
