"""Algorithms on the laws that the lower bounds are proved with, beside both bounds.

The lower bounds are Fano's with all constants, on average over the laws of a packing; a few of its
laws are run, which differ in the order or the signs of columns alone. The loss ``|w - x|^2 / 2``
is none of one score. There a record shows one of its columns alone, drawn at random: the mean loss
is the same, and what is private of these is private of the records, so that the lower bound holds.

Reference
---------
Kamath, Liu and Zhang 2022, Theorems 1.4, 6.1, 6.4 and B.7; Tao and others 2022, Theorems 2, 8, 9
and 11; Xu and others 2025, Theorems 4 and 5.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.estimators.mean import mean
from tailguard.losses.squared import Squared
from tailguard.papers.common.theorem import Theorem
from tailguard.papers.instances.hard_instances import linear_excess, one_column_each, squared_excess
from tailguard.papers.instances.hard_laws import GaussianLaw, SignLaw, SpikeLaw
from tailguard.papers.reproduce.experiment import Cell
from tailguard.papers.reproduce.results import Point
from tailguard.papers.reproduce.risk_rates.tasks import linear_risk
from tailguard.papers.reproduce.tasks.fits import nested_seed

HardLaw = SpikeLaw | SignLaw | GaussianLaw
LEAST, MOST = "lower bound, with constants", "upper bound of the analysis"
LARGEST, CENTRE = "largest risk on the set", "centre of the set"


@dataclass(frozen=True)
class HardCase:
    """One lower bound: its laws by the number of records, and the algorithms run on them.

    Attributes
    ----------
    name
        Paper and theorem.
    laws
        A few laws of the packing, by the number of records.
    least
        The lower bound with constants.
    theorems
        Curve -> a theorem by the number of records: on ``-<w, x>`` where that is the risk, else on
        ``|w - x|^2 / 2``, of which a record shows one column alone.
    means
        Curve -> options of a private mean; where the loss is linear its direction alone counts.
    risk
        Of a point, for a law.
    most
        The upper bound; that of the first theorem where it is None.
    radius
        Of the set, a ball.
    """

    name: str
    laws: Callable[[int], Sequence[Any]]
    least: Callable[[int], float]
    theorems: Mapping[str, Callable[[int], Theorem]] = field(default_factory=dict)
    means: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    risk: Callable[[Any, Any], float] = squared_excess
    most: Callable[[int], float] | None = None
    radius: Callable[[int], float] = lambda n_rows: 1.0

    @property
    def curves(self) -> tuple[str, ...]:
        """The algorithms."""
        return (*self.theorems, *self.means)

    def upper_bound(self, n_rows: int) -> float:
        """Return the upper bound of the theorem that is run."""
        if self.most is not None:
            return self.most(n_rows)
        return next(iter(self.theorems.values()))(n_rows).bound

    def answer(self, curve: str, n_rows: int, law: HardLaw, seed: int) -> FloatArray:
        """Run one algorithm on records of a law."""
        drawn, linear = nested_seed(seed, n_rows, law.mean.size), self.risk is linear_excess
        rows = law.sample(n_rows, seed=drawn)
        if curve in self.means:
            value = np.atleast_1d(mean(rows, random_state=drawn, **self.means[curve]).value)
            return value / np.linalg.norm(value) if linear else value
        theorem = self.theorems[curve](n_rows)
        if linear:
            return linear_risk(theorem, rows, seed)
        features, target = one_column_each(rows, seed=drawn + 1)
        found: FloatArray = theorem.minimize(Squared(), features, target, random_state=drawn).coef
        return found

    def points(self, n_rows: int, seed: int) -> list[Point]:
        """Measure the worst law of each algorithm; draw both bounds and what needs no record."""
        laws, place = self.laws(n_rows), float(n_rows)
        found = {
            curve: max(self.risk(law, self.answer(curve, n_rows, law, seed)) for law in laws)
            for curve in self.curves
        }
        radius = self.radius(n_rows)
        far = [law.mean * (-radius / max(float(np.linalg.norm(law.mean)), 1e-300)) for law in laws]
        drawn = {
            LEAST: self.least(n_rows),
            MOST: self.upper_bound(n_rows),
            LARGEST: max(self.risk(law, point) for law, point in zip(laws, far, strict=True)),
            CENTRE: max(self.risk(law, np.zeros(law.mean.size)) for law in laws),
        }
        return [Point(self.name, curve, "tight", place, x) for curve, x in found.items()] + [
            Point(self.name, curve, "-", place, x) for curve, x in drawn.items()
        ]

    def cell(self, n_rows: int) -> Cell:
        """Return the cell of a number of records."""
        return Cell(f"{self.name}, n = {n_rows}", lambda seed: self.points(n_rows, seed))
