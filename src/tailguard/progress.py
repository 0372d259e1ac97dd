"""How far a run has come, told to whoever listens: public numbers, and names of planned stages.

What is told follows from the plan and from released answers. When it is told follows from the
clock, which anybody may read anyway.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Listener(Protocol):
    """Who is told.

    Examples
    --------
    >>> class Counting:
    ...     def planned(self, n_answers):
    ...         self.left = n_answers
    ...     def answered(self, stage, n_rows):
    ...         self.left -= 1
    ...     def read(self, n_rows, n_all):
    ...         self.share = n_rows / n_all
    >>> listener: Listener = Counting()
    """

    def planned(self, n_answers: int) -> None:
        """Hear how many answers at most a run will ask for."""
        ...

    def answered(self, stage: str, n_rows: int) -> None:
        """Hear that an answer of a stage was released, for which so many records were read."""
        ...

    def read(self, n_rows: int, n_all: int) -> None:
        """Hear that a pass over a table in batches has come so far; its numbers are public."""
        ...


LISTENER: ContextVar[Listener | None] = ContextVar("LISTENER", default=None)
"""Who is told of runs that begin here."""


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Have a listener told of the runs within; None has nobody told.

    Examples
    --------
    >>> class Printing:
    ...     def planned(self, n_answers):
    ...         print(n_answers)
    ...     def answered(self, stage, n_rows):
    ...         print(stage, n_rows)
    >>> with listening(Printing()):
    ...     tell_planned(1)
    ...     tell_answered("scale", 1000)
    1
    scale 1000
    """
    token = LISTENER.set(listener)
    try:
        yield
    finally:
        LISTENER.reset(token)


def tell_planned(n_answers: int) -> None:
    """Tell the listener, if there is one, what a run will do.

    Examples
    --------
    >>> tell_planned(7)
    """
    if (listener := LISTENER.get()) is not None:
        listener.planned(n_answers)


def tell_answered(stage: str, n_rows: int) -> None:
    """Tell the listener, if there is one, of a released answer.

    Examples
    --------
    >>> tell_answered("scale", 1000)
    """
    if (listener := LISTENER.get()) is not None:
        listener.answered(stage, n_rows)


def tell_read(n_rows: int, n_all: int) -> None:
    """Tell the listener, if there is one, how many records of a pass were read so far.

    Examples
    --------
    >>> tell_read(1024, 1_000_000)
    """
    if (listener := LISTENER.get()) is not None:
        listener.read(n_rows, n_all)
