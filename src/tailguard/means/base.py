"""The common parts of all private means: public facts, budget, predicted error, base class.

Reference
---------
Dong, Roth and Su 2022, Corollary 3.3; Dwork and Roth 2014, Theorem 3.16 (composition), and
Proposition 2.1 (post-processing): computing with the gate's answers costs nothing more.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tailguard.array_types import BoolArray, FloatArray
from tailguard.checks import InputError, check_between, check_positive
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Problem, Solution
from tailguard.gate.stage import BUDGET_MARGIN, Share, Stage, usable_mu
from tailguard.means.formulas import clipping_bias, evaluate
from tailguard.moments import Moment, MomentKind
from tailguard.privacy.events import Event, Gaussian, Laplace
from tailguard.privacy.guarantees import Guarantee, PureDP
from tailguard.queries.base import Query, calibration_for
from tailguard.scaling.columns import LARGEST_SCALE

IN_PRIVATE_UNITS = "l2, in units of each column's private scale, for tails like Student's t(3)"
IN_USER_UNITS = "l2, in the units of the data, from the assumed moment"
ANY_TAIL = "means exist"
MOST_CELLS = 0.5  # from this share on, a note says "most"


@dataclass(frozen=True)
class MeanFacts:
    """The public facts from which a method plans: the problem and the guarantee."""

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
        """The assumed bound on a moment, or None."""
        return self.problem.moment

    @property
    def pure(self) -> bool:
        """Whether the guarantee is pure DP."""
        return isinstance(self.guarantee, PureDP)

    @property
    def budget(self) -> Share:
        """The budget of all releases together."""
        return usable_share(self.guarantee, coordinates=most_coordinates(self.problem))

    def into(
        self, formula: Callable[..., float], moment: Moment | None = None, /, **others: Any
    ) -> float:
        """Evaluate a paper's formula at ``others`` and at those sizes and moments that it takes."""
        known: dict[str, float] = {"n_rows": self.n_rows, "n_features": self.n_features}
        if moment is not None:
            known |= {"moment_order": moment.order, "moment_bound": moment.bound}
        return evaluate(formula, known.get, **others)

    @property
    def sampling(self) -> float:
        """The predicted sampling error of a column; in private units its scale is 1.

        All methods predict it alike, so that their predictions can be compared.
        """
        scale = 1.0 if self.moment is None else column_scale(self.moment, self.n_features)
        return scale / math.sqrt(self.n_rows)

    def known_moment(self, kind: MomentKind) -> Moment:
        """Return a moment of another kind that the assumed moment implies."""
        assert self.moment is not None
        return self.moment.convert(kind, n_features=self.n_features)


