"""Regression with a power of the residual as loss."""

from dataclasses import dataclass

from tailguard.estimators.base import PrivateRegression
from tailguard.losses.base import Loss
from tailguard.losses.lp_loss import LpLoss


@dataclass(kw_only=True, eq=False, repr=False)
class LpRegression(PrivateRegression):
    """Private regression that minimises the p-th power of the residual.

    Parameters
    ----------
    p
        The power, from 2 to 16.
    {shared}

    References
    ----------
    Xu et al. 2025, Section 7 (the case p = 4).

    Examples
    --------
    >>> import tailguard as tg
    >>> claims = tg.datasets.insurance_claims(n_rows=2000, seed=0)
    >>> model = tg.LpRegression(epsilon=1.0, delta=1e-6).fit(claims.features, claims.target)
    >>> model.predict(claims.features).shape
    (2000,)
    """

    p: float = 4.0

    def _loss(self) -> Loss:
        return LpLoss(self.p)
