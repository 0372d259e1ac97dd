"""Each theorem on optimisation: how it is run, and the slopes that theorem and lower bound state.

Private rates depend only on the product of records and budget, and constants are large. The budgets
here are so large that a theorem's range begins within some thousands of records; in many rows they
are far larger than any real promise. Smaller budgets give the same result with as many times more
records.

Moments are those of every coordinate and stay constant while columns are added, so norms grow with
the root of the number of columns. If the steps of a theorem become too many, their number is
fixed. Logarithms are ignored.

*NON-PRIVATE simulation*: noise follows a seed, and the records are simulated, with tails as heavy
as allowed. Excess risks have a closed form. The convex loss is the linear loss ``-<w, x>`` on a
ball: the worst of several sizes of the mean gradient counts, since a bound holds for all of them.
The loss that grows as the square of the distance is that of linear regression on independent
columns of variance 1, whose excess is half of the squared distance.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.losses.huber import Huber
from tailguard.losses.squared import Squared
from tailguard.moments import Moment, MomentKind
from tailguard.papers import kamath2022, tao2022, wang2020, xu2025, zhao2024
from tailguard.papers.common.theorem import Theorem
from tailguard.papers.instances.heavy_laws import ParetoLaw, TwoPointLaw
from tailguard.papers.reproduce.tasks.fits import seed_of_size
from tailguard.privacy.guarantees import ZCDP
from tailguard.solvers.oracles import make_oracle

DIAMETER = 2.0  # of the set: the unit ball, as in the papers' lower bounds
# Larger than every score, so the slope of a Huber loss is its threshold at every record.
FAR_TARGET = 1e6
REPEATS = 2  # of the noise on the same records: the square of a few noises varies much
MINIMISER_NORM = 0.5  # half of the way to the edge of the set


@dataclass(frozen=True)
class LinearTask:
    """``-<w, x>`` on the unit ball: the worst excess over mean gradients of several ``sizes``."""

    sizes: tuple[float, ...]

    def excess(self, theorem: Theorem, law: ParetoLaw, seed: int) -> float:
        """Return the worst excess over the sizes, on the same tails and the same noise."""
        n_rows, n_features = theorem.n_rows, theorem.n_features
        tails = law.sample(n_rows, n_features, seed=seed_of_size(seed, n_rows, n_features))
        along = np.full(n_features, 1.0 / math.sqrt(n_features))
        found = []
        for size in self.sizes:
            point = linear_risk(theorem, tails + size * along, seed)
            found.append(DIAMETER / 2.0 * size - size * float(point @ along))
        return max(found)


@dataclass(frozen=True)
class SquaredTask:
    """Linear regression with heavy-tailed errors; all weights are equal, or ``n_nonzero`` are."""

    n_nonzero: int | None = None

    def excess(self, theorem: Theorem, law: ParetoLaw, seed: int) -> float:
        """Return half of the mean squared distance from the minimiser, over a few noises."""
        n_rows, n_features = theorem.n_rows, theorem.n_features
        drawn = seed_of_size(seed, n_rows, n_features)
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

    A Huber loss with a target far from every score has that gradient at every record.
    """
    target = np.full(len(rows), FAR_TARGET)
    noise = seed_of_size(seed, *rows.shape)
    return theorem.minimize(Huber(1.0), rows, target, random_state=noise).coef


Axis = Literal["n", "d", "mu"]
AXES: tuple[Axis, ...] = ("n", "d", "mu")
# Sizes of the mean gradient, in parts of the largest: the worst is the one that the noise matches.
PARTS = (1.0, 0.5, 0.25, 0.125)
QUADRATIC = {"strong_convexity": 1.0, "smoothness": 1.0}  # of half the squared distance
GROWTH = {"growth_constant": 0.5}  # the same as a growth of 2
UNIFORM = {"groups": "uniform", "n_steps": 200}
MOST_TRIED, SEEN = 60, 0.25  # quarters of a decade from 1000 records; of a gradient of norm 1
SPARSE_COLUMNS = (100.0, 1000.0)  # along d, for sparse weights
COLUMN_NORM = 2.0  # largest norm of a row of the squared task, over the root of the columns


class Slopes(NamedTuple):
    """Slopes of log(excess risk) in log(n), log(d) and log(mu)."""

    n: float
    d: float
    mu: float


