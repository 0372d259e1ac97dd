"""Public assumptions on gradients, and the clip level and step that follow from them.

*As printed*, gradients are clipped to ``r a^(1/q)``, with ``a = epsilon n / sqrt(d log(1/delta) log
N)``. In the clip norm n counts the records of a phase, and N those of its round. In the step size
n counts the records of the round, and N all records. The step parameter eta of a round is
``D / n^s`` times the least of ``1 / L``, ``a^(1-1/q) / (r n^((p+1)/2))`` and
``1 / (n^((p-1)/2) L^2 sqrt(log(n) log(1/b)))``, for the Lipschitz constant ``L`` of the loss. The
algorithm sets the power s and the chance b. The printed eta of Algorithms 4 and 5 has an a without
``log(1/delta)``.

Reference
---------
Xu et al. 2025, Algorithms 3 and 6 (clip levels that grow with ``n * mu``), with the constants that
minimise the predicted risk of distance, sampling, noise and clipping; the proof of Theorem 1 and
Algorithms 4 and 5 (as printed).
"""

import math
from dataclasses import dataclass

from tailguard.gate.plan import Problem
from tailguard.losses.base import Loss
from tailguard.solvers.limits import typical_curvature

ROW_LIMIT_PER_COORDINATE = math.sqrt(3.0)  # a row of unit-scale coordinates has norm sqrt(size)
CURVATURE_SPREAD = 4.0  # the step allows for this many times the typical curvature
LOG_LINK_CURVATURE = 2.0  # exp(score) averages 1 in private units; the step allows for twice that
NOISE_FACTOR = 16.0
"""Factor of the noise of all phases together in the predicted risk of the localised method."""


@dataclass(frozen=True)
class GradientFacts:
    """Public numbers about the gradients of a loss.

    Attributes
    ----------
    size
        The number of weights.
    row_limit
        The norm to which rows are shrunk.
    scale, order
        The moment of this order of a gradient's norm is ``scale ** order``.
    largest
        The largest norm of the gradient of a bounded row; infinite if slopes are unbounded.
    """

    size: int
    row_limit: float
    scale: float
    order: float
    largest: float

    @classmethod
    def of(
        cls, problem: Problem, *, row_limit: float | None, scale: float | None, order: float
    ) -> "GradientFacts":
        """Return the facts of a problem; None takes a default for unit scales and slopes of 1."""
        typical = math.sqrt(problem.size)
        limit = row_limit or ROW_LIMIT_PER_COORDINATE * typical
        slope_bound = math.inf if problem.scored is None else problem.scored.slope_bound()
        return cls(
            size=problem.size,
            row_limit=limit,
            scale=scale or min(typical, limit) * min(slope_bound, 1.0),
            order=order,
            largest=slope_bound * limit,
        )

    def clip_norm(self, n_rows: int, mu: float, *, factor: float = NOISE_FACTOR) -> float:
        """Return the clip norm that balances clipping bias and noise; at most ``largest``.

        ``scale * (n mu / (factor sqrt(d)))^(1 / order)``; the paper has the factor 1.
        """
        reach = n_rows * mu / (factor * math.sqrt(self.size))
        return float(min(self.scale * reach ** (1.0 / self.order), self.largest))

    def step_parameter(self, n_rows: int, mu: float, diameter: float, clip_norm: float) -> float:
        """Return the eta that minimises the localised method's predicted risk, all else fixed.

        ``2 D / sqrt(n (2 r^2 / 3 + 16 d C^2 / (mu^2 n)))`` minimises
        ``4 D^2 / (eta n) + eta (2 r^2 / 3 + 16 d C^2 / (mu^2 n))``, where D is the diameter, r the
        scale, d the size and C the clip norm.
        """
        noise = NOISE_FACTOR * self.size * (clip_norm / mu) ** 2 / n_rows
        return 2.0 * diameter / math.sqrt(n_rows * (2.0 * self.scale**2 / 3.0 + noise))


def step_curvature(loss: Loss) -> float:
    """Curvature that the step size allows for, per squared row norm."""
    if loss.link.log:
        return LOG_LINK_CURVATURE
    return min(loss.curvature_bound(), CURVATURE_SPREAD * typical_curvature(loss))


@dataclass(frozen=True)
class PrintedSchedule:
    """Clip norms and step parameters of a run with every constant as printed.

    Attributes
    ----------
    n_rows
        The number of records of the whole run.
    facts
        Facts about gradients. Their scale and order are the paper's r and q; the paper has the
        moment of order ``2 q`` of a gradient's norm, which is at most ``r ** (2 q)``.
    epsilon, delta
        The promise.
    exponent
        The paper's p.
    lipschitz_bound
        The Lipschitz constant of a loss; None takes the largest that the theorem admits at this p,
        ``n^(p/2) r (1 / sqrt(n) + a^(1/q-1))``.
    """

    n_rows: int
    facts: GradientFacts
    epsilon: float
    delta: float
    exponent: float = 1.0
    lipschitz_bound: float | None = None

    def reach(self, n_rows: int, whole: int | None = None) -> float:
        """Return a for ``n_rows`` records, with the logarithm of all records, or of ``whole``."""
        nats = -math.log(self.delta) * max(1.0, math.log(whole or self.n_rows))
        return self.epsilon * n_rows / math.sqrt(self.facts.size * nats)

    def clip_norm(self, n_rows: int, whole: int) -> float:
        """Return the clip norm of a phase of ``n_rows`` records, in a round of ``whole`` records.

        Algorithm 3 has the logarithm of its own n: that of a round, if Algorithms 4 and 5 call it.
        """
        return self.facts.scale * math.pow(self.reach(n_rows, whole), 1.0 / self.facts.order)

    @property
    def steepest(self) -> float:
        """The Lipschitz constant."""
        if self.lipschitz_bound is not None:
            return self.lipschitz_bound
        n_rows = self.n_rows
        rate = 1.0 / math.sqrt(n_rows) + math.pow(self.reach(n_rows), 1.0 / self.facts.order - 1.0)
        return self.facts.scale * math.pow(n_rows, self.exponent / 2.0) * rate

    def step_parameter(
        self, n_rows: int, diameter: float, *, power: float = 0.5, chance: float | None = None
    ) -> float:
        """Return the eta of a round of ``n_rows`` records; ``chance`` is delta by default.

        Algorithms 4 and 5 state a chance; their a has no ``log(1/delta)``.
        """
        steepest, p = self.steepest, self.exponent
        nats = max(1.0, math.log(n_rows)) * -math.log(chance or self.delta)
        reach = self.reach(n_rows)
        if chance is not None:
            reach *= math.sqrt(-math.log(self.delta))
        private = math.pow(reach, 1.0 - 1.0 / self.facts.order)
        least = min(
            1.0 / steepest,
            private / (self.facts.scale * math.pow(n_rows, (p + 1.0) / 2.0)),
            1.0 / (math.pow(n_rows, (p - 1.0) / 2.0) * steepest**2 * math.sqrt(nats)),
        )
        return diameter / math.pow(n_rows, power) * least
