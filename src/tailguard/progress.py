"""Report the progress of a run to a listener: public numbers, and names of planned stages.

The content of a report follows from the plan and from released answers. When it is sent depends on
how long computations take.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

LOGGER = logging.getLogger("tailguard")
"""The logger of runs: plans at INFO, each released answer at DEBUG."""
LOGGER.addHandler(logging.NullHandler())


class Listener:
    """Hears of the progress of a run, and ignores it; base of all listeners.

    Tries of a search are not reported, because their number is secret.
    """

    def planned(self, n_answers: int) -> None:
        """Begin a run that asks for at most this many answers."""

    def answered(self, stage: str, n_rows: int) -> None:
        """Note a release of a stage; ``n_rows`` is the number of records read for it."""

    def read(self, n_rows: int, n_all: int) -> None:
        """Note how many records of a pass over a table in batches were read so far."""


class RunLog(Listener):
    """Writes reports of a run to the log."""

    def planned(self, n_answers: int) -> None:
        """Log the beginning of a run."""
        LOGGER.info("a run begins, with at most %d answers", n_answers)

    def answered(self, stage: str, n_rows: int) -> None:
        """Log a release."""
        LOGGER.debug("released %s, for which %d records were read", stage, n_rows)


LISTENER: ContextVar[Listener] = ContextVar("LISTENER", default=RunLog())  # noqa: B039
"""The listener of the runs that begin in this context."""


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Report the runs within to a listener."""
    token = LISTENER.set(listener)
    try:
        yield
    finally:
        LISTENER.reset(token)


class ProgressBar(RunLog):
    """Shows passes over the records, records per second and the remaining time."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._n_rows = self._n_answers = 0
        self._task_id = progress.add_task("plan", total=None, speed="")

    def planned(self, n_answers: int) -> None:
        """Set the number of passes."""
        super().planned(n_answers)
        self._progress.update(self._task_id, total=n_answers)

    def answered(self, stage: str, n_rows: int) -> None:
        """Advance by one pass."""
        super().answered(stage, n_rows)
        self._n_rows += n_rows
        self._n_answers += 1
        self._progress.update(self._task_id, description=stage)
        self._show(self._n_answers, self._n_rows)

    def read(self, n_rows: int, n_all: int) -> None:
        """Advance within a pass; the second pass of one answer does not move the bar back."""
        (shown,) = self._progress.tasks
        reached = self._n_answers + min(n_rows / n_all, 1.0)
        self._show(max(reached, shown.completed), self._n_rows + n_rows)

    def _show(self, completed: float, n_rows: int) -> None:
        (shown,) = self._progress.tasks
        speed = f"{n_rows / shown.elapsed:,.0f} rows/s" if shown.elapsed else ""
        self._progress.update(self._task_id, completed=completed, speed=speed)


@contextmanager
def progress_bar(wanted: bool = True) -> Iterator[None]:
    """Show the progress of the runs within, on the error stream of a terminal or notebook.

    Without a terminal or notebook, or with ``wanted=False``, it shows nothing.
    """
    if not wanted:
        yield
        return
    from rich import console, progress  # noqa: PLC0415 (they take a while to load)

    screen = console.Console(stderr=True)
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("passes  {task.fields[speed]}"),
        progress.TimeRemainingColumn(),
    )
    if not (screen.is_terminal or screen.is_jupyter):
        yield
        return
    with (
        progress.Progress(*columns, console=screen, transient=True) as shown,
        listening(ProgressBar(shown)),
    ):
        yield
