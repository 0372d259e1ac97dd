"""Count usable records first, and stop before the budget is spent on void ones.

A run begins with one private count of usable records. If surely fewer than half of the records are
usable, a second release counts the cells of each column by kind, and the run stops with an error
that names the column to blame. The decision and the message depend on released numbers only. The
second release spends budget that the stopped plan leaves; if the plan has noise that is not
Gaussian, the release has its own share. No message names a cell or level.

Guarantee
---------
The count is a stage of the plan, and the other stages are planned with the remaining budget. The
gate admits the second release only if the reserved event covers it. Everything else is
post-processing. If at least half of the records are usable, a run stops by mistake with probability
at most 1e-6.

Reference
---------
Dwork and Roth 2014, Proposition 2.1 (post-processing); Smith and Thakurta 2022 (the questions
of a run, and its end, may depend on released numbers).
"""

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, UnusableTableError, check_boolean, check_choice
from tailguard.data.design import Role, TableColumn
from tailguard.gate.gate import Gate
from tailguard.gate.plan import Plan, Problem
from tailguard.gate.stage import BUDGET_MARGIN, Stage, usable_guarantee
from tailguard.privacy.accounting.gaussian import epsilon_of
from tailguard.privacy.accounting.total_cost import COORDINATE_DISTANCE, satisfies, spent_share
from tailguard.privacy.events import Composed, Event
from tailguard.privacy.flat_events import flatten
from tailguard.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP
from tailguard.queries.usable_records import KINDS, CellKinds, UsableRecords

# A column is named if the count of its unusable cells exceeds this many standard deviations of the
# noise. With 68 sqrt(columns) / mu records, the cells of a whole column are 7.2 deviations. Then a
# column without any usable cell is missed with a chance of 1.6e-4, and another column is named with
# the same chance (computed).
NAMED = 3.6
# A named column also has at least this share of the worst column's unusable cells.
MOSTLY = 0.5
# Messages name at most this many columns.
MOST_NAMED = 3


class BlamedColumn(NamedTuple):
    """A column with many unusable cells: about how many, and why."""

    column: TableColumn
    n_cells: str
    empty: bool


Remedies = Mapping[tuple[Role, bool], str]
"""(Role of a column, whether its cells are empty) -> what to do.

``{name}`` is the column's name, and ``{word}`` the name quoted for a shell.
"""

REMEDIES: Remedies = {
    ("feature", False): "declare its levels (`schema={{'categorical': {{{name!r}: [...]}}}}`) "
    "or dates, write 2,5 as 2.5 and 1,000 as 1000, turn it into numbers, or drop it",
    ("feature", True): "declare a constant for them (`missing={{{name!r}: ...}}`) or drop it",
    ("levels", False): "turn it into text or drop it",
    ("levels", True): "declare a level for them (`missing={{{name!r}: ...}}`) or drop it",
    ("date", False): "write them as 2020-01-31, or declare their format "
    "(`schema={{'dates': {{{name!r}: {{'origin': '2020-01-01', 'unit': 'days', "
    "'format': '%d.%m.%Y'}}}}}}`)",
    ("date", True): "declare a constant for them (`missing={{{name!r}: ...}}`) or drop it",
    ("target", False): "give numbers that the model allows (Gamma: above 0; Poisson "
    "and Tweedie: at least 0), or fit labels by `LogisticRegression(classes=(..., ...))`",
    ("target", True): "fit another column",
    ("labels", False): "declare its labels as they are written, in capitals or not "
    "(`classes=(..., ...)`; by default 0 and 1)",
    ("labels", True): "fit another column",
    ("exposure", False): "give numbers above zero",
    ("exposure", True): "fit without it",
    ("offset", False): "give finite numbers",
    ("offset", True): "fit without it",
    ("weight", False): "give numbers of at least zero",
    ("weight", True): "fit without it",
}
"""What to do in Python."""

