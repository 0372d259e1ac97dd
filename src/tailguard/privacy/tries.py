"""The number of tries of a search: random, secret and at least one.

Reference
---------
Papernot and Steinke 2022, Definition 1 (truncated negative binomial numbers, which include the
geometric and the logarithmic) and Section 3.4 (Poisson).
"""

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from tailguard.checks import check_between, check_choice
from tailguard.privacy.events import LARGEST_MEAN, LAWS
from tailguard.privacy.roots import crossing, up

# Papernot and Steinke 2022, Section 3: shapes of negative binomial laws, and their limit.
SHAPES = {"geometric": 1.0, "logarithmic": 0.0, "poisson": math.inf}

# A bound on the chance of more than ``limit`` tries. It is below the distance of one coordinate
# from ideal noise (``accounting/total_cost.py``), so one more charged coordinate covers it.
TAIL = 1e-26


@dataclass(frozen=True)
class NumberOfTries:
    """The law of a number of tries, given by its mean.

    The chance of ``k >= 1`` tries is proportional to ``(1 - gamma)**k / k * k**shape`` for shapes 1
    (geometric) and 0 (logarithmic), and to ``rate**k / k!`` for Poisson numbers.
    """

    mean: float
    law: str = "geometric"

    def __post_init__(self) -> None:
        check_between("n_tries", self.mean, 1.0, LARGEST_MEAN)
        check_choice("law", self.law, LAWS)

    @property
    def shape(self) -> float:
        """The shape of the negative binomial law; infinity for its limit, the Poisson law."""
        return SHAPES[self.law]

    @cached_property
    def parameter(self) -> float:
        """Gamma, or the rate of a Poisson law; gamma 1, or rate 0, means exactly one try."""
        if self.law == "geometric":
            return 1.0 / self.mean
        if self.law == "poisson" and self.mean > 1.0:
            return crossing(lambda rate: _mean(self.shape, rate) - self.mean, guess=self.mean)
        if self.mean == 1.0:
            return 0.0 if self.law == "poisson" else 1.0
        # Solved for the odds (1 - gamma) / gamma, with which the mean grows.
        odds = crossing(lambda x: _mean(0.0, 1.0 / (1.0 + x)) - self.mean, guess=self.mean)
        return 1.0 / (1.0 + odds)

    @property
    def single(self) -> bool:
        """Whether there is always one try."""
        return self.parameter == (0.0 if self.law == "poisson" else 1.0)

    @property
    def mean_bound(self) -> float:
        """The mean of the law with this parameter, rounded up."""
        return up(_mean(self.shape, self.parameter))

    @cached_property
    def limit(self) -> int:
        """A number that the number of tries exceeds with a chance below 1e-26."""
        if self.single:
            return 1
        if self.law != "poisson":
            # Each chance is at most 1 - gamma times the chance before it.
            return math.ceil(math.log(TAIL) / math.log1p(-self.parameter)) + 1
        # Chernoff's bound on the tail of a Poisson number, given that it is not zero.
        rate, number = self.parameter, math.ceil(self.parameter) + 1
        at_least_one = math.log(-math.expm1(-rate))
        while number - rate - number * math.log(number / rate) - at_least_one > math.log(TAIL):
            number += 1
        return number

    def never(self, share: float) -> float:
        """Return the chance that no try draws a candidate, if one try has the chance ``share``."""
        parameter, z = self.parameter, 1.0 - share
        if self.single:
            return z
        if self.law == "poisson":
            # expm1(rate z) / expm1(rate), written so that a large rate does not overflow.
            fewer = math.expm1(-parameter * z) / math.expm1(-parameter)
            return math.exp(-parameter * share) * fewer
        ratio = (1.0 - parameter) * z
        if self.law == "logarithmic":
            return math.log1p(-ratio) / math.log(parameter)
        return parameter * z / (1.0 - ratio)

    def first_chance(self) -> Decimal:
        """Return the chance of exactly one try, in the current decimal context."""
        parameter = Decimal(self.parameter)
        if self.single:
            return Decimal(1)
        if self.law == "geometric":
            return parameter
        if self.law == "logarithmic":
            return (1 - parameter) / -parameter.ln()
        return parameter / (parameter.exp() - 1)

    def chance_ratio(self, number: int) -> Decimal:
        """Return the chance of ``number + 1`` tries divided by that of ``number`` tries."""
        parameter = Decimal(self.parameter)
        if self.law == "poisson":
            return parameter / (number + 1)
        return (1 - parameter) * (number + Decimal(self.shape)) / (number + 1)


def _mean(shape: float, parameter: float) -> float:
    """Return the mean of the law with this shape and parameter."""
    if shape == 1.0:
        return 1.0 / parameter
    if math.isinf(shape):
        return parameter / -math.expm1(-parameter) if parameter else 1.0
    return (1.0 - parameter) / (parameter * -math.log(parameter)) if parameter < 1.0 else 1.0
