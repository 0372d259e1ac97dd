"""The distance of sampled noise from the accounted distribution, and its cost.

The books account for a Gaussian that is rounded to the lattice, which is exactly mu-GDP; the
sampler draws a discrete Gaussian from a table. Two numbers bound the distance between the laws of
all releases. Outside an event of probability ``variation``, the probability of every outcome lies
within a factor ``exp(log_ratio)`` of the accounted one, in both directions. Both numbers add up
over releases, even if later ones depend on earlier ones, since the law of a transcript is a product
of conditional laws.

Let the accounted law be (e, d)-DP, let ``r`` be ``log_ratio``, and let ``v`` be ``variation``. For
neighbours and any set of outcomes, the sampled probabilities ``S, S'`` and the accounted
probabilities ``Q, Q'`` satisfy
``S <= exp(r) Q + v <= exp(r) (exp(e) Q' + d) + v <= exp(e + 2 r) (S' + v) + exp(r) d + v``. So the
sampled release is ``(e + 2 r, exp(r) d + (1 + exp(e + 2 r)) v)``-DP.

Reference
---------
Canonne, Kamath and Steinke 2020, Section 5 (samplers that are nearly exact); Micciancio and Walter
2017, Lemma 2 (closeness in the relative sense, which loses less than total variation does).
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Distance:
    """The distance of sampled noise from the accounted distribution.

    Attributes
    ----------
    log_ratio
        Outside an event, probabilities lie within a factor ``exp(log_ratio)``, in both directions.
    variation
        The probability of that event.
    """

    log_ratio: float = 0.0
    variation: float = 0.0

    def __add__(self, other: "Distance") -> "Distance":
        return Distance(self.log_ratio + other.log_ratio, self.variation + other.variation)

    def times(self, times: int) -> "Distance":
        """Return the distance of ``times`` releases together."""
        return Distance(times * self.log_ratio, times * self.variation)

    def within(self, other: "Distance") -> bool:
        """Whether both numbers are at most those of the other."""
        return self.log_ratio <= other.log_ratio and self.variation <= other.variation

    def accounted_cost(self, epsilon: float, delta: float) -> tuple[float, float]:
        """Return what accounted noise may cost if sampled noise may cost (epsilon, delta).

        If a returned number is not positive, no cost is allowed.
        """
        failure = (1.0 + math.exp(min(epsilon, 700.0))) * self.variation
        return epsilon - 2.0 * self.log_ratio, (delta - failure) * math.exp(-self.log_ratio)

    def __bool__(self) -> bool:
        return self != EXACT


EXACT = Distance()

# For a lattice with four table draws per coordinate; a test compares it with the sampler. Under an
# (epsilon, delta) guarantee this distance is charged, so the gate then refuses coarser lattices.
COORDINATE_DISTANCE = Distance(log_ratio=1.3e-12, variation=3e-26)
"""Largest distance of sampled noise from the accounted distribution, per released coordinate."""
