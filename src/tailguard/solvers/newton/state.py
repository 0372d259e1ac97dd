"""The state of a run: the view of records, the clip levels, and the results of the rounds.

Everything here was released or is public, so computing with it costs no budget. All objects are
immutable: each part of the method takes a fit and returns the next one.

Reference
---------
Dwork and Roth 2014, Proposition 2.1 (post-processing).
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tailguard.array_types import BoolArray, FloatArray
from tailguard.losses.base import Loss
from tailguard.queries.units import Units
from tailguard.queries.view import LARGEST_FEATURE, View
from tailguard.solvers.newton.clipping import Clipping
from tailguard.solvers.newton.correction.estimate import Estimate
from tailguard.solvers.newton.whitening import StepShortening, Whitening


@dataclass(frozen=True, eq=False)
class Geometry:
    """The view of records, and released facts about whitened rows.

    Attributes
    ----------
    loss
        The loss whose slopes are released.
    units, bound
        Centre and scale of every column; the bound of features, in scales.
    whitening
        The map from standardised coordinates to whitened ones.
    mean_row
        The standardised mean row, from the second moments.
    without_baseline
        Indicators of levels whose baseline was not detected.
    shift
        Squared length of the mean whitened row, less the part from noise; 0 with an intercept, and
        for likelihoods.
    largest_curvature
        The value at which a record's curvature is cut if the curvature varies.
    ridge
        The factor of the ridge: this times half the squared length of the coefficients is added to
        the mean loss.
    mean_target, far_target, near_target
        With a log link, in scales of the target: the mean target, if the start released it; the
        value that one in 200 targets exceeds, and that which one in 200 positive ones is below,
        both 0 if not detected. With log-odds ``mean_target`` is the share of the second outcome.
    cap
        The length at which rows were cut when the curvature was released; infinite before that.
    weight_unit
        The inverse of the mean weight of a record, if records have weights.
    """

    loss: Loss
    units: Units
    whitening: Whitening
    mean_row: FloatArray
    without_baseline: BoolArray
    bound: float = LARGEST_FEATURE
    shift: float = 0.0
    largest_curvature: float = 1.0
    mean_target: float = 1.0
    far_target: float = 0.0
    near_target: float = 0.0
    ridge: float = 0.0
    cap: float = math.inf
    weight_unit: float = 1.0

    @cached_property
    def view(self) -> View:
        """The view through which queries read records."""
        unit = self.weight_unit
        view = View(self.loss, self.units, self.matrix, bound=self.bound, weight_unit=unit)
        return view.through(self.matrix)

    @property
    def matrix(self) -> FloatArray:
        """The map from standardised coordinates to whitened ones."""
        return self.whitening.matrix

    @property
    def width(self) -> int:
        """The number of whitened coordinates."""
        return int(self.whitening.matrix.shape[1])

    @cached_property
    def inverse(self) -> FloatArray:
        """The map from standardised weights to whitened ones."""
        return np.asarray(np.linalg.pinv(self.matrix))

    @cached_property
    def constant(self) -> FloatArray:
        """The whitened direction of a constant score as a column; zero without intercept."""
        if not self.units.intercept:
            return np.zeros((self.width, 1))
        direction = self.inverse[:, -1]
        return np.asarray(direction[:, None] / max(float(np.linalg.norm(direction)), 1e-300))

    @cached_property
    def penalty(self) -> FloatArray:
        """The curvature of the ridge in whitened weights, in units of the loss.

        In the user's units the coefficients are ``J @ weights``, and the penalty is ``ridge`` times
        half their squared length. The mean loss there is the mean loss here times a power of the
        target's scale.
        """
        units, loss = self.units, self.loss
        slopes = units.jacobian(loss.link)[: units.center.size] @ self.matrix
        degree = 2.0 if loss.link.residual else 0.0
        if loss.variance_power is not None:
            degree = 2.0 - loss.variance_power
        return np.asarray(self.ridge * (slopes.T @ slopes) / units.target_scale**degree)

    @property
    def curvature_released(self) -> bool:
        """Whether rows are whitened by a released curvature of the loss."""
        return self.cap < math.inf

    @property
    def left_out(self) -> BoolArray:
        """Coordinates that the fit does not use, among them a constant without intercept."""
        return np.asarray(~self.matrix.any(axis=1))

    @property
    def feature_bounds(self) -> FloatArray | None:
        """Bounds of features in the user's units, or None; infinite for unused features."""
        if self.bound >= LARGEST_FEATURE:
            return None
        center, scale = self.units.center, self.units.scale
        half = np.where(self.left_out[: center.size], math.inf, self.bound * scale)
        return np.column_stack([center - half, center + half])

    def along_constant(self, whitened: FloatArray) -> FloatArray:
        """Return the part of whitened weights along a constant score."""
        return np.asarray(self.constant @ (self.constant.T @ whitened))


@dataclass(frozen=True, eq=False)
class NewtonIterate:
    """The start and the end of a full Newton step, in standardised weights, and its noise.

    ``n_rows`` is the number of records that its gradient read.
    """

    start: FloatArray
    weights: FloatArray
    noise_std: float
    n_rows: int


# The largest predicted mean, in multiples of the largest target seen: an octave, since sizes are
# read by octaves. On 481 real counts, by which it was chosen, fits at epsilon 4 lose a sixth less
# in the mean than with 32; a multiple of one gains more, but cuts means that are right.
LARGEST_SEEN = 2.0
# The same where noise hides far targets, in multiples of the largest residual seen or of the mean
# target; the lower bound is the mean target over this. On ten real tables of counts at epsilon 0.1
# to 1, multiples of 4 to 64 repair the same fits, and multiples from 8 on make no fit worse.
LARGEST_MEAN = 32.0


