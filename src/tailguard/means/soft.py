"""The coordinate-wise mean under smoothed soft truncation.

Reference
---------
Wang, Xiao, Devadas and Xu 2020, equation (12), Theorem 6 and Algorithm 4; Kamath, Liu and Zhang
2022, Algorithm 4.
"""

import math
from dataclasses import dataclass

from tailguard.checks import InputError, check_positive
from tailguard.means.base import MeanExample, MeanFacts
from tailguard.means.budget import amount_of
from tailguard.means.coordinate_wise import CoordinateWise
from tailguard.means.levels import Level
from tailguard.moments import Moment
from tailguard.papers.kamath2022 import parameters as kamath2022
from tailguard.papers.wang2020 import parameters as wang2020
from tailguard.plans.budget import Share
from tailguard.privacy.guarantees import GDP, ZCDP
from tailguard.queries.means.soft import SoftMean
from tailguard.queries.units import Units


@dataclass(frozen=True)
class Soft(CoordinateWise):
    """Mean of ``scale * psi(entry / scale)``, with an odd, increasing and bounded psi.

    Attributes
    ----------
    threshold
        A public scale at which the truncation sets in, in the units of the data; no scale is
        released then.
    failure_probability
        Sets scale and smoothing for an assumed moment.
    smoothing
        Inverse variance of the noise that psi is smoothed by; by default
        ``log(1 / failure_probability)``, as in Algorithm 4, line 1.

    Guarantee
    ---------
    Gaussian noise, or Laplace noise for pure DP, at the exact sensitivity, for every input.

    Reference
    ---------
    Wang, Xiao, Devadas and Xu 2020, Algorithm 4.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.plans.problem import Problem
    >>> problem = Problem(None, 100_000, 10, moment=tg.Moment(2.0, 5.0, kind="raw"))
    >>> method = Soft(failure_probability=0.01, calibration="paper")
    >>> plan = method.plan(problem, tg.ApproxDP(1.0, 1e-5))
    >>> round(plan.settings["threshold"], 6), round(plan.stages[0].mu, 8)
    (232.995301, 0.19755401)
    """

    smoothing: float | None = None

    name = "soft"
    example = MeanExample(
        {"threshold": 5_000.0},
        Moment(2.0, 4.0, kind="raw"),
        refuses=(),
        distance=1e-3,
        shown={"threshold": 1.0},
    )

    @property
    def strength(self) -> float:
        """The smoothing that is used."""
        if self.smoothing is not None:
            return check_positive("smoothing", self.smoothing)
        return wang2020.printed_smoothing(failure_probability=self.failure_probability)

    def query(self, units: Units, threshold: float, groups: int) -> SoftMean:
        """Return the query at a scale."""
        return SoftMean(None, units, threshold, self.strength)

    def moment_level(self, facts: MeanFacts, budget: Share, groups: int) -> Level:
        """Return the scale for second raw moments, or for Kamath's noise for central ones."""
        moment = facts.known_moment("raw").at_order(2.0)
        chance = {"failure_probability": self.failure_probability}
        if facts.calibration == "paper":
            scale = facts.into(wang2020.printed_scale, moment, **chance)
        else:
            # Laplace noise of l1 sensitivity: sqrt(2 d) times as much as Gaussian noise of l2.
            mu = amount_of(budget) / (math.sqrt(2.0 * facts.n_features) if facts.pure else 1.0)
            scale = facts.into(wang2020.noise_aware_scale, moment, n_steps=1, mu=mu, **chance)
        bias = moment.bound * (1.0 + 1.0 / self.strength) / (2.0 * scale)
        return Level(scale, bias, facts.sampling)

    def printed_spend(self, facts: MeanFacts, threshold: float, groups: int) -> float:
        """Return what the printed noise really spends.

        Wang's is valid. Kamath's spends ``2 K^2 rho`` where it promises rho, more than that for a
        smoothing above 1.3233.
        """
        n, d = facts.n_rows, facts.n_features
        if isinstance(facts.guarantee, ZCDP | GDP):
            rho = facts.guarantee.gaussian_mu() ** 2 / 2.0
            spent = kamath2022.printed_soft_noise_rho(rho=rho, smoothing=self.strength)
            return math.sqrt(2.0 * spent)
        asked = facts.approximate
        if facts.moment is None:
            raise InputError(
                "calibration='paper' needs moment= with method 'soft' and epsilon=, as the printed "
                "noise is stated for a moment."
            )
        noise_std = facts.into(
            wang2020.printed_noise_std,
            facts.known_moment("raw").at_order(2.0),
            n_steps=1,
            failure_probability=self.failure_probability,
            epsilon=asked.epsilon,
            delta=asked.delta,
        )
        query = self.raw_query(d, threshold, groups)
        return query.sensitivity(n, d).ideal / noise_std
