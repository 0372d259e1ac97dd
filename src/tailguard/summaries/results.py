"""Results of summaries: tables that print, render and convert to frames.

Reference
---------
Wilson 2021, "Statistical disclosure control" states the rule kept here: each estimate stands beside
its uncertainty. The tables are post-processing of released numbers.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, takewhile
from operator import itemgetter
from textwrap import fill
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from tailguard.gate.engine import Solved
from tailguard.printable import html_words, notebook_table, printable, screen_width
from tailguard.privacy.certificate import Certificate
from tailguard.report import plot
from tailguard.report.content import Report, Reported, ReportTable, Stated

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 100  # the most characters in a printed line
GAP = 2  # spaces between columns
GROUP = "group"
"""The header of the column of groups."""
UNKNOWN = "-"
"""A cell that noise hides."""
INTERVAL = ("95% from", "to")
"""The headers of both ends of an interval."""
NOISE = "privacy noise"
"""The header of the standard deviation of the noise."""
IN_FRAMES = {INTERVAL: ("low", "high"), (NOISE,): ("noise_std",)}
"""Headers -> their names in a frame, as in the frames of coefficients and means."""
COLUMNS = "columns"
"""The title of a table that has none of its own."""

Cell = str | float | int


class ResultTable(NamedTuple):
    """A table of a summary: its title, its header and its rows."""

    title: str
    header: tuple[str, ...]
    rows: list[tuple[Cell, ...]]


def by_groups(title: str, header: Sequence[str], rows: Iterable[tuple[Cell, ...]]) -> ResultTable:
    """Return a table of rows whose first cell is a group; the column is dropped if all are empty.

    Examples
    --------
    >>> by_groups("", ("column", "mean"), [("", "age", 41.25)])
    ResultTable(title='', header=('column', 'mean'), rows=[('age', 41.25)])
    """
    grouped = list(rows)
    if any(group for group, *_ in grouped):
        return ResultTable(title, (GROUP, *header), grouped)
    return ResultTable(title, tuple(header), [row[1:] for row in grouped])


def reported_table(
    title: str, header: Sequence[str], rows: Iterable[Sequence[Cell | None]]
) -> ReportTable:
    """Return a table for a report; title, header and rows may also be read back from JSON.

    Examples
    --------
    >>> reported_table("", ("column", "mean"), [("age", 41.25), ("fee", None)]).rows
    (('age', '41.25'), ('fee', '-'))
    """
    cells = (shown_row(header, row) for row in rows)
    return ReportTable(title or COLUMNS, tuple(header), tuple(cells))


def shown_row(header: Sequence[str], row: Sequence[Cell | None]) -> tuple[str, ...]:
    """Return the cells of a row as text; noise has three digits, as in other tables.

    Examples
    --------
    >>> shown_row(("share", "privacy noise"), (0.29394, 0.00114355))
    ('0.29394', '0.00114')
    """
    pairs = zip(header, row, strict=True)
    return tuple(_shown(cell, 3 if name == NOISE else 6) for name, cell in pairs)


def _shown(cell: Cell | None, digits: int) -> str:
    if isinstance(cell, str):
        return printable(cell)
    if isinstance(cell, int):
        return f"{cell:,}"
    return UNKNOWN if cell is None or math.isnan(cell) else f"{cell + 0.0:.{digits}g}"  # no -0


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SummaryResult(Reported):
    """Base of the results of summaries.

    Attributes
    ----------
    solved
        The solution, with its plan and certificate.
    title
        The heading of the table.
    """

    solved: Solved
    title: str
    picture: ClassVar[str] = "quantiles"
    """The function of ``tg.plot`` that draws it."""

    @property
    def certificate(self) -> Certificate:
        """What was promised, released and assumed."""
        return self.solved.certificate

    @property
    def notes(self) -> tuple[str, ...]:
        """Assumptions about columns, how many records are usable, and what noise hides."""
        return self.solved.notes

    def explain(self, width: int = WIDTH) -> str:
        """Describe what the budget was spent on, by statistic; lines are folded at ``width``."""
        lines = [*self.solved.plan.explain().split("\n"), *(f"  {note}" for note in self.notes)]
        lines += self.certificate.mode_lines
        return "\n".join(fill(line, width, subsequent_indent=6 * " ") for line in lines)

    def tables(self) -> list[ResultTable]:
        """Return the tables; the first one is that of ``to_frame``."""
        raise TypeError(f"{type(self).__name__} must define tables.")

    def to_frame(self) -> Any:
        """Return the first table as a pandas DataFrame.

        The ends of 95 % intervals are ``low`` and ``high``, and privacy noise is ``noise_std``.
        """
        import pandas as pd  # noqa: PLC0415 (loaded where a frame is asked for)

        table = self.tables()[0]
        columns = list(table.header)
        for place in range(len(columns)):  # a column of the user may be named "to"
            for headers, names in IN_FRAMES.items():
                if table.header[place : place + len(headers)] == headers:
                    columns[place : place + len(headers)] = names
        return pd.DataFrame(table.rows, columns=columns)

    def plot(self, ax: "Axes | None" = None, *, columns: Collection[str] | None = None) -> "Axes":
        """Draw the result with its function of ``tg.plot``; ``columns`` selects some columns."""
        chosen = {} if columns is None else {"columns": columns}
        return getattr(plot, self.picture)(self, ax, **chosen)

    def _report(self, stated: Stated) -> Report:
        """Return the report of the summary."""
        return Report(
            subject=self.title,
            certificate=self.certificate,
            tables=tuple(reported_table(*table) for table in self.tables()),
            notes=self.notes,
            stated=stated,
        )

    def _heading(self) -> list[str]:
        certificate = self.certificate
        return [
            f"{self.title}, {certificate.unit.size(certificate.n_rows)}, mode: {certificate.mode}",
            certificate.guarantee.describe(),
        ]

    def to_text(self, width: int = WIDTH) -> str:
        """Return the result as text; tables wider than ``width`` are folded, and nothing is cut."""
        lines = [fill(line, width) for line in self._heading()]
        for table in self.tables():
            lines += ["", table.title] if table.title else []
            lines += text_table(table, width)
        return "\n".join([*lines, *(fill(note, width) for note in self.notes)])

    def __repr__(self) -> str:
        return self.to_text(screen_width(WIDTH))

    def _repr_html_(self) -> str:
        parts = [f"<p>{escape(line)}</p>" for line in self._heading()]
        for table in self.tables():
            parts += [f"<h4>{escape(table.title)}</h4>"] if table.title else []
            parts.append(
                notebook_table((shown_row(table.header, row) for row in table.rows), table.header)
            )
        parts += [f"<p>{html_words(note)}</p>" for note in self.notes]
        return "\n".join(parts)


def text_table(table: ResultTable, width: int = WIDTH) -> list[str]:
    """Return the lines of a table, the first column to the left and the others to the right.

    A table wider than ``width`` is folded: each part repeats the first column, and the columns of
    text beside it. If groups have several rows each, a folded table has all parts of a group below
    its name, without rows whose cells are all unknown; a dash stands beside the name if no row is
    left.

    Examples
    --------
    >>> table = ResultTable("", ("column", "mean", "median"), [("age", 41.25, 40.0)])
    >>> print(*text_table(table, width=14), sep=chr(10))
    column   mean
    age     41.25
    <BLANKLINE>
    column  median
    age         40
    """
    shown = [table.header, *(shown_row(table.header, row) for row in table.rows)]
    n_names, n_groups = _count_names(table), len({row[0] for row in shown[1:]})
    parts = _folded(shown, n_names, width)
    if len(parts) > 1 and table.header[0] == GROUP and n_groups < len(table.rows):
        return _grouped_lines(shown, n_names, width)
    lines = []
    for part in parts:
        lines += ["", *(_line(row, _widths(shown), part) for row in shown)]
    return lines[1:]


def _grouped_lines(shown: Sequence[Sequence[str]], n_names: int, width: int) -> list[str]:
    """Return each group's name and, below it, all parts of its rows, without unknown rows."""
    header, widths = shown[0][1:], _widths(shown)[1:]
    parts = _folded([row[1:] for row in shown], n_names - 1, width)
    lines: list[str] = []
    for group, rows in groupby(shown[1:], key=itemgetter(0)):
        cells = [row[1:] for row in rows]
        heading, n_lines = ["", group], len(lines)
        for part in parts:
            known = [row for row in cells if any(row[j] != UNKNOWN for j in part[n_names - 1 :])]
            if known:
                lines += [*heading, *(_line(row, widths, part) for row in (header, *known))]
                heading = [""]
        if len(lines) == n_lines:
            lines += ["", f"{group}{GAP * ' '}{UNKNOWN}"]
    return lines[1:]


