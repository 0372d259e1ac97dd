"""The coordinate-wise mean under smoothed soft truncation.

Every coordinate ``g`` becomes ``scale * psi(g / scale)``, and the mean is released. The function
psi is odd, increasing and bounded, and the identity near zero. ``coordinate_wise.py`` has the
proof.

Reference
---------
Wang, Xiao, Devadas and Xu 2020, equation (12), Theorem 6 and Algorithm 4; Kamath, Liu and Zhang
2022, Algorithm 4. Their bound on psi, ``2 sqrt(2) / 3``, is valid and never attained; here the
exact bound is used. The noise that Algorithm 4 prints assumes that psi is at most ``1 / sqrt(2)``,
which holds only for a smoothing of at most 1.3233.
"""

import math
from dataclasses import dataclass
from typing import Any

from tailguard.checks import check_positive
from tailguard.gate.stage import Share
from tailguard.means.base import Level, MeanExample, MeanFacts, amount_of
from tailguard.means.coordinate_wise import CoordinateMean, CoordinateWise
from tailguard.means.formulas import checked
from tailguard.moments import Moment
from tailguard.queries.coordinates import CoordinateBound
from tailguard.queries.soft_truncation import soft_limit
from tailguard.queries.units import Units


@dataclass(frozen=True)
class SoftMean(CoordinateMean):
    """Mean of ``scale * psi(slope * row / scale)``; the state is the weight vector.

    Attributes
    ----------
    scale
        The size of entries at which the truncation sets in.
    smoothing
        Inverse variance of the noise with which psi is smoothed, from 1/4 to 400.

    Guarantee
    ---------
    Replacing any record by any other moves each coordinate by at most ``2 * scale * K / n``, with
    ``K`` of :func:`psi_limit`; the vector by ``sqrt(d)`` times that in l2 norm and ``d`` times in
    l1 norm; plus the charged rounding. The compiled evaluation of psi is clipped at exactly ``K``.
    So its error, 2e-9 for a smoothing from 1 to 100, affects only accuracy. A record with a
    non-finite value contributes zero and stays counted.

    Examples
    --------
    >>> query = SoftMean(None, Units.raw(1, intercept=False), scale=10.0)
    >>> round(query.sensitivity(n_rows=100, n_features=1).ideal, 6)
    0.128729
    """

    scale: float
    smoothing: float = 1.0

    name = "softly truncated mean"

    @classmethod
    def worst_pair(cls, units: Units) -> dict[str, Any]:
        """Return a query and two records, one far below and one far above."""
        query = cls(None, units, scale=2.0, smoothing=4.6)
        ends = {"old": (-1e6, -1e6, -1e6, 0.0), "new": (1e6, 1e6, 1e6, 0.0)}
        return {"label": "smoothing-4.6", "query": query, **ends}

    def __post_init__(self) -> None:
        _ = self.bound  # checks both numbers

    @property
    def bound(self) -> CoordinateBound:
        """The smoothed soft truncation."""
        return CoordinateBound("soft", self.scale, self.smoothing)

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {**super().parameters(), "scale": self.scale, "smoothing": self.smoothing}


@dataclass(frozen=True)
class Soft(CoordinateWise):
    """Mean of ``scale * psi(entry / scale)``, with an odd, increasing and bounded psi.

    Attributes
    ----------
    threshold
        A public scale at which the truncation sets in, in the units of the data. If it is given, no
        scale is released.
    failure_probability
        Determines scale and smoothing for an assumed moment.
    smoothing
        Inverse variance of the noise with which psi is smoothed; by default
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
    >>> from tailguard.gate.plan import Problem
    >>> problem = Problem(None, 100_000, 10, moment=tg.Moment(2.0, 5.0, kind="raw"))
    >>> plan = Soft(failure_probability=0.01).plan(problem, tg.ApproxDP(1.0, 1e-5))
    >>> round(plan.settings["threshold"], 2)
    103.43
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
    def smoothing_used(self) -> float:
        """The given smoothing, or that of Algorithm 4."""
        if self.smoothing is not None:
            return check_positive("smoothing", self.smoothing)
        return printed_smoothing(failure_probability=self.failure_probability)

    def query(self, units: Units, threshold: float, groups: int) -> SoftMean:
        """Return the query at a scale."""
        return SoftMean(None, units, threshold, self.smoothing_used)

    def scale(self, facts: MeanFacts, budget: Share) -> float:
        """Return the scale that balances bias, sampling and noise for second raw moments."""
        # By l1 sensitivity, Laplace noise is sqrt(2 d) times as large as Gaussian noise by l2.
        mu = amount_of(budget) / (math.sqrt(2.0 * facts.n_features) if facts.pure else 1.0)
        budgeted = {"mu": mu, "failure_probability": self.failure_probability}
        moment = facts.known_moment("raw").at_order(2.0)
        return facts.into(noise_aware_scale, moment, n_steps=1, **budgeted)

    def moment_level(self, facts: MeanFacts, budget: Share, groups: int) -> Level:
        """Return the scale for a second raw moment; a stated central moment may imply it."""
        moment = facts.known_moment("raw").at_order(2.0)
        scale = self.scale(facts, budget)
        bias = moment.bound * (1.0 + 1.0 / self.smoothing_used) / (2.0 * scale)
        return Level(scale, bias, facts.sampling)


@checked
def psi_limit(*, smoothing: float) -> float:
    """Supremum of the smoothed truncation: ``(2 sqrt(2) / 3) erf(sqrt(smoothing / 2))``.

    *Correction.* The paper uses ``2 sqrt(2) / 3``, which is valid and never attained.

    *Reference.* Wang and others 2020, equation (9), in the limit.
    """
    return soft_limit(smoothing)


@checked
def printed_smoothing(*, failure_probability: float) -> float:
    """Smoothing of Algorithm 4, ``log(1 / failure_probability)``.

    Lemma 3 of the paper has twice this value. Both are private, with errors of the same order.

    *Reference.* Wang and others 2020, Algorithm 4, line 1.
    """
    return -math.log(failure_probability)


@checked
def noise_aware_scale(
    *,
    n_rows: int,
    n_features: int,
    n_steps: int,
    moment_bound: float,
    failure_probability: float,
    mu: float,
) -> float:
    """Scale that balances the bias against sampling and one standard deviation of the noise.

    ``sqrt(n v (1 + 1/b) / (2 (b/2 + L + 2 K sqrt(d T) / mu)))`` with ``L = b = log(1 /
    failure_probability)`` and ``K`` of :func:`psi_limit`; ``mu`` is the whole budget of the run.

    *Correction.* The paper's scale ignores the noise, which grows with the scale.

    *Reference.* Wang and others 2020, Lemma 3, with the noise of Algorithm 4 in the balance.
    """
    smoothing = printed_smoothing(failure_probability=failure_probability)
    noise = 2.0 * psi_limit(smoothing=smoothing) * math.sqrt(n_features * n_steps) / mu
    spread = n_rows * moment_bound * (1.0 + 1.0 / smoothing)
    return math.sqrt(spread / (2.0 * (1.5 * smoothing + noise)))
