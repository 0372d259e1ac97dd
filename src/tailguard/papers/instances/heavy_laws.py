"""Laws with power tails and barely a finite moment: Student's t and Pareto; and a skewed law.

Coordinates are independent, with mean 0 and a central moment of the given order of exactly 1. The
moment of a slightly larger order is infinite.

Reference
---------
Kamath, Liu and Zhang 2022, Definition 2.11: the moments that the theorems assume.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import integrate, special

from tailguard.array_types import FloatArray
from tailguard.means.formulas import check_order
from tailguard.papers.instances.hard_instances import generator

# The index of the tail minus the order of the moment.
MARGIN = 0.05


@dataclass(frozen=True)
class _HeavyLaw:
    """A law whose moments of orders below its index are finite."""

    order: float

    @property
    def index(self) -> float:
        """The power of the tail's decay: the degrees of freedom of Student's t."""
        check_order(self.order, minimum=1.0)
        return self.order + MARGIN


@dataclass(frozen=True)
class StudentLaw(_HeavyLaw):
    """Student's t with ``order + MARGIN`` degrees of freedom: heavy tails, symmetric."""

    name = "student-t"

    @property
    def scale(self) -> float:
        """The factor by which ``E|x_j|^order = 1``."""
        if self.order == 2.0:
            return math.sqrt(MARGIN / self.index)
        order, index = self.order, self.index
        moment = index ** (order / 2.0) * special.gamma((order + 1.0) / 2.0)
        moment *= special.gamma((index - order) / 2.0) / special.gamma(index / 2.0)
        return float((moment / math.sqrt(math.pi)) ** (-1.0 / order))

    def sample(self, n_rows: int, n_features: int, *, seed: int = 0) -> FloatArray:
        """Draw records."""
        rng = generator(seed, n_rows=n_rows, n_features=n_features)
        return rng.standard_t(self.index, (n_rows, n_features)) * self.scale


@dataclass(frozen=True)
class ParetoLaw(_HeavyLaw):
    """Pareto with tail index ``order + MARGIN``, minus its mean: one heavy tail."""

    name = "pareto"

    @property
    def scale(self) -> float:
        """The factor by which ``E|x_j|^order = 1``."""
        order, index = self.order, self.index
        mean = index / (index - 1.0)
        # The part above the mean in closed form: its tail is too heavy for quadrature.
        above = index * mean ** (order - index) * special.beta(order + 1.0, index - order)
        below, _ = integrate.quad(
            lambda x: (mean - x) ** order * index * x ** (-index - 1.0), 1.0, mean, epsabs=1e-13
        )
        return float((above + below) ** (-1.0 / order))

    def sample(self, n_rows: int, n_features: int, *, seed: int = 0) -> FloatArray:
        """Draw records."""
        rng = generator(seed, n_rows=n_rows, n_features=n_features)
        rows = np.exp(rng.standard_exponential((n_rows, n_features)) / self.index)
        return (rows - self.index / (self.index - 1.0)) * self.scale


@dataclass(frozen=True)
class TwoPointLaw:
    """2 with probability 1/5, else -1/2: bounded and skewed, with mean 0 and variance 1.

    With such features the gradients of a regression have the tails of its errors, mostly on one
    side.
    """

    name = "two-point"

    def sample(self, n_rows: int, n_features: int, *, seed: int = 0) -> FloatArray:
        """Draw records."""
        drawn = generator(seed, n_rows=n_rows, n_features=n_features).random((n_rows, n_features))
        return np.where(drawn < 0.2, 2.0, -0.5)
