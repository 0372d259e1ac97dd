"""Second moments of bounded rows, each record weighted by a number in [0, 1].

Unweighted moments give a whitening matrix. With curvature weights the moments are the Hessian of
the clipped loss. Those of contributions are the variance of the gradient.

Reference
---------
Dwork, Talwar, Thakurta and Zhang 2014, Algorithm 1 (symmetric Gaussian noise on a second-moment
matrix), here for rows bounded by a released limit.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import check_positive
from tailguard.data.rows.base import (
    CHUNK_ROWS,
    RecordBlock,
    round_to_lattice,
    rounded_alone,
    shrink,
    summation_slack,
)
from tailguard.privacy.calibration import Sensitivity
from tailguard.queries.base import SumQuery
from tailguard.queries.reading_loops import add_rounded_squares, add_squares
from tailguard.queries.view import Sight, View, Weighting

__all__ = ["SecondMoments", "Weighting", "symmetric"]


@dataclass(frozen=True, eq=False)
class SecondMoments(SumQuery):
    """Mean of ``weight * min(|u|, R) * min(|u|, cap) / |u|**2 * u u'`` as a symmetric matrix.

    The state is the vector of weights of the standardised coordinates, at which slopes are
    computed, or None if the weighting needs no slope.

    Attributes
    ----------
    view
        How records are read.
    row_limit, row_cap
        ``R`` and ``cap``. If they are equal, the row itself is cut to this length.
    weighting
        The weight of a record, between 0 and 1.

    Guarantee
    ---------
    A record contributes ``M = a v v'`` with ``|v| = 1`` and ``0 <= a <= b = R * cap``. If the view
    has several ``parts``, a record contributes the sum of one such matrix per part. The factors
    ``a`` of its parts add up to at most ``b``, since the length is that of all parts together. So
    ``M`` is positive semidefinite, and its norm is at most its trace, which is at most ``b``. For
    two such matrices ``|M - N|**2 = |M|**2 + |N|**2 - 2 tr(M N) <= 2 b**2`` in Frobenius norm. So
    replacing one record moves the sum by at most ``sqrt(2) * b``, attained by orthogonal rows, plus
    the charged rounding, which grows with the number of parts. The released vector holds the
    diagonal and ``sqrt(2)`` times the upper triangle. Its l2 norm is the Frobenius norm, and
    entries off the diagonal get noise that is smaller by a factor ``sqrt(2)``.

    Edge cases
    ----------
    A record with a non-finite value contributes zero. An overflowing row is cut in its direction.

    Examples
    --------
    >>> from tailguard.queries.units import Units
    >>> view = View.plain(None, Units.raw(2, intercept=False))
    >>> round(SecondMoments(view, row_limit=3.0, row_cap=3.0).sensitivity(1000, 2).ideal, 6)
    12.727922
    """

    view: View
    row_limit: float
    row_cap: float
    weighting: Weighting = field(default_factory=Weighting)

    name = "second moments of bounded rows"

    @property
    def norm_limit(self) -> float:
        """The largest Frobenius norm of one record's contribution."""
        return self.row_limit * self.row_cap

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity in Frobenius norm."""
        ideal = math.sqrt(2.0) * self.norm_limit
        return Sensitivity(
            norm="l2",
            ideal=ideal,
            computed=ideal + self.view.parts * summation_slack(self.norm_limit),
            size=self.view.width * (self.view.width + 1) // 2,
            largest_partial=min(CHUNK_ROWS, n_rows) * self.norm_limit * math.sqrt(2.0),
            largest_total=n_rows * self.norm_limit * math.sqrt(2.0),
        )

    def read_state(self, state: FloatArray | None) -> FloatArray:
        """Return the weights of the standardised coordinates."""
        check_positive("row_limit", self.row_limit)
        check_positive("row_cap", self.row_cap)
        return self.view.weights(state, rows_alone=not self.weighting.needs_scores)

    def sum_block(self, block: RecordBlock, state: FloatArray, grid: float) -> IntArray:
        """Sum the packed outer products on the lattice.

        Lengths enter twice, and err by ``width / 2 + 2`` roundoffs each. A root and its square err
        by twelve. The shrink for four times the width covers both.
        """
        width = self.view.width
        upper = np.triu_indices(width)
        packing = np.where(upper[0] == upper[1], 1.0, np.sqrt(2.0))
        row_ends = np.cumsum(np.arange(width, 1, -1))
        sums = np.empty((width + 2, width + 2))
        places = np.ravel_multi_index(upper, sums.shape)
        total = np.zeros(packing.size, dtype=np.int64)
        for sight, weight in self._read(block, state):
            roots = np.sqrt(weight) * sight.inverse
            if block.alone and self.view.parts == 1:
                steps = np.array([1.0, np.sqrt(2.0)]) / grid
                add_rounded_squares()(sight.mapped, roots, steps, total)
                continue
            parts = sight.mapped.reshape(-1, width, roots.size)
            if block.alone:
                parts = parts * roots
                for row, of_row in enumerate(np.split(np.arange(packing.size), row_ends)):
                    # Of a single record ``einsum`` would add the parts in another order.
                    products = reduce(np.add, parts[:, row, None] * parts[:, row:])
                    total[of_row] += rounded_alone(products.T * packing[of_row], grid)
                continue
            sums[:] = 0.0
            for part in parts:
                add_squares()(part, roots, sums)
            total += round_to_lattice(sums.take(places) * packing, grid)
        return total

    def _read(self, block: RecordBlock, state: FloatArray) -> Iterator[tuple[Sight, FloatArray]]:
        """Yield chunks of records, and the norms of the records' weighted outer products."""
        shrunk, scores = shrink(4 * self.view.parts * self.view.width), self.weighting.needs_scores
        for sight in self.view.read(block, state, shrunk=shrunk, scores=scores):
            weight = self.weighting.of(self.view, sight)
            weight *= np.minimum(sight.length, self.row_limit)
            weight *= np.minimum(sight.length, self.row_cap)
            yield sight, weight

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Return the symmetric matrix of means."""
        moments = symmetric(noised / n_rows, self.view.width)
        moments = self.view.rotated(self.view.rotated(moments).T)
        return (moments + moments.T) / 2.0

    def noise_std(self, n_rows: int, n_features: int, mu: float) -> float:
        """Return the standard deviation of the noise on the diagonal; public numbers only."""
        return self.calibrate(n_rows, n_features, mu).noise_std / n_rows

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {
            "norm_limit": self.norm_limit,
            "coordinates": self.view.width,
            "weights": self.weighting.kind,
        }


def symmetric(packed: FloatArray, width: int) -> FloatArray:
    """Unpack an upper triangle whose entries off the diagonal carry a factor ``sqrt(2)``."""
    matrix = np.zeros((width, width))
    matrix[np.triu_indices(width)] = packed
    return (matrix + matrix.T) * np.where(np.eye(width) > 0, 0.5, math.sqrt(0.5))
