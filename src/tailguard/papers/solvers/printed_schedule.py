"""Clip norms and steps of the localised methods as printed, phase by phase.

With ``a = epsilon n / sqrt(d log(1/delta) log n)`` of the records of a phase or of a round,
gradients are clipped to ``r a^(1/q)``, and eta of a round is ``D / n^s`` times the least of
``1 / L``, ``a^(1-1/q) / (r n^((p+1)/2))`` and ``1 / (n^((p-1)/2) L^2 sqrt(log(n) log(1/b)))``, for
the Lipschitz constant ``L`` of the loss. The power s and the chance b are those of the algorithm.

Reference
---------
Xu et al. 2025, Algorithm 3 and the proof of Theorem 1; Algorithms 4 and 5.
"""

import math
from dataclasses import dataclass

from tailguard.papers.solvers.gradient_facts import GradientFacts
from tailguard.privacy.guarantees import ApproxDP, Guarantee


def printed_terms(guarantee: Guarantee) -> tuple[float, float]:
    """Return epsilon and delta of a promise: ``2 sqrt(rho)`` and ``1 / e`` where it has none."""
    if isinstance(guarantee, ApproxDP):
        return guarantee.epsilon, guarantee.delta
    return math.sqrt(2.0) * guarantee.gaussian_mu(), math.exp(-1.0)


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
        """Return the number a of so many records."""
        nats = -math.log(self.delta) * max(1.0, math.log(self.n_rows))
        return self.epsilon * n_rows / math.sqrt(self.facts.size * nats)

    def clip_norm(self, n_rows: int) -> float:
        """Return the clip norm of a phase of so many records."""
        return self.facts.scale * math.pow(self.reach(n_rows), 1.0 / self.facts.order)

    def steepest(self, n_rows: int) -> float:
        """Return the Lipschitz constant."""
        if self.lipschitz_bound is not None:
            return self.lipschitz_bound
        rate = 1.0 / math.sqrt(n_rows) + math.pow(self.reach(n_rows), 1.0 / self.facts.order - 1.0)
        return self.facts.scale * math.pow(n_rows, self.exponent / 2.0) * rate

    def step_parameter(
        self,
        n_rows: int,
        diameter: float,
        *,
        power: float = 0.5,
        chance: float | None = None,
    ) -> float:
        """Return eta of a round of so many records; ``chance`` is delta in Algorithm 3."""
        steepest, p = self.steepest(n_rows), self.exponent
        nats = max(1.0, math.log(n_rows)) * -math.log(chance or self.delta)
        private = math.pow(self.reach(n_rows), 1.0 - 1.0 / self.facts.order)
        least = min(
            1.0 / steepest,
            private / (self.facts.scale * math.pow(n_rows, (p + 1.0) / 2.0)),
            1.0 / (math.pow(n_rows, (p - 1.0) / 2.0) * steepest**2 * math.sqrt(nats)),
        )
        return diameter / math.pow(n_rows, power) * least
