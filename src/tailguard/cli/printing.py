"""What the commands print: coefficients beside their privacy noise, and long texts unwrapped."""

from collections.abc import Callable, Sequence
from textwrap import fill
from typing import Any, ParamSpec, TypeVar

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tailguard.estimators.summary import (
    NOISE_NOTE,
    coefficient_cells,
    coefficient_rows,
    note_line,
    shown_rows,
    summary_notes,
)
from tailguard.printable import printable, printable_lines
from tailguard.privacy.certificate.pages import WIDTH
from tailguard.progress import listening


def coefficient_table(
    names: Sequence[str], model: Any, truth: Sequence[float] | None = None
) -> Table:
    """Return coefficients, their noise, and intervals and tests or, if simulated, the truth."""
    rows = coefficient_rows(model)
    # The columns of a file have their own names; an intercept keeps the one that it has.
    labels = [*names, *(name for name, _, _ in rows[len(names) :])]
    headers, cells = coefficient_cells(model, 4, truth)
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("", no_wrap=True)
    for header in headers:
        table.add_column(header, justify="right")
    for row in shown_rows(model):
        table.add_row(escape(printable(labels[row])), *cells[row])
    return table


def print_wrapped(console: Console, text: str) -> None:
    """Print a paragraph, wrapped to the screen and no wider than a certificate."""
    width = min(console.width, WIDTH)
    print_plain(console, fill(text, width, break_on_hyphens=False, break_long_words=False))


def print_note(console: Console) -> None:
    """Print what the noise column leaves out."""
    print_wrapped(console, NOISE_NOTE)


def print_findings(console: Console, model: Any) -> None:
    """Print what the columns of a model's table say, and what the fit decided on the way.

    Both are made of released numbers.
    """
    for note in summary_notes(model):
        print_wrapped(console, note)
    for note in model.notes_:
        print_wrapped(console, note_line(note))


def print_plain(console: Console, text: str) -> None:
    """Print a text as it is: no markup, no colours, no new line breaks."""
    console.print(printable_lines(text), markup=False, highlight=False, soft_wrap=True)


P = ParamSpec("P")
Result = TypeVar("Result")


class ProgressBar:
    """Shows passes over the records, records a second and the time that is left."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._n_rows = self._n_answers = 0
        self._task = progress.add_task("plan", total=None, speed="")

    def planned(self, n_answers: int) -> None:
        """Begin."""
        self._progress.update(self._task, total=n_answers)

    def answered(self, stage: str, n_rows: int) -> None:
        """Move on by one pass."""
        self._n_rows += n_rows
        self._n_answers += 1
        self._progress.update(self._task, description=stage)
        self._show(self._n_answers, self._n_rows)

    def read(self, n_rows: int, n_all: int) -> None:
        """Move on within a pass; an answer that takes two passes does not move back."""
        (task,) = self._progress.tasks
        reached = self._n_answers + min(n_rows / n_all, 1.0)
        self._show(max(reached, task.completed), self._n_rows + n_rows)

    def _show(self, completed: float, n_rows: int) -> None:
        (task,) = self._progress.tasks
        speed = f"{n_rows / task.elapsed:,.0f} rows/s" if task.elapsed else ""
        self._progress.update(self._task, completed=completed, speed=speed)


def with_progress(work: Callable[P, Result], *given: P.args, **named: P.kwargs) -> Result:
    """Do work, and show how far it has come on the error stream, if that is a terminal."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("passes  {task.fields[speed]}"),
        TimeRemainingColumn(),
    )
    if not console.is_terminal:
        return work(*given, **named)
    with (
        Progress(*columns, console=console, transient=True) as progress,
        listening(ProgressBar(progress)),
    ):
        return work(*given, **named)