def unknown_noise(width: int) -> FloatArray:
    """Return the noise matrix of ``width`` whitened coordinates if it is unknown: NaN."""
    return np.full((width, width), math.nan)


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit during the run.

    Attributes
    ----------
    shortening
        The shortening of steps, from the gradients of the rounds so far.
    weights, noise
        The weights of standardised coordinates, and a matrix that maps independent standard noise
        to the privacy noise of whitened weights; NaN if unknown.
    phase
        The current phase, counted from 0.
    iterates
        The full Newton steps of the rounds so far.
    residuals_of
        The weights whose residuals were last released, if any.
    constant_moved
        Whether the constant was moved to the median residual before the rounds.
    estimate
        The result of the correction by contributions, if any.
    total_error
        Relative standard error of the predicted total; NaN if the total was not calibrated.
    """

    geometry: Geometry
    clipping: Clipping
    shortening: StepShortening
    weights: FloatArray
    noise: FloatArray
    phase: int = 0
    iterates: tuple[NewtonIterate, ...] = ()
    residuals_of: FloatArray | None = None
    constant_moved: bool = False
    estimate: Estimate | None = None
    total_error: float = math.nan
    notes: tuple[str, ...] = ()

    def through(self, whitening: Whitening, cap: float = math.inf) -> "Fit":
        """Return the fit with another whitening; if it is by curvature, ``cap`` is finite."""
        geometry = replace(self.geometry, whitening=whitening, cap=cap)
        return replace(
            self,
            geometry=geometry,
            shortening=StepShortening(np.eye(geometry.width)),
            noise=unknown_noise(geometry.width),
        )

    @property
    def whitened(self) -> FloatArray:
        """The weights of the whitened coordinates."""
        return np.asarray(self.geometry.inverse @ self.weights)

    @property
    def residual_shares(self) -> FloatArray | None:
        """Residuals, in the target's units, and the share of records below each.

        They are those of the fit at which their histogram was released; later rounds moved it. None
        if none was released, or if noise hides them.
        """
        slopes, geometry = self.clipping.slopes, self.geometry
        if not (geometry.loss.link.residual and slopes.seen and self.residuals_of is not None):
            return None
        shares = slopes.residual_shares() * [geometry.units.target_scale, 1.0]
        return shares if np.isfinite(shares).all() else None

    @property
    def residual_center(self) -> FloatArray | None:
        """The fit of ``residual_shares``, the intercept last; None without them."""
        if self.residual_shares is None or self.residuals_of is None:
            return None
        units, link = self.geometry.units, self.geometry.loss.link
        coef, intercept = units.coefficients(self.residuals_of, link)
        return np.nan_to_num(np.append(coef, intercept))

    def score_bounds(self, *, exposed: bool) -> tuple[float, float]:
        """Return the smallest and largest score of a log link, in the user's units.

        Other links have no bounds. With a log link means are exponentials, so noise in a
        coefficient, or slopes that were clipped, can make the mean of a far row arbitrarily large.
        Means are at most twice the largest target seen: the one that one in 200 records exceeds,
        the largest residual of counts, or the mean target. If noise hides far targets, they are
        bounded by a larger multiple of the others.

        For a Gamma or Tweedie loss a mean ``m`` far below a target adds a power of ``1 / m``, so
        one row can cost more than all others, but a bound above the right mean costs a logarithm at
        most. So their means are at least the mean target over that multiple or, if targets spread
        wider, the value that one in 200 positive targets is below. A Poisson loss has no lower
        bound, since a mean that is too small costs only a logarithm.

        If records are ``exposed``, nothing bounds a rate: exposures may be short or long.
        """
        geometry, slopes = self.geometry, self.clipping.slopes
        if exposed or not geometry.loss.link.log:
            return -math.inf, math.inf
        least, seen = 0.0, [geometry.mean_target, geometry.far_target]
        if not geometry.loss.canonical:  # slopes are not differences of targets
            least = min(geometry.mean_target / LARGEST_MEAN, geometry.near_target)
        elif slopes.seen:
            seen.append(float(np.abs(slopes.distribution.points).max()))
        largest = max(seen) * (LARGEST_SEEN if geometry.far_target > 0.0 else LARGEST_MEAN)
        unit = math.log(geometry.units.target_scale)
        low = math.log(least) + unit if least > 0.0 else -math.inf
        return low, math.log(largest) + unit

    @property
    def is_constant(self) -> bool:
        """Whether all slopes are zero but for roundoff, after rounds shrunk them."""
        whitened = self.whitened
        slopes = whitened - self.geometry.along_constant(whitened)
        has_constant = self.geometry.units.intercept and bool(self.iterates)
        return has_constant and float(np.linalg.norm(slopes)) < 1e-9

    @cached_property
    def pull(self) -> FloatArray:
        """The curvature of the ridge over that of the loss without clipping.

        A gradient divided by ``clipping.curvature`` is a Newton step of the loss. The ridge adds
        this matrix times the weights to the step, so its share is the same with and without
        clipping.
        """
        rows, slopes = self.clipping.rows, self.clipping.slopes
        whole = rows.curvature(math.inf) * slopes.curvature(math.inf)
        return np.asarray(self.geometry.penalty / max(whole, 1e-300))

    @property
    def damping(self) -> FloatArray:
        """The matrix by which the ridge multiplies a Newton step of the loss, and its noise."""
        return np.asarray(np.linalg.inv(np.eye(self.geometry.width) + self.pull))

    def noted(self, note: str) -> "Fit":
        """Return the fit with one more note."""
        return replace(self, notes=(*self.notes, note))
