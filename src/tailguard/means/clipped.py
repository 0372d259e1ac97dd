"""The l2-clipped mean, in private units by default.

With an assumed moment, or a clip norm, it is the papers' estimator: rows are clipped at a fixed
norm.

Without either, a centre and a scale of every column are released, then a histogram of the distances
of rows from the centre. The largest clip level balances its noise and the bias of clipping there;
shells below it cost nothing more.

*Shells.* A row clipped at radius ``R_K`` is the sum of its parts in the shells between the radii
``R_1 < ... < R_K``. Each shell of width ``w`` is released in units of ``sqrt(w)``. Then the parts
of a row, as one vector, have norm at most ``sqrt(w_1 + ... + w_K) = sqrt(R_K)``, so that noise of
standard deviation ``2 sqrt(R_K) / mu`` on each number is enough. Adding up the first ``k`` shells
gives the sum clipped at ``R_k`` with variance ``4 R_K / mu^2`` times ``w_1 + ... + w_k = R_k``, so
``noise std at R_k = 2 sqrt(R_k R_K) / mu``. At the largest radius this is exactly the noise of a
release at that radius alone.

*Slopes.* Clipping at a level ``R`` pulls the mean towards the centre, which is corrected: moving
the centre by ``h`` moves the clipped mean by ``(1 - g) h``. The histogram gives the mean slope
``g = P(r <= R) + (1 - 1/d) E(R / r; r > R)``. Dividing by ``g`` is one step of Newton's method,
exact to first order for rows whose direction does not depend on their norm.

*Mixture.* The released shells also decide the weights of the levels. The mean ``t_K`` at the last
level is nearly unbiased and the noisiest. For weights ``a`` that add up to one,
``|sum_k a_k t_k - t_K|^2`` estimates the squared bias plus the variance of the difference, which is
known. So the squared error has an unbiased estimate, up to a constant:
``|sum_k a_k (t_k - t_K)|^2 + 2 size * sum_k a_k cov(t_k, t_K)``, a convex quadratic over the
simplex.

*Intervals.* The steps from level to level tell how far clipping may move the mean of a column. A
bias of that size ``b`` counts like noise: the interval is a normal one of variance ``v + b**2``.

Reference
---------
Zhao et al. 2024, Algorithm 2 and Theorem 2; Xu et al. 2025, Algorithm 1; Huang, Liang and Yi 2021;
Stein 1981, Theorem 1 (unbiased estimates of risk); James and Stein 1961, for ``size = columns - 2``
in place of the number of columns, if there are more than a few. The shells are this library's.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError
from tailguard.data.rows.base import RecordBlock, round_to_lattice, rounded_alone, shrink
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Solution
from tailguard.gate.stage import Share, Stage
from tailguard.means.base import (
    Expected,
    Level,
    MeanExample,
    MeanFacts,
    MeanMethod,
    MeanPlan,
    amount_of,
    directional_level,
    mean_solution,
)
from tailguard.means.formulas import clipping_bias, gradient_clip_norm, mean_clip_norm
from tailguard.means.magnitude_distribution import MagnitudeDistribution
from tailguard.means.private_units import PrivateUnits, ReleasedUnits, planned_total, released_total
from tailguard.moments import Moment
from tailguard.privacy.calibration import Sensitivity
from tailguard.queries.base import SumQuery, sum_sensitivity
from tailguard.queries.units import Units
from tailguard.scaling.columns import LARGEST_SCALE
from tailguard.scaling.required_records import light_weights

MOST_SHELLS = 4  # by trial, like the ratios of their radii
MOST_STEPS = 3.0  # a tail so heavy that it hardly has a mean goes on for 2.4 steps
# Deviations of the noise of a bin: so many cells may lie at twice the last radius. On simulated
# columns at epsilon 1 and 4, 85 and 91 % of intervals of heavy columns held with none, 87 and 93 %
# with two, and 88 and 93 % with three, which makes those of light ones 1.2 times as wide.
HIDDEN_CELLS = 2.0


@dataclass(frozen=True)
class ClippedShells(SumQuery):
    """Means of the rows' parts in the shells between ``radii``; the state is not used.

    Attributes
    ----------
    units
        The coordinate system in which rows are read.
    radii
        The outer radii of the shells, in increasing order.

    Guarantee
    ---------
    The released sums are in units of the root of their shell's width. Replacing any record by any
    other moves them by at most ``2 * sqrt(radii[-1])`` in l2 norm, plus the charged rounding, under
    replace-one neighbours.

    Edge cases
    ----------
    A record with a non-finite value contributes zero and stays counted.

    Examples
    --------
    >>> query = ClippedShells(Units.raw(2, intercept=False), radii=(1.0, 4.0))
    >>> query.sensitivity(n_rows=1000, n_features=2).ideal
    4.0
    """

    units: Units
    radii: tuple[float, ...]

    name = "clipped mean by shells"

    @classmethod
    def worst_pair(cls, units: Units) -> dict[str, Any]:
        """Return four shells, and two records in opposite directions beyond the last one."""
        ends = {"old": (1e200, 0.0, 0.0, 0.0), "new": (-1e200, 0.0, 0.0, 0.0)}
        return {"label": "four", "query": cls(units, (1.0, 2.0, 4.0, 8.0)), **ends}

    @property
    def root_widths(self) -> FloatArray:
        """Roots of the widths of the shells: the units in which their sums are released."""
        return np.sqrt(np.diff(self.radii, prepend=0.0))

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of the sums of all shells together."""
        size = len(self.radii) * self.units.size
        return sum_sensitivity(float(np.sqrt(self.radii[-1])), size, n_rows)

    def read_state(self, state: Any) -> None:
        """Refuse radii that do not increase; the state is not used."""
        widths = np.diff(self.radii, prepend=0.0)
        if not (np.isfinite(widths).all() and (widths > 0).all()):
            raise InputError(f"radii must be finite, positive and increasing; got {self.radii}.")

    def sum_block(self, block: RecordBlock, state: None, grid: float) -> IntArray:
        """Sum the parts of the rows of a block on the lattice.

        A row of norm ``r`` has in each shell a part that points along the row. In units of the root
        of the shell's width, the length of the part is that root times the share of the shell below
        ``r``. So the parts of one record have l2 norm at most the root of the last radius.
        """
        radii, n_columns = np.array(self.radii, dtype=np.float64), self.units.size
        inner, widths = np.append(0.0, radii[:-1]), np.diff(radii, prepend=0.0)
        total = np.zeros((radii.size, n_columns), dtype=np.int64)
        limits = self.root_widths * shrink(total.size)
        for read in self.units.score(block):
            shares = np.clip((read.radius[:, None] - inner) / widths, 0.0, 1.0)
            # A width below the normal floats may count as zero, and zero over zero is NaN.
            lengths = np.where(shares > 0.0, shares, 0.0) * limits * read.inverse[:, None]
            if read.weight is not None:
                lengths *= read.weight[:, None]
            if block.alone:
                total += rounded_alone(lengths[:, :, None] * read.rows[:, None, :], grid)
            else:
                total += round_to_lattice(lengths.T @ read.rows, grid)
        return total.ravel()

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Return the mean of the rows' parts in each shell, one shell per row."""
        shells: FloatArray = noised.reshape(len(self.radii), -1) * self.root_widths[:, None]
        return shells / n_rows

    def noise_stds(self, n_rows: int, mu: float) -> FloatArray:
        """Return the noise std of the numbers of each shell, after ``finish``."""
        calibration = self.calibrate(n_rows, self.units.size, mu)
        return self.root_widths * (calibration.noise_std / n_rows)

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {
            "largest_radius": self.radii[-1],
            "shells": len(self.radii),
            "coordinates": self.units.size,
        }


