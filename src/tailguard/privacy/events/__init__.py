"""What a release costs, as plain records, and which noise costs how much."""

from tailguard.privacy.events.events import (
    Approximate,
    BoundedRange,
    Composed,
    Event,
    Gaussian,
    Laplace,
    Nothing,
    Parallel,
    Pure,
    Repeated,
    Sampled,
    Shuffled,
    ShuffledPure,
    Unbounded,
    ZeroConcentrated,
    check_event,
    event_from_dict,
)
from tailguard.privacy.events.selected import Selected

__all__ = [
    "Approximate",
    "BoundedRange",
    "Composed",
    "Event",
    "Gaussian",
    "Laplace",
    "Nothing",
    "Parallel",
    "Pure",
    "Repeated",
    "Sampled",
    "Selected",
    "Shuffled",
    "ShuffledPure",
    "Unbounded",
    "ZeroConcentrated",
    "check_event",
    "event_from_dict",
]
