"""Several classes: the correction by contributions, and intervals against the first class.

The correction, its releases and its errors are those of two classes. The contribution of a record
is its part of the gradients of all classes along their contrasts, instead of its slope times its
row. ``ClassView`` computes it.

Reference
---------
Agresti 2013, Section 8.1 (logits against a baseline class); Huber 1967 (sandwich variance).
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.gate.plan import NO_INTERVAL, NOT_ESTIMATED, Plan, Solution
from tailguard.losses.base import Link
from tailguard.queries.class_view import ClassView
from tailguard.queries.units import Units
from tailguard.queries.view import View
from tailguard.solvers.newton.clipping import Clipping
from tailguard.solvers.newton.correction.correct import correct
from tailguard.solvers.newton.correction.estimate import Estimate
from tailguard.solvers.newton.covariance import (
    STILL_MOVING,
    UNRESOLVED_COLUMN,
    UNSETTLED,
    depend_on,
    square_root,
    triangular,
)
from tailguard.solvers.newton.newton import FitSession
from tailguard.solvers.newton.outlook import ESTIMAND, LITTLE
from tailguard.solvers.newton.state import Fit, Geometry, NewtonIterate
from tailguard.solvers.newton.whitening import StepShortening, Whitening

# The correction raises the curvature of rare classes to this part of the mean of all contrasts. The
# part can be small, as the curvature is released. For eight classes, each half as frequent as the
# class before, the smallest curvature is .01 of the mean.
RAREST = 0.001


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Directions of classes along which the curvature is one at the released shares.

    Scores of classes are ``basis`` times contrasts, and add up to zero. ``start`` has the contrasts
    of the constant.
    """

    shares: FloatArray
    basis: FloatArray
    start: FloatArray

    @classmethod
    def at(cls, shares: FloatArray, flattest: float = 1.0) -> "Contrasts":
        """Return the eigenvectors of the curvature of a softmax at these shares.

        A rare class has little curvature there, but far more where its records are. So eigenvalues
        below ``flattest`` times their mean are raised to that. Steps along rare classes are shorter
        then, and many rounds add up less of their noise.
        """
        values, vectors = np.linalg.eigh(np.diag(shares) - np.outer(shares, shares))
        values, vectors = values[1:], vectors[:, 1:]  # equal scores for all classes: no contrast
        values = np.maximum(values, flattest * values.mean())
        scores = np.log(shares)
        return cls(shares, vectors / np.sqrt(values), np.sqrt(values) * (scores @ vectors))

    @property
    def noise(self) -> FloatArray:
        """The ratio of the noise of each contrast to that of a class."""
        return np.asarray(np.linalg.norm(self.basis, axis=0))

    @property
    def mean_noise(self) -> float:
        """The root mean square of these ratios."""
        return math.sqrt(float(np.mean(self.noise**2)))


@dataclass(frozen=True, eq=False)
class ClassGeometry(Geometry):
    """The view of contributions to several classes; the matrix has a block of rows per class."""

    n_classes: int = 2

    @cached_property
    def view(self) -> View:
        """The view of contributions."""
        bound, unit = self.bound, self.weight_unit
        return ClassView(
            None, self.units, self.matrix,
            bound=bound, weight_unit=unit, n_classes=self.n_classes,
        )  # fmt: skip

    @cached_property
    def penalty(self) -> FloatArray:
        """Zero: there is no ridge."""
        return np.zeros((self.width, self.width))


def corrected(
    session: FitSession, view: View, shares: FloatArray, whitening: Whitening, clipping: Clipping,
    weights: FloatArray, noise: FloatArray,
) -> tuple[FloatArray, Estimate | None]:  # fmt: skip
    """Correct standardised weights, a row per class, if planned; also return the estimate.

    A column of ``noise`` is the move of all weights by one unit of an independent noise.
    """
    basis = Contrasts.at(shares, flattest=RAREST).basis
    matrix = np.asarray(np.kron(basis, view.matrix), dtype=np.float64)
    unused = np.zeros(view.height)  # the correction of a likelihood needs no facts of columns
    geometry = ClassGeometry(
        session.loss, view.units, replace(whitening, matrix=matrix),
        unused, unused > 0.0,
        bound=view.bound,
        weight_unit=session.plan.problem.n_rows / session.problem.n_rows,
        n_classes=len(basis),
    )  # fmt: skip
    iterate = NewtonIterate(weights.ravel(), weights.ravel(), 0.0, session.n_rows())
    fit = Fit(
        geometry, clipping, StepShortening(np.eye(geometry.width)), weights.ravel(),
        geometry.inverse @ noise, iterates=(iterate,),
    )  # fmt: skip
    fit = correct(session, fit)
    return fit.weights.reshape(weights.shape), fit.estimate


def solution_of_classes(
    plan: Plan, coef: FloatArray, estimate: Estimate | None, units: Units, left_out: list[str],
    *notes: str,
) -> Solution:  # fmt: skip
    """Return coefficients of all classes, and intervals of their differences from the first.

    Intervals list the coefficients of all other classes first, then their intercepts. ``left_out``
    has the reason why a column was not fitted, or an empty text.
    """
    others, height = len(coef) - 1, len(left_out) + 1
    positions = np.arange(others * height).reshape(others, height)
    order = np.append(positions[:, :-1], positions[:, -1])
    by_column = [*(f"{NOT_ESTIMATED}: {each}" if each else "" for each in left_out), ""]
    reasons = np.tile(np.array(by_column, dtype=object), others)
    unknown = np.full((others, height), math.nan)
    solution = Solution(
        coef, 0.0, plan, unknown, math.nan, np.zeros((0, coef.size)), unknown,
        covariance_root=np.full((order.size, order.size), math.nan), notes=notes,
    )  # fmt: skip
    if estimate is None or not estimate.settled:
        reasons[reasons == ""] = f"{NO_INTERVAL}: {LITTLE if estimate is None else UNSETTLED}"
        return replace(solution, reasons=tuple(map(str, reasons[order])))
    covariance, differences = estimate.whole(), np.column_stack([-np.ones(others), np.eye(others)])
    jacobian = np.asarray(np.kron(differences, units.jacobian(Link.LOGIT)), dtype=np.float64)
    unresolved = depend_on(jacobian, estimate.unresolved, covariance)
    reasons[unresolved & (reasons == "")] = f"{NOT_ESTIMATED}: {UNRESOLVED_COLUMN}"
    estimated, root = reasons == "", jacobian @ square_root(covariance)
    moving = depend_on(jacobian, estimate.moving(), covariance)
    reasons[moving & estimated] = f"{NO_INTERVAL}: {STILL_MOVING}"
    settled = reasons == ""
    noise, std = (
        np.where(known, np.linalg.norm(each, axis=1), math.nan).reshape(others, height)
        for known, each in ((estimated, jacobian @ estimate.noise), (settled, root))
    )
    by_class = estimate.weights.reshape(-1, height)
    center = np.array([np.append(*units.coefficients(weights)) for weights in by_class])
    return replace(
        solution,
        center=np.nan_to_num(center[1:] - center[0]).ravel()[order],
        coef_noise_std=noise,
        coef_std=std,
        covariance_root=triangular(root[order], ~settled[order]),
        reasons=tuple(map(str, reasons[order])),
        estimand=ESTIMAND,
    )
