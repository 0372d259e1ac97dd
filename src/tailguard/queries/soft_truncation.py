"""The smoothed soft truncation of Catoni and Giulini: an odd, increasing, bounded map.

``psi(a)`` is the mean of ``phi(a (1 + Z / sqrt(smoothing)))`` over a standard normal ``Z``, where
``phi(z) = z - z**3 / 6`` up to ``sqrt(2)`` and constant beyond. ``psi`` is the identity to first
order and never exceeds ``soft_limit(smoothing)``. It has a closed form, but for large arguments
this cancels catastrophically: at 1e6 it returns 15.4 instead of 0.91. Hence three branches:

- up to ``cubic_reach``: ``a - a**3 (1/6 + 1 / (2 smoothing))``, with an error below 5e-21;
- up to 4: the closed form;
- beyond: a polynomial in ``1 / a``, fitted to an integral without cancellation.

The compiled kernels use one polynomial beyond the cubic branch (:func:`fast_soft_truncation`). Its
argument ``|a| / sqrt(bend + a**2)`` runs from nearly 0 to 1.

Reference
---------
Wang, Xiao, Devadas and Xu 2020, equations (5) to (11) and Appendix B; Catoni and Giulini 2017;
Holland 2019.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike
from scipy.special import ndtr

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_finite, check_positive, shown
from tailguard.queries.loop import compiled_loop

KINK = math.sqrt(2.0)
# phi(KINK), as in equation (6) of Wang et al.; the 2 sqrt(2) / 2 in their text is a misprint.
TOP = 2.0 * math.sqrt(2.0) / 3.0

# The closed form is used up to here, where its error is below 3.2e-14 for smoothings from 1/4 on.
LARGEST_CLOSED = 4.0
FAR_DEGREE = 16
FAST_DEGREES = (20, 32)
"""Degrees of the polynomials of :func:`fast_form`, for small and for large smoothings."""

# Up to this smoothing the lower degree errs by less than 3e-9. Each degree has its own bend, the
# number from 1/16 to 4 with the least error in a trial.
SHORT_SMOOTHING, BENDS = 12.0, (0.25, 1.0)

# How many polynomials are evaluated together; they fit into the first-level cache.
STRIP = 256
LARGEST_ARGUMENT = 2.0**27
"""The fast form cuts arguments to this, where psi is within 1e-16 of its limit."""


def soft_limit(smoothing: float) -> float:
    """Supremum of the smoothed truncation, ``(2 sqrt(2) / 3) erf(sqrt(smoothing / 2))``."""
    return TOP * math.erf(math.sqrt(check_positive("smoothing", smoothing) / 2.0))


def cubic_reach(smoothing: float) -> float:
    """Return the magnitude up to which psi is a cubic polynomial in float64."""
    return KINK / (1.0 + 8.5 / math.sqrt(smoothing))


def expected_truncation(center: ArrayLike, spread: ArrayLike) -> FloatArray:
    """Mean of ``phi(center + spread * Z)``, in closed form.

    Edge cases
    ----------
    Use it for moderate centres only: cancellation loses about ``center**3`` roundoffs.

    Reference
    ---------
    Wang, Xiao, Devadas and Xu 2020, Appendix B.
    """
    a, b = np.asarray(center, dtype=np.float64), np.asarray(spread, dtype=np.float64)
    with np.errstate(all="ignore"):
        # Beyond 1e3 deviations every tail is zero in float64, and its square would overflow.
        low = np.clip(np.where(b > 0, (KINK - a) / b, np.copysign(1e3, KINK - a)), -1e3, 1e3)
        high = np.clip(np.where(b > 0, (KINK + a) / b, np.copysign(1e3, KINK + a)), -1e3, 1e3)
    above, below = ndtr(-low), ndtr(-high)
    low_density, high_density = (np.exp(-(v**2) / 2) / math.sqrt(2 * math.pi) for v in (low, high))
    cubic = a * (1 - b**2 / 2) - a**3 / 6
    corrections = (
        TOP * (above - below)
        - (a - a**3 / 6) * (above + below)
        + b * (1 - a**2 / 2) * (high_density - low_density)
        + a * b**2 / 2 * (above + below + high * high_density + low * low_density)
        + b**3 / 6 * ((2 + low**2) * low_density - (2 + high**2) * high_density)
    )
    return cubic + corrections


def soft_truncation(values: ArrayLike, smoothing: float) -> FloatArray:
    """Return psi of every value; the error is below 1e-14 for smoothings from 1 on.

    Guarantee
    ---------
    No result exceeds ``soft_limit(smoothing)`` in magnitude, whatever the value.

    Edge cases
    ----------
    An infinity gives the limit with its sign; NaN gives zero.

    Reference
    ---------
    Wang, Xiao, Devadas and Xu 2020, equation (10) and Appendix B.
    """
    limit = soft_limit(smoothing)
    signed = np.nan_to_num(np.asarray(values, dtype=np.float64), nan=0.0)
    size = np.minimum(np.abs(signed), 1e300)
    reach = min(cubic_reach(smoothing), LARGEST_CLOSED)
    near = np.minimum(size, reach)
    middle = np.clip(size, reach, LARGEST_CLOSED)
    inverse = np.minimum(1.0 / np.maximum(size, LARGEST_CLOSED), 1.0 / LARGEST_CLOSED)
    far = limit + chebyshev.chebval(2 * LARGEST_CLOSED * inverse - 1, _far_coefficients(smoothing))
    magnitude = np.select(
        [size < reach, size <= LARGEST_CLOSED],
        [
            near - near**3 * _cubic_coefficient(smoothing),
            expected_truncation(middle, middle / math.sqrt(smoothing)),
        ],
        far,
    )
    return np.copysign(np.clip(magnitude, 0.0, limit), signed)


def fast_form(smoothing: float) -> FloatArray:
    """Return the numbers from which compiled code evaluates :func:`fast_soft_truncation`.

    They are ``reach, cubic coefficient, limit, bend, factor, shift``, then the coefficients of the
    polynomial, the highest power first.
    """
    if not 0.25 <= check_finite("smoothing", smoothing) <= 400.0:
        raise InputError(f"smoothing must be a number from 0.25 to 400; got {shown(smoothing)}.")
    return _fast_form(float(smoothing))


def fast_soft_truncation(values: ArrayLike, smoothing: float) -> FloatArray:
    """Return psi of every number, with the same steps for each: a root, products and sums.

    Beyond the cubic branch psi is ``sign(a) P(v)`` with ``v = |a| / sqrt(bend + a**2)``, clamped.

    Guarantee
    ---------
    Results are odd in the argument, and never exceed ``soft_limit(smoothing)`` in magnitude. The
    clamp comes last and is exact. So the sensitivity needs no charge for the polynomial's error.

    Edge cases
    ----------
    It differs from :func:`soft_truncation` by at most 2e-9 for smoothings from 1/2 to 100, and by
    at most 1e-6 from 1/4 to 400. Other smoothings are refused.
    """
    softened = np.array(values, dtype=np.float64)
    _soften()(fast_form(smoothing), softened.reshape(-1))
    return softened


@compiled_loop("in vector", "vector")
def _soften(form: FloatArray, values: FloatArray) -> None:
    """Replace every value by its psi, computed from the numbers of the fast form."""
    reach, cubic, limit, bend, factor, shift = form[:6]
    argument, total = np.empty(STRIP), np.empty(STRIP)
    for start in range(0, values.size, STRIP):
        count = min(STRIP, values.size - start)
        for j in range(count):
            number = values[start + j]
            number = number if number < LARGEST_ARGUMENT else LARGEST_ARGUMENT
            number = number if number > -LARGEST_ARGUMENT else -LARGEST_ARGUMENT
            values[start + j] = number
            argument[j] = abs(number) / math.sqrt(number * number + bend) * factor + shift
            total[j] = form[6]
        for k in range(7, form.size):
            coefficient = form[k]
            for j in range(count):
                total[j] = total[j] * argument[j] + coefficient
        for j in range(count):
            number = values[start + j]
            far = total[j] if number > 0.0 else -total[j]
            value = number * (1.0 - number * number * cubic) if abs(number) < reach else far
            value = value if value < limit else limit
            values[start + j] = value if value > -limit else -limit


def _cubic_coefficient(smoothing: float) -> float:
    """Return the factor of ``-a**3`` in the cubic branch."""
    return 1 / 6 + 1 / (2 * smoothing)


@lru_cache(maxsize=64)
def _far_coefficients(smoothing: float) -> FloatArray:
    """Return Chebyshev coefficients, in ``1 / a``, of the difference of psi and its limit."""

    def distance(argument: Any) -> Any:
        return _integral(2 * LARGEST_CLOSED / (1 + argument), smoothing) - soft_limit(smoothing)

    return chebyshev.chebinterpolate(distance, FAR_DEGREE)


def _integral(size: FloatArray, smoothing: float) -> FloatArray:
    """Return psi as an integral of phi against a normal density, which does not cancel."""
    nodes, weights = np.polynomial.legendre.leggauss(48 if smoothing <= 200 else 200)
    spread = size / math.sqrt(smoothing)
    tails = TOP * (ndtr((size - KINK) / spread) - ndtr(-(size + KINK) / spread))
    points = KINK * nodes
    deviations = (points - size[:, None]) / spread[:, None]
    densities = np.exp(-(deviations**2) / 2) / (math.sqrt(2 * math.pi) * spread[:, None])
    return tails + densities @ (KINK * weights * (points - points**3 / 6))


@lru_cache(maxsize=64)
def _fast_form(smoothing: float) -> FloatArray:
    """Fit the polynomial of the fast form."""
    large = smoothing > SHORT_SMOOTHING
    reach, bend = cubic_reach(smoothing), BENDS[large]
    # The polynomial's argument runs over [-1, 1] while v runs over [least, 1].
    least = reach / math.sqrt(bend + reach**2)
    factor = 2 / (1 - least)
    shift = -1 - factor * least

    def psi(argument: Any) -> Any:
        v = (argument - shift) / factor
        return soft_truncation(v * math.sqrt(bend) / np.sqrt((1 - v) * (1 + v)), smoothing)

    fitted = chebyshev.cheb2poly(chebyshev.chebinterpolate(psi, FAST_DEGREES[large]))
    start = (reach, _cubic_coefficient(smoothing), soft_limit(smoothing), bend, factor, shift)
    form = np.array([*start, *fitted[::-1]])
    form.setflags(write=False)  # all callers share it
    return form
