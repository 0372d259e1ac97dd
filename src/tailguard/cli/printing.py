"""What the commands print: coefficients beside their privacy noise, and long texts unwrapped."""

from collections.abc import Callable
from textwrap import fill
from typing import Any, ParamSpec, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tailguard.estimators.summary import (
    HEADERS,
    coefficient_cells,
    note_line,
    shown_rows,
    summary_notes,
    table_lines,
)
from tailguard.printable import printable_lines
from tailguard.privacy.certificate.pages import WIDTH
from tailguard.progress import listening


def print_coefficients(console: Console, model: Any) -> None:
    """Print coefficients, errors, intervals and tests, and what they say."""
    rows = coefficient_cells(model, digits=4)
    lines = table_lines([rows[row] for row in shown_rows(model)], HEADERS, console.width)
    print_plain(console, "\n".join(["", *lines, ""]))
    for note in summary_notes(model):
        print_wrapped(console, note)


def print_wrapped(console: Console, text: str) -> None:
    """Print a paragraph, wrapped to the screen and no wider than a certificate."""
    width = min(console.width, WIDTH)
    print_plain(console, fill(text, width, break_on_hyphens=False, break_long_words=False))


def print_notes(console: Console, model: Any) -> None:
    """Print what the fit decided on the way, on released numbers."""
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
