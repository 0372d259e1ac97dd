"""Private means: one function for all methods, which its docstring lists."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from inspect import signature
from os import PathLike
from textwrap import fill, indent
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_arguments, named_arguments, shown
from tailguard.data.inputs import Inputs
from tailguard.data.missing import notes_of_table
from tailguard.data.schema import Declared
from tailguard.estimators.reports import mean_report
from tailguard.estimators.summary import ENDS, LEVEL, WIDTH, CoefficientRow, table_lines
from tailguard.estimators.wald import normal_quantile
from tailguard.gate import Gate
from tailguard.gate.engine import Solved, run
from tailguard.gate.plan import Problem
from tailguard.gate.record_check import RecordRule
from tailguard.ledger.cap import within_filter
from tailguard.means.base import MeanMethod, MeanPlan, MeanSolution
from tailguard.means.choice import MEANS, Choice, choose, described, own_options
from tailguard.means.private_units import mean_scale_warnings
from tailguard.moments import Moment
from tailguard.printable import (
    four_digits,
    html_words,
    notebook_table,
    printable,
    screen_width,
    to_error,
)
from tailguard.privacy.books import AnyLedger
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.guarantees import Guarantee, resolve_guarantee
from tailguard.report.content import Report, Reported, Stated
from tailguard.summaries.released import read_features

HEADERS = ("mean", "privacy noise", *ENDS)
INTERVAL_NOTE = (
    f"{ENDS[0]}, {ENDS[1]}: a 95 % interval of the mean of these records, for privacy noise and "
    "the bias of clipping; nan if noise hides it. Sampling error comes on top"
)
"""The note below a table of means."""


@dataclass(frozen=True, eq=False)
class MeanResult(Reported):
    """A private mean with its certificate.

    Attributes
    ----------
    value
        The mean of each column, in the units of the data; a float for a single vector.
    noise_std
        Predicted standard deviation of the privacy noise of each mean; NaN if the option ``centre``
        is a function, or if noise hides all cells of a column that are not near zero. It includes
        neither sampling error nor the bias of clipping.
    low, high
        The ends of the 95 % interval of the mean of the records, for privacy noise and the bias of
        clipping together. They are NaN if noise hides how far cells lie, and for any method but
        ``"clipped"`` in private units. Sampling error comes on top.
    method
        The name of the method that was used.
    certificate
        What was promised, released and assumed.
    names
        The names of the columns, if the data had any.
    found
        Released numbers that the method used, such as a clip level.
    notes
        Assumptions about columns, and how many records are usable.

    Examples
    --------
    >>> import tailguard as tg
    >>> x = tg.datasets.heavy_tailed_linear(n_rows=2000, n_features=2, seed=0).features
    >>> result = tg.mean(x, guarantee=tg.GDP(1.0), method="clipped", random_state=0)
    >>> result.value.shape, result.method
    ((2,), 'clipped')
    """

    value: FloatArray | float
    noise_std: FloatArray | float
    low: FloatArray | float
    high: FloatArray | float
    method: str
    certificate: Certificate
    choice: Choice
    names: tuple[str, ...] | None = None
    found: Mapping[str, float | int | str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def explain(self) -> str:
        """Describe how the budget was spent, and why the method was chosen."""
        numbers = [f"released: {name} = {four_digits(value)}" for name, value in self.found.items()]
        details = [f"  {line}" for line in (*numbers, *self.notes)]
        return "\n".join([self.choice.explain(), *details, *self.certificate.mode_lines])

    def rows(self) -> list[tuple[str, float, float, float, float]]:
        """Return name, value, predicted noise, and the ends of the interval of each column."""
        released = (self.value, self.noise_std, self.low, self.high)
        numbers = [np.atleast_1d(each).tolist() for each in released]
        names = self.names or [f"x{column}" for column in range(len(numbers[0]))]
        return [*zip(names, *numbers, strict=True)]

    def _report(self, stated: Stated) -> Report:
        """Return the report of the means."""
        return mean_report(self.method, self.rows(), self.certificate, stated, self.notes)

    def to_frame(self) -> Any:
        """Return the means as a pandas DataFrame, one row per column."""
        import pandas as pd  # noqa: PLC0415 (loaded where a frame is asked for)

        return pd.DataFrame(self.rows(), columns=["column", "mean", "noise_std", "low", "high"])

    def _heading(self) -> list[str]:
        certificate = self.certificate
        return [
            f"private mean ({self.method}), {certificate.unit.size(certificate.n_rows)}, "
            f"mode: {certificate.mode}",
            certificate.guarantee.describe(),
        ]

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        rows = [(row.name, *row.cells.values()) for row in self._cells()]
        parts = [f"<p>{html_words(line)}</p>" for line in self._heading()]
        parts.append(notebook_table(rows, ("column", *HEADERS), numbers=(1, 2, 3, 4)))
        notes = (INTERVAL_NOTE, *self.notes)
        return "\n".join([*parts, *(f"<p>{html_words(note)}</p>" for note in notes)])

    def __repr__(self) -> str:
        width = screen_width(WIDTH)
        heading, notes = (
            [fill(line, width) for line in lines]
            for lines in (self._heading(), (INTERVAL_NOTE, *self.notes))
        )
        return "\n".join([*heading, *self.table(width), *notes])

    def table(self, width: int) -> list[str]:
        """Return the lines of a table of means; a table wider than ``width`` is stacked."""
        return table_lines(self._cells(), HEADERS, width)

    def _cells(self) -> list[CoefficientRow]:
        """Return the rows as texts. Ends show a digit more than where the noise begins."""
        rows = []
        for name, value, noise, *ends in self.rows():
            low, high = (to_error(end, noise) for end in ends)
            cells = (f"{value:.6g}", f"{noise:.3g}", low, high)
            rows.append(CoefficientRow(printable(name), dict(zip(HEADERS, cells, strict=True))))
        return rows


@named_arguments
def mean(
    X: Any,
    *,
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
    method: str | MeanMethod = "auto",
    moment: Moment | None = None,
    schema: Declared | None = None,
    ledger: AnyLedger | None = None,
    checkpoint: str | PathLike[str] | None = None,
    check_records: bool = True,
    on_unusable: str = "stop",
    random_state: int | None = None,
    **options: Any,
) -> MeanResult:
    """Estimate the mean of every column, privately, however heavy its tails are.

    Parameters
    ----------
    X
        Numeric columns, or one vector: NumPy arrays, sparse matrices of SciPy, or pandas, polars
        and pyarrow tables; or the path of a file, a folder or a pattern of Parquet files, or
        another source in batches.
    columns
        A list of columns by their names; all of a table by default.
    row_id
        The name of a column with a different value in every row: the rows then need no order.
    order
        ``"any"`` if rows have neither an order nor a ``row_id``, for methods that need no places.
    sample_weight, weight_bound
        The weight of each row, a number per row or the name of a column; and the largest weight
        that counts in full, chosen without looking at the rows. Larger weights are cut to it. The
        result is the weighted mean. Only ``"clipped"`` takes weights, without a ``clip_norm``.
    person, max_rows
        A key per row that identifies its person, or the name of a column of keys; and the largest
        number of rows of a person that are used. All rows of a person are then protected together,
        and the result is the mean over persons of the means of their rows.
    epsilon, delta, guarantee
        The privacy parameters. There is no default.
    method
        ``"auto"`` takes the method with the smallest predicted error, by public facts only (see
        ``explain()``). Or an object that plans and runs, or one of these names.
        {methods}
    moment
        An assumption about the tails, a ``tg.Moment``. Without it, a scale and a centre of every
        column are released first, and you need to know nothing about the data. With it, ``"auto"``
        may still release these, or a histogram in units of the moment, if that predicts less error.
    schema
        Declarations of a table's columns: a ``tg.Schema``, a dict or the path of a JSON file. Means
        are those of the features; the mean of a level is the share of records that have it.
    ledger, checkpoint, check_records, on_unusable, random_state
        As for ``LinearRegression``.
    options
        Options of the method, such as ``n_groups=1``, ``clip_norm=10.0``, ``threshold=5.0``, or
        for ``"trimmed"`` ``low=0.0, high=9.0`` and ``calibration="numerical"``, for a cost that is
        certified on a grid and not proved. ``centre=`` of ``"iterative"`` may be a function of your
        own, from the released means of groups, one per row, to a vector.

    Returns
    -------
    MeanResult
        With ``value``, ``noise_std``, ``certificate`` and ``explain()``.

    Guarantee
    ---------
    The result is private at the certificate's guarantee for replace-one neighbours with public
    ``n``, for every input. Moments are assumed for accuracy alone. A weight is part of its record,
    and the total weight of all records is released.

    Edge cases
    ----------
    A record with a missing or infinite value is void: it stays counted and contributes nothing.
    With an assumed moment it counts as zero. A record with a missing, infinite or negative weight
    is void, too. Pairs and groups of records are drawn at random, so a sorted file is as good as
    any other.

    Reference
    ---------
    Zhao et al. 2024 (clipped, iterative); Kamath, Liu and Zhang 2022 (clamped); Tao, Wu, Cheng and
    Wang 2022 (truncated); Wang, Xiao, Devadas and Xu 2020 (soft, trimmed).

    Examples
    --------
    >>> import tailguard as tg
    >>> claims = tg.datasets.insurance_claims(n_rows=20_000, seed=0)
    >>> result = tg.mean(claims.target, epsilon=1.0, delta=1e-6)
    >>> result.certificate.mode
    'private'
    """
    if isinstance(method, str):
        check_arguments("mean", {*options} - {*EVERY_OPTION}, KNOWN)
    requested = resolve_guarantee(epsilon=epsilon, delta=delta, guarantee=guarantee)
    promise = within_filter(requested, ledger)
    if moment is not None and not isinstance(moment, Moment):
        raise InputError(f"moment must be a tg.Moment or None; got {shown(moment)}.")
    table = read_features(
        X,
        schema,
        columns=columns,
        row_id=row_id,
        order=order,
        sample_weight=sample_weight,
        weight_bound=weight_bound,
        persons={"keys": person, "max_rows": max_rows},
    )
    problem = _problem_of(table, moment)

    def make(remaining: Guarantee) -> tuple[Choice, MeanPlan]:
        chosen = choose(method, problem, remaining, **options)
        return chosen, replace(chosen.plan, warnings=mean_scale_warnings(chosen.plan))

    with np.errstate(all="ignore"):
        rule = RecordRule(check_records, on_unusable)
        choice, plan, check = rule.plan(make, promise, problem, table.columns)
    gate = Gate.over(
        table,
        guarantee=promise if check else plan.guarantee,
        ledger=ledger,
        checkpoint=checkpoint,
        random_state=random_state,
    )
    solved = run(choice.method, plan, gate, assumptions=notes_of_table(table), check=check)
    choice = replace(choice, plan=plan if check is None else check.whole(plan))
    return _result(solved, choice, table)


def _problem_of(table: Inputs, moment: Moment | None) -> Problem:
    """Return the public facts of a table, and the assumed moment."""
    sizes, weighted = (table.n_records, table.n_features), table.weight is not None
    return Problem(None, *sizes, moment=moment, max_rows=table.max_rows, has_weights=weighted)


def _result(solved: Solved, choice: Choice, table: Inputs) -> MeanResult:
    """Return the result of a run; for a single vector, its numbers are floats."""
    solution = solved.solution
    noise_std, names = solution.coef_noise_std, table.names
    notes = solved.notes
    if isinstance(solution, MeanSolution):
        notes += solution.column_notes(
            [printable(n) for n in names or (f"x{i}" for i in range(len(noise_std)))]
        )
    half = np.full(noise_std.shape, np.nan)
    if isinstance(solution, MeanSolution):
        half = normal_quantile(LEVEL) * solution.error_std

    def shown_as(numbers: FloatArray) -> FloatArray | float:
        return float(numbers[0]) if table.is_vector else numbers

    return MeanResult(
        value=shown_as(solved.coef),
        noise_std=shown_as(noise_std),
        low=shown_as(solved.coef - half),
        high=shown_as(solved.coef + half),
        method=choice.plan.solver,
        certificate=solved.certificate,
        choice=choice,
        notes=notes,
        names=names,
        found=solution.found,
    )


EVERY_OPTION = {option: None for name in MEANS for option in own_options(name)}
KNOWN = (*(name for name in signature(mean).parameters if name != "options"), *EVERY_OPTION)
mean.__doc__ = str(mean.__doc__).replace("{methods}", indent(described(), 8 * " ").lstrip())
