"""The mean gradient of the log-loss of several classes, with rows cut to a length.

A record of class ``y`` contributes its probabilities minus the indicator of ``y``, times its row.
The answer has one row per class, and all classes are released together. The probabilities and the
indicator are points of one simplex. So the length of their difference is at most ``sqrt(2)``, for
any number of classes.

Reference
---------
Mallows 1975 (bounding rows and residuals apart); Dong, Roth and Su 2022, Theorem 2.7; Bishop 2006,
Section 4.3.4 (the gradient).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import check_integer, check_positive, require
from tailguard.data.rows.base import RecordBlock, shrink
from tailguard.privacy.calibration import Sensitivity
from tailguard.queries.base import SumQuery, sum_sensitivity
from tailguard.queries.class_view import class_errors
from tailguard.queries.units import Units
from tailguard.queries.view import View, add_scaled


@dataclass(frozen=True, eq=False)
class SoftmaxGradients(SumQuery):
    """Means of ``(probability of a class - indicator of it) * row``, one row per class.

    The state is a matrix with one row of weights per class, in standardised coordinates.

    Attributes
    ----------
    view
        How records are read.
    n_classes
        The number of classes; targets are 0, 1 and so on.
    row_limit
        The length ``R`` to which rows are cut.

    Guarantee
    ---------
    With probabilities ``p`` and the indicator ``e`` of a record's class,
    ``|p - e|**2 = (1 - p_y)**2 + sum of the other p_k**2 <= 2 * (1 - p_y)**2 <= 2``. A row has
    length at most ``R``, so a record contributes a matrix of norm at most ``sqrt(2) * R``, for
    every input. Replacing a record moves the sum by at most ``2 * sqrt(2) * R``, plus the charged
    rounding. Two records with opposite rows attain this bound if their class has probability 0 and
    another class has probability 1.

    Edge cases
    ----------
    A record with a non-finite value, with a score that is not a number, or with an unknown class
    contributes zero. An overflowing row is cut to length ``R`` in its direction.

    Examples
    --------
    >>> from tailguard.queries.units import Units
    >>> view = View.plain(None, Units.raw(2, intercept=False))
    >>> round(SoftmaxGradients(view, n_classes=3, row_limit=1.0).sensitivity(1000, 2).ideal, 6)
    2.828427
    """

    view: View
    n_classes: int
    row_limit: float

    name = "sum of cut softmax gradients"

    @classmethod
    def worst_pair(cls, units: Units) -> dict[str, Any]:
        """Return nearly opposite rows of one class, while another class has probability 1.

        The constant of the other class outweighs any row. The target's centre is so far away that
        all targets within 60 of zero round to class 1.
        """
        far, zero = 2.0**60, np.zeros(units.size)
        far_units, state = Units(zero, zero + 1.0, True, -far, far), np.zeros((3, units.size + 1))
        state[2, -1] = 100.0
        query = cls(View.plain(None, far_units), 3, 1.0)
        ends = {"old": (1e3, 0.0, 0.0, 1.0), "new": (-1e3, 0.0, 0.0, 1.0)}
        return {"label": "three", "query": query, "state": state, **ends}

    @property
    def norm_limit(self) -> float:
        """The largest norm of one record's contribution."""
        return math.sqrt(2.0) * self.row_limit

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of the gradients of all classes together."""
        return sum_sensitivity(self.norm_limit, self.n_classes * self.view.width, n_rows)

    def read_state(self, state: FloatArray) -> FloatArray:
        """Return the weights of each class."""
        check_positive("row_limit", self.row_limit)
        check_integer("n_classes", self.n_classes, minimum=2)
        require(
            self.view.times == "one", 'view must have times="one", which keeps rows as they are.'
        )
        return self.view.weights(state, self.n_classes)

    def sum_block(self, block: RecordBlock, state: FloatArray, grid: float) -> IntArray:
        """Sum the gradients on the lattice.

        Probabilities add up to one within ``n_classes + 3`` roundoffs. A length errs by
        ``width / 2 + 2`` roundoffs, a factor by five. The shrink of ``4 * (n_classes * width + 2)``
        roundoffs covers these errors.
        """
        total = np.zeros((self.n_classes, self.view.width), dtype=np.int64)
        for sight in self.view.read(block, state, shrunk=shrink(total.size)):
            factors = class_errors(sight, self.n_classes)
            factors *= np.minimum(sight.length, self.row_limit) * sight.inverse
            if sight.weight is not None:
                factors *= sight.weight
            add_scaled(sight.mapped, factors, grid, total, alone=block.alone)
        return total.ravel()

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Return mean gradients, one row per class."""
        return self.view.rotated(np.reshape(noised, (self.n_classes, -1)) / n_rows)

    def noise_std(self, n_rows: int, n_features: int, mu: float) -> float:
        """Return the standard deviation of the noise of each mean; public numbers only."""
        return self.calibrate(n_rows, n_features, mu).noise_std / n_rows

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {
            "norm_limit": self.norm_limit,
            "coordinates": self.view.width,
            "classes": self.n_classes,
        }
