"""How fast the error of each private mean falls with rows and grows with columns, measured.

*NON-PRIVATE simulation*: records are simulated, their mean is known, and noise follows a seed.

Reference
---------
:data:`tailguard.papers.rates.MEAN_RATES`, with theorems and corrections.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailguard.datasets.heavy_laws import ParetoLaw, StudentLaw
from tailguard.gate import Gate
from tailguard.means.base import MeanMethod, MeanPlan
from tailguard.reproduce.cases import CASES
from tailguard.reproduce.regimes import Axis, Regime, find_regime
from tailguard.reproduce.slopes import FittedSlope, slope_of

__all__ = ["FULL", "QUICK", "TOLERANCE", "Effort", "Measured", "experiments", "measure_rates"]

Law = StudentLaw | ParetoLaw
Sample = tuple[Law, int, int]  # a law, rows, columns

TOLERANCE = 0.1
AXES: tuple[Axis, ...] = ("n", "d")
# The logarithm of the norm of few noises lies below that of its root mean square, which would make
# errors grow faster with columns: so few columns are run several times, for as many noises in all.
COORDINATES = 32


@dataclass(frozen=True)
class Effort:
    """How many points a slope is fitted through, how many seeds, and at how many orders.

    Examples
    --------
    >>> QUICK.n_seeds < FULL.n_seeds
    True
    """

    n_points: int
    n_seeds: int
    n_orders: int


# A quarter of an hour of one core, and a minute or two: docs/reproduce.md.
FULL = Effort(n_points=6, n_seeds=20, n_orders=2)
QUICK = Effort(n_points=3, n_seeds=5, n_orders=1)


@dataclass(frozen=True)
class Measured:
    """A slope beside the predicted one; no slope where too many rows would be needed.

    Examples
    --------
    >>> regime = find_regime(CASES["soft"], 2.0, "n", n_points=3)
    >>> Measured(regime, StudentLaw(2.0), FittedSlope(-0.45, -0.5, -0.4)).verdict
    'agrees'
    """

    regime: Regime
    law: Law
    slope: FittedSlope | None

    @property
    def verdict(self) -> str:
        """Whether measurement and theory agree."""
        if self.slope is None:
            return "not reachable"
        near = self.slope.near(self.regime.predicted, tolerance=TOLERANCE)
        return "agrees" if near else "off"


def experiments(effort: Effort, names: Iterable[str] = CASES) -> list[tuple[Regime, Law]]:
    """List what is measured: every row, order, law and axis, in its regime.

    Examples
    --------
    >>> [(law.name, regime.axis) for regime, law in experiments(QUICK, ["soft"])]
    [('student-t', 'n'), ('student-t', 'd'), ('pareto', 'n'), ('pareto', 'd')]
    """
    return [
        (_regime(name, law, axis, effort), law)
        for name in names
        for order in CASES[name].orders[: effort.n_orders]
        for law, axes in (
            (StudentLaw(order), CASES[name].symmetric_axes),
            (ParetoLaw(order), AXES),
        )
        for axis in axes
    ]


def measure_rates(
    listed: Sequence[tuple[Regime, Law]],
    *,
    n_seeds: int,
    done: Callable[[], object] = lambda: None,
    n_threads: int = 2,
) -> list[Measured]:
    """Measure the slopes; ``done`` is called after each of ``n_seeds`` rounds.

    Experiments that need the same sample share it, seed by seed. The result does not depend on
    how many threads there are.

    Examples
    --------
    >>> found = measure_rates(experiments(QUICK, ["soft"])[:1], n_seeds=3)
    >>> found[0].verdict
    'agrees'
    """
    plans = _plans(listed)
    errors = np.ones((len(listed), n_seeds, max(len(regime.points) for regime, _ in listed)))

    def one_seed(seed: int) -> None:
        """Fill in the errors of one seed."""
        for (law, n_rows, n_features), users in plans.items():
            # Sizes are part of the seed: a larger sample does not begin with a smaller one.
            sample_seed = (seed << 48) + (n_rows << 16) + n_features
            records = law.sample(n_rows, n_features, seed=sample_seed)
            for place, point, method, plan in users:
                noise_seed = (place << 80) + sample_seed
                repeats = COORDINATES // n_features if listed[place][0].axis == "d" else 1
                errors[place, seed, point] = _error(records, method, plan, noise_seed, repeats)
        done()

    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(one_seed, range(n_seeds)))
    return [
        Measured(regime, law, slope_of(regime.sizes, errors[i].tolist()))
        if regime.reachable
        else Measured(regime, law, None)
        for i, (regime, law) in enumerate(listed)
    ]


def _regime(name: str, law: Law, axis: Axis, effort: Effort) -> Regime:
    """Find the regime of a row for a law."""
    symmetric, n_points = isinstance(law, StudentLaw), effort.n_points
    return find_regime(CASES[name], law.order, axis, n_points=n_points, symmetric=symmetric)


def _plans(
    listed: Sequence[tuple[Regime, Law]],
) -> dict[Sample, list[tuple[int, int, MeanMethod, MeanPlan]]]:
    """Plan everything that is reachable, by the sample that it needs."""
    plans: dict[Sample, list[tuple[int, int, MeanMethod, MeanPlan]]] = defaultdict(list)
    for place, (regime, law) in enumerate(listed):
        for i, point in enumerate(regime.points if regime.reachable else ()):
            plans[law, *point].append((place, i, *regime.plan(point)))
    return plans


def _error(
    records: NDArray[np.float64], method: MeanMethod, plan: MeanPlan, seed: int, repeats: int
) -> float:
    """Root mean square error of a few runs that differ in their noise; the true mean is 0."""
    squares = []
    for repeat in range(max(repeats, 1)):
        gate = Gate.over(records, guarantee=plan.guarantee, random_state=(repeat << 96) + seed)
        gate.reserve(plan.event, coordinates=plan.coordinates)
        squares.append(np.sum(method.run(plan, gate).coef ** 2))
    return float(np.sqrt(np.mean(squares)))
