"""What a solver is: a plan made of public numbers, then a run on gate answers only.

Reference
---------
Dwork and Roth 2014, Proposition 2.1 (post-processing): whatever a solver does with gate answers
costs nothing beyond the answers.
"""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, cast

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, four_digits
from tailguard.gate import Gate
from tailguard.losses.base import Loss, RecordLoss
from tailguard.privacy.accounting.distance import COORDINATE_DISTANCE
from tailguard.privacy.events import (
    Composed,
    Event,
    Gaussian,
    Parallel,
    Repeated,
    Sampled,
    Shuffled,
)
from tailguard.privacy.events.calibration import (
    LARGEST_RECORDS_SHARE,
    LARGEST_SHARE,
    SMALLEST_SHARE,
)
from tailguard.privacy.guarantees import ApproxDP, Guarantee
from tailguard.sets.base import ConstraintSet

__all__ = ["Plan", "Problem", "Solution", "Solver", "Stage", "usable_guarantee", "usable_mu"]


# Leaves room for rounding: closed forms are rounded by 1e-12 relative, shares by less.
BUDGET_MARGIN = 1e-9


def usable_guarantee(guarantee: Guarantee, coordinates: int) -> Guarantee:
    """Return what a plan may promise of ideal noise, releasing at most that many coordinates.

    The distance of sampled from ideal noise is taken off epsilon and delta.

    Examples
    --------
    >>> from tailguard.privacy.guarantees import GDP, ApproxDP
    >>> usable_guarantee(GDP(1.0), coordinates=1000)
    GDP(mu=1.0)
    >>> usable_guarantee(ApproxDP(1.0, 1e-20), coordinates=1000).delta < 1e-20
    True
    """
    if not isinstance(guarantee, ApproxDP):
        return guarantee
    distance = COORDINATE_DISTANCE.times(coordinates)
    epsilon, delta = distance.left_of(guarantee.epsilon, guarantee.delta)
    if epsilon >= guarantee.epsilon / 2.0 and delta >= guarantee.delta / 2.0:
        return ApproxDP(epsilon, delta)
    least = 2.0 * distance.variation * (1.0 + math.exp(min(guarantee.epsilon, 700.0)))
    wanted = f"delta must be above {least:.3g} at epsilon = {guarantee.epsilon:g}"
    if least >= 1.0:
        wanted = "epsilon must be smaller"
    if epsilon < guarantee.epsilon / 2.0:
        wanted = f"epsilon must be above {4.0 * distance.log_ratio:.3g}"
    raise InputError(
        f"{wanted} for {coordinates} released numbers, whose noise is sampled and not ideal; "
        f"got {guarantee.describe()}; guarantee=tg.GDP(mu) states a promise beyond that."
    )


def usable_mu(guarantee: Guarantee, coordinates: int) -> float:
    """Total mu that a plan may share out, when it releases at most that many coordinates.

    Examples
    --------
    >>> from tailguard.privacy.guarantees import GDP, ApproxDP
    >>> round(usable_mu(GDP(1.0), coordinates=1000), 6)
    1.0
    >>> round(usable_mu(ApproxDP(1.0, 1e-6), coordinates=1000), 6)
    0.236704
    """
    return usable_guarantee(guarantee, coordinates).gaussian_mu() * (1.0 - BUDGET_MARGIN)


@dataclass(frozen=True)
class Problem:
    """The public facts of a fit; no record is part of it.

    Attributes
    ----------
    loss
        A loss of a score, or a loss known one record at a time.
    n_rows, n_features
        Public sizes.
    intercept
        Whether a constant coordinate is added.
    constraint
        The set of allowed weights in the user's units; None leaves the choice to the solver.
    has_offset
        Whether an offset is added to the score.

    Examples
    --------
    >>> import tailguard as tg
    >>> Problem(tg.losses.Squared(), n_rows=1000, n_features=3, intercept=True).size
    4
    """

    loss: Loss | RecordLoss
    n_rows: int
    n_features: int
    intercept: bool = False
    constraint: ConstraintSet | None = None
    has_offset: bool = False

    @property
    def scored(self) -> Loss | None:
        """The loss if it is one of a single score, else None."""
        return cast(Loss, self.loss) if hasattr(self.loss, "slope") else None

    @property
    def by_record(self) -> RecordLoss | None:
        """The loss if it is known one record at a time, else None."""
        return None if self.scored else cast(RecordLoss, self.loss)

    @property
    def size(self) -> int:
        """The number of weights."""
        if self.by_record:
            return self.by_record.size(self.n_features)
        return self.n_features + int(self.intercept)