@dataclass(frozen=True)
class RiskCase:
    """One theorem: its call, its task, its grids and its slopes, as functions of ``1 - 1/k``."""

    name: str
    call: Callable[..., Theorem]
    kind: MomentKind
    task: LinearTask | SquaredTask
    upper: Callable[[float], Slopes]  # corrected
    lower: Callable[[float], Slopes]  # corrected
    base: tuple[int, int, float]  # records, columns, and mu
    spans: tuple[tuple[float, float], tuple[float, float], tuple[float, float]]
    facts: Mapping[str, Any] = field(default_factory=dict)
    first_steps: float | None = None  # at the fewest records, if the theorem has too many
    orders: tuple[float, ...] = (2.0,)
    doubled: bool = False  # whether the moment is of twice the order of the rate
    row_limit: float | None = None  # over the root of the columns
    n_groups: int | None = None  # those of the most columns, at all points
    reached: bool = True  # within records that can be simulated
    # As printed, if they differ.
    printed: Callable[[float], Slopes] | None = None
    printed_lower: Callable[[float], Slopes] | None = None
    reason: str = ""  # why a slope differs, if it does

    def span(self, axis: Axis) -> tuple[float, float]:
        """Return the ends of an axis."""
        return self.spans[AXES.index(axis)]

    def theorem(self, axis: Axis, size: float, *, order: float) -> Theorem:
        """Return the theorem with one of records, columns and mu at a size, the others at base."""
        n_rows, n_features, mu = self.base
        if axis == "n":
            n_rows = round(size)
        elif axis == "d":
            n_features = round(size)
        else:
            mu = size
        facts = dict(self.facts)
        if self.first_steps is not None:
            facts["n_steps"] = self._n_steps(n_rows, n_features, mu, order)
        if self.row_limit is not None:
            facts["row_limit"] = self.row_limit * n_features**0.5
        power = order * (2.0 if self.doubled else 1.0)
        norm = n_features ** (power / 2.0) if self.kind == "norm" else 1.0
        moment = Moment(power, norm, kind=self.kind)
        options = {"moment": moment, "diameter": DIAMETER, **facts}
        found = self.call(n_rows, n_features, ZCDP(mu**2 / 2.0), **options)
        return found if self.n_groups is None else with_oracle(found, n_groups=self.n_groups)

    def rows_needed(self) -> float:
        """Return the number of records at which the noise is a quarter of the gradient.

        The noise is that of all steps together, as planned at the base's mu; the gradient is the
        largest.
        """
        for place in range(MOST_TRIED):
            n_rows = 10.0 ** (3.0 + place / 4.0)
            theorem = self.theorem("n", n_rows, order=self.orders[0])
            error = float(theorem.noise_std) * math.sqrt(theorem.n_features / theorem.n_passes)
            if error <= SEEN:
                return float(n_rows)
        return math.inf

    def _n_steps(self, n_rows: int, n_features: int, mu: float, order: float) -> int:
        """Return a fixed part of the theorem's number of steps, a power -2 of its rate."""
        rate = self.upper(1.0 - 1.0 / order)
        places = (n_rows / self.spans[0][0], n_features / self.base[1], mu / self.base[2])
        assert self.first_steps is not None
        count = self.first_steps
        for place, slope in zip(places, rate, strict=True):
            count *= place ** (-2.0 * slope)
        return max(1, round(count))


def with_oracle(theorem: Theorem, **changes: float) -> Theorem:
    """Return a theorem on medians of means with other groups or threshold, and their noise."""
    solver: Any = theorem.solver
    known = solver.oracle.parameters
    oracle = make_oracle(solver.oracle.name, **{**known, **changes})
    noise = theorem.noise_std * math.prod(changes[name] / known[name] for name in changes)
    return replace(theorem, solver=replace(solver, oracle=oracle), noise_std=noise)


def _linear(largest: float) -> LinearTask:
    return LinearTask(tuple(largest * part for part in PARTS))


def _clamped(e: float) -> Slopes:
    return Slopes(-e, 0.5 + 1.5 * e, -e)


def _hard(e: float) -> Slopes:
    """Kamath 6.4 and Tao 9: the error of a mean."""
    return Slopes(-e, 0.5 + 0.5 * e, -e)


