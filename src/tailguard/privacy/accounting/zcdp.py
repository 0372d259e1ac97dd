"""Zero-concentrated differential privacy: the rhos add up.

Knows every event, including those of which nothing but their rho is known. An (epsilon, delta)
event is priced by its epsilon and its delta is kept apart (approximate zCDP).

Reference
---------
Bun and Steinke 2016, Lemma 2.3 (composition) and Section 8 (approximate zCDP); Canonne, Kamath and
Steinke 2020, Proposition 12 (conversion).
"""

import math
from fractions import Fraction
from typing import ClassVar

from tailguard.privacy.accounting.additive import AdditiveAccountant, Prices, ceiling
from tailguard.privacy.accounting.concentrated import (
    delta_of_zcdp,
    epsilon_of_zcdp,
    rho_of_bounded_range,
    rho_of_laplace,
    rho_of_pure,
)
from tailguard.privacy.events import (
    Approximate,
    BoundedRange,
    Gaussian,
    Laplace,
    Pure,
    ZeroConcentrated,
)


class ZcdpAccountant(AdditiveAccountant):
    """Adds up rhos.

    *Guarantee.* Replace-one neighbours, adaptive composition.

    *Reference.* Bun and Steinke 2016, Lemma 2.3.

    Examples
    --------
    >>> from tailguard.privacy.events import ZeroConcentrated
    >>> accountant = ZcdpAccountant().compose(ZeroConcentrated(rho=0.005), times=100)
    >>> round(accountant.rho, 9), round(accountant.epsilon(delta=1e-6), 8)
    (0.5, 5.22153444)
    """

    prices: ClassVar[Prices] = {
        Gaussian: lambda event: Fraction(event.mu) ** 2 / 2,
        Laplace: lambda event: Fraction(rho_of_laplace(event.epsilon)),
        Pure: lambda event: Fraction(rho_of_pure(event.epsilon)),
        BoundedRange: lambda event: Fraction(rho_of_bounded_range(event.eta)),
        ZeroConcentrated: lambda event: Fraction(event.rho),
        Approximate: lambda event: Fraction(rho_of_pure(event.epsilon)),
    }

    @property
    def rho(self) -> float:
        """The total rho, to the nearest float."""
        return float(self.total)

    def _epsilon(self, delta: float) -> float:
        return epsilon_of_zcdp(ceiling(self.total), delta) if delta else math.inf

    def _delta(self, epsilon: float) -> float:
        return delta_of_zcdp(ceiling(self.total), epsilon)
