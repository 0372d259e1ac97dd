"""Tails of single columns, and units in which all columns can share one clip norm.

A histogram of the sizes of cells is released for every column, in units of its private scale. It
gives the clip level that suits the column alone, with its share of the budget. If rows are clipped
at one norm in private scales, a column that needs a level far above the others' raises it for all.
So units of such columns are multiplied until levels are alike: a heavy column pays for itself.

Levels are noisy. So units move less than levels do: by the part of the spread that noise does not
explain (James and Stein 1961) or, if this is more, fully from ``APART`` times the typical level on
and not at all within ``ALIKE`` times (Gao and Bruce 1997, firm shrinkage).

In these units a row whose cells reach their levels has the norm of the levels. Clipping there adds
no more noise to a column than clipping each column at its own level. Rarely do all cells of a row
reach their levels. So the clip norm is limited to a ``reach`` of ``MOST_REACH`` times that norm, or
the largest level if this is more. Noise may hide far cells of single columns that the histogram of
norms shows, and these would cost the other columns accuracy.

*One value.* If most cells have one value, the scale is that of the finest bin, and other cells may
be hidden by noise. They would be clipped to nearly nothing, so the unit is then the value itself:
its noise is a small part of what such cells could move the mean.

*Undetected scales.* If noise hid the scale of a column, the bins reach from ``2**-24`` to
``2**35``. So a column whose cells are mostly zero has a second chance with several times as much
budget.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); Biswas, Dong, Kamath and Ullman
2020, Section 3 (clipping after a linear map). The choice of units is this library's.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from tailguard.array_types import BoolArray, FloatArray
from tailguard.gate import Gate
from tailguard.gate.stage import Stage
from tailguard.means.base import tail_noise
from tailguard.means.magnitude_distribution import (
    SIGNIFICANT,
    SMALLEST,
    MagnitudeDistribution,
    last_visible,
    released_distribution,
)
from tailguard.queries.histograms import Bins, ColumnHistograms
from tailguard.queries.units import Units
from tailguard.scaling.columns import LARGEST_SCALE
from tailguard.scaling.noisy_distribution import detection_threshold
from tailguard.scaling.sizes_and_locations import SIZE_BINS, read_sizes

ALIKE, APART = 2.0, 10.0  # by trial on simulated columns
MOST_REACH = 0.85  # by trial on real tables
LEVEL_NOISE = 0.5  # the deviation of the logarithm of a level, by trial
# The bins of known scales, and those of unknown ones. Both have edges on the grid of the
# distributions; the second ones are pairs of halves of octaves.
BINS, WIDE_BINS = Bins("octaves", -3.5, 2.0, 77), Bins("octaves", -24.0, 2.0, 118)
FALSE_TAIL = 1e-4  # the probability that any column has a false tail
# Cells count as hidden if they are more than this many standard deviations of the noise.
HIDDEN = 4.0
# The scale of a column of one value is the width of the finest bin. Cells farther away than this
# many widths were outside of the bin that was split last.
ONE_BIN = 64.0
# The other cells of such a column, in units of that value: most are codes, zeros or small numbers.
WITHIN_ONE = MagnitudeDistribution(np.geomspace(1.0, 2.0**20, 41), np.zeros(41))


@dataclass(frozen=True, eq=False)
class ColumnTails:
    """The distributions of the sizes of cells, in units; None if noise hides all sizes.

    Attributes
    ----------
    unknown
        Columns without a unit, of which noise hides all cells that are not near zero.
    hidden
        The share of the cells of each column whose size noise hides or, without a unit, may hide.
    counted
        The released number of counted cells of a column, on average.
    deviation
        The deviation of the noise of ``counted``.
    bin_share
        The deviation of the noise of one bin, as a share of the records.
    """

    units: Units
    distributions: tuple[MagnitudeDistribution | None, ...]
    unknown: BoolArray
    hidden: FloatArray
    counted: float
    deviation: float
    bin_share: float

    @property
    def guessed(self) -> BoolArray:
        """Columns whose cells are near zero, as far as noise shows."""
        seen = np.array([each is not None for each in self.distributions])
        return np.asarray(self.unknown & seen)

    def with_common_levels(self, unit_noise: float) -> tuple["ColumnTails", float]:
        """Multiply units until levels are alike; return the tails, and the reach of rows.

        ``unit_noise`` is the noise of a column alone, with its share of the budget, at level 1.
        """
        levels = np.array(
            [each.radius(unit_noise) if each else math.nan for each in self.distributions]
        )
        surely = ~np.isnan(levels) & (self.hidden == 0.0)
        if not surely.any():
            return self, math.inf
        typical = math.exp(float(np.median(np.log(levels[surely]))))
        # Hidden cells may lie anywhere, so the level is at least the typical one.
        levels = np.where(surely, levels, np.fmax(levels, typical))
        factors = unit_factors(levels / typical)
        scale = np.clip(self.units.scale * factors, 1.0 / LARGEST_SCALE, LARGEST_SCALE)
        tails = replace(
            self,
            units=replace(self.units, scale=scale),
            distributions=tuple(
                each and replace(each, points=each.points / factor)
                for each, factor in zip(self.distributions, factors, strict=True)
            ),
        )
        # Without a unit and a distribution, the bulk of a column may lie anywhere.
        anywhere = (self.unknown & ~self.guessed).any()
        common = levels / factors
        reach = max(MOST_REACH * float(np.linalg.norm(common)), float(common.max()))
        return tails, math.inf if anywhere else reach


def unit_factors(ratios: FloatArray) -> FloatArray:
    """Return the factors of the units of columns, the least one 1.

    ``ratios`` are their levels over the typical one.

    Examples
    --------
    >>> unit_factors(np.array([0.8, 1.0, 1.3])).tolist()
    [1.0, 1.0, 1.0]
    >>> unit_factors(np.array([1.0, 1.0, 1.0, 100.0])).round().tolist()
    [1.0, 1.0, 1.0, 100.0]
    """
    logs, alike, apart = np.log(ratios), math.log(ALIKE), math.log(APART)
    part = np.clip((np.abs(logs) - alike) / (apart - alike), 0.0, 1.0)
    firm = np.where(part < 1.0, np.sign(logs) * apart * part, logs)
    kept = max(0.0, 1.0 - LEVEL_NOISE**2 / max(float(np.mean(logs**2)), LEVEL_NOISE**2))
    moves = np.where(np.abs(firm) > kept * np.abs(logs), firm, kept * logs)
    return np.exp(moves - moves.min())


def release_tails(
    gate: Gate,
    units: Units,
    detected: BoolArray,
    stage: Stage,
    total: int,
    one_value: BoolArray | None = None,
) -> ColumnTails:
    """Release the histograms of all columns; columns not ``detected`` may get a unit now.

    Columns of ``one_value``, by default none, get another one if noise hides their other cells, as
    do columns away from zero of which all visible cells have one value.
    """
    width = gate.n_features
    bins = BINS if detected.all() else WIDE_BINS
    query = ColumnHistograms(tuple(range(width)), bins)
    counts = gate.ask(query, (units.center, 1.0 / units.scale), stage)
    noise_std = tail_noise(query, gate.n_records, width, stage.asked)
    # Of more columns one must stand out further, as a false tail costs a column all accuracy.
    strict = noise_std * detection_threshold(width, FALSE_TAIL, BINS.count) / SIGNIFICANT
    counted, deviation = counts.sum() / width, noise_std * math.sqrt(bins.count / width)
    unknown, late = ~detected, np.ones(width)
    if unknown.any():
        late[unknown] = _late_scales(counts[unknown], noise_std, total)
        unknown = np.isnan(late)
        late[unknown] = 1.0
        units = replace(units, scale=units.scale * late)
    one_value = np.zeros(width, dtype=bool) if one_value is None else one_value
    distributions: list[MagnitudeDistribution | None] = []
    hidden, factors = np.zeros(width), np.ones(width)
    for column, (row, unit) in enumerate(zip(counts, late, strict=True)):
        edges, merged = _in_unit(bins, row, unit)
        distribution = released_distribution(edges, merged, strict)
        all_small = distribution is not None and distribution.survival[0] == 0.0
        alone = all_small or (one_value[column] and not _seen_beyond(edges, merged, strict))
        if alone and units.center[column] != 0.0:
            factors[column] = max(abs(units.center[column]) / units.scale[column], 1.0)
            distributions.append(WITHIN_ONE)
            continue
        hidden[column] = _hidden_share(merged, strict, bins.count, total, distribution)
        if unknown[column] and (distribution is None or all_small):
            # Zeros are in one bin, which has less noise than all bins near zero together.
            distribution = distribution if row[0] > SIGNIFICANT * strict else None
            hidden[column] = np.clip((total - row[0] + HIDDEN * strict) / total, 0.0, 1.0)
        else:
            unknown[column] = False
            # A known scale is the size of some cells; noise hides them if all seem far smaller.
            distribution = None if all_small else distribution
        distributions.append(distribution)
    units = replace(units, scale=units.scale * factors)
    known = (tuple(distributions), unknown, hidden)
    return ColumnTails(units, *known, counted, deviation, noise_std / total)


def _seen_beyond(edges: FloatArray, counts: FloatArray, noise_std: float) -> bool:
    """Whether cells beyond the bin of the most frequent value exceed the noise."""
    last = last_visible(counts, noise_std)
    return last is not None and last > 0 and bool(edges[last - 1] > ONE_BIN)


def _late_scales(counts: FloatArray, noise_std: float, total: float) -> FloatArray:
    """Return scales of columns that are often zero, from counts in ``WIDE_BINS``; else NaN.

    Other columns may lie far from zero, where a size does not suit without a centre.
    """
    octaves = counts.reshape(len(counts), -1, 2).sum(axis=2)
    first = int(SIZE_BINS.index(WIDE_BINS.upper()[0]))
    padded = np.zeros((len(counts), SIZE_BINS.count))
    padded[:, first : first + octaves.shape[1]] = octaves
    padded[:, [0, first]] = padded[:, [first, 0]]  # zeros are in the first of the wide bins
    measured = read_sizes(padded, np.full(len(counts), noise_std * math.sqrt(2.0)), total)
    return np.where(measured.often_zero, measured.scale, np.nan)


def _in_unit(bins: Bins, counts: FloatArray, unit: float) -> tuple[FloatArray, FloatArray]:
    """Return edges in a unit, from an eighth of it on, and the counts of their cells."""
    edges = bins.upper()[:-1] / unit
    first = min(int((edges < SMALLEST * (1.0 - 1e-9)).sum()), edges.size - 1)
    return edges[first:], np.append(counts[: first + 1].sum(), counts[first + 1 :])


def _hidden_share(
    counts: FloatArray,
    noise_std: float,
    n_bins: int,
    total: int,
    distribution: MagnitudeDistribution | None,
) -> float:
    """Return the share of cells beyond the visible ones, if they are more than the noise.

    They are all cells but the visible ones and those expected beyond them, or else void. So the
    bins beyond must hold more than their noise, too.
    """
    last = last_visible(counts, noise_std)
    if last is None or distribution is None:
        return 0.0
    n_visible = n_bins - counts.size + last + 1
    seen, beyond = counts[: last + 1].sum(), counts[last + 1 :]
    expected = total * (1.0 - float(distribution.survival[last]))
    surely = expected - seen > HIDDEN * noise_std * math.sqrt(n_visible)
    surely = surely and beyond.sum() > noise_std * math.sqrt(beyond.size)
    return float(1.0 - seen / total) if surely else 0.0
