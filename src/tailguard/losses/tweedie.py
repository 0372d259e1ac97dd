"""Tweedie loss, between Poisson and Gamma."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray
from tailguard.checks import check_finite, require, shown

from .base import PowerVariance, bounded_exponent

# The smallest distance of the power from 1 and 2. Closer powers divide one term by a small number,
# and the loss loses half of its digits.
NEAREST_POWER = 1e-6


@dataclass(frozen=True)
class Tweedie(PowerVariance):
    """Half the unit deviance of a Tweedie distribution with a log link, up to a term of the target.

    With ``m = exp(score)`` it is ``m**(2 - p) / (2 - p) + target * m**(1 - p) / (p - 1)``. Targets
    are zero or positive, for example total claims: a Poisson number of Gamma amounts.

    Parameters
    ----------
    power
        The variance is proportional to the power ``p`` of the mean, between 1 (``Poisson``) and 2
        (``Gamma``).

    Edge cases
    ----------
    Large targets may have small slopes, so the curvature of the clipped loss has no bound. Output
    perturbation refuses this loss.

    Examples
    --------
    >>> Tweedie(1.5).slope([0.0, np.log(4.0)], [1.0, 0.0])
    array([0., 2.])
    """

    name: ClassVar[str] = "tweedie"
    contract_examples = ((), (1.1,), (1.9,))  # arguments that the contract tests try
    power: float = 1.5

    def __post_init__(self) -> None:
        power = check_finite("power", self.power)
        require(
            NEAREST_POWER <= power - 1.0 <= 1.0 - NEAREST_POWER,
            "power must be a number between 1 (tg.losses.Poisson) and 2 (tg.losses.Gamma); got "
            f"{shown(self.power)}.",
        )
        object.__setattr__(self, "power", power)

    @property
    def variance_power(self) -> float:
        """The power of the mean."""
        return self.power

    @np.errstate(all="ignore")
    def value(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Half the unit deviance, up to a term of the target alone."""
        scores, capped_scores = np.asarray(score, dtype=np.float64), bounded_exponent(score)
        p = self.power
        target_term = np.multiply(target, np.exp((1.0 - p) * capped_scores)) / (p - 1.0)
        value: FloatArray = np.exp((2.0 - p) * capped_scores) / (2.0 - p) + target_term
        beyond = scores - capped_scores
        return np.where(beyond == 0.0, value, value + self.slope(capped_scores, target) * beyond)
