"""Private units for means without an assumed moment: location, scale and tail of the columns.

Centres and scales come from :mod:`tailguard.scaling`, which spends mu or pure epsilon. The noise of
a bin in its histograms should be a small fraction of the records. They get as much budget as this
takes, but at most a quarter. A tenth goes to the histogram of magnitudes; if rows have a norm, a
seventh to that of norms and to the tails of single columns (``column_tails.py``), in equal parts,
or a fifth to the tail of the only column. The rest goes to the mean.

Reference
---------
Karwa and Vadhan 2018, Section 3 (units before means); Huang, Liang and Yi 2021 (tails before
means); Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms, with Laplace noise).
``privacy/books/books.py`` proves that unspent Gaussian budget may move between releases.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from tailguard.array_types import BoolArray, FloatArray
from tailguard.gate import Gate
from tailguard.gate.plan import Plan
from tailguard.gate.stage import WEIGHT, Share, Stage, part_of
from tailguard.means.base import (
    Expected,
    MeanFacts,
    amount_of,
    most_coordinates,
    noise_std_of,
    tail_noise,
    usable_share,
)
from tailguard.means.column_tails import WIDE_BINS, ColumnTails, release_tails
from tailguard.means.magnitude_distribution import SIGNIFICANT as TAIL_SIGNIFICANT
from tailguard.means.magnitude_distribution import (
    MagnitudeDistribution,
    assumed_entries,
    assumed_norms,
    cell_edges,
    released_distribution,
)
from tailguard.privacy.calibration import Calibration
from tailguard.privacy.events import Gaussian, Laplace
from tailguard.queries.base import Query, calibration_for
from tailguard.queries.histograms import Bins, ColumnHistograms
from tailguard.queries.magnitudes import CountMagnitudes
from tailguard.queries.units import Units
from tailguard.queries.usable_records import WeightTotals
from tailguard.scaling.columns import MeasuredColumns
from tailguard.scaling.required_records import scale_warnings
from tailguard.scaling.sizes_and_locations import FINEST_BINS, fewest_records
from tailguard.scaling.units import find_columns, histogram_stages

Magnitude = Literal["norm", "entries"]

# The target noise of a bin, as a part of the records. A few columns are then detected with about a
# third of the records that the best window of a typical column has.
BIN_NOISE = 1.0 / 40.0
SMALLEST_SHARE, LARGEST_SHARE = 0.02, 0.25
TAIL_SHARE = 0.1
# For the tail of the only column. On simulated columns at epsilon 4, a tenth gave errors 1.1 times
# as large, and intervals 1.2 times as wide.
ALONE_SHARE = 0.2
COLUMN_SHARE = 0.07  # each for the norms of rows and for the tails of their columns, by trial
COLUMN_TAILS = "column tails"
WEIGHT_SHARE = 0.01  # of the squared mu, for the total weight, as in fits
# A bin of the last histogram of locations is about 3e-6 of the location wide; of the one before,
# 2e-4. So below this part of the location a scale is the width of the last bin.
ONE_VALUE = 2e-5
SMALLEST_DIVISOR = 0.25  # means are divided by at least this

ROUNDING = 1.0 - 1e-12  # keeps rounded sums of squares within the budget


def noise_of(stage: Stage, columns: int, n_rows: int, n_features: int) -> float:
    """Return the std of Gaussian noise with as heavy a tail as the noise of histograms."""
    query = ColumnHistograms(tuple(range(columns)), Bins("linear", -1.0, 1.0, 2))  # any bins
    return tail_noise(query, n_rows, n_features, stage.asked)


class MeanHistograms:
    """Releases the histograms of planned stages, and counts the releases that are left."""

    def __init__(self, gate: Gate, stages: Sequence[Stage], total: int) -> None:
        self._gate, self._total = gate, total
        self.stages = {stage.name: stage for stage in stages}
        self._times_left = {stage.name: stage.times for stage in stages}

    def n_rows(self, stage: Stage | None = None) -> int:
        """Return the number of records, or their total weight; every stage reads all records."""
        return self._total

    def left(self) -> float:
        """Return the mu of the releases that are left."""
        return math.hypot(
            *(s.mu * math.sqrt(self._times_left[s.name]) for s in self.stages.values())
        )

    def noise_std(self, columns: int, stage: Stage) -> float:
        """Return the noise of a release of histograms of this many columns."""
        return noise_of(stage, columns, self._gate.n_records, self._gate.n_features)

    def histograms(
        self, query: Query, state: Any, stage: Stage, *, columns: int = 1
    ) -> tuple[FloatArray, float]:
        """Make one release of the stage; return counts and their noise."""
        self._times_left[stage.name] -= 1
        return self._gate.ask(query, state, stage), self.noise_std(columns, stage)

    def topped_up(self, stage: Stage) -> Stage:
        """Add the mu that is left to a Gaussian stage; a Laplace stage stays as planned."""
        if isinstance(stage.asked, Laplace):
            return stage
        return replace(stage, mu=math.hypot(stage.mu, self.left()) * ROUNDING)


@dataclass(frozen=True, eq=False)
class ReleasedUnits:
    """Units, the distribution of magnitudes in these units, and the share of valid records.

    Attributes
    ----------
    reach
        The largest clip norm, from the clip levels of the columns.
    columns
        The distributions of columns; None if they were not released.
    """

    units: Units
    distribution: MagnitudeDistribution
    fraction: float
    reach: float = math.inf
    columns: ColumnTails | None = None

    def clip_norm(self, unit_noise: float) -> float:
        """Return the clip norm that suits all rows, at most their reach."""
        largest = max(self.reach, self.distribution.quantile(0.5))
        return min(self.distribution.radius(unit_noise), largest)

    def mean_slope(self, radius: float) -> float:
        """Return the slope of the mean of rows clipped at a radius, against the true mean."""
        # A clipped row follows a shift only across its own direction, and there by radius / r.
        across = 1.0 - 1.0 / self.units.size
        slope = self.distribution.expected(
            lambda r: np.where(r <= radius, 1.0, across * radius / r)
        )
        return max(slope * self.fraction, SMALLEST_DIVISOR)


@dataclass(frozen=True)
class PrivateUnits:
    """The planned releases: a histogram of magnitudes, usually after histograms of columns."""

    stages: tuple[Stage, ...]
    of_what: Magnitude
    unit: float | None = None

    @classmethod
    def of(
        cls, facts: MeanFacts, of_what: Magnitude, budget: Share | None = None
    ) -> tuple["PrivateUnits", Share]:
        """Plan the releases; return them and the rest of ``budget``, by default the whole one."""
        budget, width = budget or facts.budget, facts.n_features
        unit = facts.problem.unit
        by_column = of_what == "norm" and unit is None
        stages: tuple[Stage, ...] = ()
        spent = 0.0
        if by_column:
            spent += COLUMN_SHARE if width > 1 else ALONE_SHARE
            stages += (_column_stage(facts, part_of(budget, spent)),)
        if width > 1 or not by_column:
            share = COLUMN_SHARE if by_column else TAIL_SHARE
            spent += share
            stages += (_magnitude_stage(facts, part_of(budget, share), of_what),)
        if unit is not None:
            return cls(stages, of_what, unit), part_of(budget, 1.0 - spent)
        part = units_share(facts, budget)
        histograms = _histograms(facts, budget, part)
        return cls((*histograms, *stages), of_what), part_of(budget, 1.0 - part - spent)

    @classmethod
    def planned(cls, plan: Plan, of_what: Magnitude) -> "PrivateUnits":
        """Return the releases for units that a plan contains."""
        released = tuple(stage for stage in plan.stages if stage.name not in ("mean", WEIGHT))
        return cls(released, of_what, plan.problem.unit)

    def assumed(self, n_features: int) -> MagnitudeDistribution:
        """Return the distribution that plans assume, and runs if noise hides the released one."""
        return assumed_norms(n_features) if self.of_what == "norm" else assumed_entries()

    def expected_of_clip(self, facts: MeanFacts, unit_noise: float) -> Expected:
        """Predict the error of rows that are clipped where bias and noise balance."""
        distribution = self.assumed(facts.n_features)
        radius = distribution.radius(unit_noise)
        bias = distribution.cut_bias(radius)
        # The second moment of the assumed norms is not used. Their tail is the sum of the columns'
        # tails: an upper bound, whose second moment is 1.45 to 1.7 times the true one.
        sampling = facts.sampling * math.sqrt(facts.n_features)
        return Expected(unit_noise * radius, bias, sampling)

    def release(
        self, gate: Gate, total: int | None = None, unit_noise: float = 0.0
    ) -> ReleasedUnits:
        """Release the units, then the counts of magnitudes in these units.

        ``total`` is the total weight of the records, by default their number. ``unit_noise`` is the
        l2 norm of the noise on a mean that is clipped at norm 1.
        """
        total = gate.n_records if total is None else total
        stages = {stage.name: stage for stage in self.stages}
        tail, by_column = stages.pop("tail", None), stages.pop(COLUMN_TAILS, None)
        units, detected, one_value, topped_up = self._units(
            gate, [*stages.values()], total, by_column or tail
        )
        columns, reach = None, math.inf
        if by_column is not None:
            columns = release_tails(gate, units, detected, topped_up, total, one_value)
            columns, reach = columns.with_common_levels(unit_noise)
            units = columns.units
        else:
            tail = topped_up
        if tail is None:
            assert columns is not None
            (distribution,), counted = columns.distributions, columns.counted
            deviation = columns.deviation
        else:
            distribution, counted, deviation = self._magnitudes(gate, units, tail)
        # Records are taken as void only if the count is too low by three deviations of its noise.
        valid = counted / total if counted < total - 3.0 * deviation else 1.0
        return ReleasedUnits(
            units,
            distribution or self.assumed(gate.n_features),
            float(max(valid, SMALLEST_DIVISOR)),
            reach,
            columns,
        )

    def _magnitudes(
        self, gate: Gate, units: Units, tail: Stage
    ) -> tuple[MagnitudeDistribution | None, float, float]:
        """Release magnitudes; return their distribution, and how many records they count.

        The last number is the deviation of the noise of this count.
        """
        query = _magnitudes(units, self.of_what)
        counts, asked = gate.ask(query, None, tail), (gate.n_records, gate.n_features, tail.asked)
        noise_std, tail_std = noise_std_of(query, *asked), tail_noise(query, *asked)
        distribution = released_distribution(np.array(query.edges), counts, tail_std)
        deviation = noise_std * math.sqrt(counts.size) / query.per_record
        return distribution, float(counts.sum()) / query.per_record, deviation

    def _units(
        self, gate: Gate, histograms: Sequence[Stage], total: int, following: Stage | None
    ) -> tuple[Units, BoolArray, BoolArray, Stage]:
        """Return the units, public ones about zero or measured ones, and which are known.

        Then: which columns have one value as far as noise shows. The budget that all leave goes to
        the ``following`` stage, which is returned.
        """
        assert following is not None
        width = gate.n_features
        if self.unit is not None:
            scale = np.full(width, self.unit)
            nowhere = np.zeros(width, dtype=bool)
            return Units(np.zeros(width), scale, intercept=False), scale > 0.0, nowhere, following
        session, columns = MeanHistograms(gate, histograms, total), MeasuredColumns(width)
        scales = find_columns(session, columns, believe_narrow=True)
        units = replace(scales.units(columns), intercept=False)
        one_value = scales.width > 0.0
        one_value &= np.maximum(scales.scale, scales.width) < ONE_VALUE * np.abs(scales.center)
        return units, scales.detected, one_value, session.topped_up(following)


def planned_total(facts: MeanFacts) -> tuple[tuple[Stage, ...], Share]:
    """Plan the release of the total weight, if records have weights; also return the rest."""
    if not facts.problem.has_weights:
        return (), facts.budget
    share = part_of(facts.budget, WEIGHT_SHARE)
    query = WeightTotals(squares=False)
    calibration = calibration_for(query, facts.n_rows, facts.n_features, share)
    assert isinstance(calibration, Calibration)
    stage = Stage.of(Gaussian(calibration.share), WEIGHT, "the total weight of the records", 1, 1)
    return (stage,), part_of(facts.budget, 1.0 - WEIGHT_SHARE)


def released_total(plan: Plan, gate: Gate) -> tuple[int, float]:
    """Return the total weight in parts of the weight bound, and the deviation of its noise.

    The total is released if this is planned; otherwise it is the number of records.
    """
    if WEIGHT not in plan.by_name:
        return gate.n_records, 0.0
    query, stage = WeightTotals(squares=False), plan.stage(WEIGHT)
    noise_std = noise_std_of(query, gate.n_records, gate.n_features, stage.asked)
    total = query.total(gate.ask(query, None, stage), noise_std, gate.n_records)
    return max(1, round(total)), noise_std


def affords_units(plan: Plan) -> bool:
    """Whether typical columns are nearly sure to be measured; locations need more than sizes."""
    return plan.problem.n_rows > 1.5 * _fewest_records(plan)


def mean_scale_warnings(plan: Plan) -> tuple[str, ...]:
    """Warn or refuse if public numbers predict that noise hides all scales."""
    if all(stage.name != "typical size" for stage in plan.stages):
        return ()
    problem, coordinates = plan.problem, most_coordinates(plan.problem)
    whole = usable_share(plan.guarantee, coordinates=coordinates)
    return scale_warnings(
        problem.n_rows,
        plan.guarantee,
        math.ceil(_fewest_records(plan)),
        amount=lambda promise: amount_of(usable_share(promise, coordinates=coordinates)),
        noise_std=(math.sqrt(2.0) if isinstance(whole, Laplace) else 1.0) / amount_of(whole),
        effect="the mean is little better than a guess unless these are near 1, or a moment is "
        "stated",
        noun=problem.noun,
    )


def affords_tail(plan: Plan) -> bool:
    """Whether a bin with an eighth of all entries is nearly sure to exceed the tail's noise."""
    n_rows, n_features = plan.problem.n_rows, plan.problem.n_features
    query = _magnitudes(Units.raw(n_features, intercept=False), "entries")
    noise = tail_noise(query, n_rows, n_features, plan.stage("tail").asked)
    return n_rows * n_features / 8.0 > (TAIL_SIGNIFICANT + 1.0) * noise


