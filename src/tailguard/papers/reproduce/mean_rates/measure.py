"""How fast the error of each private mean falls with rows and grows with columns, measured.

Reference
---------
:data:`tailguard.papers.rates.MEAN_RATES`, with theorems and corrections.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.gate import Gate
from tailguard.means.base import MeanMethod, MeanPlan
from tailguard.papers.instances.heavy_laws import ParetoLaw, StudentLaw
from tailguard.papers.reproduce.experiment import Cell
from tailguard.papers.reproduce.judges import NOT_RUN, Decision, Judge
from tailguard.papers.reproduce.mean_rates.cases import CASES
from tailguard.papers.reproduce.mean_rates.regimes import Axis, RateRegime, find_regime
from tailguard.papers.reproduce.results import Noise, Point, Results
from tailguard.papers.reproduce.slopes import slope_of
from tailguard.papers.reproduce.tasks.fits import nested_seed

Law = StudentLaw | ParetoLaw
Sample = tuple[Law, int, int]  # a law, rows, columns
User = Callable[[FloatArray, int], Point]  # what a slope does with a sample and its seed

# The logarithm of the norm of few noises lies below that of its root mean square, which would make
# errors grow faster with columns: so few columns are run several times, for as many noises in all.
COORDINATES = 32


@dataclass(frozen=True)
class Slope:
    """One slope that is measured: the regime of a row of the table, and the law of the records."""

    regime: RateRegime
    law: Law

    @property
    def panel(self) -> str:
        """The panel that shows it."""
        return f"{self.regime.case.name}, along {self.regime.axis}"

    @property
    def curve(self) -> str:
        """Its curve in the panel."""
        return f"{self.law.name}, k = {self.regime.order:g}"

    @property
    def noise(self) -> Noise:
        """Whether the noise is as printed."""
        return "printed" if self.regime.case.printed else "tight"


def list_slopes(names: Iterable[str] = CASES, *, quick: bool) -> list[Slope]:
    """List what is measured: every row, order, law and axis, in its regime.

    A slope is fitted through 6 points, and ten seeds of all take minutes of one core; for a glance
    through 3, at the first order of each row.
    """
    axes: tuple[Axis, ...] = ("n", "d")
    return [
        Slope(_regime(name, law, axis, n_points=3 if quick else 6), law)
        for name in names
        for order in CASES[name].orders[: 1 if quick else None]
        for law, seen in ((StudentLaw(order), CASES[name].symmetric_axes), (ParetoLaw(order), axes))
        for axis in seen
    ]


def rate_cells(slopes: Iterable[Slope]) -> list[Cell]:
    """Return a cell for every sample that is reachable: slopes that need the same one share it."""
    users: dict[Sample, list[User]] = defaultdict(list)
    for place, slope in enumerate(slopes):
        regime = slope.regime
        points = zip(regime.points, regime.sizes, strict=True) if regime.reachable else ()
        for point, size in points:
            users[slope.law, *point].append(partial(_point, slope, place, point, size))
    return [_cell(sample, found) for sample, found in users.items()]


def has_rate(name: str, axis: Axis) -> Judge:
    """Judge whether every slope of a row along an axis is as its theorem says."""
    case = CASES[name]
    rate = case.rate.slope_in_rows if axis == "n" else case.rate.slope_in_features

    def judge(results: Results, noise: str) -> Decision:
        shown, agree = [], []
        for panel, curve, own in results.keys:
            measured = results.curve(panel, curve, noise)
            if (panel, own) != (f"{name}, along {axis}", noise) or len(measured) < 2:
                continue
            order = float(curve.rpartition(" ")[2])
            slope = slope_of(measured)
            agree.append(slope.near(rate(order)))
            shown.append(f"{slope.mean:.2f} of {rate(order):.2f} ({curve})")
        if not shown:
            return NOT_RUN
        return Decision("holds" if all(agree) else "does not hold", "; ".join(shown))

    return judge


def _cell(sample: Sample, users: list[User]) -> Cell:
    """Return the cell of a sample."""
    law, n_rows, n_features = sample

    def measure(seed: int) -> list[Point]:
        sample_seed = nested_seed(seed, n_rows, n_features)
        records = law.sample(n_rows, n_features, seed=sample_seed)
        return [user(records, sample_seed) for user in users]

    return Cell(f"{law.name}({law.order:g}), n = {n_rows}, d = {n_features}", measure)


def _point(
    slope: Slope, place: int, at: tuple[int, int], size: int, records: FloatArray, sample_seed: int
) -> Point:
    """Measure one point of a slope on a sample."""
    method, plan = slope.regime.plan(at)
    repeats = COORDINATES // records.shape[1] if slope.regime.axis == "d" else 1
    error = _error(records, method, plan, (place << 80) + sample_seed, repeats)
    return Point(slope.panel, slope.curve, slope.noise, float(size), error)


def _regime(name: str, law: Law, axis: Axis, *, n_points: int) -> RateRegime:
    """Find the regime of a row for a law."""
    symmetric = isinstance(law, StudentLaw)
    return find_regime(CASES[name], law.order, axis, n_points=n_points, symmetric=symmetric)


def _error(
    records: FloatArray, method: MeanMethod, plan: MeanPlan, seed: int, repeats: int
) -> float:
    """Root mean square error of a few runs that differ in their noise; the true mean is 0."""
    squares = []
    for repeat in range(max(repeats, 1)):
        gate = Gate.over(records, guarantee=plan.guarantee, random_state=(repeat << 96) + seed)
        gate.reserve(plan.event, coordinates=plan.coordinates, unprotected=plan.printed)
        squares.append(np.sum(method.run(plan, gate).coef ** 2))
    return float(np.sqrt(np.mean(squares)))
