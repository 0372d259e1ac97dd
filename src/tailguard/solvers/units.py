"""Private units of a problem: which columns are measured, by which stages, and one shared scale.

The noise of a histogram of ``k`` columns grows with the root of ``k``. If public numbers predict
that typical columns stand out of it, each column gets its own centre and scale. Otherwise
separate units would cost more than the fit, so all columns share one scale, at the cost of a single
column. Then columns must be in comparable units and near zero, as columns of one kind are
(expression levels, word counts, standardised scores); or the user states scales and centres.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); Karwa and Vadhan 2018, Section 3;
McCullagh and Nelder 1989, Section 6.2 (scaling a Poisson target shifts the intercept only).
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tailguard.gate.plan import Problem
from tailguard.gate.stage import Stage, usable_mu
from tailguard.privacy.events import Gaussian
from tailguard.privacy.guarantees import Guarantee
from tailguard.queries.magnitudes import CountMagnitudes
from tailguard.queries.units import Units
from tailguard.scaling.columns import columns_of
from tailguard.scaling.noisy_distribution import detection_threshold
from tailguard.scaling.required_records import scale_warnings
from tailguard.scaling.sizes_and_locations import (
    SIZE_BINS,
    SIZE_WINDOW,
    fewest_records,
    read_octaves,
)
from tailguard.scaling.units import find_columns, find_target, histogram_stages
from tailguard.solvers.session import BudgetSession

FEATURES = "feature scale"
FEATURES_SHARE = 0.4  # of the budget of units, if the target is measured too
# Shares of the budget of units by column. Sizes get most: a column of unknown size is not read.
BY_COLUMN = {"size": 0.35, "location": 0.3, "pair_differences": 0.15}
TARGET_SHARE = 0.2  # the target's share, if it is measured
FEWEST_ROWS = 50  # with fewer records, quartiles that are read from bins mean little
UNREAD = 1e100  # the scale of a column that was not seen: its cells then count as zero
SMALLEST_SCALE = float(SIZE_BINS.value(1))
LARGEST_SCALE = float(SIZE_BINS.value(SIZE_BINS.count - 1))


@dataclass(frozen=True)
class SharedScale:
    """The histograms that units need, and the units that follow from them.

    Attributes
    ----------
    problem
        The public facts.
    stated
        Centres and scales that the user states.
    releases_scale, releases_target
        Whether the scale of the features, and scale and centre of the target, are released.
    by_column
        Whether each feature has a scale and, with an intercept, a centre of its own.
    """

    problem: Problem
    stated: Units
    releases_scale: bool
    releases_target: bool
    by_column: bool = False

    def seen_by_column(self, total_mu: float) -> "SharedScale":
        """Switch to units by column if typical columns are predicted to stand out."""
        # The target's share is kept back even if the target is not measured.
        mu = total_mu * math.sqrt(BY_COLUMN["size"] * (1.0 - TARGET_SHARE))
        columns = self.problem.n_features
        needed = detection_threshold(columns) * math.sqrt(2.0 * columns) / SIZE_WINDOW
        possible = self.problem.n_rows >= FEWEST_ROWS and not self.stated.center.any()
        stand_out = possible and self.problem.n_rows * mu >= needed
        return replace(self, by_column=self.releases_scale and stand_out)

    @property
    def releases_any(self) -> bool:
        """Whether anything is released."""
        return self.releases_scale or self.releases_target

    def stages(self, total_mu: float) -> tuple[Stage, ...]:
        """Divide the budget of units among stages."""
        columns, budget = columns_of(self.problem), Gaussian(total_mu)
        if self.by_column:
            part = 1.0 - TARGET_SHARE if self.releases_target else 1.0
            shares: dict[str, Any] = {name: part * share for name, share in BY_COLUMN.items()}
            # Without an intercept nothing is shifted: sizes are scales.
            shares["size"] += 0.0 if self.problem.intercept else part * (1.0 - BY_COLUMN["size"])
            return tuple(histogram_stages(columns, budget, **shares, target=1.0 - part))
        features = float(self.releases_scale)
        if self.releases_scale and self.releases_target:
            features = FEATURES_SHARE
        stages = []
        if self.releases_scale:
            words = "one private scale for all features"
            mu, problem = total_mu * math.sqrt(features), self.problem
            # Raises an error now if the counts do not fit on the lattice.
            self._differences.calibrate(problem.n_rows, problem.n_features, mu)
            stages = [Stage(FEATURES, words, mu, 1, SIZE_BINS.count, by_place=True)]
        if self.releases_target:
            stages += histogram_stages(columns, budget, target=1.0 - features)
        return tuple(stages)

    def warnings(
        self, guarantee: Guarantee, stages: tuple[Stage, ...], coordinates: int
    ) -> tuple[str, ...]:
        """Return warnings, from public numbers, if noise is predicted to hide the scales.

        The plan releases at most ``coordinates`` numbers.
        """
        sizes = [stage for stage in stages if stage.name in (FEATURES, "target typical size")]
        if not sizes:
            return ()
        # A difference takes a pair of records, so there are half as many differences.
        noises = [(1.0 + (stage.name == FEATURES)) / stage.mu for stage in sizes]
        return scale_warnings(
            self.problem.n_rows,
            guarantee,
            math.ceil(fewest_records(1, math.sqrt(2.0) * max(noises))),
            amount=lambda promise: usable_mu(promise, coordinates),
            noise_std=1.0 / guarantee.gaussian_mu(),
            effect="a fit is accurate only if typical values are near 1",
            noun=self.problem.noun,
        )

    def release(self, session: BudgetSession) -> Units:
        """Release the planned histograms, and complete the stated units."""
        units = self.stated
        if self.by_column:
            measured = find_columns(session, columns_of(self.problem))
            released = measured.units(columns_of(self.problem))
            detected = measured.detected[: units.center.size]
            scale = np.where(detected, released.scale, UNREAD)
            units = replace(units, center=released.center, scale=scale)
            if self.releases_target:
                center, target_scale = released.target_center, released.target_scale
                units = replace(units, target_center=center, target_scale=target_scale)
            return units
        if self.releases_scale:
            units = replace(units, scale=np.full(units.center.size, self._scale(session)))
        if self.releases_target:
            target, _ = find_target(session, columns_of(self.problem))
            units = replace(
                units, target_center=target.target_center, target_scale=target.target_scale
            )
        return units

    def _scale(self, session: BudgetSession) -> float:
        """Return the median of nonzero pair differences; 1 if noise hides them."""
        query = self._differences
        stage, shape = session.stages[FEATURES], (session.n_rows(), self.problem.n_features)
        counts = session.ask(query, None, stage)
        distribution = read_octaves(counts, query.calibrate(*shape, stage.mu).noise_std)
        seen = distribution.significance > detection_threshold(1)
        return min(max(distribution.quantile(0.5), SMALLEST_SCALE), LARGEST_SCALE) if seen else 1.0

    @property
    def _differences(self) -> CountMagnitudes:
        """Count differences of pairs, of all features together, by octaves."""
        raw = Units.raw(self.problem.n_features, intercept=False)
        return CountMagnitudes(raw, tuple(SIZE_BINS.upper()[:-1].tolist()), "differences")
