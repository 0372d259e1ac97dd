"""A line on a terminal that says how far a run has come; nothing where there is no terminal."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tailguard.progress import listening

P = ParamSpec("P")
Result = TypeVar("Result")


class ProgressBar:
    """Shows passes over the records, records a second and the time that is left.

    Examples
    --------
    >>> with Progress(console=Console(quiet=True)) as progress:
    ...     bar = ProgressBar(progress)
    ...     bar.planned(n_answers=2)
    ...     bar.answered("scale", n_rows=1000)
    ...     bar.read(250, 1000)
    ...     [(task.completed, task.total) for task in progress.tasks]
    [(1.25, 2)]
    """

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
    """Do work, and show how far it has come on the error stream, if that is a terminal.

    Examples
    --------
    >>> with_progress(max, 3, 7)
    7
    """
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
