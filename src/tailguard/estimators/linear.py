"""Least squares on heavy-tailed data."""

from dataclasses import dataclass

from tailguard.checks import InputError, check_choice, shown
from tailguard.engine import Solver
from tailguard.estimators.base import PrivateRegression
from tailguard.losses.base import Loss
from tailguard.losses.squared import Squared
from tailguard.solvers.whitened_newton import WhitenedNewton

__all__ = ["LinearRegression"]


@dataclass(kw_only=True, eq=False, repr=False)
class LinearRegression(PrivateRegression):
    """Private linear regression: no bounds on the data, no tuning.

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
    target
        ``"mean"``, the conditional mean, to which the fit converges as ``n * epsilon`` grows; or
        ``"robust"``, which keeps the bias of clipping skewed residuals and gains variance.
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
        The released coefficients, in the user's units.
    feature_bounds_
        Lower and upper bound of each feature: within them ``coef_`` is a slope. None where the
        solver reads features as they are.
    coef_noise_std_, intercept_noise_std_
        Predicted standard deviation of the privacy noise of each.
    coef_std_, intercept_std_
        The same through sampling and privacy noise together, as ``conf_int`` uses it.
    notes_
        What was decided on released numbers.
    certificate_
        What was promised, spent, released and assumed.
    plan_
        What was planned before any record was read.
    schema_
        The schema with its features named; None where none was given.

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
