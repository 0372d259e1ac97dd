"""Ask first how many records can be used, and stop before a budget is spent on void ones.

A run begins with one private count of usable records. Where that is surely below half of them, a
second release counts the cells of each column by kind, and the run stops with an error that names
the column to blame. Decision and sentence are made of released numbers alone. The second release is
paid from what the rest of the plan then leaves, or has a share of its own where the rest is not all
Gaussian noise.

Guarantee
---------
The count is a stage of the plan, whose other stages are planned with what it leaves; the gate
admits the second release only if the reserved event covers it. All else is post-processing. Where
at least half of the records can be used, a run stops by mistake with a chance of at most 1e-6.

Reference
---------
Dwork and Roth 2014, Proposition 2.1 (post-processing); Smith and Thakurta 2022 (a run may choose
what it asks for, and stop, on what was released).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from tailguard.checks import InputError, UnusableTableError, check_boolean, check_choice
from tailguard.design.cells import TableColumn
from tailguard.gate.gate import Gate
from tailguard.gate.unusable import about, blamed_columns, unusable_sentence
from tailguard.plans.budget import BUDGET_MARGIN, part_of, usable_guarantee
from tailguard.plans.plan import Plan
from tailguard.plans.problem import Problem
from tailguard.plans.stage import Stage
from tailguard.privacy.accounting.concentrated import epsilon_of_zcdp, rho_of
from tailguard.privacy.accounting.distance import COORDINATE_DISTANCE
from tailguard.privacy.accounting.gaussian import epsilon_of
from tailguard.privacy.accounting.solve import satisfies
from tailguard.privacy.events import Composed, Event, Gaussian
from tailguard.privacy.events.flat_events import flatten
from tailguard.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP, Unprotected
from tailguard.queries.usable_records import KINDS, CellKinds, UsableRecords

Made = TypeVar("Made")
AnyPlan = TypeVar("AnyPlan", bound=Plan)

RESTS_ON = "the result rests on "
"""How the sentence on usable records begins."""

ON_UNUSABLE = ("stop", "fit")
"""What a run does where most records cannot be used."""

# Shares of the squared mu. The first costs a fit .25 % of its mu.
COUNT_SHARE, KINDS_SHARE = 0.005, 0.015
# Normal noise is below so many of its deviations with a chance of 1e-6 (computed: 9.7e-7).
SURELY = 4.76
# The number of records times mu at which a table of void records alone stops with a chance of
# 99.9 %: half of it is 4.76 + 3.09 deviations of the count's noise (computed).
FEWEST = 222.0


@dataclass(frozen=True)
class RecordCheck:
    """The count before a plan, and what the plan may spend.

    Attributes
    ----------
    guarantee, rest
        What is promised in all, and what is left of it for the plan.
    columns
        Those whose cells are counted where most records cannot be used.
    on_unusable
        ``"stop"``, or ``"fit"`` to go on.
    count, kinds
        The stages of both releases.
    reserves_kinds
        Whether the second one has a share of its own.
    coordinates
        How many numbers both releases have, at most.

    Examples
    --------
    >>> import tailguard as tg
    >>> columns = [TableColumn("feature", "age"), TableColumn("target", "cost")]
    >>> problem = Problem(tg.losses.Squared(), n_rows=1000, n_features=1)
    >>> check, _ = RecordRule().checks(tg.GDP(1.0), problem, columns)
    >>> round(check.count.mu**2, 6), round(check.rest.mu**2, 6), round(check.kinds.mu**2, 6)
    (0.005, 0.995, 0.015)
    """

    guarantee: Guarantee
    rest: Guarantee
    columns: tuple[TableColumn, ...]
    on_unusable: str
    count: Stage
    kinds: Stage
    reserves_kinds: bool
    coordinates: int

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages that the whole plan begins with."""
        return (self.count, self.kinds) if self.reserves_kinds else (self.count,)

    @property
    def mu(self) -> float:
        """What these stages spend."""
        return math.hypot(*(stage.total_mu for stage in self.stages))

    @property
    def event(self) -> Event:
        """These stages as a privacy event."""
        return Composed(tuple(stage.event for stage in self.stages))

    def whole(self, plan: AnyPlan) -> AnyPlan:
        """Return the whole plan, for one that was made with the rest."""
        return replace(plan, guarantee=self.guarantee, stages=(*self.stages, *plan.stages))

    def fits(self, plan: Plan) -> bool:
        """Whether the whole plan keeps the guarantee, and covers both releases."""
        sampled = any(stage.shuffled or stage.sampled is not None for stage in plan.stages)
        if sampled or not plan.admits_check:
            return False  # what samples cost are no squares that add up
        whole = self.whole(plan).event
        distance = COORDINATE_DISTANCE.times(plan.coordinates + self.coordinates)
        return self.is_covered(whole) and satisfies(whole, self.guarantee, distance=distance)

    def is_covered(self, event: Event) -> bool:
        """Whether both releases cost at most an event."""
        both = Composed((self.count.event, self.kinds.event))
        return flatten(event).covers(flatten(both))

    def ask(self, gate: Gate) -> str:
        """Say how many records the result rests on, or settle the run and stop it."""
        n_rows, query = gate.n_rows, UsableRecords()
        noise_std = query.calibrate(n_rows, gate.n_features, self.count.mu).noise_std
        (usable,) = gate.ask(query, None, self.count)
        records = f"about {about(float(usable), noise_std, n_rows)} of {n_rows:,} records"
        if usable >= n_rows / 2.0 - SURELY * noise_std:
            return f"{RESTS_ON}{records}"
        if self.on_unusable == "fit":
            return f"{RESTS_ON}{records}, surely fewer than half: on_unusable='fit' went on"
        raise self._stopped(gate, records)

    def _stopped(self, gate: Gate, records: str) -> UnusableTableError:
        """Ask which columns are to blame, settle the run, and return the error that says so."""
        kinds = CellKinds(len(self.columns))
        noise_std = kinds.calibrate(gate.n_rows, gate.n_features, self.kinds.mu).noise_std
        counts = gate.ask(kinds, None, self.kinds)
        blamed = blamed_columns(self.columns, counts, noise_std, gate.n_rows)
        gate.settle(stopped_early=True)
        certificate = gate.certificate(unused_stages=("the run stopped after counts of records",))
        sentence = unusable_sentence(records, blamed)
        return UnusableTableError(sentence, certificate, records, tuple(blamed))


