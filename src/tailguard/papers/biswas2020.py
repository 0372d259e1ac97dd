"""CoinPress, the private mean of Biswas, Dong, Kamath and Ullman (2020): a rival of ``tg.mean``.

Each round clips records to a ball around the centre released before; their noised mean is the next
centre, and balls shrink round by round.

*Needed for privacy.* Nothing of the data. In a round of radius ``R`` one replaced record moves the
mean by at most ``2 R / n``, for every centre: both of its values lie in one ball, and the centre
was released before. Rounds compose exactly: their ``mu**2`` add up. All radii follow from public
numbers.

*Needed for accuracy.* Records with normal tails, at most ``scale`` wide in every direction, and a
mean in the first ball. With heavy tails clipping to the last ball has a bias that more records do
not reduce: the ball's radius grows only with the root of ``log(n)``.

Reference
---------
Biswas, Dong, Kamath and Ullman 2020, CoinPress: multivariate mean; Laurent and Massart 2000,
Lemma 1 (tails of chi-square).
"""

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tailguard.checks import InputError, check_count, check_given, check_open_unit
from tailguard.estimators.mean import MeanResult
from tailguard.estimators.mean import mean as estimate
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Solution
from tailguard.gate.stage import Stage, part_of
from tailguard.means.base import (
    IN_USER_UNITS,
    Expected,
    MeanFacts,
    MeanMethod,
    MeanPlan,
    mean_solution,
)
from tailguard.means.clipped import ClippedShells
from tailguard.papers.ksu2020 import check_place
from tailguard.queries.units import Units

LAST_SHARE = 0.75  # of the budget for the last round, as in the paper; the others share the rest
MOST_ROUNDS = 10  # the paper's largest number


