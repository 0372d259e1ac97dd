"""The exponential by the same steps for every number, which serve several numbers at once.

The exponential of C's library is called for one number at a time, which took most of the time of a
slope, and looks at its number to choose its steps.
"""

import numpy as np

# Adding and taking it away rounds to a whole number, which its last bits then hold.
ROUNDING = 1.5 * 2.0**52
INVERSE_LOG_2 = 1.4426950408889634
# The first 42 bits of log(2), so that its product with a power of two to 1023 is exact, and the
# 53 that follow (Cody and Waite 1980).
LOG_2, REST_OF_LOG_2 = 0.6931471805598903, 5.497923018708371e-14
FRACTION_BITS, BIAS = 52, 1023
# 2 B(2n) / (2n)! with the numbers of Bernoulli. At log(2) / 2 the next term is 1e-17 of the sum,
# and moves the quotient by 2e-18 of itself.
SECOND, FOURTH, SIXTH = 1 / 6, -1 / 360, 1 / 15120
EIGHTH, TENTH, TWELFTH = -1 / 604800, 1 / 23950080, -691 / 653837184000


def exponential(exponent: float) -> float:
    """Return ``e**exponent`` for exponents within 700 of zero, NaN for NaN.

    With ``exponent = k log(2) + r`` it is ``2**k (c + r) / (c - r)`` where ``c = r coth(r / 2)``, a
    series in ``r**2``. Rounding ``r``, ``c``, the two sums and the quotient errs by at most 4
    roundoffs of 2**-53, relatively.

    Reference
    ---------
    Abramowitz and Stegun 1964, 4.5.67 (the series).
    """
    shifted = np.float64(exponent * INVERSE_LOG_2 + ROUNDING)
    k = shifted - ROUNDING
    r = (exponent - k * LOG_2) - k * REST_OF_LOG_2
    s = r * r
    c = 2 + s * (SECOND + s * (FOURTH + s * (SIXTH + s * (EIGHTH + s * (TENTH + s * TWELFTH)))))
    power = np.int64((shifted.view(np.int64) + BIAS) << FRACTION_BITS).view(np.float64)
    value: float = power * ((c + r) / (c - r))
    return value
