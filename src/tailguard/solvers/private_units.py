"""Private releases of a location and a scale for every column, with no bound on the data.

Spread: a quantile of the absolute differences of random pairs, which do not depend on the
location; the median of the pairs that differ at all, so that columns that are mostly zero keep
their unit. Location: the median, or for the target of a quantile loss that quantile. Both by
bisection over the ordered floats, all columns in one release per step.

Reference
---------
Smith 2011, Section 3 (quantiles from noisy ranks); Dong, Roth and Su 2022, Corollary 3.3.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.gate import Gate
from tailguard.plans.problem import Problem
from tailguard.plans.stage import Stage
from tailguard.queries.counts import CountBelow
from tailguard.queries.units import Units
from tailguard.solvers.bisection import (
    SIGNED_OCTAVE_STEPS,
    UNSIGNED_OCTAVE_STEPS,
    bisect_quantiles,
)
from tailguard.solvers.limits import centre_fraction

__all__ = [
    "MeasuredColumns",
    "fewest_records",
    "release_units",
    "scale_and_location_stages",
    "target_units",
    "unmet_shift",
]


SCALE_STEPS = UNSIGNED_OCTAVE_STEPS + 2  # to a quarter of an octave
LOCATION_STEPS = SIGNED_OCTAVE_STEPS + 16  # to 2**-16 of the location itself
# A search starts where the wanted count, half of what it searches, stands this many noise standard
# deviations above zero: one wrong turn of a bisection lands anywhere among the floats.
SIGNIFICANT = 5.0
LARGEST_SCALE = 2.0**1000  # so that neither a scale nor its inverse overflows
RELATIVE_RESOLUTION = 2.0**-14  # a scale finer than this share of the location is not resolved


@dataclass(frozen=True)
class MeasuredColumns:
    """Which columns are measured: the features, then the target and the offset where they exist.

    Examples
    --------
    >>> MeasuredColumns(n_features=2, target=True, offset=False).indices
    (0, 1, 2)
    """

    n_features: int
    target: bool
    offset: bool

    @classmethod
    def of(cls, problem: Problem) -> "MeasuredColumns":
        """Read from the public facts what is measured."""
        return cls(problem.n_features, target_units(problem) != "none", problem.has_offset)

    @property
    def indices(self) -> tuple[int, ...]:
        """Column numbers as queries count them: target ``d``, offset ``d + 1``."""
        chosen = list(range(self.n_features))
        if self.target:
            chosen.append(self.n_features)
        if self.offset:
            chosen.append(self.n_features + 1)
        return tuple(chosen)


def target_units(problem: Problem) -> str:
    """Say what may be done to the target, by the loss's word.

    Examples
    --------
    >>> import tailguard as tg
    >>> target_units(Problem(tg.losses.Poisson(), n_rows=10, n_features=1))
    'scale'
    """
    return problem.scored.target_units if problem.scored else "none"


def unmet_shift(problem: Problem, target_scale: float) -> float:
    """Return what scores are short of where a log link has no intercept to take up the scale.

    Dividing the target divides what is expected, so that much has to come off every score.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Poisson(), n_rows=10, n_features=1, intercept=False)
    >>> unmet_shift(problem, 8.0) == float(np.log(8.0))
    True
    """
    alone = target_units(problem) == "scale" and not problem.intercept
    return float(np.log(target_scale)) if alone else 0.0


def scale_and_location_stages(problem: Problem, total_mu: float) -> tuple[Stage, Stage]:
    """Plan the two searches at an equal share per release.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Squared(), 1000, 3)
    >>> scale_stage, location = scale_and_location_stages(problem, total_mu=0.5)
    >>> round((scale_stage.total_mu**2 + location.total_mu**2) ** 0.5, 4)
    0.5
    """
    columns = MeasuredColumns.of(problem).indices
    scale, location = SCALE_STEPS + 2, LOCATION_STEPS + 1
    share = total_mu / math.sqrt(scale + location)
    # Counts live on a lattice of whole steps: what they really spend is at most the share.
    query = CountBelow(columns)
    share = query.calibrate(problem.n_rows, problem.n_features, share).share
    return (
        Stage("scale", "the scale of every column", share, scale, len(columns)),
        Stage("location", "the location of every column", share, location, len(columns)),
    )


def release_units(gate: Gate, problem: Problem, scale_stage: Stage, location: Stage) -> Units:
    """Run both searches and turn the released numbers into units.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.gate import Gate
    >>> from tailguard.privacy.events import Composed
    >>> problem = Problem(tg.losses.Squared(), n_rows=400, n_features=1, intercept=True)
    >>> stages = scale_and_location_stages(problem, total_mu=20.0)
    >>> x = 50.0 + tg.datasets.heavy_tailed_linear(400, 1, seed=0).features
    >>> gate = Gate.over(x, x[:, 0], guarantee=tg.GDP(20.0), random_state=0)
    >>> gate.reserve(Composed(tuple(stage.event for stage in stages)))
    >>> units = release_units(gate, problem, *stages)
    >>> bool(abs(units.center[0] - 50.0) < 0.5)
    True
    """
    columns = MeasuredColumns.of(problem)
    scale = _scales(gate, columns, scale_stage)
    center = _locations(gate, columns, _fractions(columns, problem), location)
    scale = np.where(np.isnan(scale), np.maximum(1.0, np.abs(center)), scale)
    scale = np.maximum(scale, np.abs(center) * RELATIVE_RESOLUTION)
    if not problem.intercept:  # nothing would take up what is moved
        scale, center = np.maximum(scale, np.abs(center)), np.zeros(center.size)
    scale = np.clip(scale, 1.0 / LARGEST_SCALE, LARGEST_SCALE)
    return _assemble(columns, center, scale, problem)


def fewest_records(problem: Problem, scale_stage: Stage) -> int:
    """Count below which no search starts, so that columns are read in their raw units.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Squared(), n_rows=1000, n_features=8)
    >>> scale_stage, _ = scale_and_location_stages(problem, total_mu=0.1)
    >>> fewest_records(problem, scale_stage)
    3980
    """
    noise_std = math.sqrt(len(MeasuredColumns.of(problem).indices)) / scale_stage.mu
    # Half of the pairs, which are half of the records, must be seen.
    return math.ceil(4.0 * SIGNIFICANT * noise_std)


def _scales(gate: Gate, columns: MeasuredColumns, stage: Stage) -> FloatArray:
    """Median of the non-zero pair differences per column; NaN where none can be told from zero."""
    below = _counter(gate, CountBelow(columns.indices, paired=True), stage)
    width = len(columns.indices)
    pairs = np.full(width, below(np.full(width, np.inf)).mean())
    zeros = below(np.zeros(width))
    differing = pairs - zeros
    middle = bisect_quantiles(below, zeros + differing / 2.0, steps=SCALE_STEPS, signed=False)
    noise_std = math.sqrt(width) / stage.mu
    return np.where(differing / 2.0 > SIGNIFICANT * noise_std, middle, np.nan)


def _fractions(columns: MeasuredColumns, problem: Problem) -> FloatArray:
    """Which quantile is the centre of each column: the median, but for a target the loss's own."""
    fractions = np.full(len(columns.indices), 0.5)
    if problem.scored and target_units(problem) == "location-scale":
        fractions[columns.n_features] = centre_fraction(problem.scored)
    return fractions


