"""The exponential mechanism over integer scores, several times without replacement, exactly.

Adding independent Gumbel noise to every score and taking the ``count`` largest is the same as
``count`` exponential mechanisms, each over what is left. Nothing but the winners' places comes out,
so real Gumbel noise is wanted, and floats may only be used as long as they are sure of the order:

* a Gumbel variable is ``-log(-log(u))`` with ``u`` uniform; 64 binary digits of ``u`` place it
  within ``2**-26``, unless ``u`` lies within ``2**-38`` of 0 or 1;
* float arithmetic errs by far less than the ``SLACK`` that every key is given;
* keys that this leaves undecided, about one release in a million, get 256 further digits each and
  are compared in decimal arithmetic.

What is left undecided after 320 digits goes to the earlier place. Two keys are that close with
probability below ``2**-300``, which bounds the total variation of a pair.

Reference
---------
Durfee and Rogers 2019, Lemma 4.2 (the largest Gumbel-noised scores are exponential mechanisms one
after the other); McSherry and Talwar 2007 (the exponential mechanism).
"""

from decimal import Decimal, localcontext

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.noise.sources import Source, Words

PAIR_VARIATION = 2.0**-300
"""Probability that two keys agree to the last digit drawn."""

SLACK = 2.0**-20
FAR_SLACK = 2.0**-40  # per scale of distance: a float has 52 binary digits
WORD, HALF = 2.0**-64, np.uint64(2**63)
EXTREME = np.uint64(2**26)  # words this close to either end say too little about their variable
FURTHER_WORDS = 4
PRECISION = 130  # decimal digits; 320 binary ones are 97


def gumbel_top(scores: IntArray, count: int, scale: float, source: Source) -> IntArray:
    """Return the places of the ``count`` largest of ``score + scale * Gumbel``, in rising order.

    Guarantee
    ---------
    Within ``scores.size**2 * PAIR_VARIATION`` of ``count`` exponential mechanisms
    ``P(j) ~ exp(score_j / scale)`` without replacement, in total variation.

    Edge cases
    ----------
    Equal keys go to the earlier place. Scores must stay within ``2**61``.
    """
    words = source.words(scores.size)
    if count >= scores.size:
        return np.arange(scores.size)
    gaps = (scores - scores.max()) / scale
    keys = gaps + _gumbel(words)
    slack = SLACK + FAR_SLACK * np.abs(gaps)
    slack[np.minimum(words, ~words) < EXTREME] = np.inf
    low, high = keys - slack, keys + slack
    # At least count keys reach the first level, and at most count exceed the second.
    reached = -np.partition(-low, count - 1)[count - 1]
    exceeded = -np.partition(-high, count)[count]
    sure = low > exceeded
    open_places = np.flatnonzero((high >= reached) & ~sure)
    missing = count - int(np.count_nonzero(sure))
    if missing < open_places.size:
        open_places = _settle_order(scores, words, scale, open_places, source)[:missing]
    return np.union1d(np.flatnonzero(sure), open_places)


def _gumbel(words: Words) -> FloatArray:
    """Return ``-log(-log(u))`` for the middle of each word's interval."""
    upper = words >= HALF
    to_zero, to_one = (
        (np.minimum(end, HALF).astype(np.float64) + 0.5) * WORD for end in (words, ~words)
    )
    exponential = np.where(upper, -np.log1p(-to_one), -np.log(to_zero))
    return np.asarray(-np.log(exponential))


def _settle_order(
    scores: IntArray, words: Words, scale: float, places: IntArray, source: Source
) -> IntArray:
    """Sort places by their keys, largest first, after drawing more digits for each."""
    further = source.words(FURTHER_WORDS * places.size).reshape(-1, FURTHER_WORDS)
    best = int(scores[places].max())
    with localcontext() as context:
        context.prec = PRECISION
        keys = [
            Decimal(int(scores[place]) - best) / Decimal(scale)
            - _exponential(int(words[place]), digits.tolist()).ln()
            for place, digits in zip(places, further, strict=True)
        ]
        # Within the context still: a change of sign rounds, too.
        order = sorted(range(places.size), key=lambda index: (-keys[index], index))
    ordered: IntArray = places[order]
    return ordered


def _exponential(first: int, further: list[int]) -> Decimal:
    """Return ``-log(u)`` for the middle of the interval that all digits leave."""
    digits = first
    for word in further:
        digits = digits << 64 | word
    middle = 2 * digits + 1
    return -(Decimal(middle) / Decimal(1 << 64 * (1 + len(further)) + 1)).ln()
