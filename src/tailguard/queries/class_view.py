"""Read records by their contributions to the gradients of several classes together.

Each class ``k`` has a matrix ``T_k``, through which its gradient is read. A record of class ``y``
with probabilities ``p`` and the standardised row ``s`` adds its *contribution*, the vector
``sum over classes k of (p_k - [k = y]) * T_k' s``. If classes are drawn with probabilities ``p``,
the covariance of the contribution is the curvature of the record's log-loss. It is the sum of the
outer products ``v_c v_c'`` over classes ``c``, where ``v_c`` is ``sqrt(p_c)`` times the difference
of ``T_c' s`` and its mean. All ``v_c`` together form one vector, which is cut at one length.

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
    """A view of each record's contribution to all classes; if ``curved``, of its vectors ``v_c``.

    ``whitening`` has the matrices ``T_k`` of all classes one below the other, so its rows have the
    order of the weights in the state.

    Attributes
    ----------
    n_classes
        The number of classes; targets are 0, 1 and so on.

    Guarantee
    ---------
    As for a view: all ``parts`` of a record together, times its entry of ``inverse``, have norm at
    most 1 for every input. No query reads a score through a class view.

    Edge cases
    ----------
    A record contributes zero if a score is not a number, or if its target is not a class.

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
        """The transposed matrices ``T_k``, one below the other."""
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

    def _measure(self, sight: Sight, shrunk: float) -> None:
        """Map records to contributions or to vectors ``v_c``, and measure their lengths."""
        n_lines = self.n_classes * self.width
        lines = sight.lines[:n_lines].reshape(self.n_classes, self.width, -1)
        if self.times == "slope":
            sight.mapped = _combined(class_errors(sight, self.n_classes), lines)
        else:
            chances = class_chances(sight)
            usable = ~sight.void & np.isfinite(chances).all(axis=0)
            chances = np.where(usable, chances, 0.0)
            deviations = lines - _combined(chances, lines)
            sight.mapped = (np.sqrt(chances)[:, None] * deviations).reshape(-1, usable.size)
        measure()(sight.mapped, sight.powers, shrunk, sight.length, sight.inverse)
        if self.times == "slope" and sight.weight is not None:
            multiply()(sight.weight * self.weight_unit, sight.length, sight.inverse)


def _combined(factors: FloatArray, lines: FloatArray) -> FloatArray:
    """Add up the lines of all classes, in order, each times one factor per record."""
    total = factors[0] * lines[0]
    for factor, of_class in zip(factors[1:], lines[1:], strict=True):
        total += factor * of_class
    return np.asarray(total)


def class_chances(sight: Sight) -> FloatArray:
    """Return the class probabilities, one column per record; NaN if a score is not a number.

    They add up to one within ``n_classes + 3`` roundoffs.
    """
    odds = np.exp(np.maximum(sight.score - sight.score.max(axis=0), -LARGEST_EXPONENT))
    return np.asarray(odds / total_of(odds.T))


def class_errors(sight: Sight, n_classes: int) -> FloatArray:
    """Return probabilities minus the indicator of the class, one column per record."""
    chances, indicator = class_chances(sight), np.arange(n_classes)[:, None] == sight.target
    usable = indicator.any(axis=0) & ~sight.void & np.isfinite(chances).all(axis=0)
    return np.where(usable, chances - indicator, 0.0)
