"""Discrete Gaussian noise on the integers, from a table widened level by level.

The table describes the discrete Gaussian ``P(x) ~ exp(-x**2 / (2 * 64**2))`` on the integers from
-704 to 704 (11 standard deviations), by cumulative probabilities of 128 binary digits. It is built
once, at its first use, in decimal arithmetic of 70 digits and without floats. So every platform has
the same integers.

A first draw ``x`` from the table is widened by ``x <- 32 x + (another draw)``; five levels give a
standard deviation of about 6.7e7 lattice steps. In each widening the added draw has a standard
deviation of 64 / 32 = 2 steps of the lattice of ``32 x``, which is above the smoothing parameter of
that lattice. So the sum is a discrete Gaussian again. At two levels the relative error of
probabilities is at most 1.2e-34 (checked in the tests); later widenings, of a wider draw, are even
closer.

The books account for a rounded continuous Gaussian, whose release is mu-GDP since rounding is
post-processing. The probability of an integer ``k`` under the rounded Gaussian, divided by that
under the discrete Gaussian, is the mean over a uniform ``u`` in [-1/2, 1/2] of
``cosh(a u) exp(-u**2 / (2 std**2))`` with ``a = k / std**2``. This is at most
``sinh(a / 2) / (a / 2) <= exp(a**2 / 24)``, and by Jensen's inequality at least
``exp(-1 / (24 std**2))``. No draw lies beyond 11.4 standard deviations, so the logarithm of the
ratio stays within ``z**2 / (24 std**2)`` for ``z`` of 11.4: 1.2e-15 at five levels, 1.2e-12 at
four. (In total variation the two laws are ``0.0202 / std**2`` apart: 4.5e-18 and 4.6e-15.)

Reference
---------
Micciancio and Walter 2017 (convolution of discrete Gaussians); Canonne, Kamath and
Steinke 2020 (privacy of the discrete Gaussian).
"""

import math
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from itertools import accumulate

import numpy as np

from tailguard.array_types import IntArray
from tailguard.machine_code import builds_loop, compiled, read_only
from tailguard.noise.sources import Source, Words
from tailguard.privacy.accounting.total_cost import Distance
from tailguard.privacy.decimals import decimals

BASE_STD = 64
LARGEST = 704
# 4096 buckets fit into the first-level cache, and a look-up then takes about one step.
BUCKET_BITS = 12
_WORD_MASK = 2**64 - 1


@cache
def gaussian_table() -> tuple[Words, Words, IntArray]:
    """Return thresholds that turn uniform words into cells; cell ``c`` stands for ``c - LARGEST``.

    The first array has the leading 64 binary digits of ``P(X <= x)`` for every x except the last,
    and then the largest word. The second has the next 64 digits, which decide if a random word
    equals an entry of the first array. The third has the lowest possible cell for each value of the
    leading ``BUCKET_BITS`` digits of a word.
    """
    thresholds = _cumulative_probabilities()
    upper = np.array([value >> 64 for value in thresholds] + [_WORD_MASK], dtype=np.uint64)
    lower = np.array([value & _WORD_MASK for value in thresholds] + [_WORD_MASK], dtype=np.uint64)
    starts = np.arange(2**BUCKET_BITS, dtype=np.uint64) << np.uint64(64 - BUCKET_BITS)
    first_cell = np.searchsorted(upper, starts, side="left").astype(np.int64)
    for array in (upper, lower, first_cell):
        array.setflags(write=False)
    return upper, lower, first_cell


def _cumulative_probabilities() -> list[int]:
    """Return ``floor(2**128 * P(X <= x))`` for x from ``-LARGEST`` to ``LARGEST - 1``."""
    with decimals(70):
        ratio = (Decimal(-1) / (2 * BASE_STD**2)).exp()  # weight(1) / weight(0)
        weights = [Decimal(1)]
        for x in range(LARGEST):
            weights.append(weights[-1] * ratio ** (2 * x + 1))
        both_sides = weights[:0:-1] + weights
        total = sum(both_sides)
        return [int(below * 2**128 / total) for below in accumulate(both_sides[:-1])]


WIDENING = 32
# Total variation of one table draw: the tail beyond LARGEST (3.5e-28), the 128-digit thresholds
# (5e-36) and the convolution (2e-34) together, with a margin of a factor of ten.
CELL_VARIATION = 5e-27
_BUCKET_SHIFT = np.uint64(64 - BUCKET_BITS)


@cache
def lattice_std(levels: int) -> float:
    """Return the standard deviation, in lattice steps, of noise of ``levels`` table draws."""
    variance = BASE_STD**2 * sum(WIDENING ** (2 * level) for level in range(levels))
    return math.sqrt(variance)


@cache
def coordinate_distance(levels: int) -> Distance:
    """Return the distance of a draw from the rounded Gaussian that the books account for."""
    largest = LARGEST * sum(WIDENING**level for level in range(levels))
    largest_deviation = largest / lattice_std(levels)
    log_ratio = largest_deviation**2 / (24.0 * lattice_std(levels) ** 2)
    return Distance(log_ratio * (1.0 + 2.0**-40), levels * CELL_VARIATION)


def discrete_gaussian(size: int, levels: int, source: Source) -> IntArray:
    """Draw ``size`` integers of standard deviation ``lattice_std(levels)``.

    Guarantee
    ---------
    Within ``size * levels * CELL_VARIATION`` of the discrete Gaussian in total variation: if a word
    ties with a threshold, a further word decides. Each number drawn is within
    ``coordinate_distance(levels)`` of a rounded Gaussian.
    """
    upper, lower, first_cell = gaussian_table()
    words = source.words(size * levels)
    noise = np.empty(size, dtype=np.int64)
    if _compiled_draws()(words, first_cell, upper, noise):
        _settle_ties(words, upper, lower, noise, source)
    return noise


@builds_loop
def _compiled_draws() -> Callable[[Words, IntArray, Words, IntArray], bool]:
    words, cells = read_only("uint64"), read_only("int64")
    return compiled(_widened_draws, f"boolean({words}, {cells}, {words}, int64[::1])", nogil=True)


def _widened_draws(words: Words, first_cell: IntArray, upper: Words, noise: IntArray) -> bool:
    """Fill ``noise``, with ties treated as below the threshold; return whether there was a tie."""
    levels = words.size // max(noise.size, 1)
    tied = False
    for coordinate in range(noise.size):
        total = 0
        for word in words[coordinate * levels : (coordinate + 1) * levels]:
            cell = first_cell[word >> _BUCKET_SHIFT]
            while upper[cell] < word:
                cell += 1
            tied |= upper[cell] == word
            total = WIDENING * total + cell - LARGEST
        noise[coordinate] = total
    return tied


def _settle_ties(words: Words, upper: Words, lower: Words, noise: IntArray, source: Source) -> None:
    """Compare a second word with the further digits of each tied draw's thresholds.

    In the tails several thresholds share their first 64 digits. The draw moves up by one for each
    such threshold whose further 64 digits are at most the second word.
    """
    levels = words.size // noise.size
    for position in np.flatnonzero(np.isin(words, upper[:-1])):
        coordinate, level = divmod(int(position), levels)
        further = lower[:-1][upper[:-1] == words[position]]
        steps = int(np.count_nonzero(further <= source.words(1)[0]))
        noise[coordinate] += steps * WIDENING ** (levels - 1 - level)
