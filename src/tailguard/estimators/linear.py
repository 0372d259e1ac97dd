"""Least squares on heavy-tailed data."""

from dataclasses import dataclass

from tailguard.checks import InputError, check_choice, shown
from tailguard.estimators.base import PrivateRegression
from tailguard.gate.engine import Solver
from tailguard.losses.base import Loss
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
