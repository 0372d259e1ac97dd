"""Algorithms on the laws that the lower bounds are proved with, beside both bounds.

The lower bounds are Fano's with all constants, on average over the laws of a packing; a few of its
laws are run, which are alike but for the order or the signs of columns. The loss ``|w - x|^2 / 2``
is none of one score. There a record shows one of its columns alone, drawn at random: the mean loss
is the same, and what is private of these is private of the records, so that the lower bound holds.

Reference
---------
Kamath, Liu and Zhang 2022, Theorems 1.4, 6.1, 6.4 and B.7; Tao and others 2022, Theorems 2, 8, 9
and 11; Xu and others 2025, Theorems 4 and 5.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.datasets.hard_instances import one_column_each
from tailguard.datasets.hard_laws import GaussianLaw, SignLaw, SpikeLaw
from tailguard.estimators.mean import mean
from tailguard.losses.squared import Squared
from tailguard.papers.common.theorem import Theorem
from tailguard.reproduce.experiment import Cell
from tailguard.reproduce.results import Point
from tailguard.reproduce.risk_rates.tasks import linear_risk
from tailguard.reproduce.tasks.fits import nested_seed

HardLaw = SpikeLaw | SignLaw | GaussianLaw
Answer = Callable[[int, HardLaw, int], FloatArray]  # from records, a law and a seed
LEAST, MOST = "lower bound, with constants", "upper bound of the analysis"
LARGEST, CENTRE = "largest risk on the set", "centre of the set"


@dataclass(frozen=True)
class HardCase:
    """One lower bound: its laws for so many records, and the algorithms that are run on them.

    Attributes
    ----------
    name
        Paper and theorem.
    n_rows
        Where it is measured.
    laws
        A few laws of the packing, for so many records.
    risk
        Of a point, for a law.
    answers
        The algorithms.
    least, most
        The lower bound with constants, and the upper bound of the theorem that is run.
    radius
        Of the set, a ball.

    Examples
    --------
    >>> from tailguard.reproduce.risk_rates.hard_cases import CASES
    >>> case = CASES["Kamath 6.4"]
    >>> case.least(4000) < case.most(4000)
    True
    """

    name: str
    n_rows: tuple[int, ...]
    laws: Callable[[int], Sequence[HardLaw]]
    risk: Callable[[Any, Any], float]
    answers: Mapping[str, Answer]
    least: Callable[[int], float]
    most: Callable[[int], float]
    radius: Callable[[int], float] = lambda n_rows: 1.0

    def points(self, n_rows: int, seed: int) -> list[Point]:
        """Measure the worst law of each algorithm; draw both bounds and what needs no record."""
        laws, place = self.laws(n_rows), float(n_rows)
        found = [
            Point(
                self.name,
                name,
                "tight",
                place,
                max(self.risk(law, answer(n_rows, law, seed)) for law in laws),
            )
            for name, answer in self.answers.items()
        ]
        radius = self.radius(n_rows)
        far = [law.mean * (-radius / max(float(np.linalg.norm(law.mean)), 1e-300)) for law in laws]
        drawn = {
            LEAST: self.least(n_rows),
            MOST: self.most(n_rows),
            LARGEST: max(self.risk(law, point) for law, point in zip(laws, far, strict=True)),
            CENTRE: max(self.risk(law, np.zeros(law.mean.size)) for law in laws),
        }
        return found + [Point(self.name, name, "-", place, x) for name, x in drawn.items()]


def hard_cell(case: HardCase, n_rows: int) -> Cell:
    """Return the cell of a lower bound at a number of records.

    Examples
    --------
    >>> from tailguard.reproduce.risk_rates.hard_cases import CASES
    >>> cell = hard_cell(CASES["Tao 2"], 1000)
    >>> cell.name, sorted(point.curve for point in cell.measure(1))[:2]
    ('Tao 2, n = 1000', ['Tao 1, the mean', 'centre of the set'])
    """
    return Cell(f"{case.name}, n = {n_rows}", lambda seed: case.points(n_rows, seed))


def by_linear_loss(theorem: Callable[[int], Theorem]) -> Answer:
    """Run a theorem on ``-<w, x>``.

    Examples
    --------
    >>> from tailguard.reproduce.risk_rates.hard_cases import CASES
    >>> case = CASES["Tao 9"]
    >>> (answer,) = case.answers.values()
    >>> answer(1000, case.laws(1000)[0], 1).shape
    (32,)
    """

    def answer(n_rows: int, law: HardLaw, seed: int) -> FloatArray:
        rows = law.sample(n_rows, seed=nested_seed(seed, n_rows, law.mean.size))
        return linear_risk(theorem(n_rows), rows, seed)

    return answer


def by_columns(theorem: Callable[[int], Theorem]) -> Answer:
    """Run a theorem on ``|w - x|^2 / 2`` where a record shows one column alone.

    Examples
    --------
    >>> from tailguard.reproduce.risk_rates.hard_cases import CASES
    >>> case = CASES["Xu 4"]
    >>> (answer,) = case.answers.values()
    >>> answer(1000, case.laws(1000)[0], 1).shape
    (32,)
    """

    def answer(n_rows: int, law: HardLaw, seed: int) -> FloatArray:
        drawn = nested_seed(seed, n_rows, law.mean.size)
        rows, target = one_column_each(law.sample(n_rows, seed=drawn), seed=drawn + 1)
        found: FloatArray = (
            theorem(n_rows).minimize(Squared(), rows, target, random_state=drawn).coef
        )
        return found

    return answer


def by_mean(options: Mapping[str, Any], *, unit: bool = False) -> Answer:
    """Take the private mean; its direction alone where the loss is linear.

    Examples
    --------
    >>> from tailguard.reproduce.risk_rates.hard_cases import CASES
    >>> case = CASES["Kamath B.7"]
    >>> (answer,) = case.answers.values()
    >>> round(float(np.linalg.norm(answer(1000, case.laws(1000)[0], 1))), 6)
    1.0
    """

    def answer(n_rows: int, law: HardLaw, seed: int) -> FloatArray:
        drawn = nested_seed(seed, n_rows, law.mean.size)
        records = law.sample(n_rows, seed=drawn)
        found = np.atleast_1d(mean(records, random_state=drawn, **options).value)
        return found / np.linalg.norm(found) if unit else found

    return answer
