"""What a plan may share out of a guarantee, in each of the ways in which costs add up.

Reference
---------
Dong, Roth and Su 2022, Corollary 3.3 (Gaussian releases); Bun and Steinke 2016, Lemma 2.3 (zCDP).
"""

import math
from typing import TypeAlias

from tailguard.checks import InputError
from tailguard.privacy.accounting.distance import COORDINATE_DISTANCE
from tailguard.privacy.accounting.zcdp import rho_of
from tailguard.privacy.events import Gaussian, Laplace
from tailguard.privacy.guarantees import ZCDP, ApproxDP, Guarantee

Share: TypeAlias = Gaussian | Laplace
"""What releases may spend: mu, whose squares add up, or epsilon, which adds up itself."""

# Leaves room for rounding: closed forms are rounded by 1e-12 relative, shares by less.
BUDGET_MARGIN = 1e-9


def usable_guarantee(guarantee: Guarantee, coordinates: int) -> Guarantee:
    """Return what a plan may promise of ideal noise, releasing at most that many coordinates.

    The distance of sampled from ideal noise is taken off epsilon and delta.

    Examples
    --------
    >>> from tailguard.privacy.guarantees import GDP, ApproxDP
    >>> usable_guarantee(GDP(1.0), coordinates=1000)
    GDP(mu=1.0)
    >>> usable_guarantee(ApproxDP(1.0, 1e-20), coordinates=1000).delta < 1e-20
    True
    """
    if not isinstance(guarantee, ApproxDP):
        return guarantee
    distance = COORDINATE_DISTANCE.times(coordinates)
    epsilon, delta = distance.left_of(guarantee.epsilon, guarantee.delta)
    if epsilon >= guarantee.epsilon / 2.0 and delta >= guarantee.delta / 2.0:
        return ApproxDP(epsilon, delta)
    least = 2.0 * distance.variation * (1.0 + math.exp(min(guarantee.epsilon, 700.0)))
    wanted = f"delta must be above {least:.3g} at epsilon = {guarantee.epsilon:g}"
    if least >= 1.0:
        wanted = "epsilon must be smaller"
    if epsilon < guarantee.epsilon / 2.0:
        wanted = f"epsilon must be above {4.0 * distance.log_ratio:.3g}"
    raise InputError(
        f"{wanted} for {coordinates} released numbers, whose noise is sampled and not ideal; "
        f"got {guarantee.describe()}; guarantee=tg.GDP(mu) states a promise beyond that."
    )


def usable_mu(guarantee: Guarantee, coordinates: int) -> float:
    """Total mu that a plan may share out, when it releases at most that many coordinates.

    Examples
    --------
    >>> from tailguard.privacy.guarantees import GDP, ApproxDP
    >>> round(usable_mu(GDP(1.0), coordinates=1000), 6)
    1.0
    >>> round(usable_mu(ApproxDP(1.0, 1e-6), coordinates=1000), 6)
    0.236704
    """
    return usable_guarantee(guarantee, coordinates).gaussian_mu() * (1.0 - BUDGET_MARGIN)


def part_of(share: Share, part: float, *, times: int = 1) -> Share:
    """Return what each of ``times`` releases spends that together spend a part of a share.

    Examples
    --------
    >>> part_of(Gaussian(0.5), 0.25), part_of(Laplace(0.5), 0.25)
    (Gaussian(mu=0.25), Laplace(epsilon=0.125))
    """
    portion = part / times
    if isinstance(share, Laplace):
        return Laplace(share.epsilon * portion)
    return Gaussian(share.mu * math.sqrt(portion))


def concentrated_budget(guarantee: Guarantee) -> float:
    """Return the rho that zCDP releases may spend together.

    *Edge cases.* GDP and pure DP are refused: no amount of zCDP implies them.

    Examples
    --------
    >>> from tailguard.privacy.guarantees import GDP
    >>> round(concentrated_budget(ApproxDP(1.0, 1e-5)), 6)
    0.030557
    >>> concentrated_budget(GDP(1.0))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    tailguard.checks.InputError: guarantee must be ApproxDP or ZCDP for noise that follows ...
    """
    if isinstance(guarantee, ZCDP):
        return guarantee.rho * (1.0 - BUDGET_MARGIN)
    if isinstance(guarantee, ApproxDP):
        return rho_of(guarantee.epsilon, guarantee.delta) * (1.0 - BUDGET_MARGIN)
    raise InputError(
        "guarantee must be ApproxDP or ZCDP for noise that follows the records: its cost is "
        f"concentrated, neither Gaussian nor pure; got {guarantee!r}."
    )