UNNAMED: Remedies = {
    ("feature", False): "write 2,5 as 2.5 and 1,000 as 1000, turn it into numbers, or drop it",
}
"""The same for columns without names, where it differs."""

WHAT: Mapping[Role, tuple[str, str]] = {
    "feature": ("Column", "are no numbers"),
    "levels": ("Column", "are no levels"),
    "date": ("Column", "are no dates"),
    "target": ("Target", "are no valid targets"),
    "labels": ("Target", "are none of its labels"),
    "exposure": ("Exposure", "are no exposures"),
    "offset": ("Offset", "are no offsets"),
    "weight": ("Weight", "are no weights"),
}


def blamed_columns(
    columns: Sequence[TableColumn], counts: FloatArray, noise_std: float, n_rows: int
) -> list[BlamedColumn]:
    """Return the columns that surely hold unusable cells, the worst one first.

    Each row of ``counts`` has three noisy counts of one column: numbers, empty and other cells.
    """
    # The three counts add up to the public number of records, which removes a third of the noise.
    fitted = counts + (n_rows - counts.sum(axis=1, keepdims=True)) / 3.0
    noise_std *= math.sqrt(2.0 / 3.0)
    n_unusable = n_rows - fitted[:, 0]
    fewest_unusable = max(NAMED * noise_std, MOSTLY * float(n_unusable.max()))
    worst_first = [int(place) for place in np.argsort(-n_unusable, kind="stable")]
    return [
        BlamedColumn(
            columns[place],
            about(float(fitted[place, 1:].max()), noise_std, n_rows),
            empty=bool(fitted[place, 1] > fitted[place, 2]),
        )
        for place in worst_first
        if n_unusable[place] >= fewest_unusable
    ]


def about(value: float, noise_std: float, most: int) -> str:
    """Return a noised count, from 0 to ``most``, rounded to the digits above its noise."""
    step = 10 ** math.ceil(math.log10(max(noise_std, 1.0)))
    return f"{min(max(round(value / step) * step, 0), most):,}"


def unusable_sentence(
    records: str, blamed: Sequence[BlamedColumn], remedies: Remedies = REMEDIES
) -> str:
    """Describe how many records can be used, which columns are to blame, and what to do."""
    parts = [f"{records[0].upper()}{records[1:]} can be used."]
    parts += [_blame(each, remedies) for each in blamed[:MOST_NAMED]]
    left = len(blamed) - MOST_NAMED
    if left > 0:
        parts.append(f"{left} more {'column is' if left == 1 else 'columns are'} to blame.")
    if not blamed:
        parts.append("The budget is too small to tell which column is to blame.")
    return " ".join(parts)


def _blame(blamed: BlamedColumn, remedies: Remedies) -> str:
    """Return the sentence about one column."""
    role, name = blamed.column
    subject, fault = WHAT[role]
    cells = "empty cells" if blamed.empty else f"cells that {fault}"
    if isinstance(name, int):
        remedies = {**remedies, **UNNAMED}
    remedy = remedies[role, blamed.empty].format(name=name, word=shlex.quote(str(name)))
    named = f"{name} of X" if isinstance(name, int) else repr(name)
    return f"{subject} {named} holds about {blamed.n_cells} {cells}: {remedy}."


Made = TypeVar("Made")
AnyPlan = TypeVar("AnyPlan", bound=Plan)

RESTS_ON = "the result rests on "
"""The beginning of the note on usable records."""

ON_UNUSABLE = ("stop", "fit")
"""What a run does if most records are unusable."""

# Shares of the squared mu of the two releases. The count costs a fit .25 % of its mu.
COUNT_SHARE, KINDS_SHARE = 0.005, 0.015
# A count and noise that is not Gaussian may together slightly exceed the guarantee. Then the plan
# is made again with OVERSHOOT times the excess subtracted, up to MOST_PLANS plans.
OVERSHOOT, MOST_PLANS = 1.1, 4
# Normal noise falls this many standard deviations below zero with probability 9.7e-7 (computed).
SURELY = 4.76
# From this number of records times mu on, a run stops with probability 99.9 % if all records are
# void: half of the records are then 4.76 + 3.09 standard deviations of the noise (computed).
FEWEST = 222.0


