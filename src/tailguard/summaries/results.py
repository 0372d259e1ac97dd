"""Results of summaries: tables that print, render in a notebook, and convert to frames.

Reference
---------
Wilson 2021, "Statistical disclosure control" states the rule kept here: each estimate stands beside
its uncertainty. The tables are post-processing of released numbers.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import takewhile
from textwrap import fill
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from tailguard.gate.engine import Solved
from tailguard.printable import printable
from tailguard.privacy.certificate import Certificate
from tailguard.report import plot
from tailguard.report.content import Report, Reported, ReportTable, Stated

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 100  # characters in a printed line
COLUMNS = "columns"
"""The title of a table that has none of its own."""

Cell = str | float | int


class ResultTable(NamedTuple):
    """A table of a summary: its title, its header and its rows."""

    title: str
    header: tuple[str, ...]
    rows: list[tuple[Cell, ...]]


def by_groups(title: str, header: Sequence[str], rows: Iterable[tuple[Cell, ...]]) -> ResultTable:
    """Return a table of rows that begin with their groups; without groups it has no such column.

    Examples
    --------
    >>> by_groups("", ("column", "mean"), [("", "age", 41.25)])
    ResultTable(title='', header=('column', 'mean'), rows=[('age', 41.25)])
    """
    found = list(rows)
    if any(group for group, *_ in found):
        return ResultTable(title, ("group", *header), found)
    return ResultTable(title, tuple(header), [row[1:] for row in found])


def reported_table(
    title: str, header: Sequence[str], rows: Iterable[Sequence[Cell | None]]
) -> ReportTable:
    """Return a table for a report, from its parts or from their JSON form.

    Examples
    --------
    >>> reported_table("", ("column", "mean"), [("age", 41.25), ("fee", None)]).rows
    (('age', '41.25'), ('fee', '-'))
    """
    cells = (tuple("-" if cell is None else _shown(cell) for cell in row) for row in rows)
    return ReportTable(title or COLUMNS, tuple(header), tuple(cells))


def _shown(cell: Cell) -> str:
    if isinstance(cell, str):
        return printable(cell)
    if isinstance(cell, int):
        return f"{cell:,}"
    return "-" if math.isnan(cell) else f"{cell:.6g}"


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
        """Describe what the budget was spent on, by statistic; longer lines are folded."""
        lines = [*self.solved.plan.explain().split("\n"), *(f"  {note}" for note in self.notes)]
        return "\n".join(fill(line, width, subsequent_indent=6 * " ") for line in lines)

    def tables(self) -> list[ResultTable]:
        """Return the tables; the first one is that of ``to_frame``."""
        raise TypeError(f"{type(self).__name__} must define tables.")

    def to_frame(self) -> Any:
        """Return the first table as a pandas DataFrame."""
        import pandas as pd  # noqa: PLC0415 (loaded where a frame is asked for)

        table = self.tables()[0]
        return pd.DataFrame(table.rows, columns=list(table.header))

    def plot(self, ax: "Axes | None" = None, *, columns: Collection[str] | None = None) -> "Axes":
        """Draw the result with its function of ``tg.plot``; ``columns`` selects some columns."""
        chosen = {} if columns is None else {"columns": columns}
        drawn: Axes = getattr(plot, self.picture)(self, ax, **chosen)
        return drawn

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
        """Return it as text; wider tables are folded, so that nothing is cut."""
        lines = [fill(line, width) for line in self._heading()]
        for table in self.tables():
            lines += ["", table.title] if table.title else []
            lines += text_table(table, width)
        return "\n".join([*lines, *(fill(note, width) for note in self.notes)])

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        parts = [f"<p>{escape(line)}</p>" for line in self._heading()]
        for table in self.tables():
            parts += [f"<h4>{escape(table.title)}</h4>"] if table.title else []
            parts += ["<table>", _html_row("th", table.header)]
            parts += [_html_row("td", map(_shown, row)) for row in table.rows]
            parts.append("</table>")
        parts += [f"<p>{escape(printable(note))}</p>" for note in self.notes]
        return "\n".join(parts)


def _html_row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def text_table(table: ResultTable, width: int = WIDTH) -> list[str]:
    """Return the lines of a table, the first column to the left and the others to the right.

    A wider table is folded: each part repeats the names of its rows, which are its first columns.

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
    shown = [table.header, *(tuple(map(_shown, row)) for row in table.rows)]
    widths = [max(map(len, column)) + 2 for column in zip(*shown, strict=True)]
    texts = [
        all(isinstance(cell, str) for cell in column) for column in zip(*table.rows, strict=True)
    ]
    names = [0, *takewhile(lambda place: texts[place], range(1, len(texts)))]
    parts: list[list[int]] = [[]]
    for place in range(len(names), len(widths)):
        # Both ends of an interval stay together: headers of upper ends end in these words.
        ends = "".join(table.header[place + 1 : place + 2]).endswith(("to", " high"))
        fits = sum(widths[p] for p in (*names, *parts[-1], *range(place, place + 1 + ends)))
        if parts[-1] and fits > width + 2:
            parts.append([])
        parts[-1].append(place)
    lines = []
    for part in parts:
        lines += ["", *(_line(row, widths, [*names, *part]) for row in shown)]
    return lines[1:]


def _line(row: Sequence[str], widths: Sequence[int], places: Sequence[int]) -> str:
    """Return some cells of a row side by side."""
    first, *others = places
    cells = [row[first].ljust(widths[first] - 2), *(row[p].rjust(widths[p]) for p in others)]
    return "".join(cells).rstrip()