@dataclass(frozen=True)
class Stage:
    """``times`` releases of ``size`` numbers that spend ``mu`` each, and their purpose in words.

    Attributes
    ----------
    name, purpose
        What it is called, and what it is for.
    mu
        What a release spends.
    times
        How many releases there are, one after the other.
    size
        How many numbers a release has.
    block_map
        With a name, each of the releases is made of every block of a partition, one by one: of the
        partition of this name. The costliest block counts.
    n_blocks
        How many blocks there are.
    shuffled
        Whether every one of the ``times`` passes over the blocks has a secret partition of its own,
        of blocks of equal size. The shuffle makes it cheaper than ``total_mu``.
    sampled
        With a number, each release reads a secret sample of its own, of that share of the records.
        The samples make it cheaper than ``total_mu``.
    within
        Map and block of another partition that all of this happens in. Of stages in different
        blocks of a map the costliest counts.

    Examples
    --------
    >>> Stage("descent", "gradients", mu=0.1, times=4, size=3).total_mu
    0.2
    >>> Stage("pass", "means", mu=0.1, times=1, size=3, block_map="batches", n_blocks=50).event
    Parallel(block_map='batches', block=0, event=Repeated(event=Gaussian(mu=0.1), times=1))
    """

    name: str
    purpose: str
    mu: float
    times: int
    size: int
    block_map: str | None = field(default=None, kw_only=True)
    n_blocks: int = field(default=1, kw_only=True)
    shuffled: bool = field(default=False, kw_only=True)
    sampled: float | None = field(default=None, kw_only=True)
    within: tuple[str, int] | None = field(default=None, kw_only=True)

    @property
    def total_mu(self) -> float:
        """What the stage spends as a whole, where no shuffle and no sample makes it less."""
        return self.mu * math.sqrt(self.times)

    @property
    def event(self) -> Event:
        """The stage as a privacy event."""
        one: Event = Shuffled(self.mu, self.n_blocks) if self.shuffled else Gaussian(self.mu)
        one = one if self.sampled is None else Sampled(self.mu, self.sampled)
        event: Event = Repeated(one, self.times)
        if self.block_map is not None and not self.shuffled:
            event = Parallel(self.block_map, 0, event)  # of blocks that cost the same, one counts
        return event if self.within is None else Parallel(*self.within, event)

    @property
    def asked(self) -> Event | None:
        """What the gate is asked to spend on a release; None where it is asked for ``mu``."""
        return None

    @property
    def price(self) -> str:
        """In what its costs add up: ``"mu"`` or ``"rho"``; else the cost itself, in words."""
        return "mu"

    @property
    def coordinates(self) -> int:
        """How many numbers the stage releases."""
        return self.times * self.n_blocks * self.size

    @property
    def releases(self) -> str:
        """How many releases there are, in words."""
        read = "" if self.n_blocks == 1 else f" of each of {self.n_blocks} blocks"
        read = read if self.sampled is None else f" of fresh samples of {self.sampled:.3g} of all"
        releases = "1 release" if self.times == 1 else f"{self.times} releases"
        return f"{releases}{read} at mu = {self.mu:.4g}"


