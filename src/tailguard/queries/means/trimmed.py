"""The coordinate-wise trimmed mean with noise on its smooth sensitivity.

Of every coordinate of the gradients the ``n_trimmed`` smallest and largest are left out; the mean
of the rest is cut to a public range. Write ``x(1) <= ... <= x(n)`` for the sorted values and m for
``n_trimmed``. One replaced record moves an order statistic to a neighbouring one at most, so k
replacements and one more move the mean by at most

    ``A(k) = max over l = 0..k+1 of (x(n-m+1+k-l) - x(m+1-l)) / (n - 2m)``   for k < m,

and never by more than the width of the range. ``A(k)`` is at most its value ``A(k + 1)`` on a
neighbour. So ``S = max(exp(-t k) min(width, A(k)) over k < m, exp(-t m) width)`` is t-smooth and at
least the local sensitivity. By default ``A(k)`` is replaced by the wider
``U(k) = (x(n-m+1+k) - x(m-k)) / (n - 2m)``, which has the same property, costs nothing beyond the
sort, and gives at most twice the scale.

As computed. Differences, quotients and maxima of floats are monotone, so the property of ``A`` and
``U`` holds for floats as they are; products with the weights change the logarithm of S by less than
``smoothness - decay``. The sum is rounded once, correctly, so that the mean errs by less than two
roundings of itself, and of the range once it is cut; the scale is raised by more than that.

Reference
---------
Bun and Steinke 2019 (trimmed mean on smooth sensitivity); Wang, Xiao, Devadas and Xu 2020,
Algorithm 2 and Theorem 3. The scale that Algorithm 2 prints, ``(x(n) - x(1)) / (n - 2m)`` in the
place of all ``A(k)``, is an upper bound but not smooth: one record that moves to infinity takes it
along, and there is no privacy. Their proof of Lemma 2 takes a constant m, at which the noise does
not shrink with n at all; here m follows from the smoothness.
"""

import math
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import (
    InputError,
    check_choice,
    check_finite,
    check_integer,
    check_open_unit,
    check_positive,
    shown,
)
from tailguard.data.rows.base import Rows
from tailguard.losses.base import Loss
from tailguard.noise.smooth import SmoothAnswer
from tailguard.privacy.arsinh import PROVED, arsinh_rho, arsinh_shift, arsinh_smoothness
from tailguard.privacy.calibration import FLOAT_MARGIN, SmoothCalibration
from tailguard.privacy.events import Event, ZeroConcentrated
from tailguard.queries.base import SmoothQuery
from tailguard.queries.gather import check_gathered, gather
from tailguard.queries.kernels.gather import GatheredGradients
from tailguard.queries.units import Units

# Larger entries count as these, so that no difference or sum of them overflows.
LARGEST_ENTRY = 1e150
# Without a better word of the user, data are expected to spread over a thousandth of the range.
USUAL_RESOLUTION = 1e-3


def published_constants(rho: float) -> tuple[float, float]:
    """Return smoothness and shift of one coordinate as the paper has them."""
    epsilon = math.sqrt(2.0 * rho)
    return epsilon**2 / 16.0, epsilon / 4.0


def trimmed_mean(ordered: FloatArray, n_trimmed: int, low: float, high: float) -> float:
    """Return the mean of what trimming leaves of sorted values, cut to ``[low, high]``."""
    kept = ordered[n_trimmed : ordered.size - n_trimmed]
    # One rounding for the whole sum, so that the error does not grow with n.
    return min(max(math.fsum(kept.tolist()) / kept.size, low), high)


def trimmed_scale(
    ordered: FloatArray, n_trimmed: int, width: float, smoothness: float, *, exact: bool = False
) -> float:
    """Return a smooth upper bound on how far one record moves the trimmed mean of sorted values."""
    bounds = _exact_bounds(ordered, n_trimmed) if exact else _fast_bounds(ordered, n_trimmed)
    bounds = np.minimum(width, bounds / (ordered.size - 2 * n_trimmed))
    weights = np.exp(-smoothness * np.arange(n_trimmed + 1))
    return float(max((weights[:-1] * bounds).max(), weights[-1] * width))


