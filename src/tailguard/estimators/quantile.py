"""Quantile regression with a smoothed pinball loss."""

from dataclasses import dataclass

from tailguard.estimators.base import PrivateRegression
from tailguard.losses.base import Loss
from tailguard.losses.quantile import Quantile


@dataclass(kw_only=True, eq=False, repr=False)
class QuantileRegression(PrivateRegression):
    """Private regression of a conditional quantile.

    Parameters
    ----------
    level
        Which quantile: 0.5 is the median.
    {shared}

    References
    ----------
    Koenker and Bassett 1978; the smoothing is the loss's: by default a tenth of the
    residuals' scale either way.

    Examples
    --------
    >>> import tailguard as tg
    >>> claims = tg.datasets.insurance_claims(n_rows=2000, seed=0)
    >>> model = tg.QuantileRegression(epsilon=1.0, delta=1e-6).fit(claims.features, claims.target)
    >>> model.predict(claims.features).shape
    (2000,)
    """

    level: float = 0.5

    def _loss(self) -> Loss:
        return Quantile(self.level)
