"""Mean losses of candidates minus the mean loss of the first, as means of bounded differences.

Candidates score the same records: for example fits before and after a step, or a fit and a
constant. For one record, differences of losses are far smaller than the losses. So bounded
differences need little noise.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Theorem 1 (sums with bounded terms); Liu and Talwar 2019
(private selection among candidates; here all of a few candidates are compared in one release).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError, check_between, check_positive
from tailguard.data.rows.base import RecordBlock, rounded_sum
from tailguard.losses.base import Loss
from tailguard.losses.multinomial import Multinomial
from tailguard.privacy.calibration import Sensitivity
from tailguard.queries.base import SumQuery, sum_sensitivity
from tailguard.queries.view import View


@dataclass(frozen=True, eq=False)
class LossDifferences(SumQuery):
    """Means of ``clip(loss of a candidate - loss of the first, -gain * limit, limit)``.

    The state has one row of weights per candidate, in standardised coordinates. For a loss of
    several classes it has one matrix per candidate, with a row for each class.

    Attributes
    ----------
    loss
        The loss whose values are compared.
    views
        How each candidate reads the records. Views may have different bounds of features.
    limit
        Differences are cut to at most this magnitude, in the units of the loss.
    gain
        Negative differences are cut at this fraction of the limit, at most 1. A smaller fraction
        needs less noise and favours the first candidate.
    score_bounds
        The lower and upper limit on scores of all candidates except the first, in standardised
        coordinates. With several classes each limit may have one number per class.

    Guarantee
    ---------
    Each of ``m`` differences over the limit lies in ``[-gain, 1]``, or is zero, for every input. So
    replacing a record, or a person's rows with their shares, moves the sums by at most
    ``(1 + gain) * sqrt(m)``, plus the charged rounding. The bound is attained if every candidate
    has a far larger loss than the first for one record, and a far smaller loss for its replacement.

    Edge cases
    ----------
    Void records add nothing, and neither do differences of two infinite losses.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.queries.units import Units
    >>> view = View.plain(None, Units.raw(2, intercept=False))
    >>> LossDifferences(tg.losses.Squared(), (view, view), limit=2.0).sensitivity(1000, 2).ideal
    2.0
    """

    loss: Loss | Multinomial
    views: tuple[View, ...]
    limit: float
    gain: float = 1.0
    score_bounds: tuple[float | FloatArray, float | FloatArray] = (-math.inf, math.inf)

    name = "mean loss differences"

    @property
    def size(self) -> int:
        """Number of differences."""
        return len(self.views) - 1

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of the stacked sums, in units of the limit."""
        check_positive("limit", self.limit)
        check_between("gain", self.gain, 0.0, 1.0)
        whole = sum_sensitivity(math.sqrt(self.size), self.size, n_rows)
        ideal = (1.0 + self.gain) * math.sqrt(self.size)
        return replace(whole, ideal=ideal, computed=ideal + (whole.computed - whole.ideal))

    def read_state(self, state: FloatArray) -> list[FloatArray]:
        """Return the weights of each candidate."""
        if self.size < 1:
            raise InputError("views must be at least two.")
        classes = self.loss.n_classes if isinstance(self.loss, Multinomial) else None
        if any(np.shape(bound) not in ((), (classes,)) for bound in self.score_bounds):
            raise InputError("score_bounds must be two numbers, or have one for each class.")
        return [view.weights(each, classes) for view, each in zip(self.views, state, strict=True)]

    def sum_block(self, block: RecordBlock, state: list[FloatArray], grid: float) -> IntArray:
        """Sum the differences on the lattice, in units of the limit."""
        total = np.zeros(self.size, dtype=np.int64)
        candidates = zip(self.views, state, strict=True)
        read = [view.read(block, weights, lengths=False) for view, weights in candidates]
        for first, *others in zip(*read, strict=True):
            base = self.loss.value(first.score.T, first.target)
            shares = np.empty((self.size, base.size))
            for share, sight in zip(shares, others, strict=True):  # one score per class is a column
                score = self.loss.bounded(sight.score.T, *self.score_bounds)
                share[:] = (self.loss.value(score, sight.target) - base) / self.limit
            shares = np.where(first.void | np.isnan(shares), 0.0, np.clip(shares, -self.gain, 1.0))
            if first.weight is not None:
                shares *= first.weight
            total += rounded_sum(shares.T, grid, alone=block.alone)
        return total

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Return mean differences in the units of the loss."""
        return noised * (self.limit / n_rows)

    def noise_std(self, n_rows: int, n_features: int, mu: float) -> float:
        """Return the standard deviation of the noise of each difference; public numbers only."""
        return float(self.calibrate(n_rows, n_features, mu).noise_std * self.limit / n_rows)

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"differences": self.size, "limit": self.limit, "gain": self.gain}
