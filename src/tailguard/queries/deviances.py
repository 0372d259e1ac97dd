"""Deviances of scores and of a constant: histograms of their sizes, and sums of their moments.

A record is a score and a target. Its deviance is the loss of the score minus that of the best score
for the target, so it is at least zero. A constant is the same score for all records. With several
classes a record has a score for each, and so has the constant; the bounds are the same, since they
use only that a deviance is at least zero.

*Sizes.* A record is in one bin of the histogram of each deviance, or is counted nowhere. Replacing
it moves one count of each histogram down and one up: ``sqrt(4) = 2`` in l2 norm, 4 in l1 norm.

*Moments.* With deviances ``a, b`` in units of a limit, cut to [0, 1], a record adds
``(a, b, a^2, b^2, a b)``, or zero. Every entry lies in [0, 1], so that replacing it moves the sums
by at most ``sqrt(5)`` in l2 norm and 5 in l1 norm, from ``a = b = 0`` to ``a = b = 1``.

*Weights.* A record of weight ``w`` in [0, 1] adds ``w`` times as much; counts are in whole steps.

*Persons.* In counts, a row adds its share of its person times its weight. In moments, a person is
one record: her deviances are the means over her usable rows, and her weight is the sum of their
weights. So the squares measure how persons vary, even if the rows of a person are alike. In both
cases a person, like any weighted record, adds a point of the convex hull of the contributions of
single records, and the hull is no wider than these.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.1 (sums of bounded vectors) and 3.2 (histograms);
McCullagh and Nelder 1989, Section 2.3 (deviances).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tailguard.array_types import BoolArray, FloatArray, IntArray
from tailguard.checks import check_finite, check_positive, require
from tailguard.data.rows.base import CHUNK_ROWS, RecordBlock, chunks_of, counted, rounded_sum
from tailguard.losses.base import Loss
from tailguard.losses.multinomial import Multinomial
from tailguard.losses.squared import Squared
from tailguard.privacy.calibration import Sensitivity
from tailguard.queries.base import SumQuery, count_sensitivity, sum_sensitivity
from tailguard.queries.histograms import Bins
from tailguard.queries.units import Units

SCORE, TARGET = 0, 1
"""The features that hold the score and the target; with several classes, scores come first."""
N_MOMENTS = 5

Constant: TypeAlias = float | FloatArray
"""The score of a constant, or its scores of several classes."""
Deviances: TypeAlias = tuple[FloatArray, FloatArray, BoolArray, FloatArray | None]
"""Deviances of the scores and of the constant, which records are void, and the records' weights."""


def n_scores(loss: Loss | Multinomial) -> int:
    """Return how many scores a record has."""
    return loss.n_classes if isinstance(loss, Multinomial) else 1


def _check_constant(loss: Loss | Multinomial, constant: Constant) -> Constant:
    """Return the score of the constant, or its scores of several classes."""
    size = n_scores(loss)
    if size == 1:
        return check_finite("constant", constant)
    scores = np.asarray(constant, dtype=np.float64)
    usable = scores.shape == (size,) and bool(np.isfinite(scores).all())
    require(usable, f"constant must have a finite score for each of {size} classes.")
    return scores


def _deviances(
    loss: Loss | Multinomial, constant: Constant, block: RecordBlock
) -> Iterator[Deviances]:
    """Yield the deviances of each chunk; those of void records are meaningless."""
    size = n_scores(loss)
    for chunk in chunks_of(block):
        cells = np.asarray(chunk.features[:, : size + 1], dtype=np.float64)
        void = chunk.void() | ~loss.valid_target(cells[:, -1])
        # Void records are computed like others, so the time does not reveal how many there are.
        scores = np.where(void[:, None], 0.0, cells[:, :-1])
        score, target = scores if size > 1 else scores[:, 0], np.where(void, 1.0, cells[:, -1])
        of_score = loss.deviance(score, target)
        of_constant = loss.deviance(np.full(score.shape, constant), target)
        void |= np.isnan(of_score) | np.isnan(of_constant)
        yield of_score, of_constant, void, chunk.weight