@dataclass(frozen=True)
class RecordCheck:
    """The count before a plan, and the budget that remains for the plan.

    Attributes
    ----------
    guarantee, rest
        The guarantee of the whole run, and the part that the plan may spend.
    columns
        The columns whose cells are counted if most records are unusable.
    on_unusable
        What happens if most records are unusable: ``"stop"``, or ``"fit"`` to go on.
    count, kinds
        The stages of the first and of the second release.
    reserves_kinds
        Whether the second release has its own share.
    coordinates
        The largest number of coordinates of both releases.
    any_cell
        Whether one usable cell makes a record usable; otherwise all its cells must be usable.
    """

    guarantee: Guarantee
    rest: Guarantee
    columns: tuple[TableColumn, ...]
    on_unusable: str
    count: Stage
    kinds: Stage
    reserves_kinds: bool
    coordinates: int
    any_cell: bool = False

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages with which the whole plan begins."""
        return (self.count, self.kinds) if self.reserves_kinds else (self.count,)

    @property
    def mu(self) -> float:
        """The total mu of the stages of the check."""
        return math.hypot(*(stage.total_mu for stage in self.stages))

    @property
    def event(self) -> Event:
        """The stages of the check as a privacy event."""
        return Composed(tuple(stage.event for stage in self.stages))

    def whole(self, plan: AnyPlan) -> AnyPlan:
        """Put the stages of the check before a plan that was made for the remaining budget."""
        return replace(plan, guarantee=self.guarantee, stages=(*self.stages, *plan.stages))

    def is_covered(self, event: Event) -> bool:
        """Whether both releases together cost at most ``event``."""
        both = Composed((self.count.event, self.kinds.event))
        return flatten(event).covers(flatten(both))

    def ask(self, gate: Gate) -> str:
        """Return a note on the usable records, or settle the run and stop it."""
        n_rows, query = gate.n_records, UsableRecords(self.any_cell)
        noise_std = query.calibrate(n_rows, gate.n_features, self.count.mu).noise_std
        (usable,) = gate.ask(query, None, self.count)
        noun = "records" if gate.unit.person is None else "persons"
        records = f"about {about(float(usable), noise_std, n_rows)} of {n_rows:,} {noun}"
        if usable >= n_rows / 2.0 - SURELY * noise_std:
            return f"{RESTS_ON}{records}"
        if self.on_unusable == "fit":
            return f"{RESTS_ON}{records}, surely fewer than half: on_unusable='fit' went on"
        raise self._stopped(gate, records)

    def _stopped(self, gate: Gate, records: str) -> UnusableTableError:
        """Count cells by kind, settle the run, and return the error that names columns to blame."""
        kinds = CellKinds(len(self.columns))
        noise_std = kinds.calibrate(gate.n_records, gate.n_features, self.kinds.mu).noise_std
        counts = gate.ask(kinds, None, self.kinds)
        blamed = blamed_columns(self.columns, counts, noise_std, gate.n_records)
        gate.settle(stopped_early=True)
        certificate = gate.certificate(unused_stages=("the run stopped after counts of records",))
        sentence = unusable_sentence(records, blamed)
        return UnusableTableError(sentence, certificate, records, tuple(blamed))


@dataclass(frozen=True)
class RecordRule:
    """Whether usable records are counted, and what a run does if there are few.

    Attributes
    ----------
    check_records
        Whether usable records are counted, provided that budget and records suffice.
    on_unusable
        ``"stop"`` or ``"fit"``.
    any_cell
        Whether one usable cell makes a record usable, as in summaries by column.
    """

    check_records: bool = True
    on_unusable: str = ON_UNUSABLE[0]
    any_cell: bool = False

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
        """Plan with the budget that a count of usable records leaves, or without a count.

        ``make`` takes a guarantee and returns any object together with its plan.
        """
        apart, over = False, 0.0
        try:
            for _ in range(MOST_PLANS):
                check = self.check(guarantee, problem, columns, apart=apart, over=over)
                if check is None:
                    break
                made, plan = make(check.rest)
                if not (plan.admits_check and plan.adds_up):
                    break
                whole = Composed((check.event, plan.event))
                distance = COORDINATE_DISTANCE.times(plan.coordinates + check.coordinates)
                if not check.is_covered(whole):
                    apart = True
                elif satisfies(whole, guarantee, distance=distance):
                    return made, plan, check
                else:
                    over += OVERSHOOT * (spent_share(guarantee, whole) - 1.0)
        except InputError:
            pass  # make refuses again below, and its message then states the whole guarantee
        made, plan = make(guarantee)
        if plan.admits_check:
            plan = replace(plan, remarks=(*plan.remarks, self.left_out(guarantee, problem)))
        return made, plan, None

    def check(
        self,
        guarantee: Guarantee,
        problem: Problem,
        columns: Sequence[TableColumn],
        *,
        apart: bool = False,
        over: float = 0.0,
    ) -> RecordCheck | None:
        """Return the check before a plan, or None.

        ``apart`` gives the counts of cells by kind their own share. ``over`` is the fraction by
        which the guarantee is reduced, because an earlier plan exceeded it.
        """
        if not self.check_records or isinstance(guarantee, PureDP):
            return None
        if problem.n_rows * guarantee.gaussian_mu() < FEWEST:
            return None
        # One for each matrix column, target and offset: levels then need as much as indicators.
        coordinates = 1 + KINDS * (problem.n_features + 2)
        usable = usable_guarantee(guarantee, coordinates)
        mu = usable.gaussian_mu() * (1.0 - BUDGET_MARGIN)
        sizes = problem.n_rows, problem.n_features
        # The lattice may spend less than it is given; the run then plans with what it spends.
        count_mu = UsableRecords().calibrate(*sizes, mu * math.sqrt(COUNT_SHARE)).share
        kinds_mu = CellKinds(len(columns)).calibrate(*sizes, mu * math.sqrt(KINDS_SHARE)).share
        size = KINDS * len(columns)
        first = math.hypot(count_mu, kinds_mu * apart)
        return RecordCheck(
            guarantee=guarantee,
            rest=_without(usable, math.sqrt(mu**2 - first**2), over),
            columns=tuple(columns),
            on_unusable=self.on_unusable,
            count=Stage("usable records", "how many records can be used", count_mu, 1, 1),
            kinds=Stage("kinds of cells", "which columns cannot be used", kinds_mu, 1, size),
            reserves_kinds=apart,
            coordinates=coordinates,
            any_cell=self.any_cell,
        )

    def left_out(self, guarantee: Guarantee, problem: Problem) -> str:
        """Return the note that usable records are not counted, and why."""
        why = "the plan leaves no budget for a count"
        if not self.check_records:
            why = "check_records=False"
        elif isinstance(guarantee, PureDP):
            why = "the costs of the plan do not add up as squares"
        elif (records := problem.n_rows * guarantee.gaussian_mu()) < FEWEST:
            why = f"the number of records times mu is {records:.3g}, below {FEWEST:g}"
        return f"usable records are not counted: {why}"


def _without(guarantee: Guarantee, mu: float, over: float) -> Guarantee:
    """Return the guarantee of the same kind with this mu, less the fraction ``over``."""
    if isinstance(guarantee, ApproxDP):
        return ApproxDP(epsilon_of(mu, guarantee.delta) * (1.0 - over), guarantee.delta)
    if isinstance(guarantee, ZCDP):
        return ZCDP(mu**2 / 2.0 * (1.0 - over))
    return GDP(mu * (1.0 - over))
