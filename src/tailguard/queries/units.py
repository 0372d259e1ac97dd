"""The coordinate system in which records are read: a centre and a scale per column.

The numbers are public or were released earlier, so reading a record in these units depends on that
record alone.

Compiled loops read a chunk. For a linear map the loop divides each row by a power of two, so that
neither a square nor a product with bounded numbers overflows.

Reference
---------
Dwork and Roth 2014, Proposition 2.1 (post-processing): units may depend on earlier releases.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from tailguard.array_types import BoolArray, FloatArray
from tailguard.checks import InputError, check_finite, check_positive
from tailguard.data.rows.base import CHUNK_ROWS, RecordBlock
from tailguard.losses.base import Link
from tailguard.queries.reading_loops import LARGEST_FEATURE, cut_rows, score_rows, standardise

__all__ = ["LARGEST_FEATURE", "ReadRows", "Scored", "Units"]

NONE = np.zeros(0)  # stands for an absent column
Shifts = tuple[float, float, float]


class Scored:
    """One chunk of records: standardised rows, and scores of the rows cut to a norm.

    The next chunk of the same length is read into the same arrays.

    Attributes
    ----------
    rows
        Standardised rows before the cut, finite whatever a record holds.
    radius, inverse
        The norms after the cut, and one over the norms before it. Both are zero for void records,
        and for rows of norm below 1e-145, which have no direction.
    score, target
        Scores of the cut rows, and standardised targets; meaningless for void records.
    void
        Which records count as zero.
    weight
        The weight of each record, in [0, 1]; None if all count fully.
    """

    weight: FloatArray | None = None

    def __init__(self, n_rows: int, width: int) -> None:
        self.rows = np.empty((n_rows, width))
        self.score, self.square, self.radius, self.inverse = np.empty((4, n_rows))
        self.known = np.empty((1, n_rows))
        self.target = self.known[0]
        self.void: BoolArray = np.empty(n_rows, dtype=np.bool_)


class ReadRows:
    """One chunk of records, read in units; the next chunk of the same length reuses the arrays.

    Attributes
    ----------
    rows, powers
        Each record's standardised row divided by a power of two, and that power; zero if void.
    target, offset
        Standardised targets and offsets; meaningless for void records.
    void
        Which records count as zero.
    weight
        The weight of each record, in [0, 1]; None if all count fully.
    """

    weight: FloatArray | None = None

    def __init__(self, n_rows: int, width: int) -> None:
        self.rows = np.empty((n_rows, width))
        self.powers = np.empty(n_rows)
        self.known = np.empty((2, n_rows))
        self.target, self.offset = self.known
        self.void: BoolArray = np.zeros(n_rows, dtype=np.bool_)


Read = TypeVar("Read", bound=ReadRows)


@dataclass(frozen=True, eq=False)
class Units:
    """Records are read as ``((x - center) / scale, 1)`` and ``(y - target_center) / target_scale``.

    Attributes
    ----------
    center, scale
        One number per feature; scales are positive.
    intercept
        Whether a constant coordinate 1 follows the features. It counts in the norm of a row.
    target_center, target_scale
        Centre and scale of the target.
    offset_center
        A number that is subtracted from each offset, before the offset is added to the score.

    Examples
    --------
    >>> units = Units.raw(n_features=2, intercept=True)
    >>> units.size
    3
    """

    center: FloatArray
    scale: FloatArray
    intercept: bool
    target_center: float = 0.0
    target_scale: float = 1.0
    offset_center: float = 0.0

    def __post_init__(self) -> None:
        for name in ("center", "scale"):
            # The compiled loops accept only this type.
            numbers = np.ascontiguousarray(getattr(self, name), dtype=np.float64)
            if numbers.ndim != 1 or not np.isfinite(numbers).all():
                raise InputError(f"{name} must be a vector of finite numbers.")
            object.__setattr__(self, name, numbers)
        if self.scale.shape != self.center.shape:
            raise InputError(
                f"scale must have one entry per centre; got {self.scale.size} for "
                f"{self.center.size}."
            )
        with np.errstate(all="ignore"):
            if not ((self.scale > 0.0) & np.isfinite(1.0 / self.scale)).all():
                raise InputError("scale must be a vector of numbers above 0.")
        check_finite("target_center", self.target_center)
        check_finite("offset_center", self.offset_center)
        check_positive("target_scale", self.target_scale)

    @classmethod
    def raw(cls, n_features: int, *, intercept: bool) -> "Units":
        """Units that leave every value as it is."""
        return cls(np.zeros(n_features), np.ones(n_features), intercept)

    @property
    def size(self) -> int:
        """The number of coordinates of a row."""
        return self.center.size + int(self.intercept)

    def score(
        self,
        block: RecordBlock,
        weights: FloatArray | None = None,
        row_limit: float = math.inf,
        *,
        feature_limit: float = LARGEST_FEATURE,
    ) -> Iterator[Scored]:
        """Read a block chunk by chunk, and score its rows, cut to norm ``row_limit``.

        Before that, standardised features are cut to magnitude ``feature_limit``.
        """
        features, (target, offset, shifts) = block.features, self._targets(block)
        weights = np.zeros(self.size) if weights is None else weights
        inverse_scale, limit = 1.0 / self.scale, float(row_limit)
        bound = min(float(feature_limit), LARGEST_FEATURE)
        loop, chunk = score_rows(block.features.dtype), None
        for start in range(0, block.n_rows, CHUNK_ROWS):
            span = slice(start, min(start + CHUNK_ROWS, block.n_rows))
            if chunk is None or len(chunk.rows) != span.stop - start:
                chunk = Scored(span.stop - start, self.size)
            loop(
                features[span], self.center, inverse_scale, bound, weights, self.intercept,
                chunk.rows, chunk.score, chunk.square,
            )  # fmt: skip
            cut_rows()(
                target[span], offset[span], shifts, limit, chunk.square, chunk.score, chunk.known,
                chunk.radius, chunk.inverse, chunk.void,
            )  # fmt: skip
            chunk.weight = None if block.weight is None else block.weight[span]
            yield chunk

    def _targets(self, block: RecordBlock) -> tuple[FloatArray, FloatArray, Shifts]:
        """Return target and offset as arrays for the loops, and the numbers to standardise them."""
        block.check_center(self.center.size)
        target = NONE if block.target is None else block.target
        offset = NONE if block.offset is None else block.offset
        shifts = float(self.target_center), float(self.target_scale), float(self.offset_center)
        return target, offset, shifts

    def read(
        self,
        block: RecordBlock,
        arrays: Callable[[int, int], Read],
        *,
        bound: float = LARGEST_FEATURE,
        target_in_row: bool = False,
    ) -> Iterator[Read]:
        """Read a block chunk by chunk for a linear map, with features cut to ``bound``.

        ``arrays`` makes the arrays for a number of rows and a width. If ``target_in_row``, each row
        ends with the standardised target, cut to 1e150.
        """
        features, (target, offset, shifts) = block.features, self._targets(block)
        inverse_scale, bound = 1.0 / self.scale, min(float(bound), LARGEST_FEATURE)
        width = self.size + int(target_in_row)
        loop, chunk = standardise(block.features.dtype), None
        for start in range(0, block.n_rows, CHUNK_ROWS):
            span = slice(start, min(start + CHUNK_ROWS, block.n_rows))
            if chunk is None or len(chunk.rows) != span.stop - start:
                chunk = arrays(span.stop - start, width)
            loop(
                features[span], target[span], offset[span], self.center, inverse_scale, shifts,
                bound, target_in_row, chunk.known, chunk.powers, chunk.rows,
            )  # fmt: skip
            chunk.void = chunk.powers == 0.0
            chunk.weight = None if block.weight is None else block.weight[span]
            yield chunk

    def weights(self, state: object) -> FloatArray:
        """Return the weights; refuse anything but one finite number per coordinate."""
        weights = np.array(state, dtype=np.float64)
        if weights.shape != (self.size,) or not np.isfinite(weights).all():
            raise InputError(f"weights must be a vector of {self.size} finite numbers.")
        return weights

    def gain(self, link: Link) -> float:
        """Return the size of one unit of the score, in units of the user's score."""
        return self.target_scale if link.residual else 1.0

    def jacobian(self, link: Link) -> FloatArray:
        """Return the derivative of the coefficients (the intercept last) by the weights."""
        gain, size = self.gain(link), self.center.size
        slopes = np.diag(gain / self.scale)
        if not self.intercept:
            return slopes
        intercept_row = np.append(-gain * self.center / self.scale, gain)
        return np.vstack([np.column_stack([slopes, np.zeros(size)]), intercept_row])

    def coefficients(
        self, weights: FloatArray, link: Link = Link.LOGIT
    ) -> tuple[FloatArray, float]:
        """Map weights back to coefficients and intercept in the user's units.

        ``link`` is the link of the loss. Under a log link the scale of the target becomes a shift
        of the intercept.
        """
        slopes = weights[: self.center.size]
        constant = float(weights[-1]) if self.intercept else 0.0
        gain = self.gain(link)
        coef = slopes * (gain / self.scale)
        shift = constant * gain - float(coef @ self.center) - self.offset_center
        if link.residual:
            shift += self.target_center
        elif link.log:
            shift += float(np.log(self.target_scale))
        return coef, shift
