"""Exact discrete Laplace noise: the difference of two geometric integers, drawn digit by digit.

With ``P(X = x) ~ exp(-|x| / scale)`` and ``scale = 2**k``, X is the difference of two independent
integers with ``P(G = g) ~ exp(-g / scale)``. The binary digits of G are independent, and the digit
of weight ``2**j`` is one with probability ``1 / (1 + exp(2**(j - k)))``, because ``exp(-g /
scale)`` is a product over the digits of g. The part of G above these digits, in units of ``32 *
scale``, is again geometric, with ratio ``exp(-32)``.

Each digit is an exact coin, so the total variation is zero. A coin compares a uniform number with a
probability p, in as many binary digits as needed: the first 64-bit word in which they differ
decides. One comparison in 2**64 ties and needs another word.

Reference
---------
Ghosh, Roughgarden and Sundararajan 2012 (the geometric mechanism); Canonne, Kamath and Steinke
2020, Section 5 (exact coins); the digits' independence is immediate from the product above.
"""

from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache
from math import floor

import numpy as np
from numpy.typing import NDArray

from tailguard.array_types import IntArray
from tailguard.machine_code import builds_loop, compiled, read_only
from tailguard.noise.sources import Source, Words
from tailguard.privacy.decimals import decimals

# The number of random bits in a word of a source.
WORD_BITS = 64


def binary_digits(probability: Callable[[], Decimal], count: int) -> int:
    """Return ``floor(2**count * p)``, exact to the last digit.

    ``probability`` evaluates an irrational p with a few correctly rounded decimal operations at
    the current precision. The precision grows until both ends of the error interval agree.
    """
    shift = 1 << count
    precision = count // 3 + 16  # a decimal digit is worth more than three binary digits
    while True:
        with decimals(precision):
            value = Fraction(probability())
        error = value * Fraction(1, 10 ** (precision - 4))  # 10**4 roundings, far more than occur
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


# Noise is clipped here. Mechanisms clip their output at half of this, so no output changes.
NOISE_LIMIT = 2**62
# Digits extend this many doublings above the scale; larger values have probability exp(-32).
_DOUBLINGS = 5
# Coordinates that are drawn together: the words of 2**12 (2 MB at the default scale) fit a cache.
_BATCH = 2**12


def discrete_laplace(size: int, log2_scale: int, source: Source) -> IntArray:
    """Draw ``size`` integers with ``P(x) ~ exp(-|x| / 2**log2_scale)``, exactly.

    Guarantee
    ---------
    The distribution is exact, up to clipping at ``NOISE_LIMIT``.
    """
    noise = np.empty(size, dtype=np.int64)
    for start in range(0, size, _BATCH):
        _fill(noise[start : start + _BATCH], log2_scale, source)
    return noise


def _fill(noise: IntArray, log2_scale: int, source: Source) -> None:
    """Draw one batch: all first words at once, then the rare coins that need more."""
    thresholds = _thresholds(log2_scale)
    words = source.words(noise.size * 2 * thresholds.size)
    if _compiled_differences()(words, thresholds, noise):
        _settle_digits(words.reshape(-1, 2, thresholds.size), log2_scale, noise, source)


@builds_loop
def _compiled_differences() -> Callable[[Words, Words, IntArray], bool]:
    words = read_only("uint64")
    return compiled(_digit_differences, f"boolean({words}, {words}, int64[::1])", nogil=True)


def _digit_differences(words: Words, thresholds: Words, noise: IntArray) -> bool:
    """Fill ``noise`` from the digits, with 0 for ties; return whether a coin needs more words."""
    overflow = thresholds.size - 1
    rare = False
    position = 0
    for coordinate in range(noise.size):
        noise[coordinate] = 0
        for sign in (1, -1):
            geometric = 0
            for digit in range(overflow):
                word = words[position + digit]
                geometric += int(word < thresholds[digit]) << digit
                rare |= word == thresholds[digit]
            rare |= words[position + overflow] <= thresholds[overflow]
            position += thresholds.size
            noise[coordinate] += sign * geometric
    return rare


def _settle_digits(
    words: NDArray[np.uint64], log2_scale: int, noise: IntArray, source: Source
) -> None:
    """Add the digits that further words decide, and the geometric part above the digits."""
    thresholds = _thresholds(log2_scale)
    overflow = thresholds.size - 1
    undecided = words == thresholds
    undecided[..., overflow] |= words[..., overflow] < thresholds[overflow]
    additions: dict[int, int] = defaultdict(int)
    for coordinate, side, digit in np.argwhere(undecided).tolist():
        coin = _coin(digit, log2_scale)
        if digit == overflow:
            word, threshold = int(words[coordinate, side, digit]), int(thresholds[digit])
            units = _successes(coin, word, threshold, source)
        else:
            units = int(settle_tie(coin, source))
        additions[coordinate] += (1, -1)[side] * units * 2**digit
    for coordinate, addition in additions.items():
        exact = int(noise[coordinate]) + addition
        noise[coordinate] = min(max(exact, -NOISE_LIMIT), NOISE_LIMIT)


def _successes(coin: Callable[[], Decimal], word: int, threshold: int, source: Source) -> int:
    """Count successes before the first failure; the first word was drawn already."""
    count = 0
    while word < threshold or (word == threshold and settle_tie(coin, source)):
        count += 1
        word = int(source.words(1)[0])
    return count


@cache
def _thresholds(log2_scale: int) -> Words:
    """Return 64 binary digits of each digit's probability; the last entry is the overflow's."""
    coins = [_coin(digit, log2_scale) for digit in range(log2_scale + _DOUBLINGS + 1)]
    thresholds = np.array([binary_digits(coin, WORD_BITS) for coin in coins], dtype=np.uint64)
    thresholds.setflags(write=False)
    return thresholds


def _coin(digit: int, log2_scale: int) -> Callable[[], Decimal]:
    """Return a function for the probability of a digit, or of one more overflow."""
    doublings = digit - log2_scale
    if doublings == _DOUBLINGS:
        return lambda: Decimal(-(2**_DOUBLINGS)).exp()
    return lambda: 1 / (1 + (Decimal(2) ** doublings).exp())
