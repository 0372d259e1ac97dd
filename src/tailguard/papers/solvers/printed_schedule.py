"""Clip norms and steps of the localised methods as printed, phase by phase.

With ``a = epsilon n / sqrt(d log(1/delta) log n)`` of the records of a phase or of a round, and n
of all of them in the logarithm, gradients are clipped to ``r a^(1/q)``, and eta of a round is
``D / n^s`` times the least of ``1 / L``, ``a^(1-1/q) / (r n^((p+1)/2))`` and
``1 / (n^((p-1)/2) L^2 sqrt(log(n) log(1/b)))``, for the Lipschitz constant ``L`` of the loss. The
power s and the chance b are those of the algorithm; Algorithms 4 and 5 print an eta whose a has no
``log(1/delta)`` in it.

Reference
---------
Xu et al. 2025, Algorithm 3 and the proof of Theorem 1; Algorithms 4 and 5.
"""

import math
from dataclasses import dataclass

from tailguard.papers.solvers.gradient_facts import GradientFacts


@dataclass(frozen=True)
class PrintedSchedule:
    """The public numbers of a run in which all of it is as printed.

    Attributes
    ----------
    n_rows
        Of the whole run.
    facts
        Of gradients: their scale and order are the paper's r and q, so that their norm has the
        moment ``r ** (2 q)`` of order ``2 q``.
    epsilon, delta
        Of the promise.
    exponent
        The paper's p.
    lipschitz_bound
        Of a loss; None takes the largest that the theorem admits at this p,
        ``n^(p/2) r (1 / sqrt(n) + a^(1/q-1))``.
    """

    n_rows: int
    facts: GradientFacts
    epsilon: float
    delta: float
    exponent: float = 1.0
    lipschitz_bound: float | None = None

    def reach(self, n_rows: int) -> float:
        """Return the number a of ``n_rows`` records."""
        nats = -math.log(self.delta) * max(1.0, math.log(self.n_rows))
        return self.epsilon * n_rows / math.sqrt(self.facts.size * nats)

    def clip_norm(self, n_rows: int) -> float:
        """Return the clip norm of a phase of ``n_rows`` records."""
        return self.facts.scale * math.pow(self.reach(n_rows), 1.0 / self.facts.order)

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
        """Return eta of a round of ``n_rows`` records; without ``chance`` it has delta."""
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
