"""What a private mean adds to plans: whose noise it takes, and the error that it predicts.

Reference
---------
Dwork and Roth 2014, Proposition 2.1 (post-processing): whatever a method does with the gate's
answers costs nothing beyond the answers.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tailguard.array_types import FloatArray
from tailguard.gate import Gate
from tailguard.gate.budget import Share
from tailguard.gate.plan import Plan
from tailguard.gate.problem import Problem
from tailguard.gate.solution import Solution
from tailguard.means.budget import usable_share
from tailguard.means.facts import put_into
from tailguard.moments import Moment, MomentKind
from tailguard.privacy.guarantees import Guarantee, PureDP

IN_PRIVATE_UNITS = "l2, in units of each column's private scale, for tails like Student's t(3)"
IN_USER_UNITS = "l2, in the units of the data, from the assumed moment"
ANY_TAIL = "means exist"
# More numbers than any method here plans: histograms of columns, one of magnitudes, four shells.
RELEASES_PER_COLUMN, RELEASES_BESIDES = 1100, 100


@dataclass(frozen=True)
class MeanFacts:
    """The public facts that a method plans from: problem and promise."""

    problem: Problem
    guarantee: Guarantee

    @property
    def n_rows(self) -> int:
        """The public number of records."""
        return self.problem.n_rows

    @property
    def n_features(self) -> int:
        """The public number of columns."""
        return self.problem.n_features

    @property
    def moment(self) -> Moment | None:
        """What is assumed of the tails."""
        return self.problem.moment

    @property
    def pure(self) -> bool:
        """Whether pure DP is asked for."""
        return isinstance(self.guarantee, PureDP)

    @property
    def budget(self) -> Share:
        """What may be spent in all."""
        return usable_share(self.guarantee, coordinates=most_coordinates(self.problem))

    def into(
        self, formula: Callable[..., float], moment: Moment | None = None, /, **others: Any
    ) -> float:
        """Put the sizes and a moment into a formula of a paper, and ``others`` that it names."""
        known: dict[str, float] = {"n_rows": self.n_rows, "n_features": self.n_features}
        if moment is not None:
            known |= {"moment_order": moment.order, "moment_bound": moment.bound}
        return put_into(formula, known.get, **others)

    @property
    def sampling(self) -> float:
        """The sampling error of a column: of its scale, which is 1 in private units.

        All methods count it alike, a norm's over all columns, so that their predictions compare.
        """
        scale = 1.0 if self.moment is None else column_scale(self.moment, self.n_features)
        return scale / math.sqrt(self.n_rows)

    def known_moment(self, kind: MomentKind) -> Moment:
        """Return the stated moment in another kind, where it implies one."""
        assert self.moment is not None
        return self.moment.convert(kind, n_features=self.n_features)


@dataclass(frozen=True)
class Expected:
    """Predicted error in l2 norm: privacy noise, bias of the threshold, and sampling."""

    noise: float
    bias: float
    sampling: float

    @property
    def total(self) -> float:
        """Root of the sum of squares."""
        return math.hypot(self.noise, self.bias, self.sampling)


@dataclass(frozen=True, kw_only=True)
class MeanPlan(Plan):
    """The plan of a mean, with the error that it predicts.

    Attributes
    ----------
    expected
        The predicted error, in ``unit``.
    """

    expected: Expected
    unit: str

    @property
    def said(self) -> tuple[str, ...]:
        """What ``explain`` says of the settings beside their values: the predicted error."""
        error = self.expected
        predicted = (
            f"predicted error {error.total:.3g} ({self.unit}): noise {error.noise:.3g}, "
            f"bias {error.bias:.3g}, sampling {error.sampling:.3g}"
        )
        return (predicted, *self.remarks)


@dataclass(frozen=True)
class MeanExample:
    """What the contract tests try a method on.

    Attributes
    ----------
    wide
        Options at which nothing within 50 of zero is clipped.
    moment
        A bound on a moment, of the kind that the method takes; None if it takes none.
    refuses
        Kinds of guarantees that its noise does not keep.
    distance
        How far from the mean of standard normal columns it is without noise.
    noise_factor
        How many times its predicted noise its noise may be.
    shown
        Options with which it is one release, for its row in the audit; None if other pairs of
        records than the audit's show more.
    far
        How far out a record is that this release shows the most.
    """

    wide: Mapping[str, float] = field(default_factory=dict)
    moment: Moment | None = None
    refuses: tuple[type[Guarantee], ...] = (PureDP,)
    distance: float = 0.03
    noise_factor: float = 1.3
    shown: Mapping[str, Any] | None = None
    far: float = 1e9


@dataclass(frozen=True)
class MeanMethod:
    """Base of the methods for a mean: each a solver, which plans and runs on gate answers."""

    name: ClassVar[str] = ""
    example: ClassVar[MeanExample] = MeanExample()

    def plan(self, problem: Problem, guarantee: Guarantee) -> MeanPlan:
        """Work out stages, shares and thresholds, or refuse; numbers only, never a record."""
        return self.plan_from(MeanFacts(problem, guarantee))

    def plan_from(self, facts: MeanFacts) -> MeanPlan:
        """Plan; every method says how."""
        raise TypeError(f"{type(self).__name__} must say what it plans.")

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Carry the plan out on gate answers; every method says how."""
        raise TypeError(f"{type(self).__name__} must say how it runs.")


def column_scale(moment: Moment, n_features: int) -> float:
    """Return the scale of a column that a moment suggests; a norm is shared by the columns."""
    return moment.scale / (math.sqrt(n_features) if moment.kind == "norm" else 1.0)


def most_coordinates(problem: Problem) -> int:
    """Return more numbers than any method releases."""
    return RELEASES_PER_COLUMN * problem.n_features + RELEASES_BESIDES


def found_mean(
    plan: Plan,
    value: FloatArray,
    noise_std: FloatArray,
    found: Mapping[str, float | int | str] | None = None,
) -> Solution:
    """Return the mean of each column, and what its noise is predicted to be."""
    return Solution(
        value, 0.0, plan, noise_std, math.nan, trace=value[None, :], found=dict(found or {})
    )
