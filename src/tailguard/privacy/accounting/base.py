"""What an accountant is: an immutable sum of events that knows what they cost together."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, Self

from tailguard.checks import InputError, check_count
from tailguard.privacy.events import Event
from tailguard.privacy.events.flat_events import FlatEvents, flatten


@dataclass(frozen=True)
class Accountant(ABC):
    """Adds events up, and refuses leaves not in ``known``; every answer bounds the truth above."""

    known: ClassVar[frozenset[type[Event]]]
    flat_events: FlatEvents = field(default_factory=FlatEvents)

    @classmethod
    def of(cls, event: Event) -> Self | None:
        """Return the accountant of one event, or None if a leaf of it is unknown here."""
        return cls().compose(event) if cls().supports(event) else None

    def supports(self, event: Event) -> bool:
        """Tell whether every leaf of the event is known here."""
        return flatten(event).kinds <= self.known

    def compose(self, event: Event, times: int = 1) -> Self:
        """Return an accountant that has added ``event`` so many times; refuse unknown leaves."""
        check_count("times", times)
        if not self.supports(event):
            strange = sorted(kind.__name__ for kind in flatten(event).kinds - self.known)
            raise InputError(f"{type(self).__name__} does not know events of type {strange}.")
        return type(self)(FlatEvents.total((self.flat_events, flatten(event).times(times))))

    @abstractmethod
    def epsilon(self, delta: float) -> float:
        """Return an upper bound on epsilon at ``delta``; infinity where none is known."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta at ``epsilon``; 1 where none is known."""
