"""Hard instances under a Tsybakov noise condition, with the exact constant of the condition.

Loss ``-<w, x> + ||w||^theta / theta`` on a ball around zero. Xu, Ding, Xiang, Xu and Wang (2025),
Theorems 4 and 5, corrected.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from tailguard.checks import InputError, check_positive
from tailguard.datasets.dataset import check_sizes
from tailguard.means.formulas import check_order
from tailguard.papers.instances.hard_instances import (
    SignLaw,
    SpikeLaw,
    check_rows,
    spike,
    zcdp_chance,
)
from tailguard.papers.instances.packings import sign_words
from tailguard.papers.xu2025.bounds import check_growth

# Factor of the chance, and of the bias, at which Fano's bound is positive.
FACTOR = 0.1


@dataclass(frozen=True, eq=False)
class TsybakovInstance:
    """A law of records, and the problem ``min -<w, x> + ||w||^growth / growth`` on a ball."""

    law: SpikeLaw | SignLaw
    growth: float
    radius: float

    @property
    def minimiser(self) -> NDArray[np.float64]:
        """``mean ||mean||^((2 - growth) / (growth - 1))``; it lies in the ball."""
        mean = self.law.mean
        length = float(np.linalg.norm(mean))
        power = (2.0 - self.growth) / (self.growth - 1.0)
        return np.asarray(mean * length**power)

    @property
    def growth_constant(self) -> float:
        """Largest constant of the noise condition."""
        return growth_constant(self.growth)

    def excess(self, point: Sequence[float] | NDArray[np.float64]) -> float:
        """Excess risk of a point."""
        return self._risk(np.asarray(point, dtype=np.float64)) - self._risk(self.minimiser)

    def gradient_moment(self, order: float) -> float:
        """``E sup_w ||gradient||^order`` over the ball: its edge, opposite to the record."""
        edge = self.radius ** (self.growth - 1.0)
        if isinstance(self.law, SpikeLaw):
            hit = (edge + float(np.linalg.norm(self.law.point))) ** order
            return float((1.0 - self.law.chance) * edge**order + self.law.chance * hit)
        return float((edge + self.law.size * math.sqrt(self.law.word.size)) ** order)

    def _risk(self, point: NDArray[np.float64]) -> float:
        """Return the population risk of a point."""
        if point.shape != self.law.mean.shape:
            raise InputError(f"point must have shape {self.law.mean.shape}; got {point.shape}.")
        power = math.pow(float(np.linalg.norm(point)), self.growth) / self.growth
        return power - float(point @ self.law.mean)


def growth_constant(growth: float) -> float:
    """Largest lambda with ``F(w) - F(w*) >= lambda ||w - w*||^growth`` for these problems.

    ``(theta - 1) / (theta (1 + t)^(theta - 2))`` for the root ``t`` above 1 of
    ``t^(theta - 1) = (theta - 1) t + theta - 2``: the worst point lies opposite to the minimiser,
    ``t`` times as far out. The paper takes 1.

    *Reference.* Xu and others 2025, proof of Theorem 4, corrected.

    Examples
    --------
    >>> [round(growth_constant(growth), 5) for growth in (2.0, 3.0, 4.0, 6.0)]
    [0.5, 0.19526, 0.08333, 0.01688]
    """
    check_growth(growth, 2.0)  # others are not in the paper's class
    if growth == 2.0:
        return 0.5
    power = growth - 1.0
    # At 1 the difference is 2 - 2 theta < 0, and past theta it is positive for theta > 2.
    opposite = float(
        brentq(lambda t: t**power - power * t - growth + 2.0, 1.0, 3.0 * growth, xtol=1e-14)
    )
    return float(power / (growth * (1.0 + opposite) ** (growth - 2.0)))


def hard_tsybakov(
    n_features: int,
    n_instances: int,
    *,
    n_rows: int,
    rho: float,
    growth: float,
    moment_order: float,
    moment_bound: float = 1.0,
    seed: int = 0,
) -> tuple[TsybakovInstance, ...]:
    """Spikes along words of signs: hard for rho-zCDP algorithms.

    Chance ``0.1 sqrt(d) / (n sqrt(rho))`` and radius ``(chance^((q-1)/q) r / 2)^(1/(theta-1))``, on
    whose sphere the minimisers lie. The paper prints ``d / (n sqrt(rho))``, at which Fano's
    inequality is void, and the radius ``(chance^(-1/q) r / 2)^(1/(theta-1))``, at which the moments
    are far above their bound.

    *Reference.* Xu and others 2025, Theorem 4.

    Examples
    --------
    >>> options = {"growth": 2.0, "moment_order": 2.0, "moment_bound": 4.0}
    >>> instances = hard_tsybakov(100, 4, n_rows=10**5, rho=0.5, **options)
    >>> len(instances), instances[0].gradient_moment(2.0) < 4.0
    (4, True)
    """
    check_growth(growth, 2.0)
    check_order(moment_order, minimum=1.0)
    scale = check_positive("moment_bound", moment_bound) ** (1.0 / moment_order)
    check_sizes(n_features=n_features)
    chance = zcdp_chance(n_rows, n_features, rho=rho, factor=FACTOR)
    size = scale / (2.0 * math.sqrt(n_features))
    radius = (chance ** (1.0 - 1.0 / moment_order) * scale / 2.0) ** (1.0 / (growth - 1.0))
    return tuple(
        TsybakovInstance(
            spike(word, chance=chance, order=moment_order, bound=size**moment_order), growth, radius
        )
        for word in sign_words(n_features, n_instances, seed=seed)
    )


def hard_tsybakov_sampling(
    n_features: int,
    n_instances: int,
    *,
    n_rows: int,
    growth: float,
    moment_scale: float = 1.0,
    seed: int = 0,
) -> tuple[TsybakovInstance, ...]:
    """Nearly fair signs: hard for every algorithm, private or not.

    Bias ``0.1 / sqrt(n)`` and radius ``(r / 2)^(1/(theta-1))``; gradients are bounded by
    ``moment_scale``. The paper's bias is ``sqrt(d / n)``, whose divergence is far too large.

    *Reference.* Xu and others 2025, Theorem 5.

    Examples
    --------
    >>> instances = hard_tsybakov_sampling(20, 2, n_rows=1000, growth=3.0)
    >>> instances[0].law.bias.hex() == (0.1 / 1000**0.5).hex()
    True
    """
    check_growth(growth, 2.0)
    check_rows(n_rows)
    check_sizes(n_features=n_features)
    size = check_positive("moment_scale", moment_scale) / (2.0 * math.sqrt(n_features))
    radius = (moment_scale / 2.0) ** (1.0 / (growth - 1.0))
    bias = FACTOR / math.sqrt(n_rows)
    words = sign_words(n_features, n_instances, seed=seed)
    return tuple(TsybakovInstance(SignLaw(word, size, bias), growth, radius) for word in words)
