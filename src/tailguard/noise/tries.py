"""Draw the number of tries of a search, and the candidate of each try.

Chances are added up, in decimal arithmetic of 120 digits, until the sum exceeds a uniform number of
384 binary digits. The total error of the chances is below ``2**-300``. A number beyond the law's
limit, which has a chance below ``1e-26``, becomes the limit.

Reference
---------
Devroye 1986, Section III.2 (inversion by sequential search).
"""

from decimal import Decimal

from tailguard.noise.orders import random_sample
from tailguard.noise.smooth import DIGITS, WORDS
from tailguard.noise.sources import Source
from tailguard.privacy.decimals import decimals
from tailguard.privacy.tries import NumberOfTries


def draw_number_of_tries(tries: NumberOfTries, source: Source) -> int:
    """Draw a number of tries, between 1 and the law's limit.

    Guarantee
    ---------
    Within 1e-26 of the law, in total variation, if the source's words are independent and uniform.
    """
    words = source.words(WORDS)
    with decimals(DIGITS):
        uniform = Decimal(int.from_bytes(words.astype(">u8").tobytes())) / 2 ** (64 * WORDS)
        number, chance = 1, tries.first_chance()
        total = chance
        while uniform >= total and number < tries.limit:
            chance *= tries.chance_ratio(number)
            total += chance
            number += 1
    return number


def draw_place(n_places: int, source: Source) -> int:
    """Draw a place below ``n_places``, uniformly."""
    return int(random_sample(n_places, 1, source)[0])