@dataclass(frozen=True)
class Clipped(MeanMethod):
    """Mean of rows clipped at an l2 norm.

    Attributes
    ----------
    clip_norm
        A public clip norm, in the units of the data. If it is given, no scale is released.

    Guarantee
    ---------
    Gaussian noise on every release, for every input. Pure DP is refused: the sensitivity is in the
    l2 norm.

    Reference
    ---------
    Zhao et al. 2024, Algorithm 2.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.gate.plan import Problem
    >>> plan = Clipped(clip_norm=3.0).plan(Problem(None, 1000, 2), tg.GDP(1.0))
    >>> plan.settings
    {'clip norm': 3.0}
    """

    clip_norm: float | None = None

    name = "clipped"
    option, tail_assumption = "clip_norm", "few rows exceed the clip norm"
    example = MeanExample(
        {"clip_norm": 50.0},
        Moment(2.0, 4.0, kind="directional"),
        distance=1e-6,
        shown={"clip_norm": 1.0},
    )

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Release the shells and combine them."""
        stage = plan.stage("mean")
        if "clip norm" in plan.settings:
            units = Units.raw(gate.n_features, intercept=False)
            query = ClippedShells(units, (float(plan.settings["clip norm"]),))
            value = gate.ask(query, None, stage)[0]
            noise_std = query.noise_stds(gate.n_records, stage.mu)[0]
            return mean_solution(plan, value, np.full(gate.n_features, noise_std))
        total, noise_std = released_total(plan, gate)
        unit_noise = _noise_per_unit(total, gate.n_features, stage.mu)
        released = PrivateUnits.planned(plan, "norm").release(gate, total, unit_noise)
        return _from_shells(plan, gate, released, total, noise_std / total)

    def private_plan(self, facts: MeanFacts) -> MeanPlan:
        """Plan to release shells of several clip norms."""
        weighing, budget = planned_total(facts)
        units_plan, rest = PrivateUnits.of(facts, "norm", budget)
        n_features = facts.n_features
        stage = Stage.of(rest, "mean", "the clipped mean", 1, MOST_SHELLS * n_features)
        unit_noise = _noise_per_unit(facts.n_rows, n_features, stage.mu)
        expected = units_plan.expected_of_clip(facts, unit_noise)
        return self.planned(facts, (*weighing, *units_plan.stages, stage), expected)

    def public_plan(self, facts: MeanFacts) -> MeanPlan:
        """Plan with one clip norm."""
        budget, n_features = self.spent(facts), facts.n_features
        level = self.chosen_level(facts, budget)
        stage = Stage.of(budget, "mean", "the clipped mean", 1, n_features)
        noise = 2.0 * level.value * math.sqrt(n_features) / (facts.n_rows * stage.mu)
        expected = Expected(noise, level.bias, level.sampling)
        return self.planned(facts, (stage,), expected, {"clip norm": level.value})

    def moment_level(self, facts: MeanFacts, budget: Share, groups: int) -> Level:
        """Return the clip norm of the papers' formula."""
        mu, moment = amount_of(budget), facts.moment
        assert moment is not None
        if moment.kind == "norm":
            clip_norm = facts.into(gradient_clip_norm, moment, mu=mu)
            # A bound on the norm covers all directions together, so the dimension does not enter.
            bias = facts.into(clipping_bias, moment, clip_norm=clip_norm, n_features=1)
            return Level(clip_norm, bias, facts.sampling * math.sqrt(facts.n_features))
        return directional_level(facts, mean_clip_norm, rho=mu**2 / 2.0)


