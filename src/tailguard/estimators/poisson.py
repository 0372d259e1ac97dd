"""Poisson regression of counts, with exposure."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import Tags

from tailguard.checks import require
from tailguard.estimators.cost_warnings import warn_of_score
from tailguard.estimators.regression import PrivateRegression
from tailguard.estimators.scored import scored_rows
from tailguard.gate.engine import Solved
from tailguard.gate.plan import TOTAL_ERROR
from tailguard.losses.base import Loss
from tailguard.losses.poisson import Poisson

SMALLEST_MEAN = 1e-300  # the deviance needs a mean above zero


@dataclass(kw_only=True, eq=False, repr=False)
class PoissonRegression(PrivateRegression):
    """Private Poisson regression with a log link.

    Parameters
    ----------
    {shared_parameters}

    Attributes
    ----------
    {shared_attributes}
    total_error_
        Relative standard error of the total that is predicted for the records of the fit, as far as
        it was calibrated; else NaN. A model that was read from a file has it in ``notes_`` alone.

    Notes
    -----
    *Guarantee.* As for ``LinearRegression``; the exposure is part of the protected record.

    *Edge cases.* A negative target, and an exposure that is not above zero, make the record void.

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

    takes_exposure: ClassVar[bool] = True

    def _loss(self) -> Loss:
        return Poisson()

    def _keep(self, solved: Solved) -> None:
        """Store what was found, and how far off the predicted total is."""
        super()._keep(solved)
        self.total_error_ = float(solved.solution.found.get(TOTAL_ERROR, math.nan))

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, exposure: Any = None, offset: Any = None
    ) -> float:
        """Return the share of deviance explained; not private: it reads ``y`` without noise."""
        from sklearn.metrics import d2_tweedie_score  # noqa: PLC0415 (it takes a while to load)

        warn_of_score(self)
        found = self.predict(X, exposure=exposure, offset=offset)
        targets, mean, weights = scored_rows(found, y, sample_weight)
        require(
            bool((targets >= 0.0).all()),
            "y must be at least 0 in every row that is scored; leave out those where it is not.",
        )
        if targets.min() == targets.max():
            return 0.0  # of no deviance nothing is explained
        mean = np.clip(mean, SMALLEST_MEAN, None)
        return float(d2_tweedie_score(targets, mean, sample_weight=weights, power=1))

    def __sklearn_tags__(self) -> Tags:
        """Add that targets should not be negative: records with such a target are void."""
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