def _squares(e: float) -> Slopes:
    """Kamath 5.7 and 6.1, Tao 7 and 8, Xu 2 to 4 at growth 2: the squared error of a mean."""
    return Slopes(-2.0 * e, 1.0 + e, -2.0 * e)


def _directional(e: float) -> Slopes:
    """Zhao 1, corrected (E51)."""
    return Slopes(-e, 0.5 * e, -e)


def _sparse(e: float) -> Slopes:
    """Tao 10 and 11: a power of the logarithm of the columns, as it rises along the grid."""
    first, last = SPARSE_COLUMNS
    rise = math.log(math.log(last) / math.log(first)) / math.log(last / first)
    return Slopes(-2.0 * e, 2.0 * e * rise, -2.0 * e)


def _accelerated(e: float) -> Slopes:
    """Xu 6 with noise over batches (E47), larger by the root of the number of steps."""
    return Slopes(-0.75 * e, 0.375 * (1.0 + e), -0.75 * e)


# On a square, steps for the whole diameter give this power of the rate instead of 2 (E65). Xu 3:
# penalties grow by 8 a phase, so the phase whose penalty equals the curvature has a share of the
# records proportional to the rate to the power 1/3. Xu 7: by its plans, from 10^6 to 10^8 records.
LEFT = 4.0 / 3.0


def _left(rate: Callable[[float], Slopes]) -> Callable[[float], Slopes]:
    """Return the slopes of a rate to the power :data:`LEFT`."""
    return lambda e: Slopes(*(LEFT * slope for slope in rate(e)))


def _always(n: float, d: float, mu: float) -> Callable[[float], Slopes]:
    """Return slopes that do not depend on the order of the moment."""
    return lambda e: Slopes(n, d, mu)


# The slopes are those of `predicted_excess(1.0)`, from the plans only.
WIDE_BALLS = (
    "Along n the number of rounds divides the records, a logarithm: -0.90 by the plans, and -0.93 "
    "from 0.6 to 50 million. Along mu a round in a ball wider than the rate leaves the power 4/3 "
    "of the rate and not 2, and five rounds leave such balls: -0.93 by the plans at 3 million "
    "records for mu from 0.01 to 0.1."
)
BATCH_NOISE = (
    "As printed the noise is not private; noise over batches costs a quarter of the rate's power "
    "(E47)."
)
FULL_STEPS = (
    "No number of records will do: steps are for the whole diameter, and the proof puts the "
    "distance to the minimiser in its place (E65). On a square the power 4/3 of the rate is left "
    "and not 2: that is the corrected slope."
)


