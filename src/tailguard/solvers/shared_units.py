"""Units for many columns at once: one private scale for all features, and the target's own.

A scale for each of a thousand columns would cost more than the fit. One for all of them costs as
much as one column's. So columns must come in comparable units and near zero, as columns of one
kind do (expression levels, word counts, standardised scores); a user can state
scales and centres. The target has a private spread and a private centre.

Reference
---------
Smith 2011, Section 3 (quantiles from noisy ranks); Dong, Roth and Su 2022, Corollary 3.3.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.gate import Gate
from tailguard.plans.budget import usable_mu
from tailguard.plans.problem import Problem
from tailguard.plans.stage import Stage
from tailguard.privacy.guarantees import Guarantee
from tailguard.queries.base import Query
from tailguard.queries.cell_counts import CountCellsBelow
from tailguard.queries.counts import CountBelow
from tailguard.queries.units import Units
from tailguard.solvers.bisection import bisect_quantiles
from tailguard.solvers.enough import scale_warnings
from tailguard.solvers.limits import centre_fraction
from tailguard.solvers.private_units import (
    LARGEST_SCALE,
    LOCATION_STEPS,
    RELATIVE_RESOLUTION,
    SCALE_STEPS,
    SIGNIFICANT,
)
from tailguard.solvers.scale_facts import RAW_UNITS, most_coordinates

__all__ = ["SharedUnits"]


@dataclass(frozen=True)
class SharedUnits:
    """Which of the three searches are needed, and what they find.

    Attributes
    ----------
    problem
        The public facts.
    stated
        Centres and scales that the user states.
    releases_scale, releases_target
        What is released: the scale of the features; spread and location of the target.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Squared(), n_rows=10_000, n_features=1000)
    >>> stated = Units.raw(1000, intercept=False)
    >>> [stage.name for stage in SharedUnits(problem, stated, True, True).stages(0.1)]
    ['feature scale', 'target scale', 'target location']
    """

    problem: Problem
    stated: Units
    releases_scale: bool
    releases_target: bool

    @property
    def releases_any(self) -> bool:
        """Whether anything is released."""
        return self.releases_scale or self.releases_target

    def stages(self, total_mu: float) -> tuple[Stage, ...]:
        """Plan the searches at an equal share per release."""
        scale, location = SCALE_STEPS + 2, LOCATION_STEPS + 1
        wanted: list[tuple[str, str, Query, int]] = []
        if self.releases_scale:
            words = "one private scale for all features"
            wanted.append(("feature scale", words, self._cells, scale))
        if self.releases_target:
            words = "the scale of the target"
            wanted.append(("target scale", words, self._target(paired=True), scale))
            words = "the location of the target"
            wanted.append(("target location", words, self._target(), location))
        share = total_mu / math.sqrt(sum(times for *_, times in wanted) or 1)
        sizes = (self.problem.n_rows, self.problem.n_features)
        # Counts live on a lattice of whole steps: what they really spend is at most the share.
        return tuple(
            Stage(name, words, query.calibrate(*sizes, share).share, times, 1)
            for name, words, query, times in wanted
        )

    def warnings(self, guarantee: Guarantee, stages: tuple[Stage, ...]) -> tuple[str, ...]:
        """Say from public numbers alone that no scale can be expected to be seen, or refuse."""
        if not stages:
            return ()
        # Half of the pairs, which are half of the records, must be seen.
        fewest = math.ceil(4.0 * SIGNIFICANT / min(stage.mu for stage in stages))
        coordinates = most_coordinates(self.problem, None)
        return scale_warnings(
            self.problem.n_rows,
            guarantee,
            fewest,
            amount=lambda promise: usable_mu(promise, coordinates),
            noise_std=1.0 / guarantee.gaussian_mu(),
            effect=RAW_UNITS,
        )

    def release(self, gate: Gate, stages: tuple[Stage, ...]) -> Units:
        """Run the searches that are among the stages, and complete the stated units."""
        planned = {stage.name: stage for stage in stages}
        units = self.stated
        if "feature scale" in planned:
            scale = _common_scale(gate, self._cells, planned["feature scale"], 0.0)
            units = replace(units, scale=np.full(units.center.size, scale))
        if "target scale" in planned:
            center = self._location(gate, planned["target location"])
            target_scale = _common_scale(
                gate, self._target(paired=True), planned["target scale"], center
            )
            if not self.problem.intercept:  # nothing would take up what is moved
                center, target_scale = 0.0, max(target_scale, abs(center))
            units = replace(units, target_center=center, target_scale=target_scale)
        return units

    @property
    def _cells(self) -> CountCellsBelow:
        return CountCellsBelow(tuple(range(self.problem.n_features)), paired=True)

    def _target(self, *, paired: bool = False) -> CountBelow:
        return CountBelow((self.problem.n_features,), paired=paired)

    def _location(self, gate: Gate, stage: Stage) -> float:
        """Return the loss's own quantile of the target; 0 where too few records are seen."""
        assert self.problem.scored is not None
        fraction = centre_fraction(self.problem.scored)
        count = _Counts(gate, self._target(), stage)
        valid = count(np.array([np.inf]))
        found = bisect_quantiles(count, valid * fraction, steps=LOCATION_STEPS, signed=True)
        seen = min(fraction, 1.0 - fraction) * valid[0] > SIGNIFICANT * count.noise_std
        return float(found[0]) if seen else 0.0


@dataclass(frozen=True)
class _Counts:
    """Noised counts of one query, as a function of the threshold."""

    gate: Gate
    query: Query
    stage: Stage

    def __call__(self, thresholds: FloatArray) -> FloatArray:
        return self.gate.ask(self.query, thresholds, self.stage)

    @property
    def noise_std(self) -> float:
        return self.query.sensitivity(self.gate.n_rows, self.gate.n_features).ideal / self.stage.mu


def _common_scale(gate: Gate, query: Query, stage: Stage, center: float) -> float:
    """Return the median of the pair differences that are not zero, within the range of floats.

    Where they cannot be told from zero the scale is 1, or that of the centre.
    """
    count = _Counts(gate, query, stage)
    pairs, zeros = count(np.array([np.inf])), count(np.array([0.0]))
    middle = (pairs + zeros) / 2.0
    found = bisect_quantiles(count, middle, steps=SCALE_STEPS, signed=False)[0]
    seen = pairs[0] - middle[0] > SIGNIFICANT * count.noise_std
    scale = max(found if seen else max(1.0, abs(center)), abs(center) * RELATIVE_RESOLUTION)
    return float(np.clip(scale, 1.0 / LARGEST_SCALE, LARGEST_SCALE))
