"""One run of a summary: from the table and the options to the released statistics.

Reference
---------
Dwork and Roth 2014, Proposition 2.1 (post-processing): results are computed from released numbers.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from os import PathLike
from typing import Any, ParamSpec, TypedDict, TypeVar

import numpy as np

from tailguard.checks import InputError, check_choice, named_arguments, shown
from tailguard.data.declarations import restricted
from tailguard.data.design import weights_by_schema
from tailguard.data.frames import plain_list
from tailguard.data.inputs import Inputs, read_inputs
from tailguard.data.missing import notes_of_table
from tailguard.data.readers.opening import opened
from tailguard.data.schema import Declared, Schema
from tailguard.data.table import names_in
from tailguard.gate import Gate
from tailguard.gate.engine import Solved, run
from tailguard.gate.plan import Problem
from tailguard.gate.record_check import RecordRule
from tailguard.ledger.cap import within_filter
from tailguard.privacy.books import AnyLedger
from tailguard.privacy.guarantees import Guarantee, resolve_guarantee
from tailguard.queries.level_tables import Indicators, n_codes
from tailguard.summaries.notes import all_notes
from tailguard.summaries.statistics import Statistics, SummarySolution

P = ParamSpec("P")
T = TypeVar("T")


class RunOptions(TypedDict, total=False):
    """The options of a run that every summary takes, as in ``tg.mean``.

    The privacy parameters, ``epsilon`` and ``delta`` or ``guarantee``, have no default.
    """

    columns: Any
    row_id: str | None
    order: str
    sample_weight: Any
    weight_bound: float | None
    person: Any
    max_rows: int | None
    epsilon: float | None
    delta: float | None
    guarantee: Guarantee | None
    schema: Declared | None
    ledger: AnyLedger | None
    checkpoint: str | PathLike[str] | None
    check_records: bool
    on_unusable: str
    random_state: int | None


def summary(call: Callable[P, T]) -> Callable[P, T]:
    """Decorate a summary: it refuses unknown arguments and names them."""
    return named_arguments(call, RunOptions.__annotations__)


@dataclass(frozen=True, eq=False)
class SummaryTable:
    """The public facts of a table: its columns of numbers, and its columns of declared levels.

    Attributes
    ----------
    inputs
        The table.
    numbers
        Name of a column of numbers -> its place among the features.
    declared
        Name of a declared column -> the places of the indicators of its levels.
    levels
        Name of a declared column -> its levels as text, then ``other`` and ``missing``.
    """

    inputs: Inputs
    numbers: Mapping[str, int]
    declared: Mapping[str, tuple[int, ...]]
    levels: Mapping[str, tuple[str, ...]]

    @property
    def unit(self) -> float:
        """The weight that a count of one means: 1, or the largest weight that counts in full."""
        return 1.0 if self.inputs.weight is None else self.inputs.weight.bound

    @classmethod
    def of(cls, inputs: Inputs) -> "SummaryTable":
        """Take the columns from the schema, or from the names of a matrix."""
        names = inputs.names or tuple(f"x{place}" for place in range(inputs.n_features))
        if inputs.schema is None:
            return cls(inputs, {name: place for place, name in enumerate(names)}, {}, {})
        schema = inputs.schema
        with_levels = [name for name in schema.features or () if name in schema.levels]
        declared = dict(zip(with_levels, schema.level_columns, strict=True))
        indicator_places = {place for places in declared.values() for place in places}
        numbers = {name: place for place, name in enumerate(names) if place not in indicator_places}
        levels = {name: _with_last(schema.levels[name]) for name in declared}
        return cls(inputs, numbers, declared, levels)

    def indicators(self, parameter: str, names: Any) -> tuple[tuple[str, ...], Indicators]:
        """Return the indicators of declared columns by name; refuse unknown names."""
        chosen = _checked_names(parameter, names, self.declared)
        return chosen, tuple(self.declared[name] for name in chosen)

    def groups(self, by: str | Sequence[str] | None) -> tuple[tuple[str, ...], Indicators]:
        """Return the names of all groups, in the order of their release, and the indicators.

        Without ``by`` there is one group, with an empty name. Too many groups are refused.
        """
        if by is None:
            return ("",), ()
        chosen, indicators = self.indicators("by", by)
        groups = n_codes(indicators)
        if len(indicators) > MOST_GROUPING or groups > MOST_GROUPS:
            raise InputError(
                f"by must name at most {MOST_GROUPING} columns that make at most {MOST_GROUPS} "
                f"groups; got {len(indicators)} columns and {groups} groups."
            )
        levels = ([f"{name}={level}" for level in self.levels[name]] for name in chosen)
        return tuple(", ".join(parts) for parts in product(*levels)), indicators

    def names_of(self, places: Sequence[int]) -> list[str]:
        """Return the names of columns of numbers, by their places."""
        names = {place: name for name, place in self.numbers.items()}
        return [names[place] for place in places]

    def rows(self, by: str | Sequence[str] | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the group and the column of each row of numbers, group by group."""
        groups, n_columns = self.groups(by)[0], len(self.numbers)
        return tuple(np.repeat(groups, n_columns).tolist()), (*self.numbers,) * len(groups)

    def codes(self, name: str, levels: Any) -> tuple[int, ...]:
        """Return the codes of levels of a declared column; refuse unknown levels."""
        listed = [levels] if isinstance(levels, str | int) else plain_list(levels)
        known, parameter = self.levels[name], f"where[{name!r}]"
        if not listed:
            rule = f"{parameter} must be a level or a list of levels"
            raise InputError(f"{rule}; got {shown(levels)}.")
        return tuple(known.index(check_choice(parameter, str(each), known)) for each in listed)

    def needs_numbers(self) -> tuple[int, ...]:
        """Return the places of the columns of numbers; refuse a table that has none."""
        if not self.numbers:
            raise InputError("X must have a column of numbers; all are declared to have levels.")
        return tuple(self.numbers.values())


