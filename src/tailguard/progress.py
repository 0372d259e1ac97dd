"""How far a run has come, told to whoever listens: public numbers, and names of planned stages.

What is told follows from the plan and from released answers. When it is told follows from the
clock, which anybody may read anyway.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Listener(Protocol):
    """Who is told."""

    def planned(self, n_answers: int) -> None:
        """Hear how many answers at most a run will ask for."""
        ...

    def answered(self, stage: str, n_rows: int) -> None:
        """Note a release of a stage; ``n_rows`` is the number of records read for it."""
        ...

    def read(self, n_rows: int, n_all: int) -> None:
        """Hear that a pass over a table in batches has come so far; its numbers are public."""
        ...


LISTENER: ContextVar[Listener | None] = ContextVar("LISTENER", default=None)
"""Who is told of runs that begin here."""


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Have a listener told of the runs within; None has nobody told."""
    token = LISTENER.set(listener)
    try:
        yield
    finally:
        LISTENER.reset(token)


def tell_planned(n_answers: int) -> None:
    """Tell the listener, if there is one, what a run will do."""
    if (listener := LISTENER.get()) is not None:
        listener.planned(n_answers)


def tell_answered(stage: str, n_rows: int) -> None:
    """Tell the listener, if there is one, of a released answer."""
    if (listener := LISTENER.get()) is not None:
        listener.answered(stage, n_rows)


def tell_read(n_rows: int, n_all: int) -> None:
    """Tell the listener, if there is one, how many records of a pass were read so far."""
    if (listener := LISTENER.get()) is not None:
        listener.read(n_rows, n_all)
