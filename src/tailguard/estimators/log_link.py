"""Regression with a log link: Poisson, Gamma and Tweedie, with exposure."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.utils import Tags

from tailguard.array_types import FloatArray
from tailguard.checks import check_between, require
from tailguard.estimators.regression import PrivateRegression
from tailguard.gate.engine import Solved
from tailguard.gate.plan import TOTAL_ERROR
from tailguard.losses.base import Loss
from tailguard.losses.gamma import Gamma
from tailguard.losses.poisson import Poisson
from tailguard.losses.tweedie import Tweedie

SMALLEST_MEAN = 1e-300  # the deviance needs a mean above zero


@dataclass(kw_only=True, eq=False, repr=False)
class LogLinkRegression(PrivateRegression):
    """Base of the estimators whose score is the logarithm of the expected target.

    Parameters
    ----------
    alpha
        The ridge: ``alpha`` times half the squared length of ``coef_`` is added to the mean loss,
        as in ``sklearn.linear_model.TweedieRegressor``. It is public and costs no budget.

    Attributes
    ----------
    total_error_
        Relative standard error of the predicted total of all records of the fit; NaN if the total
        was not calibrated. A Poisson loss calibrates it.
    """

    alpha: float = 0.0

    takes_exposure: ClassVar[bool] = True

    def _keep(self, solved: Solved) -> None:
        """Store the results, and the error of the predicted total."""
        super()._keep(solved)
        self.total_error_ = float(solved.solution.found.get(TOTAL_ERROR, math.nan))

    def _explained(self, targets: FloatArray, predicted: FloatArray, weights: FloatArray) -> float:
        """Return the explained share of the deviance."""
        from sklearn.metrics import d2_tweedie_score  # noqa: PLC0415 (slow to load)

        loss = self._loss()
        least = "at least" if loss.valid_target(0.0) else "above"
        require(
            bool(loss.valid_target(targets).all()),
            f"y must be {least} 0 in every row that is scored; leave out those where it is not.",
        )
        if targets.min() == targets.max():
            return 0.0  # a null deviance of zero explains nothing
        mean, power = np.clip(predicted, SMALLEST_MEAN, None), loss.variance_power
        return float(d2_tweedie_score(targets, mean, sample_weight=weights, power=power))

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that targets should not be negative; such records are void."""
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class PoissonRegression(LogLinkRegression):
    """Private Poisson regression with a log link.

    Parameters
    ----------
    alpha
        The ridge: ``alpha`` times half the squared length of ``coef_`` is added to the mean loss,
        as in ``sklearn.linear_model.TweedieRegressor``. It is public and costs no budget.
    {shared_parameters}

    Attributes
    ----------
    {shared_attributes}
    total_error_
        Relative standard error of the predicted total of all records of the fit; NaN if it was not
        calibrated.

    Notes
    -----
    *Guarantee.* As for ``LinearRegression``; the exposure is part of the protected record.

    *Edge cases.* A record with a negative target, or an exposure that is not above zero, is void.

    References
    ----------
    McCullagh and Nelder 1989, Section 6.2.

    Examples
    --------
    >>> import tailguard as tg
    >>> counts = tg.datasets.heavy_tailed_poisson(n_rows=2000, n_features=3, seed=0)
    >>> model = tg.PoissonRegression(epsilon=1.0, delta=1e-6)
    >>> model = model.fit(counts.features, counts.target, exposure=counts.exposure)
    >>> bool((model.predict(counts.features) >= 0).all())
    True
    """

    def _loss(self) -> Loss:
        return Poisson()


@dataclass(kw_only=True, eq=False, repr=False)
class GammaRegression(LogLinkRegression):
    """Private Gamma regression with a log link, of positive targets such as severities or costs.

    It compares each target with its expected value by their ratio. It assumes that the standard
    deviation is proportional to the mean.

    Parameters
    ----------
    alpha
        The ridge: ``alpha`` times half the squared length of ``coef_`` is added to the mean loss,
        as in ``sklearn.linear_model.TweedieRegressor``. It is public and costs no budget.
    {shared_parameters}

    Attributes
    ----------
    {shared_attributes}

    Notes
    -----
    *Guarantee.* As for ``LinearRegression``; the exposure is part of the protected record.

    *Edge cases.* A record with a target or an exposure that is not above zero is void.

    References
    ----------
    McCullagh and Nelder 1989, Chapter 8.

    Examples
    --------
    >>> import tailguard as tg
    >>> claims = tg.datasets.insurance_claims(n_rows=2000, seed=0)
    >>> paid = claims.target > 0
    >>> model = tg.GammaRegression(epsilon=1.0, delta=1e-6)
    >>> model = model.fit(claims.features[paid], claims.target[paid])
    >>> bool((model.predict(claims.features) > 0).all())
    True
    """

    def _loss(self) -> Loss:
        return Gamma()


@dataclass(kw_only=True, eq=False, repr=False)
class TweedieRegression(LogLinkRegression):
    """Private Tweedie regression with a log link, of targets that are often zero, such as costs.

    Parameters
    ----------
    power
        The variance is proportional to this power of the mean. At 1 the fit is that of
        ``PoissonRegression``, and at 2 of ``GammaRegression``. Below 2, targets may be zero.
    alpha
        The ridge: ``alpha`` times half the squared length of ``coef_`` is added to the mean loss,
        as in ``sklearn.linear_model.TweedieRegressor``. It is public and costs no budget.
    {shared_parameters}

    Attributes
    ----------
    {shared_attributes}

    Notes
    -----
    *Guarantee.* As for ``LinearRegression``; the exposure is part of the protected record.

    *Edge cases.* A record with a negative target, or an exposure that is not above zero, is void.

    References
    ----------
    Jorgensen 1987 (exponential dispersion models).

    Examples
    --------
    >>> import tailguard as tg
    >>> claims = tg.datasets.insurance_claims(n_rows=2000, seed=0)
    >>> model = tg.TweedieRegression(power=1.5, epsilon=1.0, delta=1e-6)
    >>> model = model.fit(claims.features, claims.target)
    >>> bool((model.predict(claims.features) > 0).all())
    True
    """

    power: float = 1.5

    stated_in_titles: ClassVar[tuple[str, ...]] = ("power",)

    def _loss(self) -> Loss:
        power = check_between("power", self.power, 1.0, 2.0)
        if power in (1.0, 2.0):
            return Poisson() if power == 1.0 else Gamma()
        return Tweedie(power)
