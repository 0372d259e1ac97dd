"""What a mean may spend: an event of the kind of its noise; and how large that noise is.

Reference
---------
Dong, Roth and Su 2022, Corollary 3.3; Dwork and Roth 2014, Theorem 3.16 (basic composition).
"""

from tailguard.gate.stage import BUDGET_MARGIN, Share, usable_mu
from tailguard.privacy.events import Event, Gaussian, Laplace
from tailguard.privacy.guarantees import Guarantee, PureDP
from tailguard.queries.base import Query, calibration_for

LAPLACE_TAIL = 1.8
"""Laplace noise passes 8 deviations as rarely as Gaussian noise passes 4.5."""


def usable_share(guarantee: Guarantee, *, coordinates: int) -> Share:
    """Return what a guarantee leaves for at most that many released numbers."""
    if isinstance(guarantee, PureDP):
        return Laplace(guarantee.epsilon * (1.0 - BUDGET_MARGIN))
    return Gaussian(usable_mu(guarantee, coordinates))


def amount_of(share: Share) -> float:
    """Return the mu of Gaussian noise, or the epsilon of Laplace noise."""
    return share.mu if isinstance(share, Gaussian) else share.epsilon


def noise_std_of(query: Query, n_rows: int, n_features: int, asked: Event) -> float:
    """Return the noise of a query that is asked to spend a share; no record is read."""
    noise_std = calibration_for(query, n_rows, n_features, asked).noise_std
    assert noise_std is not None  # it is where noise follows the records
    return noise_std


def tail_noise(query: Query, n_rows: int, n_features: int, asked: Event) -> float:
    """Return its noise as Gaussian noise that is as rarely large."""
    factor = LAPLACE_TAIL if isinstance(asked, Laplace) else 1.0
    return noise_std_of(query, n_rows, n_features, asked) * factor
