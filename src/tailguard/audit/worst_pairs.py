"""For every registered query, a state and a pair of neighbours that attain its sensitivity.

A record consists of features and target, then of exposure and weight if the query reads them.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Definition 3 (a sensitivity is attained by some pair).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import class_called, require
from tailguard.data.rows.arrays import ArrayRows, make_rows
from tailguard.data.rows.base import Rows
from tailguard.losses.multinomial import Multinomial
from tailguard.losses.record_gradient import RecordGradient
from tailguard.losses.squared import Squared
from tailguard.queries.bounded_moments import BoundedMoments
from tailguard.queries.clip_levels import ContributionLevels, LevelGradients
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.clipped_minimiser import ClippedMinimiser
from tailguard.queries.deviances import DevianceMoments, DevianceSizes
from tailguard.queries.histograms import Bins, ColumnHistograms, WhitenedHistogram
from tailguard.queries.level_tables import LevelCounts
from tailguard.queries.loss_differences import LossDifferences
from tailguard.queries.magnitudes import CountMagnitudes
from tailguard.queries.norm_counts import CountNormsBelow
from tailguard.queries.peeling import PeeledStep
from tailguard.queries.record_gradient import MeanRecordGradient
from tailguard.queries.registry import QUERIES
from tailguard.queries.second_moments import SecondMoments
from tailguard.queries.target_totals import TargetTotals
from tailguard.queries.units import Units
from tailguard.queries.usable_records import CellKinds, UsableRecords, WeightTotals
from tailguard.queries.value_histograms import ValueHistograms
from tailguard.queries.view import View

N_FEATURES = 3  # more features would not test more
CHANGED = 4  # the index of the record that differs, within the first chunk

ZERO, SQUARED = np.zeros(N_FEATURES), Squared()
WEIGHTS = np.array([0.3, -0.2, 0.1])  # arbitrary
RAW = Units.raw(N_FEATURES, intercept=False)
PLAIN = View.plain(SQUARED, RAW)
# A map that is not diagonal, and whose rows differ in size by a factor of a thousand.
SKEWED = View(SQUARED, RAW, np.array([[1.0, 0.5, 0.0], [0.0, 2.0, -1.0], [0.3, 0.0, 1e-3]]))
# Pairs of records, each with three features and a target.
OPPOSITE = (9.0, 0.0, 0.0, 1e6), (9.0, 0.0, 0.0, -1e6)
FAR = (0.0,) * 4, (1e6,) * 4
OVER = (9.0, 9.0, 0.0, 0.0), (9.0, 9.0, 1.0, 0.0)  # moves from one group to another
# Two scores and a class: the first class, which scores and constant expect, then the second one.
SURPRISED, FAVOURITE = ((1e3, 0.0, 0.0, 0.0), (1e300, -1e300, 1.0, 0.0)), np.array([60.0, 0.0])
VOID = (np.inf,) * 4  # one record, not a pair


@dataclass(frozen=True)
class WorstPair:
    """A query, its state, a record and the record that replaces it."""

    name: str
    query: Any
    state: Any
    old: tuple[float, ...]
    new: tuple[float, ...]
    loss: Any = None
    exposed: bool = False  # whether the number after the target is an exposure
    weighted: bool = False  # whether the last number of a record is its weight, at most 1
    n_groups: int = 1
    far: float = 0.0  # how far from zero the records of the other groups lie

    @property
    def width(self) -> int:
        """How many numbers a record has."""
        return N_FEATURES + 1 + self.exposed + self.weighted

    def background(self, n_rows: int) -> FloatArray:
        """Return the records that both neighbours share: zeros, or groups far from zero.

        Half of the other groups lie at ``far`` and half at ``-far``, so the group of the replaced
        record has the median mean, or one of the two middle means, wherever the record lies.
        """
        data = np.zeros((n_rows, self.width))
        data[:, N_FEATURES + 1 :] = 1.0
        changed_group = ((CHANGED + 1) * self.n_groups - 1) // n_rows
        others = [group for group in range(self.n_groups) if group != changed_group]
        for place, group in enumerate(others):
            rows = slice(*(g * n_rows // self.n_groups for g in (group, group + 1)))
            data[rows, :N_FEATURES] = -self.far if place < self.n_groups // 2 else self.far
        return data

    def rows(self, record: tuple[float, ...], n_rows: int) -> Rows:
        """Return the background with ``record`` in the place of the record that differs."""
        data = self.background(n_rows)
        data[CHANGED] = record
        return self.read(data)

    def read(self, data: FloatArray) -> ArrayRows:
        """Return copies of an array of records, as rows."""
        columns = iter(data[:, N_FEATURES:].T.copy())
        return make_rows(
            data[:, :N_FEATURES].copy(),
            next(columns),
            exposure=next(columns) if self.exposed else None,
            sample_weight=next(columns) if self.weighted else None,
            weight_bound=1.0 if self.weighted else None,
            loss=self.loss,
        )


def gradient_of_one_record(w: FloatArray, x: FloatArray, y: float) -> FloatArray:
    """Return the gradient of half the squared residual, as a user would write it."""
    slope = x @ w - y
    return slope * x


OWN_RECORD = RecordGradient(gradient_of_one_record)
PAIRS = (
    WorstPair(
        "mean-clipped-gradient/squared",
        MeanClippedGradient(SQUARED, RAW, clip_norm=1.5), WEIGHTS, *OPPOSITE, SQUARED,
    ),
    WorstPair(
        "mean-record-gradient/python",
        MeanRecordGradient(OWN_RECORD, clip_norm=0.5), ZERO,
        (1.0, 0.0, 0.0, 1e5), (1.0, 0.0, 0.0, -1e5), OWN_RECORD,
    ),
    WorstPair(
        "count-norms-below/score",
        CountNormsBelow(SQUARED, WEIGHTS), np.array([2.0]), *FAR, SQUARED,
    ),
    WorstPair(
        "clipped-minimiser/squared",
        ClippedMinimiser(SQUARED, RAW, strength=0.5, clip_norm=1.5, row_limit=2.0), WEIGHTS,
        (1e6, 0.0, 0.0, 1e9), (1e6, 0.0, 0.0, -1e9), SQUARED,
    ),
    WorstPair(
        "column-histograms/signed",
        ColumnHistograms((0, 1, 2, 3), Bins("signed", -4.0, 1.0, 8)),
        (np.array([0.5, -1.0, 0.0, 0.0]), np.array([1.0, 2.0, 1e-3, 1e300])),
        (-9.0,) * 4, (9.0,) * 4,
    ),
    WorstPair(
        "level-counts/two-columns",
        LevelCounts(((0, 1), (2,))), None, (1.0, 0.0, 1.0, 0.0), (0.0, 1.0, 0.0, 0.0),
    ),
    WorstPair(
        "whitened-histogram/lengths",
        WhitenedHistogram(SKEWED, "length", Bins("octaves", -10.0, 2.0, 40)), WEIGHTS,
        (0.1, 0.0, 0.0, 2.0), (5.0, 0.0, 0.0, 9.0), SQUARED,
    ),
    WorstPair(
        "second-moments/plain",
        SecondMoments(PLAIN, 1.5, 3.0), ZERO,
        (1e5, 0.0, 0.0, 1e4), (0.0, 1e5, 0.0, 1e4), SQUARED,
    ),
    WorstPair(
        "level-gradients/one",
        LevelGradients(PLAIN, 2.0, (1.5,), (1.0,)), ZERO, *OPPOSITE, SQUARED,
    ),
    WorstPair(
        "contribution-levels/skewed",
        ContributionLevels(SKEWED, (0.5, 2.0)), ZERO, *OPPOSITE, SQUARED,
    ),
    WorstPair(
        "loss-differences/slopes",
        LossDifferences(SQUARED, 3 * (PLAIN,), 2.0),
        np.outer([0.0, 1.0, 9.0], [1.0, 0.0, 0.0]),
        (9.0, 0.0, 0.0, 1e3), (9.0, 0.0, 0.0, -1e3), SQUARED,
    ),
    WorstPair("count-magnitudes/norm", CountMagnitudes(RAW, (0.5, 1.0, 8.0), "norm"), ZERO, *FAR),
    # All entries are kept: choosing some would not be Gaussian, and the audit assumes that it is.
    WorstPair(
        "peeled-step/keeps-3",
        PeeledStep(SQUARED, RAW, threshold=2.0, step_size=0.5, n_nonzero=N_FEATURES), ZERO,
        (2.0, 2.0, 2.0, 1.0), (2.0, 2.0, 2.0, -1.0), SQUARED,
    ),
    WorstPair("usable-records/one", UsableRecords(), None, (0.0,) * 4, VOID),
    WorstPair("cell-kinds/numbers", CellKinds(N_FEATURES + 1), None, (0.0,) * 4, VOID),
    WorstPair(
        "weight-totals/one",
        WeightTotals(), None, (0.0,) * 5, (0.0,) * 4 + (1.0,), weighted=True,
    ),
)  # fmt: skip
"""Pairs of the queries whose classes define none."""
VARIANTS = {
    "value-histograms, by groups": WorstPair(
        "value-histograms/groups",
        ValueHistograms((0, 1), 1, by=((2,),)), np.zeros((6, 1)), *OVER,
    ),
    "bounded-moments, by groups": WorstPair(
        "bounded-moments/groups",
        BoundedMoments((0, 1), by=((2,),)), (np.zeros((3, 2)), np.ones((3, 2))), *OVER,
    ),
    "deviance-sizes, of classes": WorstPair(
        "deviance-sizes/classes",
        DevianceSizes(Multinomial(2), Bins("octaves", -4.0, 1.0, 8)), FAVOURITE, *SURPRISED,
    ),
    "deviance-moments, of classes": WorstPair(
        "deviance-moments/classes",
        DevianceMoments(Multinomial(2)), (FAVOURITE, 2.0), *SURPRISED,
    ),
    "target-totals, of a void record": WorstPair(
        "target-totals/void", TargetTotals(4.0), None, VOID, (0.0,) * 4,
    ),
    "target-totals, with exposures": WorstPair(
        "target-totals/exposures", TargetTotals(4.0, 1.0), None,
        (0.0, 0.0, 0.0, 0.0, 1e-300), (0.0, 0.0, 0.0, 9.0, 9.0), exposed=True,
    ),
    "weight-totals, alone": WorstPair(
        "weight-totals/alone",
        WeightTotals(squares=False), None, (0.0,) * 5, (0.0,) * 4 + (1.0,), weighted=True,
    ),
}  # fmt: skip
"""Pairs of queries with an option that changes the released numbers."""


def _own_pair(name: str) -> WorstPair:
    """Return the pair that the class of a query defines in ``worst_pair``."""
    kind = class_called(name, QUERIES)
    require(
        hasattr(kind, "worst_pair"),
        f"{kind.__qualname__} must have a class method worst_pair, as the queries of means have, "
        "with two records that move it the most, or a row in audit/worst_pairs.py.",
    )
    own = {"state": ZERO, **kind.worst_pair(RAW)}
    return WorstPair(f"{name}/{own.pop('label')}", **own)


PAIR_OF_QUERY = {pair.name.partition("/")[0]: pair for pair in PAIRS}
WORST_PAIRS = (*QUERIES, *VARIANTS)
"""Names of queries with a worst pair; queries with smooth noise use the functions below."""


def worst_pair(name: str) -> WorstPair:
    """Return the worst pair of a query, by its name."""
    return VARIANTS.get(name) or PAIR_OF_QUERY.get(name) or _own_pair(name)


def moved_medians(n_columns: int) -> tuple[FloatArray, FloatArray]:
    """Return two tables of low and high values; one record moves, and so do the medians."""
    n_rows = 41
    low = np.full((n_rows, n_columns), -2.0)
    low[: n_rows // 2] = 2.0
    high = low.copy()
    high[-1] = 2.0
    return low, high


def moved_end() -> FloatArray:
    """Return nine points on a line, before and after one moves from -1 to 1.

    At first there are three points each at -1, 0 and 1. The central point moves by as much as its
    smooth scale allows.
    """
    line = np.repeat([-1.0, 0.0, 1.0], 3)
    moved = line.copy()
    moved[0] = 1.0
    return np.array([line, moved])