@dataclass(frozen=True)
class RecordRule:
    """Whether usable records are counted, and what a run does where there are few.

    Attributes
    ----------
    check_records
        Whether they are counted, where budget and records are enough.
    on_unusable
        ``"stop"`` or ``"fit"``.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(None, n_rows=100, n_features=1)
    >>> list(RecordRule().checks(tg.GDP(1.0), problem, [TableColumn("feature", "age")]))
    []
    >>> RecordRule().left_out(tg.GDP(1.0), problem)
    'usable records are not counted: the number of records times mu is 100, below 222'
    """

    check_records: bool = True
    on_unusable: str = ON_UNUSABLE[0]

    def __post_init__(self) -> None:
        check_boolean("check_records", self.check_records)
        check_choice("on_unusable", self.on_unusable, ON_UNUSABLE)

    def plan(
        self,
        make: Callable[[Guarantee], tuple[Made, AnyPlan]],
        guarantee: Guarantee,
        problem: Problem,
        columns: Sequence[TableColumn],
    ) -> tuple[Made, AnyPlan, RecordCheck | None]:
        """Plan with what a count of usable records leaves; with all where there is none.

        ``make`` returns something, and its plan, for a guarantee.
        """
        try:
            for check in self.checks(guarantee, problem, columns):
                made, plan = make(check.rest)
                if check.fits(plan):
                    return made, plan, check
        except InputError:
            pass  # what is refused is said of the whole guarantee below
        made, plan = make(guarantee)
        if plan.admits_check:
            plan = replace(plan, remarks=(*plan.remarks, self.left_out(guarantee, problem)))
        return made, plan, None

    def checks(
        self, guarantee: Guarantee, problem: Problem, columns: Sequence[TableColumn]
    ) -> Iterator[RecordCheck]:
        """Yield what may come before a plan: kinds of cells paid by what it leaves, or apart."""
        if not self.check_records or isinstance(guarantee, PureDP | Unprotected):
            return
        if problem.n_rows * guarantee.gaussian_mu() < FEWEST:
            return
        # Of the matrix, target and exposure included, so that levels plan as their indicators do.
        coordinates = 1 + KINDS * (problem.n_features + 2)
        usable = usable_guarantee(guarantee, coordinates)
        mu = usable.gaussian_mu() * (1.0 - BUDGET_MARGIN)
        first, second = (part_of(Gaussian(mu), share) for share in (COUNT_SHARE, KINDS_SHARE))
        size = KINDS * len(columns)
        count = Stage.of(first, "usable records", "how many records can be used", 1, 1)
        kinds = Stage.of(second, "kinds of cells", "which columns cannot be used", 1, size)
        told = tuple(columns), self.on_unusable, count, kinds
        for apart in (False, True):
            # A plan that is not all Gaussian is one whose costs add up as rho, where they do.
            rest = _left_of(usable, mu, COUNT_SHARE + KINDS_SHARE * apart, in_rho=apart)
            yield RecordCheck(guarantee, rest, *told, apart, coordinates)

    def left_out(self, guarantee: Guarantee, problem: Problem) -> str:
        """Say that usable records are not counted, and why."""
        why = "what the plan costs leaves no room for a count"
        if not self.check_records:
            why = "check_records=False"
        elif isinstance(guarantee, PureDP | Unprotected):
            why = "what the plan costs are no squares that add up"
        elif (records := problem.n_rows * guarantee.gaussian_mu()) < FEWEST:
            why = f"the number of records times mu is {records:.3g}, below {FEWEST:g}"
        return f"usable records are not counted: {why}"


def _left_of(guarantee: Guarantee, mu: float, share: float, *, in_rho: bool) -> Guarantee:
    """Return what is left of a guarantee without a share of the square of its mu.

    Of (epsilon, delta) that is what is left of its mu, or of its rho as well.
    """
    left = mu * math.sqrt(1.0 - share)
    if isinstance(guarantee, ApproxDP):
        delta, epsilon = guarantee.delta, epsilon_of(left, guarantee.delta)
        if in_rho:
            rho = rho_of(guarantee.epsilon, delta) - share * mu**2 / 2.0
            epsilon = min(epsilon, epsilon_of_zcdp(rho, delta))
        return ApproxDP(epsilon, delta)
    return ZCDP(left**2 / 2.0) if isinstance(guarantee, ZCDP) else GDP(left)