@dataclass(frozen=True)
class Expected:
    """Predicted error in l2 norm: privacy noise, clipping bias, and sampling error."""

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
        The predicted error.
    unit
        Norm and unit of that error, in words.
    """

    expected: Expected
    unit: str

    @property
    def said(self) -> tuple[str, ...]:
        """Lines of ``explain`` after the settings: the predicted error, and the remarks."""
        error = self.expected
        predicted = (
            f"predicted error {error.total:.3g} ({self.unit}): noise {error.noise:.3g}, "
            f"bias {error.bias:.3g}, sampling {error.sampling:.3g}"
        )
        return (predicted, *self.remarks)


@dataclass(frozen=True)
class MeanExample:
    """Options and tolerances with which contract tests and the audit run a method.

    Attributes
    ----------
    wide
        Options with which nothing within 50 of zero is clipped.
    moment
        A bound on a moment, of the kind that the method takes; None if it takes none.
    refuses
        Kinds of guarantees that the method refuses.
    distance
        Largest allowed distance of its noiseless answer from the mean of standard normal columns.
    noise_factor
        The largest allowed ratio of its noise to the predicted noise.
    shown
        Options with which the method is one release, for its row in the audit. None if the audit's
        pairs of records are not the worst ones for it.
    far
        Distance from zero of the record about which this release reveals most.
    """

    wide: Mapping[str, float] = field(default_factory=dict)
    moment: Moment | None = None
    refuses: tuple[type[Guarantee], ...] = (PureDP,)
    distance: float = 0.03
    noise_factor: float = 1.3
    shown: Mapping[str, Any] | None = None
    far: float = 1e9


@dataclass(frozen=True)
class Level:
    """A threshold or a clip norm in the user's units, with its bias and sampling error.

    If the method bounds coordinates, both errors are per coordinate; otherwise they are l2 norms.
    """

    value: float
    bias: float
    sampling: float


@dataclass(frozen=True)
class MeanMethod:
    """Base of the methods for a mean; each is a solver, which plans, and runs on gate answers.

    Most methods bound records at a level, which is public, follows from a moment, or is released.
    They define ``public_plan`` and ``private_plan``; other methods define ``plan`` itself.
    """

    name: ClassVar[str] = ""
    option: ClassVar[str] = "threshold"  # the option that states a public level
    tail_assumption: ClassVar[str] = ANY_TAIL  # at a public level
    more_assumptions: ClassVar[tuple[str, ...]] = ()
    laplace: ClassVar[bool] = False  # whether the noise may be Laplace, for pure DP
    example: ClassVar[MeanExample] = MeanExample()

    def plan(self, problem: Problem, guarantee: Guarantee) -> MeanPlan:
        """Compute stages, shares and thresholds from public numbers, or refuse."""
        return self.plan_from(MeanFacts(problem, guarantee))

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Make the planned releases and compute the mean; each method defines its own ``run``."""
        raise TypeError(f"{type(self).__name__} must define run.")

    @property
    def stated(self) -> float | None:
        """The public level, if one is stated."""
        value: float | None = getattr(self, self.option)
        return None if value is None else check_level(self.option, value)

    def plan_from(self, facts: MeanFacts) -> MeanPlan:
        """Choose a level, or plan to release one."""
        if facts.pure and not self.laplace:
            raise InputError(
                f"method {self.name!r} must not be used with PureDP: its noise is Gaussian; choose "
                "'clamped', 'truncated' or 'soft'."
            )
        self.check(facts)
        if self.stated is not None or facts.moment is not None:
            return self.public_plan(facts)
        return self.private_plan(facts)

    def check(self, facts: MeanFacts) -> None:
        """Check the method's own options."""

    def groups(self, problem: Problem) -> int:
        """Return the number of groups whose means are combined; 1 for a plain mean."""
        return 1

    def private_plan(self, facts: MeanFacts) -> MeanPlan:
        """Plan to release scales first, then a level in units of these scales."""
        raise TypeError(f"{type(self).__name__} must define private_plan.")

    def public_plan(self, facts: MeanFacts) -> MeanPlan:
        """Plan with a public level."""
        raise TypeError(f"{type(self).__name__} must define public_plan.")

    def moment_level(self, facts: MeanFacts, budget: Share, groups: int) -> Level:
        """Return the level that follows from the moment, if each group spends the whole budget.

        A method that does not override this refuses a moment.
        """
        raise InputError(
            f"moment must not be given with method {self.name!r}, which takes {self.option}= or "
            "neither."
        )

    def spent(self, facts: MeanFacts, level: float = math.nan, groups: int = 1) -> Share:
        """Return what a release at a public level spends, by default the whole budget."""
        return facts.budget

    def chosen_level(self, facts: MeanFacts, budget: Share, groups: int = 1) -> Level:
        """Return the stated level, or the level that follows from the moment."""
        if self.stated is None:
            return self.moment_level(facts, budget, groups)
        return Level(self.stated, bias=0.0, sampling=self.stated / math.sqrt(facts.n_rows))

    def planned(
        self,
        facts: MeanFacts,
        stages: tuple[Stage, ...],
        expected: Expected,
        settings: Mapping[str, float | int | str] | None = None,
    ) -> MeanPlan:
        """Assemble a plan; it has private scales if it releases more than the mean."""
        private = len(stages) > 1
        tails = self.tail_assumption if facts.moment is None else facts.moment.describe()
        tails = ANY_TAIL if private else tails
        unit = IN_PRIVATE_UNITS if private else IN_USER_UNITS
        common = (facts.problem, facts.guarantee, stages, settings or {})
        assumed = (tails, *self.more_assumptions)
        return MeanPlan(self.name, *common, assumed, expected=expected, unit=unit)