@dataclass(frozen=True)
class Plan:
    """Everything that a run will do, worked out before any record is read.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Squared(), n_rows=1000, n_features=3)
    >>> plan = Plan("example", problem, tg.GDP(1.0), (Stage("descent", "gradients", 0.5, 4, 3),))
    >>> plan.total_mu
    1.0
    """

    solver: str
    problem: Problem
    guarantee: Guarantee
    stages: tuple[Stage, ...]
    settings: Mapping[str, float | int | str] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()  # what ``explain`` says of the settings beside their values
    warnings: tuple[str, ...] = ()  # what a user is warned of before anything is spent

    def __post_init__(self) -> None:
        """Refuse shares that no lattice carries, before any budget is reserved."""
        largest = min(LARGEST_SHARE, LARGEST_RECORDS_SHARE / self.problem.n_rows)
        for stage in self.stages:
            require(
                stage.asked is not None or stage.mu <= largest,
                f"epsilon must be smaller: stage {stage.name!r} would release numbers at "
                f"mu = {stage.mu:.3g}, and {largest:.3g} is the most for {self.problem.n_rows} "
                f"records; got {self.guarantee.describe()}.",
            )
            smallest = SMALLEST_SHARE * math.sqrt(stage.size)
            require(
                stage.asked is not None or stage.mu >= smallest,
                f"epsilon must be larger: stage {stage.name!r} would release {stage.size} numbers "
                f"at mu = {stage.mu:.3g}, and {smallest:.3g} is the least; "
                f"got {self.guarantee.describe()}.",
            )

    @property
    def total_mu(self) -> float:
        """What all stages spend together, where no shuffle and no sample makes it less."""
        squares: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
        for stage in self.stages:
            block_map, block = stage.within or ("", 0)
            squares[block_map][block] += stage.total_mu**2
        return math.sqrt(sum(max(blocks.values()) for blocks in squares.values()))

    @property
    def event(self) -> Event:
        """The whole plan as a privacy event."""
        return Composed(tuple(stage.event for stage in self.stages))

    @property
    def coordinates(self) -> int:
        """How many numbers the plan releases in all."""
        return sum(stage.coordinates for stage in self.stages)

    def _price(self, unhidden: str) -> str:
        """Say what all stages cost together, in the unit in which their costs add up."""
        prices = {stage.price for stage in self.stages}
        if prices == {"mu"}:
            return f"mu{unhidden} = {self.total_mu:.6g}"
        if prices <= {"mu", "rho"}:
            return f"rho = {self.total_mu**2 / 2.0:.6g}"
        return f"cost {', '.join(sorted(prices - {'mu', 'rho'}))}"

    def stage(self, name: str) -> Stage:
        """Return the stage of that name."""
        return next(stage for stage in self.stages if stage.name == name)

    def explain(self) -> str:
        """Say in plain words what the budget is spent on."""
        problem = self.problem
        sampled = any(stage.sampled is not None for stage in self.stages)
        shuffled = any(stage.shuffled for stage in self.stages)
        unhidden = " before samples" if sampled else " before shuffles" if shuffled else ""
        lines = [
            f"{self.solver}: {self.guarantee.describe()}, n = {problem.n_rows}, "
            f"{problem.size} coefficients (intercept included)",
            f"total {self._price(unhidden)}, shared out as",
        ]
        for stage in self.stages:
            # What samples make cheaper is no share of the squared total.
            share = "" if sampled else f"{stage.total_mu**2 / self.total_mu**2:6.1%}  "
            lines.append(f"  {share}{stage.name}: {stage.purpose} ({stage.releases})")
        lines += [
            f"  {name.replace('_', ' ')} = {four_digits(v)}" for name, v in self.settings.items()
        ]
        lines += [f"  {remark}" for remark in self.remarks]
        lines += [f"  warning: {warning}" for warning in self.warnings]
        lines += [f"  assumed for accuracy: {assumption}" for assumption in self.assumptions]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Solution:
    """What a run found, in the user's units.

    Attributes
    ----------
    coef, intercept
        The released coefficients.
    plan
        The plan that was run.
    coef_noise_std, intercept_noise_std
        Predicted standard deviation that the privacy noise gives each coefficient, from public and
        released numbers; NaN where no prediction is made.
    trace
        Released iterates, one a row, in the units of the descent.
    coef_std, intercept_std
        Predicted standard deviation of each coefficient through sampling and privacy noise
        together, where the solver pays for it; None and NaN where it does not.
    notes
        What was decided on the way, from released numbers.
    feature_bounds
        Lower and upper bound of each feature, within which the fit read it and its coefficient is a
        slope; None where features were read as they are, or none was.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> solution = tg.minimize(
    ...     tg.losses.Squared(), np.eye(100)[:, :1], np.ones(100), guarantee=tg.GDP(1.0),
    ...     constraint=tg.sets.L2Ball(2.0), random_state=0,
    ... )
    >>> solution.coef.shape
    (1,)
    """

    coef: FloatArray
    intercept: float
    plan: Plan
    coef_noise_std: FloatArray
    intercept_noise_std: float
    trace: FloatArray
    coef_std: FloatArray | None = None
    intercept_std: float = math.nan
    notes: tuple[str, ...] = ()
    feature_bounds: FloatArray | None = None


class Solver(Protocol):
    """An algorithm: first a plan from public numbers, then a run on gate answers.

    Examples
    --------
    >>> from tailguard.solvers.registry import make_solver
    >>> solver: Solver = make_solver("scaled-gradient-descent")
    """

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Work out stages, shares and step sizes; numbers only, never a record."""
        ...

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Carry the plan out on gate answers."""
        ...


def require(condition: bool, sentence: str) -> None:
    """Raise ``InputError`` with the sentence unless the public condition holds."""
    if not condition:
        raise InputError(sentence)
