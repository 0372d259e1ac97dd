"""The coordinate-wise clamped median of means.

Reference
---------
Kamath, Liu and Zhang 2022, Algorithm 3, Theorem 4.1 and Corollary 4.2.
"""

from dataclasses import dataclass

from tailguard.checks import InputError
from tailguard.means.base import MeanExample, MeanFacts
from tailguard.means.budget import amount_of
from tailguard.means.coordinate_wise import CoordinateWise, chosen_groups, theory_groups
from tailguard.means.levels import Level
from tailguard.moments import Moment
from tailguard.papers import kamath2022
from tailguard.papers.kamath2022 import parameters as printed
from tailguard.plans.budget import Share
from tailguard.plans.problem import Problem
from tailguard.privacy.events import Laplace
from tailguard.privacy.guarantees import GDP, ZCDP
from tailguard.queries.means.clamped import ClampedMean
from tailguard.queries.units import Units

# The theory needs a threshold of at least 10 moment units, so that means of that size fit.
FEWEST_MOMENT_UNITS = 10.0


@dataclass(frozen=True)
class Clamped(CoordinateWise):
    """Median over groups of the means of entries clipped at three times a threshold.

    Attributes
    ----------
    threshold
        A public threshold (the paper's tau), in the units of the data; no scale is released then.
    failure_probability
        Sets the number of groups, ``4 log(2 d / failure_probability)``, made even.
    n_groups
        The number of groups; 2 gives a plain clamped mean.

    Guarantee
    ---------
    Gaussian noise, or Laplace noise for pure DP, at the exact sensitivity, for every input.

    Reference
    ---------
    Kamath, Liu and Zhang 2022, Algorithm 3.

    Examples
    --------
    >>> import tailguard as tg
    >>> plan = Clamped().plan(Problem(None, 100_000, 10, moment=tg.Moment(2.0, 1.0)), tg.ZCDP(0.5))
    >>> plan.settings["groups"], round(plan.settings["threshold"], 4)
    (22, 149.5349)
    """

    n_groups: int | None = None

    name = "clamped"
    example = MeanExample(
        {"threshold": 20.0},
        Moment(2.0, 4.0),
        refuses=(),
        shown={"threshold": 1.0, "n_groups": 1},
    )

    def query(self, units: Units, threshold: float, groups: int) -> ClampedMean:
        """Return the query at a threshold."""
        return ClampedMean(None, units, threshold, groups)

    def groups(self, problem: Problem) -> int:
        """Return how many groups the median is taken over."""
        if self.n_groups is not None:
            return chosen_groups(self.n_groups, problem)
        return theory_groups(problem, self.failure_probability)

    def moment_level(self, facts: MeanFacts, budget: Share, groups: int) -> Level:
        """Return the threshold of Corollary 4.2 for central moments of order 2 and above."""
        moment = facts.known_moment("central")
        if isinstance(budget, Laplace):
            found = facts.into(printed.mean_threshold_pure, moment, epsilon=budget.epsilon)
        else:
            found = facts.into(printed.mean_threshold, moment, rho=budget.mu**2 / 2.0)
        threshold = max(found, FEWEST_MOMENT_UNITS * moment.scale)
        told = {"threshold": threshold, "mean_bound": threshold}
        bias = facts.into(kamath2022.clamping_bias, moment, **told)
        return Level(threshold, bias, facts.sampling)

    def printed_spend(self, facts: MeanFacts, threshold: float, groups: int) -> float:
        """Return what the noise of Theorem 4.1 really spends: less than it promises."""
        query = self.raw_query(facts.n_features, threshold, groups)
        told = {"threshold": threshold, "failure_probability": self.failure_probability}
        if facts.pure:
            epsilon = amount_of(facts.budget)
            scale = facts.into(printed.printed_noise_scale_pure, epsilon=epsilon, **told)
            return query.pure_sensitivity(facts.n_rows, facts.n_features).ideal / scale
        if not isinstance(facts.guarantee, ZCDP | GDP):
            raise InputError(
                "calibration='paper' needs guarantee=ZCDP(rho) or PureDP(epsilon) with method "
                f"'clamped', whose paper prints its noise in them; got {facts.guarantee!r}."
            )
        rho = facts.guarantee.gaussian_mu() ** 2 / 2.0
        noise_std = facts.into(printed.printed_noise_std, rho=rho, **told)
        return query.sensitivity(facts.n_rows, facts.n_features).ideal / noise_std