def named_columns(parameter: str, names: Any, schema: Declared | None) -> tuple[str, ...]:
    """Return columns of declared levels by name, before any table is read; refuse unknown names."""
    declared = {} if schema is None else Schema.of(schema).categorical
    return _checked_names(parameter, names, declared)


def _checked_names(parameter: str, names: Any, declared: Collection[str]) -> tuple[str, ...]:
    listed = [names] if isinstance(names, str) else plain_list(names)
    if listed is None:
        raise InputError(f"{parameter} must be a name or a list of names; got {shown(names)}.")
    chosen = tuple(listed)
    if not declared:
        raise InputError(
            f"{parameter} must name columns of declared levels, and none is declared: give "
            "schema={'categorical': {name: [levels]}}."
        )
    for name in chosen:
        check_choice(parameter, name, declared)
    if not chosen or len(set(chosen)) < len(chosen):
        raise InputError(f"{parameter} must name columns that differ; got {shown(names)}.")
    return chosen


# The most columns that make groups, and the most groups; with more, results would be mostly noise.
MOST_GROUPING, MOST_GROUPS = 3, 1000
OTHER, MISSING = "other", "missing"
"""Names of the last two levels of a declared column: undeclared levels, and empty cells."""


def _with_last(declared: Sequence[str]) -> tuple[str, ...]:
    """Return all levels of a column; empty cells have a longer name if a level is ``missing``."""
    empty = MISSING
    while empty in declared:
        empty = f"{empty} cell"
    return *declared, OTHER, empty