def _noise_per_unit(n_rows: int, n_features: int, mu: float) -> float:
    """Return the l2 norm of the noise on a mean that is clipped at radius 1."""
    return 2.0 * math.sqrt(n_features) / (n_rows * mu)


def _from_shells(
    plan: Plan, gate: Gate, released: ReleasedUnits, total: int, total_noise: float
) -> Solution:
    """Release the shells, divide by the ``total``, and mix them for the least estimated error.

    ``total_noise`` is the noise of the total divided by the total. It moves the mean by this
    fraction of its distance from the centre.
    """
    n_features, stage = gate.n_features, plan.stage("mean")
    largest = released.clip_norm(_noise_per_unit(total, n_features, stage.mu))
    # With one or two columns the data say little about the best clip level: two shells are enough.
    most_shells, ratio = (MOST_SHELLS, 2.0) if n_features > 2 else (2, 3.0)
    n_steps = math.log(max(largest / released.distribution.quantile(0.5), 1.0), ratio)
    count = min(most_shells, max(2, 1 + int(n_steps)))  # two, to measure the bias of clipping
    radii = largest * ratio ** -np.arange(count - 1.0, -1.0, -1.0)
    query = ClippedShells(released.units, tuple(radii.tolist()))
    shells = gate.ask(query, None, stage, total=total)
    slopes = np.array([released.mean_slope(radius) for radius in radii])
    sums = np.tril(np.ones((count, count))) / slopes[:, None]
    noise_stds = query.noise_stds(gate.n_records, stage.mu) * (gate.n_records / total)
    means, noise = sums @ shells, sums * noise_stds
    weights = least_error_weights(means, noise)
    scale, value = released.units.scale, weights @ means
    settings: dict[str, float | int | str] = {
        "largest clip norm": float(largest),
        "believed clip norm": float(weights @ radii),
    }
    notes: tuple[str, ...] = ()
    if total_noise > 0.0:
        settings["total weight, in weight_bound"] = total
        by_person = gate.unit.person is not None
        notes = light_weights(total, total_noise * total, gate.n_records, by_person=by_person)
    noise_std = scale * np.hypot(float(np.linalg.norm(weights @ noise)), value * total_noise)
    center, columns = released.units.center, released.columns
    if columns is None:
        return mean_solution(plan, center + scale * value, noise_std, settings, notes)
    tails = [(released.distribution, each) for each in columns.distributions]
    bias = scale * unseen_bias(weights, means, noise, radii, tails, columns.bin_share)
    too_large = np.maximum(scale, np.abs(center)) >= LARGEST_SCALE
    unknown = columns.guessed | too_large
    return mean_solution(
        plan,
        center + scale * value,
        np.where(unknown, np.nan, noise_std),
        settings,
        notes,
        error_std=np.where(unknown | (columns.hidden > 0.0), np.nan, np.hypot(noise_std, bias)),
        hidden=columns.hidden,
        too_large=too_large,
    )