# First a theorem and its slopes; then the base, and the ranges of n, d and mu at which it is run.
# Theorems with groups for all points at once need too many records.
# fmt: off
ROWS = (
    RiskCase("kamath2022 5.2", kamath2022.convex, "central", _linear(1.0), _clamped, _hard,
             (10_000, 4, 100.0), ((1_000, 10_000), (4, 16), (10.0, 100.0)),
             first_steps=25, n_groups=24),
    RiskCase("kamath2022 5.2 uniform", kamath2022.convex, "central", _linear(1.0), _clamped, _hard,
             (6_000, 4, 2.0), ((2_000, 20_000), (4, 16), (1.0, 10.0)), UNIFORM, reached=False),
    RiskCase("kamath2022 5.5", kamath2022.soft_convex, "central", _linear(0.2),
             _always(-0.5, 1.0, -0.25), _hard,  # at the best q for each budget; printed: at q = 1
             (30_000, 8, 0.25), ((10_000, 100_000), (4, 32), (0.08, 0.6)), {"gradient_bound": 0.2},
             printed=_always(-0.5, 1.0, -0.5)),
    RiskCase("kamath2022 5.7", kamath2022.strongly_convex, "central", SquaredTask(),
             _squares, _squares,
             (100_000, 4, 40.0), ((30_000, 600_000), (4, 32), (20.0, 200.0)),
             {**QUADRATIC, "n_steps": 8}, orders=(2.0, 3.0), n_groups=26),
    RiskCase("tao2022 6", tao2022.convex, "raw", _linear(1.0), _clamped, _hard,
             (20_000, 4, 25.0), ((2_000, 20_000), (4, 16), (4.0, 40.0)),
             first_steps=25, n_groups=24),
    RiskCase("tao2022 6 uniform", tao2022.convex, "raw", _linear(1.0), _clamped, _hard,
             (6_000, 4, 2.0), ((2_000, 20_000), (4, 16), (1.0, 10.0)), UNIFORM, reached=False),
    RiskCase("tao2022 7", tao2022.strongly_convex, "raw", SquaredTask(), _squares, _squares,
             (50_000, 4, 20.0), ((30_000, 600_000), (4, 32), (10.0, 200.0)),
             {**QUADRATIC, "n_steps": 8}, n_groups=26),
    RiskCase("tao2022 10", tao2022.sparse, "raw", SquaredTask(2), _sparse, _sparse,
             (8_000, 100, 0.7), ((5_000, 60_000), SPARSE_COLUMNS, (0.3, 1.5)),
             {**QUADRATIC, "n_nonzero": 2, "n_kept": 4, "n_steps": 10}, orders=(2.0, 1.5)),
    RiskCase("wang2020 7", wang2020.smoothed_strongly_convex, "raw", SquaredTask(),
             _always(-1.0, 3.0, -2.0), _squares,
             (60_000, 8, 0.5), ((20_000, 300_000), (4, 32), (0.15, 0.9)),
             {**QUADRATIC, "n_steps": 12}, printed=_always(-1.0, 2.0, -2.0)),
    RiskCase("wang2020 8", wang2020.smoothed_convex, "raw", _linear(1.0),
             _always(-1.0 / 3.0, 1.0, -2.0 / 3.0), _hard,
             (60_000, 8, 0.5), ((6_000, 100_000), (4, 32), (0.15, 1.0)),
             {"smoothness": 4.0}, printed=_always(-1.0 / 3.0, 2.0 / 3.0, -2.0 / 3.0)),
    RiskCase("zhao2024 4", zhao2024.convex, "directional", _linear(1.0), _hard, _directional,
             (20_000, 4, 0.2), ((8_000, 80_000), (4, 16), (0.06, 0.3)),
             {"smoothness": 0.5}, first_steps=25, printed_lower=_hard),
    RiskCase("zhao2024 7", zhao2024.iterative_convex, "directional", _linear(1.0),
             _hard, _directional,
             (20_000, 4, 1.8), ((10_000, 67_000), (4, 16), (0.9, 6.0)),
             {"smoothness": 0.5, "centre": "median", "n_groups": 10}, first_steps=10,
             printed_lower=_hard),
    RiskCase("xu2025 1", xu2025.localised, "norm", _linear(4.0), _hard, _hard,
             (10_000, 8, 1.0), ((3_000, 60_000), (4, 32), (0.3, 3.0)),
             doubled=True, row_limit=5.0),
    RiskCase("xu2025 2", xu2025.tsybakov, "norm", SquaredTask(), _squares, _squares,
             (60_000, 8, 3.0), ((31_000, 2_900_000), (4, 32), (0.4, 2.0)),
             GROWTH, doubled=True, row_limit=COLUMN_NORM, reason=WIDE_BALLS),
    RiskCase("xu2025 3", xu2025.unknown_growth, "norm", SquaredTask(), _left(_hard), _squares,
             (100_000, 8, 10.0), ((100_000, 1_000_000), (4, 32), (1.0, 10.0)),
             GROWTH, doubled=True, row_limit=COLUMN_NORM, printed=_squares, reason=FULL_STEPS),
    RiskCase("xu2025 6", xu2025.accelerated, "norm", _linear(4.0), _accelerated, _hard,
             (30_000, 8, 2.0), ((3_000, 300_000), (4, 32), (0.5, 10.0)),
             {"smoothness": 4.0}, printed=_hard, reason=BATCH_NOISE),
    RiskCase("xu2025 7", xu2025.accelerated_growth, "norm", SquaredTask(),
             _left(_accelerated), _squares,
             (60_000, 8, 30.0), ((50_000, 1_000_000), (4, 32), (7.0, 70.0)),
             {"smoothness": 1.0, **GROWTH}, printed=_squares,
             reason=f"{FULL_STEPS} Along d the plans have 0.82."),
)
# fmt: on
CASES = {row.name: row for row in ROWS}
