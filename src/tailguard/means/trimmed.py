"""The coordinate-wise trimmed mean with noise that follows the records.

The noise shrinks with the spread of the values that are kept, without a threshold to choose. Its
cost is concentrated and not Gaussian, so that an (epsilon, delta) promise is kept by way of zCDP.

Reference
---------
Bun and Steinke 2019; Wang, Xiao, Devadas and Xu 2020, Algorithm 2, on a scale that is smooth.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from tailguard.checks import (
    InputError,
    check_choice,
    check_count,
    check_finite,
    check_given,
    require,
)
from tailguard.gate import Gate
from tailguard.gate.budget import concentrated_budget, usable_guarantee
from tailguard.gate.plan import Plan
from tailguard.gate.solution import Solution
from tailguard.gate.stage import Stage
from tailguard.means.base import (
    ANY_TAIL,
    IN_PRIVATE_UNITS,
    IN_USER_UNITS,
    Expected,
    MeanExample,
    MeanFacts,
    MeanMethod,
    MeanPlan,
    found_mean,
    most_coordinates,
)
from tailguard.means.budget import amount_of
from tailguard.means.magnitude_distribution import (
    BIAS_SHARE,
    MagnitudeDistribution,
    assumed_entries,
)
from tailguard.means.private_units import PrivateUnits
from tailguard.privacy.calibration import SmoothCalibration
from tailguard.privacy.events import Gaussian, ZeroConcentrated
from tailguard.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP
from tailguard.queries.means.trimmed import TrimmedMean
from tailguard.queries.units import Units

# Of the hyperbolic sine of a standard normal: the root of (e^2 - 1) / 2.
NOISE_OVER_SCALE = math.sqrt((math.exp(2.0) - 1.0) / 2.0)
FIRST_SHARE = 0.25  # for the smoothness, where the number of trimmed values is told
REACH = 8.0  # private scales between a column's median and its mean, at most
# Parts of the budget for the smoothness that are tried. A larger part trims fewer records.
SMOOTHNESS_SHARES = (0.001, 0.005, 0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


@dataclass(frozen=True)
class Trimmed(MeanMethod):
    """Mean of what is left of each column without its smallest and largest values.

    Attributes
    ----------
    low, high
        A public range in which the means lie, in the units of the data; no scale is released then.
    n_trimmed
        How many values are left out at either end; by default what the budget asks for.
    calibration
        ``"tight"``: the least noise that is proved. ``"numerical"``: less noise, for a cost that is
        certified on a grid and not proved.

    Guarantee
    ---------
    zCDP, for every input, proved in real arithmetic; with ``calibration="numerical"`` numerically
    certified. Pure DP and GDP are refused: the noise keeps neither.

    Reference
    ---------
    Wang, Xiao, Devadas and Xu 2020, Algorithm 2, on the smooth sensitivity of Bun and Steinke 2019.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.gate.problem import Problem
    >>> plan = Trimmed(low=0.0, high=100.0).plan(Problem(None, 100_000, 1), tg.ZCDP(0.1))
    >>> plan.settings["trimmed at either end"] < 10_000
    True
    """

    low: float | None = None
    high: float | None = None
    n_trimmed: int | None = None
    calibration: str = "tight"

    name = "trimmed"
    example = MeanExample(
        {"low": -50.0, "high": 50.0, "n_trimmed": 400}, refuses=(PureDP, GDP), distance=0.01
    )

    def plan_from(self, facts: MeanFacts) -> MeanPlan:
        """Choose how much to trim."""
        if facts.moment is not None or facts.problem.unit is not None:
            raise InputError(
                "moment must not be given with method 'trimmed', which takes low= and high=, a "
                "range of the means, or neither."
            )
        if (self.low is None) != (self.high is None):
            raise InputError("low and high must be given together; got one of them.")
        check_given(self, check_count, "n_trimmed")
        self.check_calibration()
        budget = Gaussian(math.sqrt(2.0 * self.rho(facts)))
        if self.low is None or self.high is None:
            return self._private_plan(facts, budget)
        low, high = check_finite("low", self.low), check_finite("high", self.high)
        distribution = assumed_entries()
        distribution = replace(distribution, points=distribution.points * _spread(low, high))
        return self._plan(facts, budget.mu, (), low, high, distribution)

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Ask once, in the planned or the released units."""
        stage, units = plan.stage("mean"), Units.raw(gate.n_features, intercept=False)
        distribution, fraction = None, 1.0
        if len(plan.stages) > 1:
            released = PrivateUnits.planned(plan, "entries").release(gate)
            units, distribution, fraction = released.units, released.distribution, released.fraction
        query = self._planned_query(plan, units)
        found = gate.ask(query, np.zeros(gate.n_features), stage) / fraction
        public = query.calibrate_event(gate.n_rows, gate.n_features, stage.asked)
        noise_std = (
            math.nan
            if distribution is None
            else _noise_std(distribution, public, gate.n_rows) / fraction
        )
        return found_mean(plan, units.center + units.scale * found, units.scale * noise_std)

    def check_calibration(self) -> None:
        """Refuse a calibration that the method does not have."""
        check_choice("calibration", self.calibration, ("tight", "numerical"))

    def rho(self, facts: MeanFacts) -> float:
        """Return the concentrated budget of a guarantee that has one."""
        asked = facts.guarantee
        require(
            isinstance(asked, ApproxDP | ZCDP),
            "method 'trimmed' must be used with an (epsilon, delta) promise or ZCDP, as its noise "
            f"is neither Gaussian nor pure; got {asked!r}.",
        )
        return concentrated_budget(usable_guarantee(asked, most_coordinates(facts.problem)))

    def query(
        self, units: Units, low: float, high: float, resolution: float, share: float = FIRST_SHARE
    ) -> TrimmedMean:
        """Return the query for means in a range, with a part of the budget for the smoothness."""
        return TrimmedMean(
            None,
            units,
            low,
            high,
            n_trimmed=self.n_trimmed,
            smoothness_share=share,
            resolution=resolution,
            calibration=self.calibration,
        )

    def _private_plan(self, facts: MeanFacts, budget: Gaussian) -> MeanPlan:
        units_plan, left = PrivateUnits.of(facts, "entries", budget)
        distribution = units_plan.assumed(facts.n_features)
        return self._plan(facts, amount_of(left), units_plan.stages, -REACH, REACH, distribution)

    def _plan(
        self,
        facts: MeanFacts,
        mu: float,
        released: tuple[Stage, ...],
        low: float,
        high: float,
        distribution: MagnitudeDistribution,
    ) -> MeanPlan:
        d, spread = facts.n_features, _spread(low, high)
        query = self.query(Units.raw(d, intercept=False), low, high, spread)
        share = ZeroConcentrated(mu**2 / 2.0)
        query, public, expected = _least_error(query, facts, share, distribution, spread)
        kept = {"kept": public.event, "by_place": True}
        stage = Stage.of(share, "mean", "the trimmed mean", 1, public.size, **kept)
        return MeanPlan(
            self.name,
            facts.problem,
            facts.guarantee,
            (*released, stage),
            {
                "trimmed at either end": int(public.facts["n_trimmed"]),
                "smoothness share": query.smoothness_share,
                "low": low,
                "high": high,
                "spread": spread,
            },
            (
                ANY_TAIL,
                "the distribution of each column is nearly symmetric beyond what is trimmed",
            ),
            expected=expected,
            unit=IN_PRIVATE_UNITS if released else IN_USER_UNITS,
        )

    def _planned_query(self, plan: Plan, units: Units) -> TrimmedMean:
        low, high, spread, share = (
            float(plan.settings[name]) for name in ("low", "high", "spread", "smoothness share")
        )
        return self.query(units, low, high, spread, share)


