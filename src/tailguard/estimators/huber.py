"""Huber regression: squared loss in the middle, absolute loss in the tails."""

from dataclasses import dataclass

from tailguard.estimators.base import PrivateRegression
from tailguard.losses.base import Loss
from tailguard.losses.huber import Huber


@dataclass(kw_only=True, eq=False, repr=False)
class HuberRegression(PrivateRegression):
    """Private regression that trades bias for robustness.

    Parameters
    ----------
    threshold
        Where the loss turns from squared to absolute, in multiples of the target's private scale;
        from 1e-100 to 1e100.
    {shared}

    References
    ----------
    Huber 1964, Section 4: the threshold 1.345 keeps 95 % efficiency at Gaussian noise.

    Examples
    --------
    >>> import tailguard as tg
    >>> claims = tg.datasets.insurance_claims(n_rows=2000, seed=0)
    >>> model = tg.HuberRegression(epsilon=1.0, delta=1e-6).fit(claims.features, claims.target)
    >>> model.predict(claims.features).shape
    (2000,)
    """

    threshold: float = 1.345

    def _loss(self) -> Loss:
        return Huber(self.threshold)
