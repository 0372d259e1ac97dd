"""Regression of a number on a linear score: least squares, Huber, quantile and Lp regression.

:mod:`tailguard.estimators.arguments` replaces ``{shared}`` and the like in docstrings.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import Tags

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, shown
from tailguard.estimators.arguments import scored_rows, warn_of_score
from tailguard.estimators.base import PrivateLinearModel
from tailguard.gate.engine import Solver
from tailguard.losses.base import Loss
from tailguard.losses.huber import Huber
from tailguard.losses.lp_loss import LpLoss
from tailguard.losses.quantile import Quantile
from tailguard.losses.squared import Squared
from tailguard.solvers.newton.solver import WhitenedNewton


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateRegression(RegressorMixin, PrivateLinearModel):
    """Base of the estimators that predict a number from a linear score."""

    def predict(
        self,
        X: Any,
        *,
        exposure: Any = None,
        offset: Any = None,
        interval: str | None = None,
        level: float = 0.95,
    ) -> FloatArray:
        """Predict from the released coefficients; a row with a missing value predicts NaN.

        ``exposure`` and ``offset`` are one number per row, or the name of a column of X. With them
        the prediction is the mean of each row's target, such as a count. Without them the offset is
        zero; with a log link the prediction is then the rate at an exposure of 1, even if the fit
        had exposures.

        ``interval="mean"`` returns both ends of an interval of each row's expected target instead,
        for sampling and privacy noise as in ``conf_int``. ``interval="new"`` returns those of a new
        record's target, by the released histogram of all residuals. ``level`` is the coverage. If a
        coefficient that the row needs has no interval, both ends are NaN.
        """
        score = self._score_of(X, exposure=exposure, offset=offset, interval=interval, level=level)
        return self._loss().mean(score)

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, exposure: Any = None, offset: Any = None
    ) -> float:
        """Return the explained share, which is not private: ``y`` gets no noise.

        It is a share of the variance, or of the deviance if there is a log link.
        """
        warn_of_score(self)
        predictions = self.predict(X, exposure=exposure, offset=offset)
        return self._explained(*scored_rows(predictions, y, sample_weight))

    def _explained(self, targets: FloatArray, predicted: FloatArray, weights: FloatArray) -> float:
        """Return the explained share of the scored rows."""
        from sklearn.metrics import r2_score  # noqa: PLC0415 (slow to load)

        with np.errstate(all="ignore"):
            return float(r2_score(targets, predicted, sample_weight=weights))

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that a fit with a small budget on few rows may score poorly."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class LeastSquares(PrivateRegression):
    """Base of the least-squares regressions: the squared loss, and the parameter ``target``."""

    target: str = "mean"

    def _loss(self) -> Loss:
        return Squared()

    def _solver(self) -> str | Solver:
        if not isinstance(self.target, str) or self.target not in ("mean", "robust"):
            raise InputError(
                f"target must be 'mean' or 'robust'; got {shown(self.target)}. A column of X is "
                "named as in fit(X, target='cost')."
            )
        if self.target == "mean":
            return self.solver
        if self.solver != "auto":
            raise InputError(
                f"target must be 'mean' with a solver of your own choice; got {shown(self.target)}."
            )
        return WhitenedNewton(target="robust")


@dataclass(kw_only=True, eq=False, repr=False)
class LinearRegression(LeastSquares):
    """Private linear regression: no bounds on the data, no tuning.

    Parameters
    ----------
    target
        ``"mean"``: as ``n * epsilon`` grows, the fit converges to the conditional mean. Or
        ``"robust"``: the fit keeps the bias of clipping skewed residuals, and has less variance,
        but no intervals.
    alpha
        The ridge: ``alpha`` times half the squared length of ``coef_`` is added to half the mean
        squared residual, as in ``sklearn.linear_model.TweedieRegressor(power=0)``. It is public and
        costs no budget.
    {shared_parameters}

    Attributes
    ----------
    {shared_attributes}

    Notes
    -----
    *Guarantee.* The fitted object is (epsilon, delta)-differentially private for replace-one
    neighbours with public ``n``, for every input.

    *Edge cases.* A row with a missing or infinite value is void: it contributes nothing and stays
    counted. A row with a negative ``sample_weight`` is void, too.

    Examples
    --------
    >>> import tailguard as tg
    >>> claims = tg.datasets.insurance_claims(n_rows=2000, seed=0)
    >>> model = tg.LinearRegression(epsilon=1.0, delta=1e-6).fit(claims.features, claims.target)
    >>> model.coef_.shape == claims.coefficients.shape
    True
    """

    alpha: float = 0.0


@dataclass(kw_only=True, eq=False, repr=False)
class HuberRegression(PrivateRegression):
    """Private regression that trades bias for robustness.

    Parameters
    ----------
    threshold
        The residual at which the loss changes from squared to absolute, in multiples of the
        target's private scale; from 1e-100 to 1e100.
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

    stated_in_titles: ClassVar[tuple[str, ...]] = ("threshold",)

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
    Koenker and Bassett 1978. The loss is smoothed, by default over a tenth of the residuals' scale
    either way.

    Examples
    --------
    >>> import tailguard as tg
    >>> claims = tg.datasets.insurance_claims(n_rows=2000, seed=0)
    >>> model = tg.QuantileRegression(epsilon=1.0, delta=1e-6).fit(claims.features, claims.target)
    >>> model.predict(claims.features).shape
    (2000,)
    """

    level: float = 0.5

    stated_in_titles: ClassVar[tuple[str, ...]] = ("level",)

    def _loss(self) -> Loss:
        return Quantile(self.level)


@dataclass(kw_only=True, eq=False, repr=False)
class LpRegression(PrivateRegression):
    """Private regression that minimises the p-th power of the residual.

    Parameters
    ----------
    p
        The power, from 2 to 16. Above 2 there are no intervals.
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

    stated_in_titles: ClassVar[tuple[str, ...]] = ("p",)

    def _loss(self) -> Loss:
        loss = LpLoss(self.p)
        return Squared() if loss.p == 2.0 else loss  # half of it, of curvature one
