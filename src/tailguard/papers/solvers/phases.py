"""Cut the records into phases, and set the parameters of a localised method in each.

Reference
---------
Xu et al. 2025, Algorithms 3, 4 and 5.
"""

import math
from dataclasses import dataclass

from tailguard.checks import InputError, check_finite, check_integer, shown

SMALLEST_ROUND = 32  # records, of rounds and phases: a round figure


@dataclass(frozen=True)
class Round:
    """A run of the localised method on its own records, within ``radius`` of its start."""

    n_rows: int
    radius: float


@dataclass(frozen=True)
class Phase:
    """One minimisation of a clipped loss with a penalty, on its own records.

    Attributes
    ----------
    n_rows
        The number of records.
    strength
        The strength of the penalty on the distance from the phase's start.
    clip_norm
        The bound on one record's gradient.
    radius
        The largest distance from the start of the round.
    opens_round
        Whether it is the first phase of a round.
    step_size, n_steps, travel
        The eta_i, T_i and D_i of the printed descent. It takes 1 / (lambda_i eta_i) steps.
    """

    n_rows: int
    strength: float
    clip_norm: float
    radius: float
    opens_round: bool
    step_size: float
    n_steps: int
    travel: float

    @property
    def move(self) -> float:
        """The printed sensitivity, ``2 C / (n lambda)``."""
        return 2.0 * self.clip_norm / (self.n_rows * self.strength)


def halving_sizes(n_rows: int, smallest: int) -> tuple[int, ...]:
    """Halves, quarters and so on, down to ``smallest``; the first takes the remainder."""
    rest = [size for size in printed_halving_sizes(n_rows)[1:] if size >= smallest]
    return (n_rows - sum(rest), *rest)


def printed_halving_sizes(n_rows: int) -> tuple[int, ...]:
    """Halves, quarters and so on, down to one record, as in Algorithm 3."""
    return tuple(n_rows // 2**i for i in range(1, n_rows.bit_length())) or (n_rows,)


def equal_sizes(n_rows: int, *, printed: bool = False) -> tuple[int, ...]:
    """Cut into floor(log2(2 n / log2(n)) / 2) - 1 equal rounds, at least 1.

    The last takes the remainder, which the printed rounds of Algorithm 4 do not use.
    """
    count = max(1, math.floor(math.log2(2.0 * n_rows / max(1.0, math.log2(n_rows))) / 2.0) - 1)
    size = n_rows // count
    return (*[size] * (count - 1), size if printed else n_rows - (count - 1) * size)


def doubling_sizes(n_rows: int, growth_bound: float, smallest: int) -> tuple[int, ...]:
    """Cut into rounds that double, none below ``smallest`` if there is more than one.

    Their number is at most ``log2(log2(n)) / log2(growth_bound)``. ``growth_bound`` is above 1 and
    at most the exponent of the noise condition.
    """
    printed = math.floor(math.log2(max(1.0, math.log2(n_rows))) / math.log2(growth_bound))
    count = max(1, min(printed, math.floor(math.log2(n_rows / smallest + 1.0))))
    sizes = [2**i * n_rows // (2**count - 1) for i in range(count)]
    return (*sizes[:-1], n_rows - sum(sizes[:-1]))


def printed_doubling_sizes(n_rows: int, growth_bound: float) -> tuple[int, ...]:
    """Cut as printed in Algorithm 5: ``2^(i-1) n / log2(n)^k`` for ``k = 1 / log2(growth_bound)``.

    Sizes are rounded down, and some records are not used. If the bound is small, the first rounds
    are empty; if it is large, there is no round.
    """
    base, logs = 1.0 / math.log2(growth_bound), max(1.0, math.log2(n_rows))
    share = n_rows / logs**base
    return tuple(math.floor(2**i * share) for i in range(math.floor(base * math.log2(logs))))


def check_doubling(n_rows: int, growth_bound: float) -> None:
    """Refuse numbers with which Algorithm 5 cannot cut the records into phases."""
    check_integer("n_rows", n_rows, minimum=2)
    if check_finite("growth_bound", growth_bound) <= 1.0:
        raise InputError(f"growth_bound must be a number above 1; got {shown(growth_bound)}.")


def doubling_rounds(
    n_rows: int, growth_bound: float, smallest: int, *, printed: bool
) -> tuple[int, ...]:
    """Return the sizes of doubling rounds; refuse empty printed rounds."""
    if not printed:
        return doubling_sizes(n_rows, growth_bound, smallest)
    sizes = printed_doubling_sizes(n_rows, growth_bound)
    if not sizes or min(sizes) < 1:
        raise InputError(
            f"growth_bound must leave records in every round for the printed sizes of {n_rows} "
            f"records; got {growth_bound:g}, which has rounds of "
            f"{', '.join(map(str, sizes)) or 'no'} records."
        )
    return sizes


def strengths(
    sizes: tuple[int, ...], step_parameter: float, *, first_power: float = 1.0, power: float = 1.0
) -> tuple[float, ...]:
    """Strength of the penalty of each phase, ``4^i / (eta n_i^power)``.

    The paper's powers are ``2 p`` in the first phase and ``p`` later, with ``p`` at least 1.
    """
    powers = (first_power, *[power] * (len(sizes) - 1))
    return tuple(
        4.0**i / (step_parameter * size**exponent)
        for i, (size, exponent) in enumerate(zip(sizes, powers, strict=True), start=1)
    )