def units_share(facts: MeanFacts, budget: Share) -> float:
    """Return the part of the budget at which the noise of a bin is on target."""
    sizes = _histograms(facts, budget, LARGEST_SHARE)[0]
    noise_std = noise_of(sizes, facts.n_features, facts.n_rows, facts.n_features)
    excess = noise_std / (BIN_NOISE * facts.n_rows)
    share = LARGEST_SHARE * (excess if facts.pure else excess**2)
    return min(max(share, SMALLEST_SHARE), LARGEST_SHARE)


def _histograms(facts: MeanFacts, budget: Share, part: float) -> tuple[Stage, ...]:
    """Distribute a part of the budget over the histograms of columns.

    Two facts decide the parts: there are only half as many pairs as records, and only the first
    histogram of locations is always released.
    """
    stages = histogram_stages(
        MeasuredColumns(facts.n_features),
        budget,
        size=part * 0.25,
        location=part * 0.55,
        pair_differences=part * 0.2,
        refinements=len(FINEST_BINS),
    )
    for stage in stages:  # to refuse noise that lattices cannot represent, before any release
        noise_of(stage, facts.n_features, facts.n_rows, facts.n_features)
    return tuple(stages)


def _magnitude_stage(facts: MeanFacts, budget: Share, of_what: Magnitude) -> Stage:
    """Plan the histogram of magnitudes."""
    query = _magnitudes(Units.raw(facts.n_features, intercept=False), of_what)
    magnitudes = {"norm": "the rows' norms", "entries": "the entries' magnitudes"}[of_what]
    share = _lattice_share(query, facts, budget)
    purpose, size = f"a histogram of {magnitudes}", len(query.edges) + 1
    return Stage.of(share, "tail", purpose, 1, size, by_place=query.by_place)


def _column_stage(facts: MeanFacts, budget: Share) -> Stage:
    """Plan the histograms of the sizes of cells, a column each."""
    query = ColumnHistograms(tuple(range(facts.n_features)), WIDE_BINS)
    share = _lattice_share(query, facts, budget)
    return Stage.of(share, COLUMN_TAILS, "the sizes of cells by column", 1, query.n_counts)


def _lattice_share(query: Query, facts: MeanFacts, budget: Share) -> Share:
    """Return what a query spends; on a lattice, noise is a little more than requested."""
    calibration = calibration_for(query, facts.n_rows, facts.n_features, budget)
    assert isinstance(calibration, Calibration)
    return Laplace(calibration.share) if facts.pure else Gaussian(calibration.share)


def _fewest_records(plan: Plan) -> float:
    width = plan.problem.n_features
    noise_std = noise_of(plan.stage("typical size"), width, plan.problem.n_rows, width)
    return fewest_records(width, noise_std)


def _magnitudes(units: Units, of_what: Magnitude) -> CountMagnitudes:
    width = units.size if of_what == "norm" else 1
    return CountMagnitudes(units, tuple(cell_edges(width).tolist()), of_what)
