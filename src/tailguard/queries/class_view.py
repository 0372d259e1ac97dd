"""Read records by their contributions to the gradients of several classes together.

Each class ``k`` has a matrix ``T_k``, through which its gradient is read. A record of class ``y``
with probabilities ``p`` and the standardised row ``s`` adds the vector
``sum over classes k of (p_k - [k = y]) * T_k' s``, its *contribution*. The curvature of its
log-loss is the covariance of the contribution over classes drawn with probabilities ``p``. That is
the sum over classes ``c`` of the squares ``v_c v_c'``, where ``v_c`` is ``sqrt(p_c)`` times the
difference of ``T_c' s`` and its mean. The ``v_c`` side by side are one vector, cut at one length.

Reference
---------
Bohning 1992 (gradient and curvature of a softmax); Dwork and Roth 2014, Proposition 2.1.
"""

from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import check_integer, require
from tailguard.losses.base import LARGEST_EXPONENT
from tailguard.losses.multinomial import total_of
from tailguard.queries.reading_loops import measure, multiply
from tailguard.queries.view import Sight, View


@dataclass(frozen=True, eq=False)
class ClassView(View):
    """A view of each record's contribution to all classes or, ``curved``, of its root of curvature.

    The rows of ``whitening`` are the coordinates of one class after the other, in the order of the
    weights in the state.

    Attributes
    ----------
    n_classes
        How many classes; targets are 0, 1 and so on.

    Guarantee
    ---------
    As that of a view: the ``parts`` of a record side by side, times its entry of ``inverse``, have
    norm at most 1 for every input. No query reads a score through it.

    Edge cases
    ----------
    A record with a score that is not a number, or a target that is no class, contributes zero.

    Examples
    --------
    >>> from tailguard.queries.units import Units
    >>> view = ClassView(None, Units.raw(2, intercept=True), np.eye(9), n_classes=3)
    >>> view.parts, view.curved().parts
    (1, 3)
    """

    times: str = "slope"
    n_classes: int = 2

    @property
    def parts(self) -> int:
        """The number of vectors that represent a record."""
        return self.n_classes if self.times == "root curvature" else 1

    @property
    def _map(self) -> FloatArray:
        by_class = self.whitening.reshape(self.n_classes, -1, self.width)
        return np.concatenate([each.T for each in by_class])

    def weights(
        self, state: FloatArray | None, n_classes: int | None = None, *, rows_alone: bool = False
    ) -> FloatArray:
        """Return the weights of each class; refuse a query that would use scores."""
        require(rows_alone and n_classes is None, "a query of scores needs a view of one score.")
        require(self.times != "one", "a view of classes has contributions or roots of curvature.")
        n_classes = check_integer("n_classes", self.n_classes, minimum=2)
        require(self.height % n_classes == 0, f"whitening must have rows for {n_classes} classes.")
        by_class = np.zeros(self.height) if state is None else np.asarray(state, dtype=np.float64)
        require(by_class.shape == (self.height,), f"weights must be {self.height} numbers.")
        of_one = self.whitening[: self.height // n_classes]
        plain = View(
            None, self.units, of_one, self.target_in_row, self.bound, weight_unit=self.weight_unit
        )
        require(self.reads(), "whitening must be numbers of at most 1e100.")
        return plain.weights(by_class.reshape(n_classes, -1), n_classes)

    def _measure(self, seen: Sight, shrunk: float) -> None:
        """Map records to contributions or roots of curvature, and measure their lengths."""
        n_lines = self.n_classes * self.width
        lines = seen.lines[:n_lines].reshape(self.n_classes, self.width, -1)
        if self.times == "slope":
            seen.mapped = _combined(class_errors(seen, self.n_classes), lines)
        else:
            chances = class_chances(seen)
            usable = ~seen.void & np.isfinite(chances).all(axis=0)
            chances = np.where(usable, chances, 0.0)
            apart = lines - _combined(chances, lines)
            seen.mapped = (np.sqrt(chances)[:, None] * apart).reshape(-1, usable.size)
        measure()(seen.mapped, seen.read.powers, shrunk, seen.length, seen.inverse)
        if self.times == "slope" and seen.read.weight is not None:
            multiply()(seen.read.weight * self.weight_unit, seen.length, seen.inverse)


def _combined(factors: FloatArray, lines: FloatArray) -> FloatArray:
    """Add up the lines of all classes, in order, each times one factor per record."""
    total = factors[0] * lines[0]
    for factor, own in zip(factors[1:], lines[1:], strict=True):
        total += factor * own
    return np.asarray(total)


def class_chances(seen: Sight) -> FloatArray:
    """Return the class probabilities, one column per record; NaN if a score is not a number.

    They add up to one within ``n_classes + 3`` roundoffs.
    """
    odds = np.exp(np.maximum(seen.score - seen.score.max(axis=0), -LARGEST_EXPONENT))
    return np.asarray(odds / total_of(odds.T))


def class_errors(seen: Sight, n_classes: int) -> FloatArray:
    """Return probabilities minus the indicator of the class, one column per record."""
    chances, own = class_chances(seen), np.arange(n_classes)[:, None] == seen.target
    usable = own.any(axis=0) & ~seen.void & np.isfinite(chances).all(axis=0)
    return np.where(usable, chances - own, 0.0)
