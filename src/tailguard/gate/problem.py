"""The public facts of what is asked for."""

from dataclasses import dataclass
from typing import cast

from tailguard.losses.base import Link, Loss, RecordLoss
from tailguard.moments import Moment
from tailguard.sets.base import ConstraintSet


@dataclass(frozen=True)
class Problem:
    """The public facts of a fit or a mean; no record is part of it.

    Attributes
    ----------
    loss
        A loss of a score, or a loss known one record at a time; None asks for the mean of each
        column.
    n_rows, n_features
        Public sizes.
    intercept
        Whether a constant coordinate is added.
    constraint
        The set of allowed weights in the user's units; None leaves the choice to the solver.
    has_offset
        Whether an offset is added to the score.
    moment
        What is assumed of the tails of columns whose mean is asked for.
    unit
        A public scale of these columns about zero, where buying scales is too dear.

    Examples
    --------
    >>> import tailguard as tg
    >>> Problem(tg.losses.Squared(), n_rows=1000, n_features=3, intercept=True).size
    4
    """

    loss: Loss | RecordLoss | None
    n_rows: int
    n_features: int
    intercept: bool = False
    constraint: ConstraintSet | None = None
    has_offset: bool = False
    moment: Moment | None = None
    unit: float | None = None

    @property
    def scored(self) -> Loss | None:
        """The loss if it is one of a single score, else None."""
        return cast(Loss, self.loss) if hasattr(self.loss, "slope") else None

    @property
    def link(self) -> Link:
        """How scores tell expected targets; of a loss of a single score."""
        assert self.scored is not None
        return self.scored.link

    @property
    def by_record(self) -> RecordLoss | None:
        """The loss if it is known one record at a time, else None."""
        return None if self.loss is None or self.scored else cast(RecordLoss, self.loss)

    @property
    def size(self) -> int:
        """The number of weights."""
        if self.by_record:
            return self.by_record.size(self.n_features)
        return self.n_features + int(self.intercept)

    def describe(self) -> str:
        """Say the sizes in a few words."""
        if self.loss is None:
            return f"n = {self.n_rows}, d = {self.n_features}"
        return f"n = {self.n_rows}, {self.size} coefficients (intercept included)"
