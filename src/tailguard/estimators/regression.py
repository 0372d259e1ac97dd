"""Regression of a number on a linear score: least squares, Huber, quantile and Lp regression."""

from dataclasses import dataclass

from tailguard.checks import InputError, check_choice, shown
from tailguard.estimators.base import PrivateRegression
from tailguard.gate.engine import Solver
from tailguard.losses.base import Loss
from tailguard.losses.huber import Huber
from tailguard.losses.lp_loss import LpLoss
from tailguard.losses.quantile import Quantile
from tailguard.losses.squared import Squared
from tailguard.solvers.newton.solver import WhitenedNewton


@dataclass(kw_only=True, eq=False, repr=False)
class LinearRegression(PrivateRegression):
    """Private linear regression: no bounds on the data, no tuning.

    Parameters
    ----------
    target
        ``"mean"``, the conditional mean, to which the fit converges as ``n * epsilon`` grows; or
        ``"robust"``, which keeps the bias of clipping skewed residuals and has less variance.
    {shared_parameters}

    Attributes
    ----------
    {shared_attributes}

    Notes
    -----
    *Guarantee.* Everything the fitted object holds is (epsilon, delta)-differentially private for
    replace-one neighbours with public ``n``, for every input.

    *Edge cases.* A row with a missing or infinite value is void: it contributes nothing and stays
    counted. There is no ``sample_weight`` yet.

    Examples
    --------
    >>> import tailguard as tg
    >>> claims = tg.datasets.insurance_claims(n_rows=2000, seed=0)
    >>> model = tg.LinearRegression(epsilon=1.0, delta=1e-6).fit(claims.features, claims.target)
    >>> model.coef_.shape == claims.coefficients.shape
    True
    """

    target: str = "mean"

    def _loss(self) -> Loss:
        return Squared()

    def _solver(self) -> str | Solver:
        if check_choice("target", self.target, ("mean", "robust")) == "mean":
            return self.solver
        if self.solver != "auto":
            raise InputError(
                f"target must be 'mean' with a solver of your own choice; got {shown(self.target)}."
            )
        return WhitenedNewton(target="robust")


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
