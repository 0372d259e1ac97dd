"""What an accountant is: an immutable sum of events that knows what they cost together."""

from dataclasses import dataclass, field
from typing import ClassVar, Protocol, Self

from tailguard.checks import InputError, check_integer
from tailguard.privacy.events import Event
from tailguard.privacy.events.flat_events import FlatEvents, flatten


class Accountant(Protocol):
    """Adds events up; every answer is an upper bound on the truth.

    Examples
    --------
    >>> from tailguard.privacy.accounting.registry import make_accountant
    >>> from tailguard.privacy.events import Gaussian
    >>> accountant: Accountant = make_accountant("gdp")
    >>> round(accountant.compose(Gaussian(mu=0.1), times=100).epsilon(delta=1e-6), 8)
    4.88655412
    """

    def supports(self, event: Event) -> bool:
        """Tell whether every leaf of the event is known here."""
        ...

    def compose(self, event: Event, times: int = 1) -> Self:
        """Return an accountant that has added ``event`` so many times; refuse unknown leaves."""
        ...

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on epsilon at ``delta``; infinity where none is known."""
        ...

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta at ``epsilon``; 1 where none is known."""
        ...


@dataclass(frozen=True)
class FlatAccountant:
    """Base of the accountants: keeps the flat events, and refuses leaves that are not in ``known``.

    Examples
    --------
    >>> from tailguard.privacy.accounting.pure import PureAccountant
    >>> from tailguard.privacy.events import Laplace
    >>> PureAccountant().compose(Laplace(epsilon=0.5), times=2).flat_events.leaves
    {Laplace(epsilon=0.5): 2}
    """

    known: ClassVar[frozenset[type[Event]]]
    flat_events: FlatEvents = field(default_factory=FlatEvents)

    def supports(self, event: Event) -> bool:
        """Tell whether every leaf of the event is known here."""
        return flatten(event).kinds <= self.known

    def compose(self, event: Event, times: int = 1) -> Self:
        """Return an accountant that has added ``event`` so many times; refuse unknown leaves."""
        check_integer("times", times, minimum=1)
        if not self.supports(event):
            strange = sorted(kind.__name__ for kind in flatten(event).kinds - self.known)
            raise InputError(f"{type(self).__name__} does not know events of type {strange}.")
        return type(self)(FlatEvents.total((self.flat_events, flatten(event).times(times))))