def _count_names(table: ResultTable) -> int:
    """Return the number of columns that each part repeats: the first one, and text beside it."""
    columns = [*zip(*table.rows, strict=True)][1:]
    texts = takewhile(lambda column: all(isinstance(cell, str) for cell in column), columns)
    return 1 + sum(1 for _ in texts)


def _widths(shown: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) + GAP for column in zip(*shown, strict=True)]


def _folded(shown: Sequence[Sequence[str]], n_names: int, width: int) -> list[list[int]]:
    """Return the columns of each part of a table whose first columns are names."""
    header, widths, names = shown[0], _widths(shown), range(n_names)
    parts: list[list[int]] = [[*names]]
    for column in range(n_names, len(widths)):
        # Both ends of an interval stay together: the header of its upper end is "to" or "... high".
        is_lower = "".join(header[column + 1 : column + 2]).endswith(("to", " high"))
        needed = sum(widths[other] for other in (*parts[-1], column, *[column + 1] * is_lower))
        if len(parts[-1]) > n_names and needed > width + GAP:
            parts.append([*names])
        parts[-1].append(column)
    return parts


def _line(row: Sequence[str], widths: Sequence[int], columns: Sequence[int]) -> str:
    """Return the cells of a row in these columns, side by side."""
    first, *others = columns
    cells = [row[first].ljust(widths[first] - GAP), *(row[j].rjust(widths[j]) for j in others)]
    return "".join(cells).rstrip()
