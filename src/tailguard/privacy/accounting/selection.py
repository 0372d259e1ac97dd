"""The best of a random number of tries, beside Gaussian releases, in closed form.

The squares of mu of tries and of all other releases add up, the profile of that total is multiplied
by the mean number of tries, and shifted; ``privacy/selection/costs.py`` has the proof. For
geometric and logarithmic numbers, dp-accounting's Renyi divergences give 1.13 to 1.85 times this
epsilon (2 to 100 tries, mu from 0.05 to 1, delta from 1e-9 to 1e-3). For Poisson numbers
``RenyiAccountant`` gives down to half of it.

Reference
---------
Koskela, Redberg and Wang 2024 (profiles of private selection); Dong, Roth and Su 2022, Corollary
3.3 (composition).
"""

import math
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from tailguard.privacy.accounting.additive import AdditiveAccountant, Prices, ceiling
from tailguard.privacy.accounting.gaussian import delta_of, epsilon_of
from tailguard.privacy.accounting.gdp import GdpAccountant
from tailguard.privacy.events import Event, Selected
from tailguard.privacy.roots import up
from tailguard.privacy.selection.costs import density_log_ratio, tries_of

# Means multiply; beyond this logarithm no delta is left that floats hold.
LARGEST_LOG_MEAN = 600.0


class SelectionAccountant(AdditiveAccountant):
    """Adds up squares of mu, logarithms of means and shifts.

    *Guarantee.* Replace-one neighbours, adaptive composition.

    *Reference.* Koskela, Redberg and Wang 2024.

    Examples
    --------
    >>> from tailguard.privacy.events import Gaussian
    >>> one = SelectionAccountant().compose(Gaussian(mu=0.2367))
    >>> best_of_ten = SelectionAccountant().compose(Selected(mu=0.2367, mean_tries=10.0))
    >>> round(one.epsilon(delta=1e-6), 3), round(best_of_ten.epsilon(delta=1e-6), 3)
    (1.0, 1.541)
    """

    prices: ClassVar[Prices] = {
        **GdpAccountant.prices,
        Selected: lambda event: Fraction(event.mu) ** 2,
    }

    @cached_property
    def shift(self) -> float:
        """By how much epsilon is shifted."""
        return ceiling(self.flat_events.add_up(_shift_of))

    @cached_property
    def log_mean(self) -> float:
        """The logarithm of the factor of delta."""
        return ceiling(self.flat_events.add_up(_log_mean_of))

    def _epsilon(self, delta: float) -> float:
        if not delta or self.log_mean > LARGEST_LOG_MEAN:
            return math.inf
        left = delta * math.exp(-up(self.log_mean))
        alone = epsilon_of(math.sqrt(ceiling(self.total)), left) if left > 0.0 else math.inf
        return up(self.shift + alone)

    def _delta(self, epsilon: float) -> float:
        if self.log_mean > LARGEST_LOG_MEAN:
            return 1.0
        mu, x = math.sqrt(ceiling(self.total)), epsilon - self.shift
        alone = delta_of(mu, abs(x))
        if x < 0.0:
            alone = math.exp(x) * alone - math.expm1(x)
        return min(1.0, up(alone * math.exp(self.log_mean)))


def _shift_of(leaf: Event) -> Fraction:
    return Fraction(density_log_ratio(leaf)) if isinstance(leaf, Selected) else Fraction(0)


def _log_mean_of(leaf: Event) -> Fraction:
    if isinstance(leaf, Selected):
        return Fraction(math.log(tries_of(leaf).mean_bound))
    return Fraction(0)