def released(
    X: Any,
    make: Callable[[SummaryTable], Statistics],
    *,
    reads: Sequence[str] = (),
    by: str | Sequence[str] | None = None,
    columns: Any = None,
    row_id: str | None = None,
    order: str = "file",
    sample_weight: Any = None,
    weight_bound: float | None = None,
    person: Any = None,
    max_rows: int | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    guarantee: Guarantee | None = None,
    schema: Declared | None = None,
    ledger: AnyLedger | None = None,
    checkpoint: str | PathLike[str] | None = None,
    check_records: bool = True,
    on_unusable: str = "stop",
    random_state: int | None = None,
    assumptions: tuple[str, ...] = (),
    conditions: tuple[str, ...] = (),
    quantity: str = "mean",
    spread: str = "",
) -> tuple[Solved, SummarySolution, SummaryTable]:
    """Plan and run the statistics that ``make`` returns; ``reads`` names the columns they need.

    If ``columns`` are chosen, those that make groups are read as well. Notes on moments are about
    the ``quantity`` that the caller shows: means or variances. ``spread`` names the measure of
    spread that the caller shows, if any.
    """
    if by is not None and isinstance(columns, list | tuple):
        columns = list(dict.fromkeys([*columns, *named_columns("by", by, schema)]))
    requested = resolve_guarantee(epsilon=epsilon, delta=delta, guarantee=guarantee)
    promise = within_filter(requested, ledger)
    rule = RecordRule(check_records, on_unusable, any_cell=True)
    read_options = {"reads": reads, "columns": columns, "row_id": row_id, "order": order}
    read_options |= {"sample_weight": sample_weight, "weight_bound": weight_bound}
    read_options["persons"] = {"keys": person, "max_rows": max_rows}
    inputs = X if isinstance(X, Inputs) else read_features(X, schema, **read_options)
    table = SummaryTable.of(inputs)
    solver = replace(make(table), weighted=inputs.weight is not None)
    problem = Problem(None, inputs.n_records, inputs.n_features, max_rows=inputs.max_rows)
    with np.errstate(all="ignore"):
        solver, plan, check = rule.plan(
            lambda rest: (solver, solver.plan(problem, rest)), promise, problem, inputs.columns
        )
    promised = promise if check else plan.guarantee
    gate = Gate.over(
        inputs, guarantee=promised, ledger=ledger, checkpoint=checkpoint, random_state=random_state
    )
    assumed = (*notes_of_table(inputs, by_cell=True), *assumptions)
    solved = run(solver, plan, gate, assumptions=assumed, conditions=conditions, check=check)
    solution = solved.solution
    assert isinstance(solution, SummarySolution)
    if not solution.notes:
        names = None if solver.by else table.names_of(solver.columns)
        notes = all_notes(names, solution, quantity, spread, solver.levels, table.unit)
        solved = replace(solved, solution=replace(solution, notes=notes))
    return solved, solution, table


def read_features(
    X: Any,
    schema: Declared | None,
    *,
    reads: Sequence[str] = (),
    columns: Any = None,
    sample_weight: Any = None,
    weight_bound: float | None = None,
    **read_options: Any,
) -> Inputs:
    """Read the features of a mean or a summary, with at least one row and one column.

    By default the columns are those that ``reads`` names, if the table has names, and otherwise
    all; and the weights are those that the schema declares.
    """
    declared, X = None if schema is None else Schema.of(schema), opened(X)
    if columns is None and reads and names_in(X):
        columns = list(reads)
    if declared is not None and isinstance(columns, list | tuple):
        declared, columns = restricted(declared, columns), None
    read_options["columns"] = columns
    weight, bound = weights_by_schema(declared, sample_weight, weight_bound)
    weights = {"sample_weight": weight, "weight_bound": bound}
    inputs = read_inputs(X, schema=declared, features_only=True, **weights, **read_options)
    shape = inputs.n_records, inputs.n_features
    if min(shape) < 1:
        raise InputError(f"X must have at least one row and one column; got shape {shape}.")
    if inputs.weight is not None and math.isinf(inputs.weight.bound * inputs.n_records):
        raise InputError(
            f"weight_bound must be such that {inputs.n_records} rows of this weight add up to a "
            f"finite number; got {shown(inputs.weight.bound)}."
        )
    return inputs
