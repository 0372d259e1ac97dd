"""Poisson regression of counts, with exposure."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.metrics import d2_tweedie_score

from tailguard.array_types import FloatArray
from tailguard.design.columns import columns_of
from tailguard.estimators.base import PrivateRegression
from tailguard.estimators.unpaid import warn_of_score
from tailguard.losses.base import Loss
from tailguard.losses.poisson import Poisson
from tailguard.tables import to_vector

__all__ = ["PoissonRegression"]


SMALLEST_MEAN = 1e-300  # the deviance needs a mean above zero


@dataclass(kw_only=True, eq=False, repr=False)
class PoissonRegression(PrivateRegression):
    """Private Poisson regression with a log link.

    Parameters
    ----------
    epsilon, delta
        The privacy parameters. There is no default.
    guarantee
        Instead of them: ``tg.ApproxDP``, ``tg.ZCDP`` or ``tg.GDP``.
    fit_intercept
        Whether to fit a constant.
    missing
        Column name or number -> a public constant for its missing cells, in fits and predictions.
        None leaves such a row void: it contributes nothing and stays counted.
    schema
        What is declared of a table's columns, such as the levels of those that are categorical: a
        ``tg.Schema``, a dict of its declarations or the path of its JSON file.
    extrapolate
        ``"bounded"``: a prediction reads each feature as the fit did, within ``feature_bounds_``;
        ``"linear"``: as it is, however far out.
    solver
        ``"auto"``, a name from the solver registry, or a solver object.
    ledger
        A ``tg.Ledger`` to charge the fit to, before it reads a record; None keeps its books alone.
    random_state
        None draws cryptographic noise. An int switches to a reproducible simulation that is NOT
        PRIVATE and says so everywhere.

    Attributes
    ----------
    coef_, intercept_
        The released coefficients.
    feature_bounds_
        Lower and upper bound of each feature: within them ``coef_`` is a slope. None where the
        solver reads features as they are.
    coef_noise_std_, intercept_noise_std_
        Predicted standard deviation of the privacy noise of each.
    coef_std_, intercept_std_
        The same through sampling and privacy noise together, as ``conf_int`` uses it.
    notes_
        What was decided on released numbers.
    certificate_, plan_
        What was promised, spent, released and assumed; what was planned.
    schema_
        The schema with its features named; None where none was given.

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

    def _loss(self) -> Loss:
        return Poisson()

    def fit(self, X: Any, y: Any = None, *, exposure: Any = None) -> Self:
        """Fit privately.

        Parameters
        ----------
        X, y
            As for ``LinearRegression``; targets are counts, or any non-negative numbers.
        exposure
            How long each record was observed, one positive number per row; None takes the column
            of X that the schema declares, if it does.
        """
        schema = self._given_schema()
        if exposure is None and schema is not None and schema.exposure is not None:
            exposure = columns_of(X).numbers([schema.exposure])[:, 0]
        return self._fit(X, y, exposure=exposure)

    def predict(self, X: Any, *, exposure: Any = None) -> FloatArray:
        """Predict the mean count at exposure 1, or at the given exposures."""
        rate = super().predict(X)
        if exposure is None:
            return rate
        observed = to_vector(exposure, "exposure", n_rows=len(rate))
        with np.errstate(all="ignore"):
            counts: FloatArray = rate * observed
        return counts

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of deviance explained; not private: it reads ``y`` without noise."""
        warn_of_score(self)
        mean = np.clip(self.predict(X), SMALLEST_MEAN, None)
        return float(d2_tweedie_score(y, mean, sample_weight=sample_weight, power=1))
