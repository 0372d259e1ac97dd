"""Gaussian differential privacy: the squares of mu add up.

Exact when every release is Gaussian. Other releases are replaced by the weakest Gaussian one that
gives at least as little away.

Reference
---------
Dong, Roth and Su 2022, Corollary 3.3 (adaptive composition) and Corollary 2.13 (conversion).
"""

import math
from fractions import Fraction
from typing import ClassVar

from tailguard.privacy.accounting.additive import AdditiveAccountant, Prices, ceiling
from tailguard.privacy.accounting.concentrated import mu_of_bounded_range, mu_of_pure
from tailguard.privacy.accounting.gaussian import delta_of, epsilon_of
from tailguard.privacy.events import Approximate, BoundedRange, Gaussian, Laplace, Pure


class GdpAccountant(AdditiveAccountant):
    """Adds up squares of mu; zCDP events are refused, because zCDP does not imply GDP.

    *Guarantee.* Replace-one neighbours, adaptive composition.

    *Reference.* Dong, Roth and Su 2022, Corollary 3.3.

    Examples
    --------
    >>> from tailguard.privacy.events import Gaussian
    >>> accountant = GdpAccountant().compose(Gaussian(mu=0.1), times=100)
    >>> round(accountant.mu, 9), round(accountant.epsilon(delta=1e-6), 8)
    (1.0, 4.88655412)
    """

    prices: ClassVar[Prices] = {
        Gaussian: lambda event: Fraction(event.mu) ** 2,
        Laplace: lambda event: Fraction(mu_of_pure(event.epsilon)) ** 2,
        Pure: lambda event: Fraction(mu_of_pure(event.epsilon)) ** 2,
        BoundedRange: lambda event: Fraction(mu_of_bounded_range(event.eta)) ** 2,
        Approximate: lambda event: Fraction(mu_of_pure(event.epsilon)) ** 2,
    }

    @property
    def mu(self) -> float:
        """The total mu, to the nearest float."""
        return math.sqrt(float(self.total))

    def _epsilon(self, delta: float) -> float:
        return epsilon_of(math.sqrt(ceiling(self.total)), delta) if delta else math.inf

    def _delta(self, epsilon: float) -> float:
        return delta_of(math.sqrt(ceiling(self.total)), epsilon)
