"""The coordinate-wise trimmed mean with noise on its smooth sensitivity.

The noise shrinks with the spread of the kept values. Its cost is a zCDP cost, so an
(epsilon, delta) promise is kept by converting zCDP to it.

In each coordinate the ``n_trimmed`` smallest and largest values are left out; the mean of the rest
is cut to a public range. Write ``x(1) <= ... <= x(n)`` for the sorted values, m for ``n_trimmed``.
One replaced record moves an order statistic to a neighbouring one at most. So after k replacements
one more moves the mean by at most

    ``A(k) = max over l = 0..k+1 of (x(n-m+1+k-l) - x(m+1-l)) / (n - 2m)``   for k < m,

and never by more than the width of the range. ``A(k)`` is at most the ``A(k + 1)`` of a neighbour.
So ``S = max(exp(-t k) min(width, A(k)) over k < m, exp(-t m) width)`` is t-smooth and at least the
local sensitivity. By default ``A(k)`` is replaced by the wider
``U(k) = (x(n-m+1+k) - x(m-k)) / (n - 2m)``, which has the same property, costs nothing beyond the
sort, and gives at most twice the scale.

In floats. Differences, quotients and maxima of floats are monotone, so the property of ``A`` and
``U`` holds for floats as they are; products with the weights change the logarithm of S by less than
``smoothness - decay`` of the calibration. The sum is rounded once, correctly, so the error of the
mean is less than two roundings (of the range, once it is cut); the scale is raised by more.

Reference
---------
Bun and Steinke 2019 (trimmed mean on smooth sensitivity); Wang, Xiao, Devadas and Xu 2020,
Algorithm 2 and Theorem 3. The scale that Algorithm 2 prints, ``(x(n) - x(1)) / (n - 2m)`` in the
place of all ``A(k)``, is an upper bound but not smooth: one record that moves to infinity moves it
without bound, and there is no privacy.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import (
    InputError,
    check_choice,
    check_count,
    check_finite,
    check_given,
    check_open_unit,
    check_positive,
    require,
    shown,
)
from tailguard.data.rows.base import RecordBlock, Rows
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Solution
from tailguard.gate.stage import Stage, concentrated_budget, usable_guarantee
from tailguard.losses.base import Loss
from tailguard.means.base import (
    Expected,
    MeanExample,
    MeanFacts,
    MeanMethod,
    MeanPlan,
    amount_of,
    mean_solution,
    most_coordinates,
)
from tailguard.means.magnitude_distribution import MagnitudeDistribution, assumed_entries
from tailguard.means.private_units import PrivateUnits
from tailguard.noise.smooth import SmoothAnswer
from tailguard.privacy.arsinh import PROVED, arsinh_rho, arsinh_shift, arsinh_smoothness
from tailguard.privacy.calibration import FLOAT_MARGIN, SmoothCalibration
from tailguard.privacy.events import Event, Gaussian, ZeroConcentrated
from tailguard.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP
from tailguard.queries.base import SmoothQuery
from tailguard.queries.coordinates import placed_gradients
from tailguard.queries.gather import check_gathered, gather
from tailguard.queries.units import Units

USUAL_RESOLUTION = 1e-3  # the default resolution, as a part of the range
NOISE_OVER_SCALE = math.sqrt((math.exp(2.0) - 1.0) / 2.0)  # std of the sinh of a standard normal
FIRST_SHARE = 0.25  # of the budget for the smoothness, if the number of trimmed values is given
SYMMETRIC = "the distribution of each column is nearly symmetric beyond what is trimmed"
REACH = 8.0  # in private scales: the largest assumed distance of a column's mean from its median
# Shares of the budget for the smoothness to try. A larger share trims fewer records.
SMOOTHNESS_SHARES = (0.001, 0.005, 0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


def published_constants(rho: float) -> tuple[float, float]:
    """Return the smoothness and shift of one coordinate that the paper states."""
    epsilon = math.sqrt(2.0 * rho)
    return epsilon**2 / 16.0, epsilon / 4.0


def trimmed_mean(ordered: FloatArray, n_trimmed: int, low: float, high: float) -> float:
    """Return the trimmed mean of sorted values, cut to ``[low, high]``."""
    kept = ordered[n_trimmed : ordered.size - n_trimmed]
    # One rounding for the whole sum, so that the error does not grow with n.
    return min(max(math.fsum(kept.tolist()) / kept.size, low), high)


def trimmed_scale(
    ordered: FloatArray, n_trimmed: int, width: float, smoothness: float, *, exact: bool = False
) -> float:
    """Return a smooth upper bound on how far one record moves the trimmed mean of sorted values."""
    first = ordered.size - n_trimmed
    bounds = ordered[first:] - ordered[:n_trimmed][::-1]  # (n - 2m) U(k) for every k below m
    if exact:
        for k in range(n_trimmed):  # (n - 2m) A(k): as l = 0..k+1 grows, both order statistics fall
            upper = ordered[first - 1 : first + k + 1][::-1]
            bounds[k] = (upper - ordered[n_trimmed - k - 1 : n_trimmed + 1][::-1]).max()
    bounds = np.minimum(width, bounds / (ordered.size - 2 * n_trimmed))
    weights = np.exp(-smoothness * np.arange(n_trimmed + 1))
    return float(max((weights[:-1] * bounds).max(), weights[-1] * width))


@dataclass(frozen=True)
class TrimmedMean(SmoothQuery):
    """Trimmed means of every coordinate of ``slope * row``; the state is the weight vector.

    Attributes
    ----------
    low, high, n_trimmed, calibration
        As in :class:`Trimmed`, in ``units``; ``calibration="published"`` takes the constants of
        the paper, ``t = epsilon**2 / 16`` and ``s = epsilon / 4`` with ``rho = epsilon**2 / 2``.
    smoothness_share
        The share of the budget for the smoothness, if ``n_trimmed`` is None; the rest goes to the
        noise. A larger share needs fewer trimmed records.
    resolution
        The expected spread of the bulk of the data; data without spread get the scale
        ``resolution / n_rows``. A thousandth of the range by default.
    exact
        Whether to compute the exact sensitivity, at a cost of ``n_trimmed**2`` per coordinate.

    Guarantee
    ---------
    ``calibrate_event(...).event`` under replace-one neighbours: zCDP, proved in real arithmetic,
    with a numerical certificate for ``"numerical"``. A record with a non-finite value contributes
    zero and stays counted; a person has one value: her rows, added up by their shares. Fewer than
    ``2 * n_trimmed + 1`` records are refused before any is read.

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
    takes_persons = True

    def __post_init__(self) -> None:
        check_choice("calibration", self.calibration, PROVED)
        if not check_finite("low", self.low) < check_finite("high", self.high):
            raise InputError(f"high must be above low = {self.low!r}; got {self.high!r}.")
        if not 1e-100 <= max(abs(self.low), abs(self.high)) <= 1e100:
            raise InputError("low and high must reach between 1e-100 and 1e100 in magnitude.")
        check_open_unit("smoothness_share", self.smoothness_share)
        check_given(self, check_count, "n_trimmed")
        check_given(self, check_positive, "resolution")

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
            scale_ceiling=self.width * (1.0 + FLOAT_MARGIN),  # the largest smooth scale
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
        smoothness = self._decay_needed(n_rows) / (self.n_trimmed or 1)
        if self.n_trimmed is None:
            smoothness = arsinh_smoothness(rho, self.smoothness_share, self.calibration)
        return smoothness, arsinh_shift(rho, smoothness, self.calibration)

    def _decay_needed(self, n_rows: int) -> float:
        """Return the product of smoothness and trimming that cuts the width to the resolution."""
        resolution = self.resolution or USUAL_RESOLUTION * self.width
        return max(1.0, math.log(n_rows * self.width / resolution))

    def _trimming_needed(self, n_rows: int, smoothness: float) -> int:
        """Return how many values to leave out at either end for this smoothness."""
        return math.ceil(self._decay_needed(n_rows) / smoothness)

    def _trimming(self, n_rows: int, smoothness: float) -> int:
        """Return how many values to leave out at either end; refuse if none would be kept."""
        n_trimmed = self.n_trimmed or self._trimming_needed(n_rows, smoothness)
        if n_rows > 2 * n_trimmed:
            return n_trimmed
        if m := self.n_trimmed:
            raise InputError(f"n_trimmed must be below half of n_rows = {n_rows}; got {m}.")
        raise InputError(
            f"n_rows must be above {2 * n_trimmed}, twice the records that this budget needs "
            f"to trim at either end; got {n_rows}: use more rows, a larger share of the "
            "budget, another method, or calibration='numerical', which trims far fewer."
        )

    def answer(self, rows: Rows, state: FloatArray, calibration: SmoothCalibration) -> SmoothAnswer:
        """Trim every coordinate of the gradients at the weights ``state``."""
        gradients = gather(self, rows, self.units.size, self.units.weights(state))
        m, columns = int(calibration.facts["n_trimmed"]), np.sort(gradients, axis=0).T
        value = [trimmed_mean(ordered, m, self.low, self.high) for ordered in columns]
        scale = np.array([self._scale(ordered, m, calibration) for ordered in columns])
        return SmoothAnswer(np.array(value), scale * (1.0 + FLOAT_MARGIN))

    def sum_block(self, block: RecordBlock, state: Any, grid: float) -> IntArray:
        """Place the gradients of a block among those of all records."""
        return placed_gradients(self.loss, self.units, block, *state)

    def _scale(self, ordered: FloatArray, m: int, calibration: SmoothCalibration) -> float:
        """Return the scale of one coordinate's sorted values."""
        return trimmed_scale(ordered, m, self.width, calibration.decay, exact=self.exact)

    def expected_noise(
        self, distribution: MagnitudeDistribution, public: SmoothCalibration, n_rows: int
    ) -> float:
        """Predict the noise from a distribution of magnitudes, by its expected order statistics.

        After ``k`` of ``m`` trimmed values have moved, one record moves the mean by at most the
        distance between the order statistics ``m - k`` from either end, over the number of kept
        values.
        """
        m = int(public.facts["n_trimmed"])
        moved = np.unique(np.geomspace(1.0, m, 60).astype(int)) - 1
        reach = np.array([distribution.quantile(min(2.0 * (m - k) / n_rows, 1.0)) for k in moved])
        scales = np.exp(-public.smoothness * moved) * 2.0 * reach / (n_rows - 2 * m)
        return NOISE_OVER_SCALE * float(scales.max()) / public.shift

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the scale, beside those of the calibration."""
        return {"low": self.low, "high": self.high, "exact": str(self.exact).lower()}


@dataclass(frozen=True)
class Trimmed(MeanMethod):
    """Mean of each column without its smallest and largest values.

    Attributes
    ----------
    low, high
        A public range in which the means lie, in the units of the data; then no scale is released.
    n_trimmed
        How many values are left out at either end; by default as many as the budget needs.
    calibration
        ``"tight"``: the least noise that is proved. ``"numerical"``: less noise, for a cost that is
        certified on a grid and not proved.

    Guarantee
    ---------
    zCDP, for every input, proved in real arithmetic; with ``calibration="numerical"`` numerically
    certified. Pure DP and GDP are refused: this noise satisfies neither.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.gate.plan import Problem
    >>> plan = Trimmed(low=0.0, high=100.0).plan(Problem(None, 100_000, 1), tg.ZCDP(0.1))
    >>> plan.settings["trimmed at either end"] < 10_000
    True
    """

    low: float | None = None
    high: float | None = None
    n_trimmed: int | None = None
    calibration: str = "tight"

    name = "trimmed"
    shares: ClassVar[tuple[float, ...]] = SMOOTHNESS_SHARES  # to try
    more_assumptions = (SYMMETRIC,)
    example = MeanExample(
        {"low": -50.0, "high": 50.0, "n_trimmed": 400}, refuses=(PureDP, GDP), distance=0.01
    )

    def plan_from(self, facts: MeanFacts) -> MeanPlan:
        """Choose how much to trim, in a stated range or in units that are released first."""
        if facts.moment is not None or facts.problem.unit is not None:
            raise InputError(
                "moment must not be given with method 'trimmed', which takes low= and high=, a "
                "range of the means, or neither."
            )
        if (self.low is None) != (self.high is None):
            raise InputError("low and high must be given together; got one of them.")
        check_given(self, check_count, "n_trimmed")
        check_choice("calibration", self.calibration, ("tight", "numerical"))
        released: tuple[Stage, ...] = ()
        mu, low, high = math.sqrt(2.0 * self.rho(facts)), self.low, self.high
        if low is None or high is None:
            units, left = PrivateUnits.of(facts, "entries", Gaussian(mu))
            mu, released, low, high = amount_of(left), units.stages, -REACH, REACH
        low, high = check_finite("low", low), check_finite("high", high)
        spread = (high - low) / (2.0 * REACH)  # one private scale
        cost = ZeroConcentrated(mu**2 / 2.0)
        query, public, expected = self._least_error(facts, cost, low, high, spread)
        options = {"kept": public.event, "by_place": True}
        stage = Stage.of(cost, "mean", "the trimmed mean", 1, public.size, **options)
        settings: dict[str, float | int | str] = {
            "trimmed at either end": int(public.facts["n_trimmed"]),
            **{"low": low, "high": high, "spread": spread},
        }
        if query.smoothness_share != FIRST_SHARE:
            settings["smoothness share"] = query.smoothness_share
        return self.planned(facts, (*released, stage), expected, settings)

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Release the trimmed mean once, in the planned or the released units."""
        stage, units = plan.stage("mean"), Units.raw(gate.n_features, intercept=False)
        distribution, fraction = None, 1.0
        if len(plan.stages) > 1:
            released = PrivateUnits.planned(plan, "entries").release(gate)
            units, distribution, fraction = released.units, released.distribution, released.fraction
        low, high, spread = (float(plan.settings[name]) for name in ("low", "high", "spread"))
        share = float(plan.settings.get("smoothness share", FIRST_SHARE))
        query = self.query(units, low, high, spread, share)
        mean = gate.ask(query, np.zeros(gate.n_features), stage) / fraction  # voids are zeros
        noise_std = math.nan
        if distribution is not None:
            public = query.calibrate_event(gate.n_records, gate.n_features, stage.asked)
            noise_std = query.expected_noise(distribution, public, gate.n_records) / fraction
        return mean_solution(plan, units.center + units.scale * mean, units.scale * noise_std)

    def rho(self, facts: MeanFacts) -> float:
        """Return the concentrated budget of a guarantee that has one."""
        guarantee = facts.guarantee
        require(
            isinstance(guarantee, ApproxDP | ZCDP),
            "method 'trimmed' must be used with an (epsilon, delta) promise or ZCDP, as its noise "
            f"is neither Gaussian nor pure; got {guarantee!r}.",
        )
        return concentrated_budget(usable_guarantee(guarantee, most_coordinates(facts.problem)))

    def query(
        self, units: Units, low: float, high: float, resolution: float, share: float = FIRST_SHARE
    ) -> TrimmedMean:
        """Return the query for means in a range, with a share of the budget for the smoothness."""
        chosen = (self.n_trimmed, share, resolution)
        return TrimmedMean(None, units, low, high, *chosen, calibration=self.calibration)

    def _least_error(
        self, facts: MeanFacts, cost: Event, low: float, high: float, spread: float
    ) -> tuple[TrimmedMean, SmoothCalibration, Expected]:
        """Split the budget between smoothness and noise for the least error, bias included."""
        candidates, refusals, raw = [], [], Units.raw(facts.n_features, intercept=False)
        for share in self.shares if self.n_trimmed is None else (FIRST_SHARE,):
            query = self.query(raw, low, high, spread, share)
            try:
                public = query.calibrate_event(facts.n_rows, facts.n_features, cost)
                candidates.append((query, public, _expected(query, public, facts, spread)))
            except InputError as refusal:
                refusals.append(refusal)
        if not candidates:
            raise refusals[-1]
        return min(candidates, key=lambda each: each[2].total)


def _expected(
    query: TrimmedMean, public: SmoothCalibration, facts: MeanFacts, spread: float
) -> Expected:
    """Predict noise, bias and sampling error from a distribution of magnitudes."""
    entries, part = assumed_entries(spread), 2.0 * int(public.facts["n_trimmed"]) / facts.n_rows
    edge, root = entries.quantile(min(part, 1.0)), math.sqrt(facts.n_features)
    noise, bias = query.expected_noise(entries, public, facts.n_rows), entries.cut_bias(edge)
    return Expected(noise * root, bias * root, root * spread / math.sqrt(facts.n_rows))
