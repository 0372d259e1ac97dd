"""Huber regression: squared loss in the middle, absolute loss in the tails."""

from dataclasses import dataclass

from tailguard.estimators.base import PrivateRegression
from tailguard.losses.base import Loss
from tailguard.losses.huber import Huber

__all__ = ["HuberRegression"]


@dataclass(kw_only=True, eq=False, repr=False)
class HuberRegression(PrivateRegression):
    """Private regression that trades bias for robustness.

    Parameters
    ----------
    threshold
        Where the loss turns from squared to absolute, in multiples of the target's private scale;
        from 1e-100 to 1e100.
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
    *Guarantee.* As for ``LinearRegression``.

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
