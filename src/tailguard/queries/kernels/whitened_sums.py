"""Lattice sums and histograms over records that are read through a released map."""

from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError, check_choice, check_integer, check_positive, require, shown
from tailguard.data.rows.base import Kernel, RecordBlock, Together, round_to_lattice, shrink
from tailguard.queries.kernels.bins import Bins
from tailguard.queries.kernels.steady import steady
from tailguard.queries.kernels.whitened import WhitenedChunk, WhitenedRows


@dataclass(frozen=True, kw_only=True)
class Weighting:
    """What a record counts in a second moment or histogram, in units of its largest value.

    ``"one"`` counts every record fully, ``"curvature"`` by the rise of its clipped slope over
    ``2 * half_step`` relative to ``bound``, ``"squared-slope"`` by its squared slope relative to
    the squared limit, ``"beyond"`` fully if its row is longer than ``bound``, else not at all.

    Guarantee
    ---------
    Weights lie in [0, 1] for every input.

    Examples
    --------
    >>> Weighting(kind="squared-slope", slope_limit=2.0).kind
    'squared-slope'
    """

    kind: str = "one"
    slope_limit: float = 1.0
    half_step: float = 1.0
    bound: float = 1.0

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, ("one", "curvature", "squared-slope", "beyond"))
        check_positive("slope_limit", self.slope_limit)
        check_positive("half_step", self.half_step)
        check_positive("bound", self.bound)

    @property
    def needs_scores(self) -> bool:
        """Whether a weight depends on the score."""
        return self.kind in ("curvature", "squared-slope")

    @property
    def needs_lengths(self) -> bool:
        """Whether a weight depends on the length of the row."""
        return self.kind == "beyond"

    def of(self, rows: WhitenedRows, chunk: WhitenedChunk) -> FloatArray:
        """Return the weights of one chunk's records."""
        if self.kind == "one":
            return np.where(chunk.void, 0.0, 1.0)
        if self.kind == "beyond":
            return np.where(chunk.length > self.bound, 1.0, 0.0)
        if self.kind == "curvature":
            rise = rows.curvature(chunk, self.slope_limit, self.half_step, self.bound)
            return np.minimum(rise / self.bound, 1.0)
        return np.minimum((rows.slope(chunk, self.slope_limit) / self.slope_limit) ** 2, 1.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class LevelGradientSum(Kernel):
    """Lattice sums of rows times the increments of the clipped slope from level to level.

    Level ``k`` adds ``share_k * (clip(slope, h_k) - clip(slope, h_{k-1})) / (h_k - h_{k-1})`` times
    the row, which is cut to length ``row_limit``; ``h_{-1}`` is 0. One level is the plain clipped
    gradient, in units of its limit.

    Guarantee
    ---------
    One record contributes a vector of norm at most ``norm_limit``, ``row_limit`` times the norm of
    the shares: every factor before a share lies in [-1, 1].
    """

    rows: WhitenedRows
    row_limit: float
    levels: tuple[float, ...]
    shares: tuple[float, ...]
    grid: float

    def __post_init__(self) -> None:
        check_positive("row_limit", self.row_limit)
        check_positive("grid", self.grid)
        _check_levels("levels", self.levels, self.shares)
        require(not self.rows.times_slope, "rows must not be multiplied by their slopes already.")

    @property
    def size(self) -> int:
        """Number of sums: one per level and coordinate, level by level."""
        return len(self.levels) * self.rows.width

    @property
    def norm_limit(self) -> float:
        """The largest norm of one record's contribution."""
        return self.row_limit * float(np.linalg.norm(self.shares))

    @property
    def together(self) -> Together:
        """Each record adds to the sum by itself."""
        return "none"

    @steady
    def sum_block(self, block: RecordBlock) -> IntArray:
        """Add up the increments of one block."""
        total = np.zeros((len(self.levels), self.rows.width), dtype=np.int64)
        # A length errs by width / 2 + 2 roundoffs, a factor by five: the shrink covers both.
        for chunk in self.rows.read(block, shrunk=shrink(self.size)):
            slope, lengths = self.rows.slope(chunk, self.levels[-1]), chunk.length
            factors = _factors(slope, lengths, chunk, self.row_limit, self.levels, self.shares)
            _add(chunk, factors, self.grid, total, alone=block.alone)
        return total.ravel()


@dataclass(frozen=True, eq=False, kw_only=True)
class WhitenedShellSum(Kernel):
    """Lattice sums of every row's parts between the radii ``0 < radii[0] < radii[1] < ...``.

    The part of a row of length ``l`` in shell ``k`` points along the row and has length
    ``shares[k]`` times the share of ``(radii[k - 1], radii[k]]`` that lies below ``l``.

    Guarantee
    ---------
    The parts of one record, as one vector, have norm at most ``norm_limit``, that of the shares.
    """

    rows: WhitenedRows
    radii: tuple[float, ...]
    shares: tuple[float, ...]
    grid: float

    def __post_init__(self) -> None:
        _check_levels("radii", self.radii, self.shares)
        check_positive("grid", self.grid)

    @property
    def size(self) -> int:
        """Number of sums: one per shell and coordinate, shell by shell."""
        return len(self.radii) * self.rows.width

    @property
    def norm_limit(self) -> float:
        """The largest norm of one record's parts together."""
        return float(np.linalg.norm(self.shares))

    @property
    def together(self) -> Together:
        """Each record adds to the sum by itself."""
        return "none"

    @steady
    def sum_block(self, block: RecordBlock) -> IntArray:
        """Add up the parts of the rows of one block."""
        total = np.zeros((len(self.radii), self.rows.width), dtype=np.int64)
        # As above; the length of a contribution errs by one roundoff more, that of its slope aside.
        for chunk in self.rows.read(block, shrunk=shrink(self.size), scores=False):
            reach, ones = np.copysign(chunk.length, chunk.inverse), np.ones(chunk.length.size)
            factors = _factors(reach, ones, chunk, 1.0, self.radii, self.shares)
            _add(chunk, factors, self.grid, total, alone=block.alone)
        return total.ravel()


@dataclass(frozen=True, eq=False, kw_only=True)
class SecondMomentSum(Kernel):
    """Lattice sum of ``weight * u u'`` with bounded rows, packed: upper triangle, row by row.

    Entries off the diagonal are multiplied by ``sqrt(2)``, so that the norm of the packed vector is
    the Frobenius norm. A row of length ``l`` counts as ``min(l, row_limit) * min(l, row_cap)``
    times the outer product of its direction.

    Guarantee
    ---------
    One record contributes a positive semidefinite matrix of Frobenius norm at most ``norm_limit``.
    """

    rows: WhitenedRows
    weighting: Weighting
    row_limit: float
    row_cap: float
    grid: float

    def __post_init__(self) -> None:
        check_positive("row_limit", self.row_limit)
        check_positive("row_cap", self.row_cap)
        check_positive("grid", self.grid)

    @property
    def size(self) -> int:
        """Number of entries of the upper triangle."""
        return self.rows.width * (self.rows.width + 1) // 2

    @property
    def norm_limit(self) -> float:
        """The largest Frobenius norm of one record's contribution."""
        return self.row_limit * self.row_cap

    @property
    def together(self) -> Together:
        """Each record adds to the sum by itself."""
        return "none"

    @steady
    def sum_block(self, block: RecordBlock) -> IntArray:
        """Add up the outer products of one block."""
        from tailguard.queries.kernels.whitened_loops import add_rounded_squares  # noqa: PLC0415 (see above)

        width = self.rows.width
        upper = np.triu_indices(width)
        packing = np.where(upper[0] == upper[1], 1.0, np.sqrt(2.0))
        total = np.zeros(self.size, dtype=np.int64)
        scores = self.weighting.needs_scores
        # Twice the roundoffs of a length, and twelve of a root and its square: shrunk twice.
        for chunk in self.rows.read(block, shrunk=shrink(4 * width), scores=scores):
            weight = self.weighting.of(self.rows, chunk)
            weight *= np.minimum(chunk.length, self.row_limit)
            weight *= np.minimum(chunk.length, self.row_cap)
            if block.alone:
                roots = np.sqrt(weight) * chunk.inverse
                steps = np.array([1.0, np.sqrt(2.0)]) / self.grid
                add_rounded_squares()(chunk.mapped, roots, steps, total)
                continue
            # A matrix times its own transpose takes half the work, and is symmetric to the bit.
            roots = chunk.mapped * (np.sqrt(weight) * chunk.inverse)
            total += round_to_lattice((roots @ roots.T)[upper] * packing, self.grid)
        return total


@dataclass(frozen=True, eq=False, kw_only=True)
class WhitenedHistogramCount(Kernel):
    """Histogram of row lengths, residuals or slopes, every record counted by its weight.

    The residual is the score less the standardised target. With whole weights and ``grid`` one over
    a whole number, counts are exact.

    Guarantee
    ---------
    One record adds at most 1 to one bin, before the lattice.
    """

    rows: WhitenedRows
    what: str
    bins: Bins
    weighting: Weighting
    grid: float

    def __post_init__(self) -> None:
        check_choice("what", self.what, ("length", "residual", "slope"))
        check_positive("grid", self.grid)

    @property
    def size(self) -> int:
        """Number of bins."""
        return check_integer("bins", self.bins.count, minimum=2)

    @property
    def together(self) -> Together:
        """Each record adds to the sum by itself."""
        return "none"

    @steady
    def sum_block(self, block: RecordBlock) -> IntArray:
        """Count the records of one block."""
        total = np.zeros(self.size, dtype=np.int64)
        lengths = self.what == "length" or self.weighting.needs_lengths
        scores = self.what != "length" or self.weighting.needs_scores
        for chunk in self.rows.read(block, lengths=lengths, scores=scores):
            value = chunk.length
            if self.what == "residual":
                value = chunk.score - chunk.target
            elif self.what == "slope":
                value = self.rows.slope(chunk, np.inf)
            weight = self.weighting.of(self.rows, chunk)
            if block.alone:
                steps = np.rint(weight / self.grid)
                counts = np.bincount(self.bins.index(value), weights=steps, minlength=self.size)
                total += counts.astype(np.int64)
                continue
            counts = np.bincount(self.bins.index(value), weights=weight, minlength=self.size)
            total += round_to_lattice(counts.astype(np.float64), self.grid)
        return total


def _check_levels(name: str, levels: tuple[float, ...], shares: tuple[float, ...]) -> None:
    """Refuse levels that do not increase from above 0, or that have no share each."""
    if len(levels) != len(shares) or not levels:
        raise InputError(f"{name} and shares must be as many, and at least one.")
    for share in shares:
        check_positive("shares", share)
    if not (np.diff([0.0, *levels]) > 0).all() or not np.isfinite(levels).all():
        raise InputError(f"{name} must be finite and increasing above 0; got {shown(levels)}.")


def _factors(
    reach: FloatArray,
    lengths: FloatArray,
    chunk: WhitenedChunk,
    row_limit: float,
    levels: tuple[float, ...],
    shares: tuple[float, ...],
) -> FloatArray:
    """Return what the scaled rows are multiplied by at each level that they reach."""
    from tailguard.queries.kernels.whitened_loops import climb  # noqa: PLC0415 (Numba is slow to load)

    limits, parts = np.array(levels, dtype=np.float64), np.array(shares, dtype=np.float64)
    factors = np.empty((limits.size, reach.size))
    climb()(reach, lengths, chunk.inverse, row_limit, limits, parts, factors)
    return factors


def _add(
    chunk: WhitenedChunk, factors: FloatArray, grid: float, total: IntArray, *, alone: bool
) -> None:
    """Add the rows of a chunk times their factors, level by level, to sums on the lattice."""
    from tailguard.queries.kernels.whitened_loops import add_rounded  # noqa: PLC0415 (see above)

    for level, factor in enumerate(factors):
        if alone:
            add_rounded()(chunk.mapped, factor / grid, total[level])
        else:
            total[level] += round_to_lattice(chunk.mapped @ factor, grid)
