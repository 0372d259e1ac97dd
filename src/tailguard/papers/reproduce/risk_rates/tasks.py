"""Problems whose excess risk is known in closed form, on records with tails as heavy as allowed.

*NON-PRIVATE simulation*: noise follows a seed, and the records are simulated.

For convex losses it is the linear loss ``-<w, x>`` on a ball: of the mean gradients of several
sizes the worst counts, since a bound holds for all of them. For losses that grow as the square of
the distance it is linear regression on independent columns of variance 1, whose excess is half of
the squared distance.
"""

import math
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.losses.huber import Huber
from tailguard.losses.squared import Squared
from tailguard.papers.common.theorem import Theorem
from tailguard.papers.instances.heavy_laws import ParetoLaw, TwoPointLaw
from tailguard.papers.reproduce.tasks.fits import nested_seed

Law = ParetoLaw
DIAMETER = 2.0  # of the set: the unit ball, as in the papers' lower bounds
# Beyond every score, so that the slope of a Huber loss is its threshold at every record.
FAR_TARGET = 1e6
REPEATS = 2  # of the noise on the same records: the square of few noises varies much
MINIMISER_NORM = 0.5  # half of the way to the edge of the set


@dataclass(frozen=True)
class LinearTask:
    """``-<w, x>`` on the unit ball: the worst excess over mean gradients of several ``sizes``."""

    sizes: tuple[float, ...]

    def excess(self, theorem: Theorem, law: Law, seed: int) -> float:
        """Return the worst excess over the sizes, on the same tails and the same noise."""
        n_rows, n_features = theorem.n_rows, theorem.n_features
        tails = law.sample(n_rows, n_features, seed=nested_seed(seed, n_rows, n_features))
        along = np.full(n_features, 1.0 / math.sqrt(n_features))
        found = []
        for size in self.sizes:
            point = linear_risk(theorem, tails + size * along, seed)
            found.append(DIAMETER / 2.0 * size - size * float(point @ along))
        return max(found)


@dataclass(frozen=True)
class SquaredTask:
    """Linear regression with heavy-tailed errors; all weights are alike, or ``n_nonzero`` are."""

    n_nonzero: int | None = None

    def excess(self, theorem: Theorem, law: Law, seed: int) -> float:
        """Return half of the mean squared distance from the minimiser, over a few noises."""
        n_rows, n_features = theorem.n_rows, theorem.n_features
        drawn = nested_seed(seed, n_rows, n_features)
        rows = TwoPointLaw().sample(n_rows, n_features, seed=drawn)
        count = self.n_nonzero or n_features
        minimiser = np.zeros(n_features)
        minimiser[:count] = MINIMISER_NORM / math.sqrt(count)
        target = rows @ minimiser + law.sample(n_rows, 1, seed=drawn)[:, 0]
        squares = []
        for repeat in range(REPEATS):
            solved = theorem.minimize(Squared(), rows, target, random_state=(repeat << 80) + drawn)
            squares.append(np.sum((solved.coef - minimiser) ** 2))
        return float(np.mean(squares) / 2.0)


def linear_risk(theorem: Theorem, rows: FloatArray, seed: int) -> FloatArray:
    """Minimise the mean of ``-<w, x>`` by a theorem; return its answer.

    A Huber loss of a target that no score comes near has that gradient at every record.
    """
    target = np.full(len(rows), FAR_TARGET)
    noise = nested_seed(seed, *rows.shape)
    point: FloatArray = theorem.minimize(Huber(1.0), rows, target, random_state=noise).coef
    return point
