"""Basic composition: the pure epsilons add up.

The only accountant with a finite bound at delta = 0, and the tightest for a few costly releases.

Reference
---------
Dwork and Lei 2009, Theorem 16 (composition); Kairouz, Oh and Viswanath 2015, Section 3 (delta of
an epsilon-DP mechanism, attained by randomised response).
"""

import math
from fractions import Fraction
from typing import ClassVar

from tailguard.privacy.accounting.accountant import AdditiveAccountant, Prices, ceiling
from tailguard.privacy.events import Approximate, BoundedRange, Laplace, Pure
from tailguard.privacy.roots import ROUNDING


class PureAccountant(AdditiveAccountant):
    """Adds up pure epsilons; Gaussian and zCDP events have none and are refused.

    *Guarantee.* Replace-one neighbours, adaptive composition.

    *Edge cases.* ``epsilon(delta=0)`` is the plain sum.

    *Reference.* Dwork and Lei 2009, Theorem 16.

    Examples
    --------
    >>> from tailguard.privacy.events import Laplace
    >>> PureAccountant().compose(Laplace(epsilon=0.25), times=4).epsilon(delta=0.0)
    1.0
    """

    prices: ClassVar[Prices] = {
        Laplace: lambda event: Fraction(event.epsilon),
        Pure: lambda event: Fraction(event.epsilon),
        BoundedRange: lambda event: Fraction(event.eta),
        Approximate: lambda event: Fraction(event.epsilon),
    }

    def _epsilon(self, delta: float) -> float:
        total = ceiling(self.total)
        without_failure = 1.0 - delta * (1.0 + math.exp(-total))
        if delta == 0.0 or without_failure <= 0.0:
            return total if delta == 0.0 else 0.0
        return min(total, max(0.0, total + math.log(without_failure) + ROUNDING * (1.0 + total)))

    def _delta(self, epsilon: float) -> float:
        total = ceiling(self.total)
        if epsilon >= total:
            return 0.0
        return -math.expm1(epsilon - total) / (1.0 + math.exp(-total)) * (1.0 + ROUNDING)