@dataclass(frozen=True)
class CoinPress(MeanMethod):
    """The mean of records clipped to balls that shrink around released centres.

    Attributes
    ----------
    radius
        Radius of a public ball that holds the mean, in the units of the data.
    scale
        A public bound on the standard deviation in every direction.
    center
        Every coordinate of the ball's centre: one number for all columns.
    n_rounds
        How many rounds; None takes the number, at most ten, whose last round has the least noise.
    failure_probability
        The probability that a ball misses the mean or that a record is clipped, if tails are
        normal.

    Guarantee
    ---------
    Gaussian noise on every release, for every input. Pure DP is refused.

    Reference
    ---------
    Biswas, Dong, Kamath and Ullman 2020.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.gate.plan import Problem
    >>> plan = CoinPress(radius=1000.0, scale=1.0).plan(Problem(None, 10_000, 2), tg.ZCDP(0.5))
    >>> plan.settings["rounds"], round(plan.settings["clip norm"], 2)
    (3, 6.72)
    """

    radius: float
    scale: float
    center: float = 0.0
    n_rounds: int | None = None
    failure_probability: float = 0.01

    name = "coinpress"

    def plan_from(self, facts: MeanFacts) -> MeanPlan:
        """Choose the rounds and their radii from public numbers."""
        if facts.pure:
            raise InputError("guarantee must not be PureDP for CoinPress: its noise is Gaussian.")
        check_place(self, facts)
        check_given(self, check_count, "n_rounds")
        check_open_unit("failure_probability", self.failure_probability)
        counts = range(1, MOST_ROUNDS + 1) if self.n_rounds is None else (self.n_rounds,)
        noise, n_rounds, clip_norm = min(self._last_round(facts, count) for count in counts)
        root = math.sqrt(facts.n_features)
        known = {"radius": self.radius, "scale": self.scale, "center": self.center}
        return MeanPlan(
            self.name,
            facts.problem,
            facts.guarantee,
            _stages(facts, n_rounds),
            settings={"rounds": n_rounds, "clip norm": clip_norm, **known},
            assumptions=("tails are normal, at most scale wide", "the mean lies in the first ball"),
            expected=Expected(root * noise, 0.0, self.scale * root / math.sqrt(facts.n_rows)),
            unit=IN_USER_UNITS,
        )

    def radii(self, n_rows: int, n_features: int, *mus: float) -> list[float]:
        """Return the clip radius of each round, given the mu that each spends.

        In units of ``scale``: if a ball of radius r around a centre holds the mean, the n records
        lie within ``r + tail(beta / n)`` of the centre, and the noised mean lies within
        ``tail(beta)`` times its standard deviation of the mean. Here ``beta``, ``chance`` in the
        code, is half of a round's share of ``failure_probability``.
        """
        chance = self.failure_probability / (2.0 * len(mus))
        reach, radii = self.radius / self.scale, []
        for mu in mus:
            clip = reach + _tail(n_features, chance / n_rows)
            radii.append(self.scale * clip)
            noise = 2.0 * clip / (n_rows * mu)
            reach = _tail(n_features, chance) * math.hypot(1.0 / math.sqrt(n_rows), noise)
        return radii

    def _last_round(self, facts: MeanFacts, n_rounds: int) -> tuple[float, int, float]:
        """Return the noise of the last round, the number of rounds, and the last clip norm."""
        mus = [stage.mu for stage in _stages(facts, n_rounds) for _ in range(stage.times)]
        clip_norm = self.radii(facts.n_rows, facts.n_features, *mus)[-1]
        return 2.0 * clip_norm / (facts.n_rows * mus[-1]), n_rounds, clip_norm

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Release a clipped mean in each round, around the answer of the round before."""
        n_rows, d = gate.n_records, gate.n_features
        stages = [stage for stage in plan.stages for _ in range(stage.times)]
        radii = self.radii(n_rows, d, *(stage.mu for stage in stages))
        centers = [np.full(d, self.center)]
        for radius, stage in zip(radii, stages, strict=True):
            query = ClippedShells(Units(centers[-1], np.ones(d), intercept=False), (radius,))
            centers.append(centers[-1] + gate.ask(query, None, stage)[0])
        noise_std = float(query.noise_stds(n_rows, stage.mu)[0])
        return mean_solution(plan, centers[-1], np.full(d, noise_std))


def _tail(size: int, chance: float) -> float:
    """Bound the norm of ``size`` standard normal numbers, up to a probability of failure."""
    nats = -math.log(chance)
    return math.sqrt(size + 2.0 * math.sqrt(size * nats) + 2.0 * nats)


def _stages(facts: MeanFacts, n_rounds: int) -> tuple[Stage, ...]:
    """Split the budget: three quarters for the last round, and the rest for earlier ones."""
    budget, d = facts.budget, facts.n_features
    last = part_of(budget, LAST_SHARE if n_rounds > 1 else 1.0)
    stages = [Stage.of(last, "mean", "the mean in the last ball", 1, d)]
    if n_rounds > 1:
        each = part_of(budget, 1.0 - LAST_SHARE, times=n_rounds - 1)
        stages.insert(0, Stage.of(each, "rounds", "centres of balls", n_rounds - 1, d))
    return tuple(stages)


def mean(X: Any, *, radius: float, scale: float, **options: Any) -> MeanResult:
    """Estimate the mean of every column by CoinPress.

    ``options`` are those of ``tg.mean`` for all methods, as for ``ksu2020.mean``, and the other
    parameters of :class:`CoinPress`, whose guarantee holds.

    *Reference.* Biswas, Dong, Kamath and Ullman 2020.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> X = 40.0 + np.random.default_rng(0).standard_normal((10_000, 3))
    >>> options = {"guarantee": tg.ZCDP(0.5), "random_state": 0}
    >>> found = mean(X, radius=1000.0, scale=1.0, **options).value
    >>> bool(np.linalg.norm(found - 40.0) < 0.1)
    True
    """
    own = {each.name: options.pop(each.name) for each in fields(CoinPress) if each.name in options}
    return estimate(X, method=CoinPress(radius, scale, **own), **options)