def _fast_bounds(ordered: FloatArray, n_trimmed: int) -> FloatArray:
    """Return ``(n - 2m) U(k)`` for every k below m."""
    upper, lower = ordered[ordered.size - n_trimmed :], ordered[:n_trimmed][::-1]
    return upper - lower


def _exact_bounds(ordered: FloatArray, n_trimmed: int) -> FloatArray:
    """Return ``(n - 2m) A(k)`` for every k below m."""
    first = ordered.size - n_trimmed
    return np.array(
        [
            # l = 0..k+1 steps down from both ends at once; x(i) is ordered[i - 1].
            (
                ordered[first - 1 : first + k + 1][::-1]
                - ordered[n_trimmed - k - 1 : n_trimmed + 1][::-1]
            ).max()
            for k in range(n_trimmed)
        ]
    )


@dataclass(frozen=True)
class TrimmedMean(SmoothQuery):
    """Trimmed means of every coordinate of ``slope * row``; the state is the weight vector.

    Attributes
    ----------
    loss, units
        As for :class:`CoordinateMean`.
    low, high
        A public range in which the means lie, in these units.
    n_trimmed
        How many values are left out at either end. None takes the smoothness that
        ``smoothness_share`` allows and as many as it needs.
    smoothness_share
        The part of the budget for the smoothness; what is left goes to the noise. A larger part
        needs fewer trimmed records. Not used where ``n_trimmed`` is given.
    resolution
        How widely the bulk of the data is expected to spread; the scale that data of no spread get
        is ``resolution / n_rows``. A thousandth of the range by default.
    exact
        Whether the exact sensitivity is worked out, at a cost of ``n_trimmed**2`` per coordinate.
    calibration
        ``"tight"``: proved, and solved for the noise. ``"numerical"``: a smaller stated
        cost, certified numerically and not proved, which buys fewer trimmed records and less
        noise. ``"published"``: the constants of the paper,
        ``t = epsilon**2 / 16`` and ``s = epsilon / 4`` with ``rho = epsilon**2 / 2``.

    Guarantee
    ---------
    ``calibrate_event(...).event`` under replace-one neighbours: zCDP, proved in real arithmetic,
    with a numerical certificate for ``"numerical"``.

    Edge cases
    ----------
    A record with a non-finite value contributes zero and stays counted. Ties need no care. Data
    that are all equal get noise of the smallest scale. Fewer than ``2 * n_trimmed + 1`` records are
    refused before any is read.

    Reference
    ---------
    Wang, Xiao, Devadas and Xu 2020, Algorithm 2; Bun and Steinke 2019.

    Examples
    --------
    >>> query = TrimmedMean(None, Units.raw(1, intercept=False), low=-5.0, high=5.0)
    >>> public = query.calibrate_event(5_000, 1, ZeroConcentrated(0.5))
    >>> public.facts["n_trimmed"], round(public.shift, 3)
    (123, 0.656)
    """

    loss: Loss | None
    units: Units
    low: float
    high: float
    n_trimmed: int | None = None
    smoothness_share: float = 0.25
    resolution: float | None = None
    exact: bool = False
    calibration: str = "tight"

    name = "trimmed mean"

    @classmethod
    def wide(cls, reach: float) -> dict[str, float]:
        """Return parameters with which hardly anything within ``reach`` of zero is cut."""
        return {"low": -reach, "high": reach, "n_trimmed": 100}

    def __post_init__(self) -> None:
        check_choice("calibration", self.calibration, PROVED)
        if not check_finite("low", self.low) < check_finite("high", self.high):
            raise InputError(f"high must be above low = {self.low!r}; got {self.high!r}.")
        if not 1e-100 <= max(abs(self.low), abs(self.high)) <= 1e100:
            raise InputError("low and high must reach between 1e-100 and 1e100 in magnitude.")
        check_open_unit("smoothness_share", self.smoothness_share)
        if self.n_trimmed is not None:
            check_integer("n_trimmed", self.n_trimmed, minimum=1)
        if self.resolution is not None:
            check_positive("resolution", self.resolution)

    @property
    def width(self) -> float:
        """The width of the range, rounded up."""
        return math.nextafter(self.high - self.low, math.inf)

    def calibrate_event(self, n_rows: int, n_features: int, event: Event) -> SmoothCalibration:
        """Choose smoothness, trimming and noise so that the release costs at most ``event``."""
        if not isinstance(event, ZeroConcentrated):
            raise InputError(f"event must be a ZeroConcentrated cost; got {shown(event)}.")
        check_gathered(n_rows, self.units.size)
        rho = event.rho / self.units.size
        smoothness, shift = self._constants(n_rows, rho)
        return SmoothCalibration(
            mechanism="arsinh-normal",
            size=self.units.size,
            smoothness=smoothness,
            shift=shift,
            calibration=self.calibration,
            value_limit=max(abs(self.low), abs(self.high)),
            scale_ceiling=self.width * (1.0 + FLOAT_MARGIN),  # no smooth scale is larger
            facts={"n_trimmed": self._trimming(n_rows, smoothness)},
        )

    def _constants(self, n_rows: int, rho: float) -> tuple[float, float]:
        """Return smoothness and shift of one coordinate."""
        if self.calibration == "published":
            constants = published_constants(rho)
            if arsinh_rho(*constants) > rho:
                raise InputError(
                    "calibration='published' must have a rho of at most 41 per coordinate, where "
                    f"its constants are proved; got {rho:.3g}."
                )
            return constants
        if self.n_trimmed is None:
            smoothness = arsinh_smoothness(rho, self.smoothness_share, self.calibration)
        else:
            smoothness = self._decay_needed(n_rows) / self.n_trimmed
        return smoothness, arsinh_shift(rho, smoothness, self.calibration)

    def _decay_needed(self, n_rows: int) -> float:
        """Return the product of smoothness and trimming that takes the width to the resolution."""
        resolution = self.resolution or USUAL_RESOLUTION * self.width
        return max(1.0, math.log(n_rows * self.width / resolution))

    def _trimming_needed(self, n_rows: int, smoothness: float) -> int:
        """Return how many values the smoothness asks to leave out at either end."""
        return math.ceil(self._decay_needed(n_rows) / smoothness)

    def _trimming(self, n_rows: int, smoothness: float) -> int:
        """Return how many values to leave out at either end; refuse if too few would be left."""
        n_trimmed = self.n_trimmed or self._trimming_needed(n_rows, smoothness)
        if n_rows <= 2 * n_trimmed and self.n_trimmed:
            raise InputError(
                f"n_trimmed must be below half of n_rows = {n_rows}; got {self.n_trimmed}."
            )
        if n_rows <= 2 * n_trimmed:
            raise InputError(
                f"n_rows must be above {2 * n_trimmed}, twice the records that this budget needs "
                f"to trim at either end; got {n_rows}: use more rows, a larger share of the "
                "budget, another method, or calibration='numerical', which trims far fewer."
            )
        return n_trimmed

    def answer(self, rows: Rows, state: FloatArray, calibration: SmoothCalibration) -> SmoothAnswer:
        """Trim every coordinate of the gradients at the weights ``state``."""
        kernel = GatheredGradients(
            weights=state,
            **self.units.for_kernels(),
            loss=self.loss,
            n_rows=rows.n_rows,
        )
        gradients = np.clip(gather(rows, kernel), -LARGEST_ENTRY, LARGEST_ENTRY)
        n_trimmed = int(calibration.facts["n_trimmed"])
        pairs = [self._of_one(np.sort(column), n_trimmed, calibration) for column in gradients.T]
        value, scale = np.array(pairs).T
        return SmoothAnswer(value, scale * (1.0 + FLOAT_MARGIN))

    def _of_one(
        self, ordered: FloatArray, n_trimmed: int, calibration: SmoothCalibration
    ) -> tuple[float, float]:
        """Return trimmed mean and scale of one coordinate's sorted values."""
        value = trimmed_mean(ordered, n_trimmed, self.low, self.high)
        scale = trimmed_scale(ordered, n_trimmed, self.width, calibration.decay, exact=self.exact)
        return value, scale

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the scale, beside those of the calibration."""
        return {"low": self.low, "high": self.high, "exact": str(self.exact).lower()}
