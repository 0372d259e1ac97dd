"""What a mean may spend: an event of the kind of its noise; and how large that noise is.

Reference
---------
Dong, Roth and Su 2022, Corollary 3.3; Dwork and Roth 2014, Theorem 3.16 (basic composition).
"""

from tailguard.plans.budget import BUDGET_MARGIN, Share, usable_mu
from tailguard.privacy.events import Event, Gaussian, Laplace
from tailguard.privacy.guarantees import Guarantee, PureDP
from tailguard.queries.base import Query, calibration_for

LAPLACE_TAIL = 1.8
"""Laplace noise passes 8 deviations as rarely as Gaussian noise passes 4.5."""


def usable_share(guarantee: Guarantee, *, coordinates: int) -> Share:
    """Return what a guarantee leaves for at most that many released numbers.

    Examples
    --------
    >>> usable_share(PureDP(1.0), coordinates=1000)
    Laplace(epsilon=0.999999999)
    """
    if isinstance(guarantee, PureDP):
        return Laplace(guarantee.epsilon * (1.0 - BUDGET_MARGIN))
    return Gaussian(usable_mu(guarantee, coordinates))


def amount_of(share: Share) -> float:
    """Return the mu of Gaussian noise, or the epsilon of Laplace noise.

    Examples
    --------
    >>> amount_of(Gaussian(0.5)), amount_of(Laplace(0.5))
    (0.5, 0.5)
    """
    return share.mu if isinstance(share, Gaussian) else share.epsilon


def noise_std_of(query: Query, n_rows: int, n_features: int, asked: Event) -> float:
    """Return the noise of a query that is asked to spend a share; no record is read.

    Examples
    --------
    >>> from tailguard.queries.counts import CountBelow
    >>> round(noise_std_of(CountBelow(columns=(0,)), 100, 1, Gaussian(0.5)), 6)
    2.0
    """
    noise_std = calibration_for(query, n_rows, n_features, asked).noise_std
    assert noise_std is not None  # it is where noise follows the records
    return noise_std


def tail_noise(query: Query, n_rows: int, n_features: int, asked: Event) -> float:
    """Return its noise as Gaussian noise that is as rarely large.

    Examples
    --------
    >>> from tailguard.queries.counts import CountBelow
    >>> round(tail_noise(CountBelow(columns=(0,)), 100, 1, Gaussian(0.5)), 6)
    2.0
    """
    factor = LAPLACE_TAIL if isinstance(asked, Laplace) else 1.0
    return noise_std_of(query, n_rows, n_features, asked) * factor