def _locations(
    gate: Gate, columns: MeasuredColumns, fractions: FloatArray, stage: Stage
) -> FloatArray:
    """Quantile per column; 0 where the number of valid records cannot be told from zero."""
    below = _counter(gate, CountBelow(columns.indices), stage)
    width = len(columns.indices)
    valid = below(np.full(width, np.inf)).mean()
    found = bisect_quantiles(below, valid * fractions, steps=LOCATION_STEPS, signed=True)
    noise_std = math.sqrt(width) / stage.mu
    seen = np.minimum(fractions, 1.0 - fractions) * valid > SIGNIFICANT * noise_std
    return np.where(seen, found, 0.0)


def _counter(gate: Gate, query: CountBelow, stage: Stage) -> Callable[[FloatArray], FloatArray]:
    def counts_below(thresholds: FloatArray) -> FloatArray:
        return gate.ask(query, thresholds, stage)

    return counts_below


def _assemble(
    columns: MeasuredColumns, center: FloatArray, scale: FloatArray, problem: Problem
) -> Units:
    """Put each measured column where it belongs; the target's meaning is the loss's to say."""
    d = columns.n_features
    target_center, target_scale = 0.0, 1.0
    if columns.target:
        target_center, target_scale = float(center[d]), float(scale[d])
        if target_units(problem) == "scale":
            target_center, target_scale = 0.0, max(target_scale, target_center)
    offset_center = float(center[-1]) if columns.offset else 0.0
    offset_center += unmet_shift(problem, target_scale)
    return Units(
        center[:d], scale[:d], problem.intercept, target_center, target_scale, offset_center
    )