@dataclass(frozen=True)
class DevianceSizes(SumQuery):
    """Two histograms of deviances, of the scores and of a constant; the state is that constant.

    Attributes
    ----------
    loss
        The loss whose deviances are counted.
    bins
        The bins of both histograms.

    Guarantee
    ---------
    Replacing a record by any other moves the counts by at most 2 in l2 norm and 4 in l1 norm, for
    every input. Counts are exact.

    Edge cases
    ----------
    A record with a non-finite value, or with a target that the loss does not allow, is counted
    nowhere; an infinite deviance is in the last bin.

    Examples
    --------
    >>> query = DevianceSizes(Squared(), Bins("octaves", -20.0, 1.0, 40))
    >>> query.sensitivity(n_rows=10, n_features=2).ideal
    2.0
    """

    loss: Loss | Multinomial
    bins: Bins

    name = "histograms of deviances"

    @classmethod
    def worst_pair(cls, units: Units) -> dict[str, Any]:
        """Return an example whose replaced record moves from the first bins to the last ones."""
        query = cls(Squared(), Bins("octaves", -4.0, 1.0, 8))
        ends = {"old": (0.0, 0.0, 0.0, 0.0), "new": (-1e300, 1e300, 0.0, 0.0)}
        return {"label": "both", "query": query, "state": 0.0, **ends}

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of all counts together."""
        return count_sensitivity(2.0, 2 * self.bins.count, n_rows)

    def pure_sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State how far the counts move in l1 norm."""
        return count_sensitivity(4.0, 2 * self.bins.count, n_rows, norm="l1")

    def read_state(self, state: Constant) -> Constant:
        """Return the constant."""
        return _check_constant(self.loss, state)

    def sum_block(self, block: RecordBlock, state: Constant, grid: float) -> IntArray:
        """Count exactly, in lattice steps of one over a whole number."""
        size = 2 * self.bins.count
        total = np.zeros(size, dtype=np.int64)
        for of_score, of_constant, void, weight in _deviances(self.loss, state, block):
            for first, deviance in ((0, of_score), (self.bins.count, of_constant)):
                # Void records are counted in a bin that is dropped.
                bins = np.where(void, size, first + self.bins.index(deviance))
                total += counted(bins, size, grid, weight)
        return total

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Return the counts of the scores' deviances, and of the constant's."""
        return np.reshape(noised, (2, self.bins.count))

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"histograms": 2, "bins": self.bins.count}


@dataclass(frozen=True)
class DevianceMoments(SumQuery):
    """Sums of cut deviances, of their squares and of their product, in units of a limit.

    The state is ``(constant, limit)``.

    Attributes
    ----------
    loss
        The loss whose deviances are added up.

    Guarantee
    ---------
    Replacing a record by any other moves the sums by at most ``sqrt(5)`` in l2 norm and 5 in l1
    norm, for every input, plus the charged rounding.

    Edge cases
    ----------
    A record with a non-finite value, or with a target that the loss does not allow, adds zero; an
    infinite deviance counts as the limit.

    Examples
    --------
    >>> round(DevianceMoments(Squared()).sensitivity(n_rows=10, n_features=2).ideal ** 2, 9)
    5.0
    """

    loss: Loss | Multinomial

    name = "moments of deviances"

    @classmethod
    def worst_pair(cls, units: Units) -> dict[str, Any]:
        """Return an example whose record moves from no deviance to more than the limit."""
        ends = {"old": (0.5, 0.5, 0.0, 0.0), "new": (-1e300, 1e300, 0.0, 0.0)}
        return {"label": "both", "query": cls(Squared()), "state": (0.5, 2.0), **ends}

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of all sums together."""
        move = math.sqrt(N_MOMENTS)
        return sum_sensitivity(move, N_MOMENTS, n_rows, move=move)

    def pure_sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State how far the sums move in l1 norm."""
        return sum_sensitivity(N_MOMENTS, N_MOMENTS, n_rows, move=N_MOMENTS, norm="l1")

    def read_state(self, state: tuple[Constant, float]) -> tuple[Constant, float]:
        """Return constant and limit."""
        constant, limit = state
        return _check_constant(self.loss, constant), check_positive("limit", limit)

    def sum_block(self, block: RecordBlock, state: tuple[Constant, float], grid: float) -> IntArray:
        """Add up on the lattice, chunk by chunk."""
        constant, limit = state
        total = np.zeros(N_MOMENTS, dtype=np.int64)
        for a, b, weight in self._cut_deviances(block, constant, limit):
            parts = (np.array([a, b, a * a, b * b, a * b]) * weight).T
            total += rounded_sum(parts, grid, alone=block.alone)
        return total

    def _cut_deviances(
        self, block: RecordBlock, constant: Constant, limit: float
    ) -> Iterator[FloatArray]:
        """Yield cut deviances of records and their weights, by chunks; void records weigh zero.

        A person's rows are added up in her own order, so no bit of her means depends on other
        persons.
        """
        rows = []
        for of_score, of_constant, void, weight in _deviances(self.loss, constant, block):
            with np.errstate(all="ignore"):
                cut = np.clip(np.array([of_score, of_constant]) / limit, 0.0, 1.0)
            usable = np.where(void, 0.0, 1.0 if weight is None else weight)
            # A limit below normal floats is read as zero, and zero over zero is NaN.
            rows.append(np.array([*np.where(void | ~(cut > 0.0), 0.0, cut), usable]))
        if block.person is None or not rows:
            yield from rows
            return
        a, b, usable = np.concatenate(rows, axis=1)
        parts = (a * usable, b * usable, usable)
        sums = np.array([np.bincount(block.person, part) for part in parts])
        means = sums[:2] / np.where(sums[2] > 0.0, sums[2], 1.0)
        # By roundoff, means and sums of weights may exceed one.
        records = np.minimum([*means, sums[2]], 1.0)
        yield from np.split(records, range(CHUNK_ROWS, records.shape[1], CHUNK_ROWS), axis=1)

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"sums": N_MOMENTS}