def unseen_bias(
    weights: FloatArray,
    means: FloatArray,
    noise: FloatArray,
    radii: FloatArray,
    distributions: Sequence[Sequence[MagnitudeDistribution | None]],
    hidden: float,
) -> FloatArray:
    """Return how far clipping may move the weighted mean of each column, as a deviation.

    The last step, from the last radius but one to the last, moves a mean towards what lies beyond.
    The ``distributions`` of the rows and of the column say how many such steps it would go on
    without a radius; the longer way counts. Some records may lie at twice the last radius:
    ``HIDDEN_CELLS`` times ``hidden``, the deviation of the noise of a bin, as a share of the
    records. The noise of the steps is a part of the deviation.
    """
    missing = np.empty(means.shape[1])
    for column, of_column in enumerate(distributions):
        steps = max(_steps_beyond(each, radii, hidden) for each in of_column if each)
        short = -weights
        short[-2:] += (-steps, 1.0 + steps)
        missing[column] = np.hypot(short @ means[:, column], np.linalg.norm(short @ noise))
    return missing


def _steps_beyond(distribution: MagnitudeDistribution, radii: FloatArray, hidden: float) -> float:
    """Return the mean excess over the last radius over that between the last two radii."""
    ahead = distribution.excess(radii[-1])
    passed = distribution.excess(radii[-2]) - ahead
    ahead += HIDDEN_CELLS * hidden * float(radii[-1])
    return MOST_STEPS if passed * MOST_STEPS <= ahead else ahead / passed


def least_error_weights(means: FloatArray, noise: FloatArray) -> FloatArray:
    """Return the weights that give the means, one per row, the least estimated error.

    ``noise[k, j]`` is the standard deviation of every coordinate of mean ``k`` through the noise of
    shell ``j``. Shells have independent noise.
    """
    differences = means - means[-1]
    columns = means.shape[1]
    size = max(columns - 2, min(columns, 2))
    return simplex_minimum(differences @ differences.T, 2.0 * size * (noise @ noise[-1]))


def simplex_minimum(gram: FloatArray, linear: FloatArray) -> FloatArray:
    """Minimise ``a' gram a + linear' a`` over weights that sum to one, by trying all supports."""
    count, least = len(linear), math.inf
    best: FloatArray = np.eye(count)[-1]
    for size in range(1, count + 1):
        for support in map(list, combinations(range(count), size)):
            system = np.ones((size + 1, size + 1))
            system[:size, :size] = 2.0 * gram[np.ix_(support, support)]
            system[size, size] = 0.0
            right_side = np.append(-linear[support], 1.0)
            weights = np.zeros(count)
            weights[support] = np.linalg.lstsq(system, right_side, rcond=None)[0][:size]
            value = float(weights @ gram @ weights + linear @ weights)
            feasible = (weights >= -1e-12).all() and abs(weights.sum() - 1.0) < 1e-6
            if feasible and value < least:
                least, best = value, weights
    return best
