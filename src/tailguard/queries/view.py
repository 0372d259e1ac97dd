"""Read records in released units, through a released linear map.

One record with features ``x``, target ``y`` and offset ``o`` has the standardised row
``s = (clip((x - center) / scale, -bound, bound), 1?, y?)`` and the whitened row
``u = s @ whitening``. Its score ``s @ weights + offset`` uses the row as it is. The row is
shortened only where it enters a sum, so slopes that average zero at the truth still do so (Mallows
weights).

A view holds public or released numbers only, so reading a record through it depends on that record
alone. A chunk goes through compiled loops, and no step sees other chunks; NumPy computes vectors
with one number per record. Loops are compiled at first use: ``measure()`` returns the loop, and
``measure()(...)`` runs it.

Reference
---------
Dwork and Roth 2014, Proposition 2.1: earlier releases may determine the view.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError, check_choice, check_positive, shown
from tailguard.data.rows.base import CHUNK_ROWS, RecordBlock, round_to_lattice
from tailguard.losses.base import Loss
from tailguard.queries.maps import TILE, Tiles, triangular
from tailguard.queries.reading_loops import (
    LARGEST_FEATURE,
    add_by_person,
    add_rounded,
    bound_slopes,
    climb,
    measure,
    multiply,
)
from tailguard.queries.units import ReadRows, Units

__all__ = ["LARGEST_FEATURE", "Sight", "View", "Weighting"]

KINDS = ("one", "curvature", "expected-curvature")  # of Weighting
# A product of three such numbers is below the largest float, 1.8e308.
LARGEST_ENTRY = 1e100


class Sight(ReadRows):
    """One chunk of records, read in released units and seen through a view.

    Attributes
    ----------
    lines
        One line per row of the matrix applied: those of ``mapped``, then products with weights.
    mapped
        Whitened rows, one in each column, each divided by its power of two in ``powers``, so that
        no square overflows.
    length, inverse
        Lengths of the whitened rows, times the size of the factor that ``View.times`` names; and
        ``shrunk`` (an argument of ``View.read``) divided by the length of each column of
        ``mapped``, with the factor's sign. Both are zero if a row has no direction.
    score
        Scores, with several classes one row per class; meaningless for void records.
    weight
        As in rows that are read; None too if rows are contributions, which include the weight.
    """

    def __init__(
        self, n_rows: int, row_width: int, n_lines: int, width: int, classes: tuple[int, ...] = ()
    ) -> None:
        super().__init__(n_rows, row_width)
        self.lines = np.empty((n_lines, n_rows))
        self.mapped = self.lines[:width]
        self.length, self.inverse = np.zeros((2, n_rows))
        self.score = np.zeros((*classes, n_rows))


@dataclass(frozen=True, eq=False)
class View:
    """Units, a whitening matrix, and whether the target is a coordinate of the row.

    Attributes
    ----------
    loss
        A loss of a score; None reads rows only.
    units
        Centre and scale of every column.
    bound
        Standardised features are cut to this magnitude, in rows and in scores.
    whitening
        The matrix that maps standardised coordinates (features, constant, target) to whitened ones.
    target_in_row
        Whether the standardised target follows the features and the constant.
    times
        The factor of a record's row. ``"one"`` keeps the row. ``"slope"`` multiplies it by slope
        and weight: the result is the record's *contribution* to the gradient. ``"root curvature"``
        multiplies it by the root of the expected curvature, so that squares of the results add up
        to that curvature.
    weight_unit
        Factor of the weights in contributions, such as one over a released mean weight.
    rotation
        The rotation of released answers, so that these are in the coordinates of ``matrix``; None
        if there is none.

    Guarantee
    ---------
    A column of ``mapped`` times its entry of ``inverse`` has norm at most 1 for every input, or
    less if ``shrunk`` is below 1. Void records have length zero. What is read of a record depends
    on that record and on public numbers only, up to the rounding of its chunk's matrix product.
    Records that are rounded alone do not depend on their chunk at all.

    Examples
    --------
    >>> View.plain(None, Units.raw(2, intercept=True)).width
    3
    """

    loss: Loss | None
    units: Units
    whitening: FloatArray
    target_in_row: bool = False
    bound: float = LARGEST_FEATURE
    times: str = "one"
    weight_unit: float = 1.0
    rotation: FloatArray | None = None

    @classmethod
    def plain(cls, loss: Loss | None, units: Units) -> "View":
        """View with every standardised coordinate as it is."""
        return cls(loss, units, np.eye(units.size))

    @property
    def matrix(self) -> FloatArray:
        """The map from standardised coordinates to those of answers."""
        return self.rotated(self.whitening)

    def rotated(self, rows: FloatArray) -> FloatArray:
        """Return rows of released whitened coordinates in those of answers."""
        return rows if self.rotation is None else np.asarray(rows @ self.rotation)

    @property
    def width(self) -> int:
        """Number of whitened coordinates."""
        return int(self.whitening.shape[1])

    @property
    def height(self) -> int:
        """Number of standardised coordinates."""
        return int(self.whitening.shape[0])

    @property
    def parts(self) -> int:
        """How many vectors of length ``width`` represent a record: several in views of classes."""
        return 1

    @property
    def _map(self) -> FloatArray:
        """The matrix applied to standardised rows; each of its rows gives one line of a sight."""
        return self.whitening.T

    def through(self, matrix: FloatArray) -> "View":
        """Return the view with answers in other coordinates, read through a triangular map."""
        whitening, rotation = triangular(matrix)
        return replace(self, whitening=whitening, rotation=rotation)

    def contributions(self) -> "View":
        """Return the view with contributions, slope times row, in place of rows."""
        return replace(self, times="slope")

    def curved(self) -> "View":
        """Return the view with rows times the root of their expected curvature."""
        return replace(self, times="root curvature")

    def reads(self, weights: FloatArray | None = None) -> bool:
        """Whether entries of matrix and weights are small enough to read every record."""
        within = bool((np.abs(self.whitening) <= LARGEST_ENTRY).all())
        return within and (weights is None or bool((np.abs(weights) <= LARGEST_ENTRY).all()))

    def weights(
        self, state: FloatArray | None, n_classes: int | None = None, *, rows_alone: bool = False
    ) -> FloatArray:
        """Return weights of the standardised coordinates; refuse a view or weights of wrong sizes.

        With ``n_classes`` they are a matrix with one row per class. ``rows_alone`` states that a
        query uses rows and their lengths, and no score. Only ``ClassView`` needs to know this: its
        rows are contributions to several classes, which have no single score.
        """
        height = len(self.whitening)
        weights = np.zeros(height) if state is None else np.array(state, dtype=np.float64)
        n_coordinates = self.units.size + int(self.target_in_row)
        if n_classes is not None and weights.shape[:-1] != (n_classes,):
            raise InputError(f"weights must have a row for each of {n_classes} classes.")
        # A truth value counts as 1, which skips the axis of classes.
        fits = weights.shape[n_classes is not None :] == (n_coordinates,)
        if height != n_coordinates or not fits:
            raise InputError(
                f"whitening and weights must have {n_coordinates} rows; got "
                f"{self.whitening.shape} and {weights.shape}."
            )
        if not self.reads(weights):
            raise InputError("whitening and weights must be numbers of at most 1e100.")
        check_positive("bound", self.bound)
        check_positive("weight_unit", self.weight_unit)
        return weights

    def read(
        self,
        block: RecordBlock,
        weights: FloatArray,
        *,
        shrunk: float = 1.0,
        lengths: bool = True,
        scores: bool = True,
    ) -> Iterator[Sight]:
        """Read a block chunk by chunk; without ``lengths`` or ``scores``, these are zeros."""
        if self.times == "slope" and block.person is not None:
            rows = self.read(replace(block, person=None), weights)
            yield from by_person(block, ((row, along(row)) for row in rows), self.width, shrunk)
            return
        scores = scores or self.times != "one"
        # Products with the transposed map put one number of every record side by side.
        matrices = [self._map] * lengths + [np.atleast_2d(weights)] * scores
        released = np.asarray(np.concatenate(matrices), dtype=np.float64)
        width = len(matrices[0]) * lengths
        tiles = Tiles(released)
        arrays = partial(Sight, n_lines=len(released), width=width, classes=weights.shape[:-1])
        for seen in self.units.read(
            block, arrays, bound=self.bound, target_in_row=self.target_in_row
        ):
            if block.alone or len(released) > TILE:
                tiles.map(seen.rows, seen.lines)
            else:  # of a few lines, BLAS is faster
                np.matmul(released, seen.rows.T, out=seen.lines)
            if scores:
                lines = seen.lines[width:].reshape(seen.score.shape)
                np.multiply(seen.powers, lines, out=seen.score)
                seen.score += seen.offset
            if width:
                self._measure(seen, shrunk)
            if self.times == "slope":
                seen.weight = None
            yield seen

    def _measure(self, seen: Sight, shrunk: float) -> None:
        """Find the lengths and inverse lengths of rows."""
        measure()(seen.mapped, seen.powers, shrunk, seen.length, seen.inverse)
        if self.times != "one":
            multiply()(self._factor(seen), seen.length, seen.inverse)

    def _factor(self, seen: Sight) -> FloatArray:
        """Return the factors of rows; one that is not a number counts as zero."""
        if self.times == "slope":
            slope, weight = self.slope(seen, math.inf), seen.weight
            return slope if weight is None else slope * (weight * self.weight_unit)
        assert self.loss is not None
        with np.errstate(all="ignore"):
            return np.where(seen.void, 0.0, np.sqrt(self.loss.expected_curvature(seen.score)))

    def slope(self, seen: Sight, limit: float, shift: float = 0.0) -> FloatArray:
        """Return slopes at shifted scores, cut to ``limit``; zero if void or not a number."""
        score, bounded = seen.score + shift if shift else seen.score, np.empty(seen.score.size)
        slopes = np.ones(score.size) if self.loss is None else self.loss.slope(score, seen.target)
        bound_slopes()(
            np.ascontiguousarray(slopes, dtype=np.float64), seen.void, float(limit), bounded
        )
        return bounded


def along(seen: Sight) -> FloatArray:
    """Return the factors, always finite, that turn the columns of ``mapped`` into rows."""
    return np.minimum(seen.length, LARGEST_ENTRY) * seen.inverse


def by_person(
    block: RecordBlock, read: Iterable[tuple[Sight, FloatArray]], width: int, shrunk: float
) -> Iterator[Sight]:
    """Yield each person as one row: the sum of her rows, each times its factor.

    Rows are added one by one in the person's own order, so that no bit depends on where others lie.
    A person is void if all her rows are. She counts fully, since the factors include the weights.
    """
    assert block.person is not None
    n_persons, first = int(block.person[-1]) + 1 if block.n_rows else 0, 0
    sums, usable = np.zeros((width, n_persons)), np.zeros(n_persons, dtype=np.int64)
    for seen, factors in read:
        last = first + factors.size
        persons = np.ascontiguousarray(block.person[first:last])
        add_by_person()(seen.mapped, factors, persons, sums)
        usable += np.bincount(persons, ~seen.void, n_persons).astype(np.int64)
        first = last
    for start in range(0, n_persons, CHUNK_ROWS):
        chunk = sums[:, start : start + CHUNK_ROWS]
        count = chunk.shape[1]
        each = Sight(count, width, n_lines=width, width=width)
        each.lines[:], each.void = chunk, usable[start : start + count] == 0
        measure()(each.mapped, np.ones(count), shrunk, each.length, each.inverse)
        yield each


@dataclass(frozen=True, kw_only=True)
class Weighting:
    """The weight of a record in a second moment or histogram, relative to the largest possible one.

    ``"one"`` counts every record fully; ``"curvature"`` by the rise of its clipped slope over
    ``2 * half_step``, relative to ``bound``; ``"expected-curvature"`` by the expected curvature at
    its score, relative to ``bound``.

    Guarantee
    ---------
    Weights lie in [0, 1] for every input.

    Examples
    --------
    >>> Weighting(kind="curvature", slope_limit=2.0).kind
    'curvature'
    """

    kind: str = "one"
    slope_limit: float = 1.0
    half_step: float = 1.0
    bound: float = 1.0

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, KINDS)
        check_positive("slope_limit", self.slope_limit)
        check_positive("half_step", self.half_step)
        check_positive("bound", self.bound)

    @property
    def needs_scores(self) -> bool:
        """Whether a weight depends on the score."""
        return self.kind in ("curvature", "expected-curvature")

    def of(self, view: View, seen: Sight) -> FloatArray:
        """Return the weights of one chunk's records, times their own weights in the table."""
        if self.kind == "one":
            relative = np.where(seen.void, 0.0, 1.0)
        elif self.kind == "expected-curvature":
            assert view.loss is not None
            expected = view.loss.expected_curvature(seen.score) / self.bound
            relative = np.where(seen.void, 0.0, np.minimum(expected, 1.0))
        else:
            above = view.slope(seen, self.slope_limit, self.half_step)
            below = view.slope(seen, self.slope_limit, -self.half_step)
            rise = np.clip((above - below) / (2.0 * self.half_step), 0.0, self.bound)
            relative = np.minimum(rise / self.bound, 1.0)
        relative = np.where(relative > 0.0, relative, 0.0)  # a comparison with NaN is false
        return relative if seen.weight is None else relative * seen.weight