def _spread(low: float, high: float) -> float:
    """Return the spread of the data that a range of their mean suggests: one private scale."""
    return (high - low) / (2.0 * REACH)


def _least_error(
    query: TrimmedMean,
    facts: MeanFacts,
    event: ZeroConcentrated,
    distribution: MagnitudeDistribution,
    spread: float,
) -> tuple[TrimmedMean, SmoothCalibration, Expected]:
    """Split the budget between smoothness and noise for the least error, bias included."""
    found, refusal = [], None
    for share in SMOOTHNESS_SHARES if query.n_trimmed is None else (query.smoothness_share,):
        candidate = replace(query, smoothness_share=share)
        try:
            public = candidate.calibrate_event(facts.n_rows, facts.n_features, event)
        except InputError as error:
            refusal = error
            continue
        found.append((candidate, public, _expected(distribution, public, facts, spread)))
    if not found:
        assert refusal is not None
        raise refusal
    return min(found, key=lambda each: each[2].total)


def _expected(
    distribution: MagnitudeDistribution, public: SmoothCalibration, facts: MeanFacts, spread: float
) -> Expected:
    """Predict noise, bias and sampling error from a distribution of magnitudes."""
    part = 2.0 * int(public.facts["n_trimmed"]) / facts.n_rows
    edge, root = distribution.quantile(min(part, 1.0)), math.sqrt(facts.n_features)
    bias = BIAS_SHARE * distribution.expected(lambda t: np.where(t > edge, t - edge, 0.0))
    noise = _noise_std(distribution, public, facts.n_rows)
    return Expected(noise * root, bias * root, root * spread / math.sqrt(facts.n_rows))


def _noise_std(
    distribution: MagnitudeDistribution, public: SmoothCalibration, n_rows: int
) -> float:
    """Predict the noise from a distribution of magnitudes, by its expected order statistics.

    With ``k`` of the ``m`` trimmed values moved, one record moves the mean by at most the distance
    of the order statistics ``m - k`` from either end over the number of values kept; these are
    where a part ``2 (m - k) / n`` of the magnitudes lies beyond.
    """
    trimmed = int(public.facts["n_trimmed"])
    moved = np.unique(np.geomspace(1.0, trimmed, 60).astype(int)) - 1
    reach = np.array([distribution.quantile(min(2.0 * (trimmed - k) / n_rows, 1.0)) for k in moved])
    scales = np.exp(-public.smoothness * moved) * 2.0 * reach / (n_rows - 2 * trimmed)
    return NOISE_OVER_SCALE * float(scales.max()) / public.shift