@dataclass(frozen=True, kw_only=True)
class MeanSolution(Solution):
    """The mean of each column, and what its noise leaves out.

    Attributes
    ----------
    error_std
        The deviation of each mean from that of the records, through noise and clipping; NaN where
        noise hides too much, and for all columns if clipping was not estimated.
    hidden
        The share of the cells of each column whose size noise hides; None if it was not released.
    too_large
        Which columns have cells beyond the largest unit, by the released units.
    """

    error_std: FloatArray
    hidden: FloatArray | None = None
    too_large: BoolArray | None = None

    def column_notes(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return notes on columns with hidden sizes, which have no interval."""
        hidden, notes = self.hidden, []
        if hidden is None or self.too_large is None:
            return ()
        columns = zip(names, self.coef_noise_std, hidden, self.too_large, strict=True)
        for name, noise, share, too_large in columns:
            if too_large:
                notes.append(
                    f"cells of {name} exceed {LARGEST_SCALE:.0e}, the largest unit: its mean is of "
                    "cells clipped far below them; divide the column by a constant"
                )
            elif math.isnan(noise):
                notes.append(
                    f"noise hides all sizes of {name}: up to {share:.2g} of its cells may be far "
                    "from zero, and its mean is a guess, whose error is not stated"
                )
            elif share > 0.0:
                cells = "most" if share > MOST_CELLS else f"about {share:.2g} of the"
                notes.append(
                    f"noise hides how far {cells} cells of {name} lie; those far out are clipped, "
                    "so its mean has no interval, and noise_std leaves this bias out"
                )
        return tuple(notes)


def column_scale(moment: Moment, n_features: int) -> float:
    """Return the scale of a column that a moment suggests; columns share the scale of a norm."""
    return moment.scale / (math.sqrt(n_features) if moment.kind == "norm" else 1.0)


def most_coordinates(problem: Problem) -> int:
    """Return an upper bound on the numbers that any method releases.

    Most of them are histograms of columns, and the shells of the method ``clipped``.
    """
    return 1210 * problem.n_features + 100


def mean_solution(
    plan: Plan,
    value: FloatArray,
    noise_std: FloatArray,
    found: Mapping[str, float | int | str] | None = None,
    notes: tuple[str, ...] = (),
    error_std: FloatArray | None = None,
    hidden: FloatArray | None = None,
    too_large: BoolArray | None = None,
) -> MeanSolution:
    """Return the mean of each column, its predicted noise, and what this leaves out."""
    return MeanSolution(
        value,
        0.0,
        plan,
        noise_std,
        math.nan,
        trace=value[None, :],
        found=dict(found or {}),
        notes=notes,
        error_std=np.full(value.shape, np.nan) if error_std is None else error_std,
        hidden=hidden,
        too_large=too_large,
    )


def usable_share(guarantee: Guarantee, *, coordinates: int) -> Share:
    """Return the budget that a guarantee leaves for at most ``coordinates`` released numbers."""
    if isinstance(guarantee, PureDP):
        return Laplace(guarantee.epsilon * (1.0 - BUDGET_MARGIN))
    return Gaussian(usable_mu(guarantee, coordinates))


def amount_of(share: Share) -> float:
    """Return the mu of Gaussian noise, or the epsilon of Laplace noise."""
    return share.mu if isinstance(share, Gaussian) else share.epsilon


def noise_std_of(query: Query, n_rows: int, n_features: int, asked: Event) -> float:
    """Return the noise of a query at a share of the budget; no record is read."""
    noise_std = calibration_for(query, n_rows, n_features, asked).noise_std
    assert noise_std is not None  # it is None only if the noise depends on the records
    return noise_std


def tail_noise(query: Query, n_rows: int, n_features: int, asked: Event) -> float:
    """Return the standard deviation of Gaussian noise with as heavy a tail as the query's noise."""
    # Laplace noise exceeds 8 deviations as rarely as Gaussian noise exceeds 4.5.
    factor = 1.8 if isinstance(asked, Laplace) else 1.0
    return noise_std_of(query, n_rows, n_features, asked) * factor


def check_level(name: str, value: object) -> float:
    """Return a clip norm, threshold or bound; refuse one at which the noise would overflow."""
    check_positive(name, value)
    return check_between(name, value, 1e-200, 1e200)


def directional_level(facts: MeanFacts, formula: Callable[..., float], **others: float) -> Level:
    """Return the clip norm for a directional moment, and the bias of clipping there."""
    moment = facts.known_moment("directional")
    clip_norm = facts.into(formula, moment, **others)
    bias = facts.into(clipping_bias, moment, clip_norm=clip_norm)
    return Level(clip_norm, bias, facts.sampling * math.sqrt(facts.n_features))