def check_levels(name: str, levels: tuple[float, ...], shares: tuple[float, ...]) -> None:
    """Refuse levels that are not positive and increasing, or that do not each have a share."""
    if len(levels) != len(shares) or not levels:
        raise InputError(f"{name} and shares must have the same length, at least 1.")
    for share in shares:
        check_positive("shares", share)
    if not (np.diff([0.0, *levels]) > 0).all() or not np.isfinite(levels).all():
        raise InputError(f"{name} must be finite and increasing above 0; got {shown(levels)}.")


def level_factors(
    seen: Sight,
    reach: FloatArray,
    lengths: FloatArray,
    limit: float,
    levels: FloatArray,
    shares: FloatArray,
) -> FloatArray:
    """Return factors of rows: the part of each step between levels that ``reach`` climbs.

    ``reach`` is a record's slope, or the signed length of its contribution. The factors cut a row
    of length ``lengths`` to ``limit``. They include the share of the level and the weight.
    """
    factors = np.empty((levels.size, reach.size))
    climb()(reach, lengths, seen.inverse, limit, levels, shares, factors)
    return factors if seen.weight is None else factors * seen.weight


def add_scaled(
    mapped: FloatArray, factors: FloatArray, grid: float, total: IntArray, *, alone: bool
) -> None:
    """Add the columns of ``mapped``, times each row of factors, to a row of lattice totals."""
    for row, factor in enumerate(factors):
        if alone:
            add_rounded()(mapped, factor / grid, total[row])
        else:
            total[row] += round_to_lattice(mapped @ factor, grid)
