"""Sparse regression: few columns out of many, chosen and fitted privately."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tailguard.estimators.logistic import LogisticRegression
from tailguard.estimators.regression import LeastSquares
from tailguard.sets.base import ConstraintSet
from tailguard.sets.sparse_ball import SparseBall


class _Sparse:
    """Base of sparse models: the set of sparse weights, and the support of the fit."""

    stated_in_titles: ClassVar[tuple[str, ...]] = ("n_nonzero",)

    n_nonzero: int
    coef_: NDArray[np.float64]

    def _constraint(self) -> ConstraintSet | None:
        return SparseBall(self.n_nonzero)

    @property
    def support_(self) -> NDArray[np.int64]:
        """The selected columns, in ascending order."""
        return np.flatnonzero(self.coef_)


@dataclass(kw_only=True, eq=False, repr=False)
class SparseLinearRegression(_Sparse, LeastSquares):
    """Private least squares with at most ``n_nonzero`` columns, selected from many more.

    Each column is divided by a private scale; with an intercept, a private centre is subtracted
    first. If there are too many columns for that, as the plan then says, all share one private
    scale: columns should then be in comparable units and lie around zero. Or state their scales and
    centres with ``solver=tg.solvers.HardThresholding(feature_scale=..., feature_center=...)``.

    Parameters
    ----------
    n_nonzero
        The number of selected columns, without the intercept.
    target
        Only ``"mean"``: ``"robust"`` is for ``LinearRegression``.
    {shared_parameters}

    Attributes
    ----------
    support_
        The selected columns. Coefficients of all others are zero, and their noise is NaN.
    {shared_attributes}

    Notes
    -----
    *Guarantee.* As for ``LinearRegression``; it includes the choice of columns.

    *Edge cases.* If there are at most ``n_nonzero`` columns, all are selected. There are no
    intervals, since they would not count the selection of columns on the same records. With stated
    scales of features and target, ``guarantee`` may be a ``tg.PureDP``.

    References
    ----------
    Tao, Wu, Cheng and Wang 2022, Algorithm 5.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> X = np.random.default_rng(0).standard_t(3, size=(20_000, 200))
    >>> y = X[:, 7] - X[:, 30]
    >>> model = tg.SparseLinearRegression(n_nonzero=2, epsilon=1.0, delta=1e-6).fit(X, y)
    >>> model.support_
    array([ 7, 30])
    """

    n_nonzero: int = 10


@dataclass(kw_only=True, eq=False, repr=False)
class SparseLogisticRegression(_Sparse, LogisticRegression):
    """Private logistic regression with at most ``n_nonzero`` columns, selected from many more.

    The notes on columns in :class:`SparseLinearRegression` apply here, too.

    Parameters
    ----------
    n_nonzero
        The number of selected columns, without the intercept.
    classes
        The two labels, declared by the user, as for ``LogisticRegression``.
    alpha
        Only 0: the ridge is for ``LogisticRegression``.
    {shared_parameters}

    Attributes
    ----------
    support_
        The selected columns. Coefficients of all others are zero, and their noise is NaN.
    classes_
        The declared labels as an array.
    {shared_attributes}

    Notes
    -----
    *Guarantee.* As for ``LinearRegression``; it includes the choice of columns.

    *Edge cases.* A record whose label is not declared is void, and no message names it.
    Coefficients of strong signals are too small: there are few steps, and the slope is flat there.
    Rows with missing values are predicted and scored as by ``LogisticRegression``. With stated
    scales of features, ``guarantee`` may be a ``tg.PureDP``.

    References
    ----------
    Tao, Wu, Cheng and Wang 2022, Algorithm 5.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_t(3, size=(20_000, 200))
    >>> y = X[:, 7] - X[:, 30] + rng.logistic(size=20_000) > 0
    >>> model = tg.SparseLogisticRegression(n_nonzero=2, epsilon=1.0, delta=1e-6).fit(X, y)
    >>> model.support_
    array([ 7, 30])
    """

    n_nonzero: int = 10

    most_classes: ClassVar[int | None] = 2
